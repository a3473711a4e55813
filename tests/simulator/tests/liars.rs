//! Runs whose results are checked, on grids with hosts that lie.

use std::rc::Rc;

use sateen_protocol::coordinator::Checked;
use sateen_protocol::{RunEnd, RunId, RunSpec, Time, Trust};
use sateen_simulator::network::NetworkConfig;
use sateen_simulator::process::HostPlan;
use sateen_simulator::runtime::lies::{Liar, Lies};
use sateen_simulator::runtime::read_root_answer;
use sateen_simulator::schedule::Fault;
use sateen_simulator::sweep::sum_of;
use sateen_simulator::tree::{Bulk, Sizes, Tree, TreePlan};
use sateen_simulator::world::{World, WorldConfig};

const RUN: RunId = RunId(1);
const S: u64 = 1_000_000_000;
/// Maximum time of a run, in virtual seconds.
const LIMIT_S: u64 = 300;
/// Maximum events of a run, so that no test continues without end.
const EVENTS_MAX: u64 = 3_000_000;
const JOBS: u64 = 1_500;

/// A grid of equal hosts with one worker each, and a run.
struct Grid {
    world: World,
    tree: Rc<Tree>,
}

impl Grid {
    fn new(seed: u64, hosts: usize) -> Self {
        Self::with(seed, hosts, Bulk::default())
    }

    fn with(seed: u64, hosts: usize, bulk: Bulk) -> Self {
        let network =
            NetworkConfig { latency_to_coordinator_ns: vec![2_000_000], ..NetworkConfig::default() };
        let config = WorldConfig { is_observed: true, ..WorldConfig::new(seed, network) };
        let tree = Rc::new(Tree::new(&TreePlan {
            seed,
            jobs: JOBS,
            work_ns: 3 * S * hosts as u64,
            children_max: 3,
            share_percent_max: 80,
            failing_per_mille: 5,
            bulk,
            ..TreePlan::default()
        }));
        let mut grid = Self { world: World::new(config), tree };
        (0..hosts).for_each(|_| grid.add_host());
        grid
    }

    fn add_host(&mut self) {
        let process = self.world.add_host(HostPlan { site: 0, workers: 1, speed_percent: 100 });
        self.world.processes[process as usize].runtime.lies.are_expected = true;
    }

    /// The hosts of these places lie.
    fn lie(&mut self, places: &[usize], per_mille: u64) {
        for place in places {
            let own = Some(Liar { per_mille, league: 7 });
            self.world.processes[*place].runtime.lies = Lies { are_expected: true, own, ..Lies::default() };
        }
    }

    fn submit(&mut self, trust: Trust) {
        self.world.run_until(Time(S), |_| false);
        let spec = RunSpec { trust, record_every_ms: 100, ..RunSpec::new(self.tree.app()) };
        self.world.submit(RUN, spec, Rc::clone(&self.tree));
    }

    fn run_for(&mut self, seconds: u64) {
        let until = Time(self.world.now.0 + seconds * S);
        self.world.run_until(until, |world| world.is_over() || world.trace.events() > EVENTS_MAX);
        assert!(self.world.trace.events() <= EVENTS_MAX, "too many events until {:?}", self.world.now);
    }

    /// Waits for the end of the run, and for its last counts.
    fn end(&mut self) -> (RunEnd, Option<Checked>) {
        self.run_for(LIMIT_S);
        let stored = &self.world.server.runs[&RUN];
        let waiting = self.world.server.machine.as_ref().and_then(|machine| machine.run(RUN)?.waiting_for);
        let end = stored.end.clone().unwrap_or_else(|| panic!("it has not ended: {waiting:?}"));
        self.world.run_until(Time(self.world.now.0 + 20 * S), World::has_final_counts);
        assert_eq!(self.world.violations, Vec::<String>::new());
        (end, self.world.server.runs[&RUN].checked.clone())
    }

    /// Three of four seeds are disturbed while the run is computed.
    fn disturb(&mut self, seed: u64, liar: usize) {
        let at = Time(self.world.now.0 + seed * 397 % 4_000 * 1_000_000);
        match seed / 4 % 4 {
            0 => {}
            1 => self.world.plan(vec![(at, Fault::Suspend { run: RUN, for_ns: S })]),
            2 => {
                self.world.run_until(at, World::is_over);
                let victim = (liar + 1 + seed as usize % 3) % 4;
                self.world.kill(victim as u32, seed.is_multiple_of(2));
                self.add_host();
            }
            _ => {
                self.world.run_until(at, World::is_over);
                self.world.crash_coordinator();
                self.world.run_until(Time(at.0 + S), |_| false);
                self.world.restart_coordinator();
            }
        }
    }

