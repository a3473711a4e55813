//! A whole experiment drawn from one number: the grid, the runs, their faults; and whether all
//! laws held.

use std::rc::Rc;
use std::time::Duration;

use sateen_protocol::coordinator::Circle;
use sateen_protocol::{FaultTolerance, Random, RunId, RunSpec, Stealing, Time, Trust, limits};

use crate::extra::Extra;
use crate::families::Family;
use crate::faults::links;
use crate::invariants::{Calm, check_end, is_reconciled};
use crate::network::{NetworkConfig, Weather};
use crate::process::HostPlan;
use crate::runtime::earlier_results;
use crate::schedule::Fault;
use crate::sometimes::Sometimes;
use crate::tree::{Tree, TreePlan};
use crate::world::{VIOLATIONS_MAX, World, WorldConfig};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// After the last fault, all runs must be over within this time and a multiple of their work, including work that
/// aborts come too late for, since a run may be left to a single slow host.
const LIVENESS_MAX_S: u64 = 60;
/// Additional time, in multiples of all large transfers over one link.
const LIVENESS_TRANSFERS: u64 = 4;
/// Time for the grid to become idle after the end.
const REST_S: u64 = 15;

/// Maximum events, to catch hosts that exchange messages endlessly; the busiest seeds have a tenth.
const EVENTS_MAX: u64 = 5_000_000;

/// The outcome of a seed.
#[derive(Debug)]
pub struct SeedResult {
    /// Digest of everything that happened.
    pub digest: u64,
    /// Broken laws.
    pub violations: Vec<String>,
    /// Rare states reached.
    pub sometimes: Sometimes,
    /// The number of events.
    pub events: u64,
    /// The end of the last run, in virtual seconds.
    pub end_s: f64,
    /// The log, if it was requested.
    pub log: Vec<String>,
}

/// Runs a seed.
pub fn run(seed: u64) -> SeedResult {
    run_with(seed, Family::ALL)
}

/// The same as [`run_with`], with a log.
pub fn tell(seed: u64, families: &[Family]) -> SeedResult {
    let (mut world, calm_at, calm) = build(seed, families);
    world.trace.start_log();
    finish(world, calm_at, &calm)
}

/// Runs a seed with faults of these families, in addition to those of every seed.
pub fn run_with(seed: u64, families: &[Family]) -> SeedResult {
    let (world, calm_at, calm) = build(seed, families);
    finish(world, calm_at, &calm)
}

/// The same for runs whose results are checked, and that share no objects.
pub fn run_checked(seed: u64, families: &[Family], trust: Trust) -> SeedResult {
    let (world, calm_at, calm) = build_with(seed, families, trust);
    finish(world, calm_at, &calm)
}

/// Runs a world to its end.
pub fn finish(mut world: World, calm_at: Time, calm: &Calm) -> SeedResult {
    let work_s: u64 = world.trees.values().map(|tree| tree.root().most_ns / S + 1).sum();
    let until = Time(calm_at.0 + (LIVENESS_MAX_S + 5 * work_s) * S + LIVENESS_TRANSFERS * world.bulk_ns());
    let is_broken =
        |world: &World| world.violations.len() >= VIOLATIONS_MAX || world.trace.events() > EVENTS_MAX;
    world.run_until(until, |world| world.now >= calm_at && world.is_over() || is_broken(world));
    let end_s = world.now.0 as f64 / 1e9;
    if world.trace.events() > EVENTS_MAX {
        world.violations.push(format!("{EVENTS_MAX} events were not enough, until {end_s:.3} s"));
    }
    if !is_broken(&world) {
        let rest = Time(world.now.0 + REST_S * S);
        world.run_until(rest, is_broken);
        // Circles are renewed for ever; the next moment without messages in transit will do.
        let rest = Time(rest.0 + 2 * S);
        world.run_until(rest, |world| is_broken(world) || is_reconciled(world));
        check_end(&mut world, calm);
    }
    SeedResult {
        digest: world.trace.digest(),
        violations: world.violations,
        sometimes: world.sometimes,
        events: world.trace.events(),
        end_s,
        log: world.trace.into_log(),
    }
}

/// The grid of a seed, the end of its faults, and the kinds of faults that it lacks.
pub fn build(seed: u64, families: &[Family]) -> (World, Time, Calm) {
    build_with(seed, families, Trust::default())
}

fn build_with(seed: u64, families: &[Family], trust: Trust) -> (World, Time, Calm) {
    let mut random = Random::new(seed ^ 0x05a7_ee00);
    let sites = 1 + random.below(3);
    let between = |random: &mut Random, low: u64, high: u64| low + random.below((high - low) as usize) as u64;
    let network = NetworkConfig {
        latency_in_site_ns: between(&mut random, 20_000, 500_000),
        latency_to_coordinator_ns: (0..sites).map(|_| between(&mut random, 100_000, 30 * MS)).collect(),
        latency_wide_ns: None,
        jitter_ns: if random.below(2) == 0 { 0 } else { 2 * MS },
        bytes_per_second: 0,
        is_direct_in_site: random.below(4) > 0,
    };
    // In half of the seeds every host knows all others, in the others only a few.
    let mut drawn = Random::new(seed ^ 0xc1_4c1e);
    let circle = if drawn.below(2) == 0 {
        limits::CIRCLE
    } else {
        Circle {
            near_all: drawn.below(3),
            near_drawn: 1 + drawn.below(3),
            far_all: drawn.below(4),
            far_drawn: 1 + drawn.below(3),
            renewed_every: Duration::from_millis(between(&mut drawn, 1000, 5000)),
        }
    };
    let mut extra = Extra::draw(seed, families);
    let config = WorldConfig {
        table_bytes_max: extra.table_bytes_max.unwrap_or(limits::HOST_TABLE_BYTES_MAX),
        coordinator_table_bytes_max: extra.table_bytes_max.unwrap_or(limits::COORDINATOR_TABLE_BYTES_MAX),
        clocks_off_ppm: extra.clocks_off_ppm,
        seed: random.next_u64(),
        network,
        circle,
        grain_ns: between(&mut random, 0, 5 * MS),
        load_ns: between(&mut random, MS, 300 * MS),
        is_observed: true,
    };
    let mut world = World::new(config);
    let mut workers = 0;
    for site in 0..sites {
        for _ in 0..1 + random.below(4) {
            let plan = host_plan(site, &mut random);
            workers += plan.workers as u64;
            world.add_host(plan);
        }
    }
    // A sixth of the seeds is undisturbed, a sixth has only departures.
    let kind = random.below(6);
    let usual = 1 + random.below(2) as u64;
    let runs = usual + extra.runs;
    let mut length_ns = 0;
    let mut choices = Random::new(seed ^ 0xab0_27ed);
    for run in 0..runs {
        let per_worker_ns = match run < usual {
            true if extra.update_bytes_max.is_some() => 3 * between(&mut random, S, 8 * S),
            true => between(&mut random, S, 8 * S),
            false => between(&mut extra.random, 50 * MS, S),
        };
        length_ns += per_worker_ns;
        let tree = Tree::new(&TreePlan {
            bulk: extra.narrow.as_ref().map(|narrow| narrow.bulk).unwrap_or_default(),
            seed: random.next_u64(),
            jobs: between(&mut random, 20, 1500),
            work_ns: per_worker_ns * workers,
            children_max: [1, 2, 2, 3, 12][random.below(5)].max(2),
            share_percent_max: [50, 70, 90, 98][random.below(4)],
            twins_per_mille: [0, 0, 50][random.below(3)],
            heavy_per_mille: [0, 0, 10][random.below(3)],
            // From another stream, so that the rest of the seed stays the same.
            decisive_per_mille: [0, 0, 30, 300][choices.below(4)],
            shared_objects: [u32::from(extra.update_bytes_max.is_some()), 1, 2][choices.below(3)]
                * u32::from(!trust.is_checked()),
            update_bytes_max: extra.update_bytes_max.unwrap_or(0),
            failing_per_mille: extra.failing_per_mille,
        });
        let mut spec = run_spec(&tree, &mut random, kind);
        spec.trust = trust;
        if extra.argument_bytes > 0 {
            spec.arguments.push("argument".repeat(extra.argument_bytes / "argument".len()));
        }
        let draws = extra.earlier.as_mut();
        if let Some(random) = draws.and_then(|random| (random.below(4) > 0).then_some(random)) {
            spec.reuse = true;
            let entries = earlier_results(&tree, &spec, random);
            world.submit_after(RunId(run + 1), spec, Rc::new(tree), entries);
        } else {
            world.submit(RunId(run + 1), spec, Rc::new(tree));
        }
    }
    if let Some(narrow) = &extra.narrow {
        let hosts = world.alive().count() as u64;
        let bytes: u64 = world.trees.values().map(|tree| tree.bulk_bytes(hosts)).sum();
        world.network.config.bytes_per_second = narrow.bytes_per_second(bytes);
        world.set_rate(1);
        length_ns += world.bulk_ns() / 2;
    }
    let mut calm_at = Time(length_ns * 3 / 4 + S);
    let mut steps = Vec::new();
    match kind {
        // Late messages do not justify computing anything twice, either.
        0 if random.below(2) == 0 => {
            let late_ns_max = 50 * MS + random.below(2 * S as usize) as u64;
            let weather = Weather { late_per_million: 300_000, late_ns_max, ..Weather::default() };
            steps.push((Time(0), Fault::Weather(weather)));
        }
        0 => {}
        1 => {
            // Far enough apart for each to be over before the next.
            let crash_at = S + random.below(length_ns as usize / 2) as u64;
            let draw = random.next_u64();
            let fault = if random.below(2) == 0 {
                Fault::Leave { draw }
            } else {
                Fault::Crash { is_silent: false, back_ns: None, draw }
            };
            steps.push((Time(crash_at), fault));
        }
        _ => {
            for number in 0..1 + random.below(8) as u32 {
                let at = Time(random.below(calm_at.0 as usize) as u64);
                let fault = fault(number, sites, runs, &mut random);
                // Related faults often happen together.
                if matches!(fault, Fault::Crash { .. }) && random.below(3) == 0 {
                    let soon = Time(at.0 + random.below(S as usize) as u64).min(calm_at);
                    steps.push((soon, self::fault(number + 100, sites, runs, &mut random)));
                }
                steps.push((at, fault));
            }
        }
    }
    if kind > 1 {
        calm_at = extra.disturb(calm_at, runs, &mut steps);
    }
    let only_blips = families == [Family::Blips];
    if only_blips {
        let mut random = Random::new(seed ^ 0xb1_1b5);
        let blip =
            |_| (Time(random.below(calm_at.0 as usize) as u64), Fault::Reset(links::draw_blip(&mut random)));
        steps = (0..1 + seed % 4).map(blip).collect();
    }
    let calm = Calm {
        only_blips,
        is_undisturbed: kind == 0 && !only_blips,
        only_departures: kind == 1
            && !only_blips
            && extra.table_bytes_max.is_none()
            && extra.narrow.is_none(),
        // A result that the table has by location is lost with its host.
        records_survive: extra.table_bytes_max.is_none()
            && extra.narrow.is_none()
            && steps.iter().all(|(_, fault)| fault.spares_records()),
        records_are_late: steps.iter().any(|(_, fault)| fault.delays_records()),
    };
    steps.push((calm_at, Fault::Calm));
    steps.sort_by_key(|(at, _)| *at);
    world.plan(steps);
    (world, calm_at, calm)
}