    /// The run ends with the right answer; returns how it was checked, and the places of the hosts that were barred.
    fn end_right(&mut self) -> (Checked, Vec<usize>) {
        let (end, checked) = self.end();
        let RunEnd::Finished(finished) = &end else { panic!("it ended with {end:?}") };
        assert_eq!(read_root_answer(finished), Some(self.tree.root().answer));
        let checked = checked.expect("it is checked");
        let mut barred: Vec<usize> = checked
            .barred
            .iter()
            .map(|(_, owner)| {
                self.world.processes.iter().position(|it| it.host_key() == *owner).expect("a host")
            })
            .collect();
        barred.sort_unstable();
        (checked, barred)
    }
}

#[test]
fn honest_hosts_agree_and_each_unit_is_computed_as_often_as_asked() {
    for (seed, quorum) in [(1, 2), (2, 2), (3, 3), (4, 5)] {
        let mut grid = Grid::new(seed, 6);
        grid.submit(Trust::Quorum(quorum));
        let (checked, barred) = grid.end_right();
        assert_eq!((barred, checked.is_checking), (vec![], false));
        assert!(checked.units > 5, "{checked:?}");
        assert_eq!(checked.units_checked, checked.units);
        assert_eq!(checked.work_checked_ns, checked.work_ns);
        assert_eq!(checked.checks, checked.units * u64::from(quorum - 1), "{checked:?}");
        // Units add up to the work of the whole run.
        let work_ns = grid.tree.root().work_ns;
        assert!(checked.work_ns.abs_diff(work_ns) < work_ns / 50, "{} of {work_ns}", checked.work_ns);
        // A unit is computed again without what is below it.
        let executed: u64 = grid
            .world
            .processes
            .iter()
            .flat_map(|it| it.runtime.executed(grid.world.now).into_values())
            .sum();
        assert!(executed < work_ns * u64::from(quorum) * 11 / 10, "{executed} of {quorum} times {work_ns}");
    }
}

#[test]
fn trusted_hosts_report_no_units() {
    let mut grid = Grid::new(1, 4);
    grid.submit(Trust::Trust);
    let (end, checked) = grid.end();
    let RunEnd::Finished(finished) = &end else { panic!("it ended with {end:?}") };
    assert_eq!((read_root_answer(finished), checked), (Some(grid.tree.root().answer), None));
}

#[test]
fn a_trusted_liar_spoils_the_result() {
    let mut grid = Grid::new(1, 4);
    grid.lie(&[2], 1000);
    grid.submit(Trust::Trust);
    let (end, _) = grid.end();
    let RunEnd::Finished(finished) = &end else { panic!("it ended with {end:?}") };
    assert_ne!(read_root_answer(finished), Some(grid.tree.root().answer), "or this test shows nothing");
}

#[test]
fn one_liar_is_named_and_the_root_is_right() {
    for per_mille in [1000, 300, 30] {
        for seed in 1..=4 {
            let mut grid = Grid::new(seed, 5);
            let liar = seed as usize % 5;
            grid.lie(&[liar], per_mille);
            grid.submit(Trust::Quorum(2));
            let (checked, barred) = grid.end_right();
            assert!(
                barred.is_empty() && per_mille < 300 || barred == [liar],
                "{barred:?}, not {liar}: {checked:?}"
            );
            assert_eq!(checked.units_checked, checked.units);
        }
    }
}

#[test]
fn crashes_cost_no_trust() {
    for per_mille in [1000, 100, 10] {
        for seed in 1..=4 {
            let mut grid = Grid::new(seed, 6);
            let liar = seed as usize % 6;
            grid.lie(&[liar], per_mille);
            grid.submit(Trust::Quorum(2));
            // Some crash while the run is computed, and one more later; others come.
            for (after_ms, victim) in [(900, 1), (700, 3), (1_400, 5)] {
                grid.world.run_until(Time(grid.world.now.0 + after_ms * 1_000_000), World::is_over);
                let victim = (liar + victim) % 6;
                grid.world.kill(victim as u32, victim.is_multiple_of(2));
                grid.add_host();
            }
            let (checked, barred) = grid.end_right();
            assert!(
                barred.is_empty() && per_mille < 1000 || barred == [liar],
                "{barred:?}, not {liar}: {checked:?}"
            );
        }
    }
}

/// One of four hosts lies. Once it is found, it is cut off from the run, comes back, and is given no job any more.
#[test]
fn an_audit_that_finds_a_liar_ends_with_the_right_result() {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let first: Option<u64> = number("SATEEN_SEED");
    let seeds = if first.is_some() { 1 } else { number("SATEEN_CHECKED_SEEDS").unwrap_or(16) };
    let first = first.unwrap_or(1);
    let one = |seed: u64| {
        let policies = [(Trust::AUDIT_DEFAULT, 1000), (Trust::Audit(1_000_000), 100)];
        let ended = policies.map(|(trust, per_mille)| {
            let ended = std::panic::catch_unwind(|| {
                let mut grid = Grid::new(seed, 4);
                let liar = seed as usize % 4;
                grid.lie(&[liar], per_mille);
                grid.submit(trust);
                grid.disturb(seed, liar);
                let (checked, barred) = grid.end_right();
                let is_sound = barred == [liar] || barred.is_empty() && per_mille < 1000;
                assert!(is_sound, "{barred:?}, not {liar}: {checked:?}");
            });
            ended.err().map(|why| format!("seed {seed}, {trust}: {:?}", why.downcast_ref::<String>()))
        });
        ended.into_iter().flatten().collect::<Vec<_>>()
    };
    let broken = sum_of(first, seeds, one, |broken: &mut Vec<String>, one| broken.extend(one));
    assert!(broken.is_empty(), "{} of {seeds} seeds:\n{}", broken.len(), broken.join("\n"));
}

/// Large parameters are not reported, and large results are not passed on to checkers.
#[test]
fn large_parameters_and_results_are_computed_again_with_the_unit_above() {
    for seed in 1..=2 {
        let sizes = Sizes { count: 60, bytes_min: 100_000, bytes_max: 2_000_000 };
        let bulk = Bulk { results: sizes, parameters: sizes, object_bytes: 0 };
        let mut grid = Grid::with(seed, 5, bulk);
        grid.lie(&[3], 300);
        grid.submit(Trust::Quorum(2));
        let (checked, barred) = grid.end_right();
        assert!(barred.is_empty() || barred == [3], "{checked:?}");
        assert_eq!(checked.units_checked, checked.units);
    }
}

#[test]
fn two_that_lie_together_are_outvoted_by_three() {
    for per_mille in [1000, 200] {
        for seed in 1..=3 {
            let mut grid = Grid::new(seed, 7);
            grid.lie(&[1, 4], per_mille);
            grid.submit(Trust::Quorum(3));
            let (checked, barred) = grid.end_right();
            assert_eq!(barred, [1, 4], "{checked:?}");
        }
    }
}

#[test]
fn a_run_with_too_few_owners_says_so_and_waits_for_more() {
    let mut grid = Grid::new(1, 2);
    grid.submit(Trust::Quorum(3));
    grid.run_for(60);
    let machine = grid.world.server.machine.as_ref().expect("it runs");
    let view = machine.run(RUN).expect("it is not over");
    let why = view.waiting_for.clone().expect("it waits");
    assert!(
        why.contains("3 hosts with different keys must agree") && why.contains("start more hosts"),
        "{why}"
    );
    assert!(view.checked().is_some_and(|checked| checked.is_checking && checked.units_checked == 0));
    grid.add_host();
    let (checked, barred) = grid.end_right();
    assert_eq!((checked.units, barred), (checked.units_checked, vec![]));
}

#[test]
fn a_run_that_is_suspended_keeps_what_is_known_of_its_units() {
    for suspend_ms in [800, 2_000, 3_100, 3_500, 4_000] {
        let mut grid = Grid::new(5, 5);
        grid.lie(&[1], 300);
        grid.submit(Trust::Quorum(2));
        let at = Time(grid.world.now.0 + suspend_ms * 1_000_000);
        grid.world.plan(vec![(at, Fault::Suspend { run: RUN, for_ns: S })]);
        let (checked, barred) = grid.end_right();
        assert_eq!((barred, checked.units_checked), (vec![1], checked.units), "{suspend_ms}");
    }
}

/// A host that lies says that a limit was exceeded. Only what others find as well ends the run.
#[test]
fn one_host_alone_does_not_end_a_run() {
    for is_limit in [true, false] {
        let mut grid = Grid::new(2, 4);
        grid.submit(Trust::Quorum(2));
        grid.world.run_until(Time(grid.world.now.0 + S), World::is_over);
        grid.world.say_end(2, RUN, is_limit);
        let (checked, barred) = grid.end_right();
        assert_eq!((barred, checked.units_checked), (vec![], checked.units));
    }
}

#[test]
fn an_end_that_as_many_hosts_find_as_must_agree_ends_a_run() {
    let mut grid = Grid::new(2, 4);
    grid.submit(Trust::Quorum(2));
    grid.world.run_until(Time(grid.world.now.0 + S), World::is_over);
    for host in [2, 0] {
        assert!(!grid.world.is_over());
        grid.world.say_end(host, RUN, true);
        grid.world.run_until(Time(grid.world.now.0 + S), World::is_over);
    }
    let (end, _) = grid.end();
    assert!(matches!(end, RunEnd::Limit(_)), "{end:?}");
}

#[test]
fn a_coordinator_that_is_started_again_is_sent_the_units_again() {
    for crash_ms in [1_500, 4_500] {
        let mut grid = Grid::new(3, 5);
        grid.lie(&[2], 500);
        grid.submit(Trust::Quorum(2));
        grid.world.run_until(Time(grid.world.now.0 + crash_ms * 1_000_000), World::is_over);
        grid.world.crash_coordinator();
        grid.world.run_until(Time(grid.world.now.0 + S), |_| false);
        grid.world.restart_coordinator();
        let (checked, barred) = grid.end_right();
        assert_eq!(barred, [2], "{checked:?}");
        assert!(checked.units > 5, "{checked:?}");
    }
}