fn host_plan(site: usize, random: &mut Random) -> HostPlan {
    HostPlan { site, workers: 1 + random.below(3), speed_percent: [50, 100, 100, 200][random.below(4)] }
}

fn run_spec(tree: &Tree, random: &mut Random, kind: usize) -> RunSpec {
    let fault_tolerance = match random.below(8) {
        0 => FaultTolerance::FinishedOrphans,
        1 => FaultTolerance::RedoOnly,
        2 if kind == 0 => FaultTolerance::Off,
        _ => FaultTolerance::Full,
    };
    RunSpec {
        stealing: match random.below(6) {
            0 => Stealing::Random,
            1 => Stealing::MasterWorker,
            _ => Stealing::ClusterAware,
        },
        fault_tolerance,
        record_every_ms: [50, 100, 500, 1000][random.below(4)],
        ..RunSpec::new(tree.app())
    }
}

fn fault(number: u32, sites: usize, runs: u64, random: &mut Random) -> Fault {
    let draw = random.next_u64();
    let span = |random: &mut Random, most_ns: u64| 50 * MS + random.below(most_ns as usize) as u64;
    let back_ns = (random.below(2) == 0).then(|| span(random, 4 * S));
    match random.below(22) {
        0..4 => Fault::Crash { is_silent: random.below(3) == 0, back_ns, draw },
        4 => Fault::CrashRoot,
        5 => Fault::CrashSite { draw, back_ns },
        6 => Fault::CrashAll { back_ns: span(random, 4 * S) },
        7..9 => Fault::CrashCoordinator { back_ns: span(random, 6 * S) },
        9..11 => Fault::Leave { draw },
        11..13 => Fault::Join(host_plan(random.below(sites), random)),
        13 => Fault::Freeze { draw, for_ns: span(random, 9 * S) },
        14..17 => Fault::Partition { draw, for_ns: span(random, 9 * S), number },
        17..19 => Fault::Weather(Weather {
            loss_per_million: [0, 1_000, 100_000, 300_000][random.below(4)],
            late_per_million: [0, 10_000, 300_000][random.below(3)],
            late_ns_max: span(random, 5 * S),
            ..Weather::default()
        }),
        19 if random.below(2) == 0 => Fault::Cancel(RunId(1 + random.below(runs as usize) as u64)),
        _ => {
            Fault::Suspend { run: RunId(1 + random.below(runs as usize) as u64), for_ns: span(random, 3 * S) }
        }
    }
}
