//! Liars in audited runs (design, section 9; Sarmenta, "Sabotage-tolerance mechanisms for volunteer computing systems", 2002):
//! how many roots are wrong, and how many are to be expected.

use std::collections::BTreeSet;
use std::rc::Rc;

use sateen_protocol::limits::FIRST_UNITS_AUDITED;
use sateen_protocol::{PublicKey, RunEnd, RunId, RunSpec, Time, Trust};
use serde::Serialize;

use super::{RUN, S};
use crate::network::NetworkConfig;
use crate::process::{HostPlan, Process};
use crate::runtime::lies::{Liar, Lies, SharedTold};
use crate::runtime::read_root_answer;
use crate::tree::{Tree, TreePlan};
use crate::world::{World, WorldConfig};

/// Hosts of one worker each.
pub const HOSTS: usize = 10;
/// Of these, a fifth lies.
pub const LIARS: usize = 2;
/// Maximum time of a run, in virtual seconds.
const LIMIT_S: u64 = 600;
const JOBS_PER_HOST: u64 = 50;

/// Work of a run, in seconds at speed 1 for each host.
const WORK_S: u64 = 4;
/// Hosts of a grid on which the cost is measured. The root's unit is a host's share of the work, and it is always checked.
pub const HOSTS_FOR_COST: usize = 80;

/// How hosts lie.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Plan {
    /// The policy, as it is written.
    pub share_millionths: u32,
    /// Wrong results, in a thousand.
    pub per_mille: u64,
    /// The liars lie about the same jobs, and confirm one another's lies as checkers.
    pub is_together: bool,
}

/// What came of one run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Seen {
    /// The root is wrong.
    pub is_wrong: bool,
    /// How probable that was by the policy, given what the liars would say if nobody found them.
    pub expected: f64,
    /// Lies that were told.
    pub lies: u64,
    /// Units that each liar which was found had executed by then.
    pub until_found: Vec<u64>,
    /// Honest hosts that were blamed.
    pub blamed: u64,
    /// Units that the root was made of.
    pub units: u64,
    /// Why the run has no result, if it has none, and violations of the simulation's laws.
    pub broken: Vec<String>,
}

/// A grid, its tree, and what its liars have said.
struct Grid {
    world: World,
    told: Vec<SharedTold>,
    seed: u64,
}

impl Grid {
    fn new(seed: u64, hosts: usize) -> Self {
        let network =
            NetworkConfig { latency_to_coordinator_ns: vec![2_000_000], ..NetworkConfig::default() };
        let mut world = World::new(WorldConfig { is_observed: true, ..WorldConfig::new(seed, network) });
        for _ in 0..hosts {
            let process = world.add_host(HostPlan { site: 0, workers: 1, speed_percent: 100 });
            world.processes[process as usize].runtime.lies.are_expected = true;
        }
        world.run_until(Time(S), |_| false);
        Self { world, told: Vec::new(), seed }
    }

    /// Some hosts lie. If nobody is to find them, all others confirm what they say.
    fn lie(&mut self, plan: Plan, is_never_found: bool) {
        self.told = (0..LIARS).map(|_| SharedTold::default()).collect();
        for place in 0..HOSTS {
            let is_liar = place < LIARS;
            let league = if plan.is_together { 7 } else { 7 + place as u64 };
            let others = is_liar && plan.is_together || is_never_found;
            self.world.processes[place].runtime.lies = Lies {
                are_expected: true,
                own: is_liar.then_some(Liar { per_mille: plan.per_mille, league }),
                told: self.told.get(place).cloned(),
                confirms: if others { self.told.clone() } else { Vec::new() },
            };
        }
    }

    /// Runs a tree; returns it, and what is known of how it was checked.
    fn run(&mut self, trust: Trust) -> (Rc<Tree>, RunId) {
        let number = self.world.server.runs.len() as u64;
        // A bag of jobs: most are stolen one by one, and are units.
        let hosts = self.world.processes.len() as u64;
        let (jobs, work_ns) = (JOBS_PER_HOST * hosts, WORK_S * S * hosts);
        let plan = TreePlan { seed: self.seed ^ number << 32, jobs, work_ns, ..TreePlan::default() };
        let tree = Rc::new(Tree::flat(&plan));
        let run = RunId(RUN.0 + number);
        let spec = RunSpec { trust, record_every_ms: 100, ..RunSpec::new(tree.app()) };
        self.world.submit(run, spec, Rc::clone(&tree));
        self.world.run_until(Time(self.world.now.0 + LIMIT_S * S), World::is_over);
        (tree, run)
    }

    fn keys(&self) -> Vec<PublicKey> {
        self.world.processes.iter().map(Process::host_key).collect()
    }
}

/// One run without standing, as it is and as it would be if no liar was ever found.
pub fn run(seed: u64, plan: Plan) -> Seen {
    let trust = Trust::Audit(plan.share_millionths);
    let mut unseen = Grid::new(seed, HOSTS);
    unseen.lie(plan, true);
    unseen.run(trust);
    let would_say: Vec<Vec<bool>> = unseen.told.iter().map(|told| told.borrow().lies.clone()).collect();
    let expected = expected(&would_say, plan);

    let mut grid = Grid::new(seed, HOSTS);
    grid.lie(plan, false);
    let (tree, run) = grid.run(trust);
    let keys = grid.keys();
    let (liars, honest) = keys.split_at(LIARS);
    let mut seen = Seen { expected, ..Seen::default() };
    let machine = grid.world.server.machine.as_ref();
    if let Some(view) = machine.and_then(|machine| machine.run_over(run))
        && let Some(checked) = view.checked()
    {
        let barred: BTreeSet<PublicKey> = checked.barred.iter().map(|(_, owner)| *owner).collect();
        let found = liars.iter().filter(|liar| barred.contains(*liar));
        seen.until_found = found.filter_map(|liar| view.units_reported(liar)).collect();
        seen.blamed = honest.iter().filter(|owner| barred.contains(*owner)).count() as u64;
        seen.units = checked.units;
    } else {
        seen.broken.push("it is not known how its result was checked".to_owned());
    }
    seen.lies =
        grid.told.iter().map(|told| told.borrow().lies.iter().filter(|lie| **lie).count() as u64).sum();
    match grid.world.server.runs[&run].end.as_ref() {
        Some(RunEnd::Finished(finished)) => {
            seen.is_wrong = read_root_answer(finished) != Some(tree.root().answer);
        }
        end => {
            let waits = machine.and_then(|machine| machine.run(run)?.waiting_for);
            seen.broken.push(format!("it ended with {end:?}, and waits: {waits:?}"));
        }
    }
    seen.broken.extend(grid.world.violations.iter().cloned());
    seen
}

/// How probable it is that a lie remains, if these are the units of the two liars in the order in which they report them, and
/// whether each is a lie.
///
/// A lie is found if its unit is drawn, and its checker does not confirm it. Once a liar is found, its confirmations of
/// the other's lies are void, and their units are checked again by others.
fn expected(would_say: &[Vec<bool>], plan: Plan) -> f64 {
    let share = f64::from(plan.share_millionths) / 1e6;
    // That the one other liar is drawn as the checker.
    let confirmed = if plan.is_together { 1.0 / (HOSTS - 1) as f64 } else { 0.0 };
    // The probabilities that none of a liar's lies is found, and that none is drawn.
    let escapes = |lies: &[bool]| {
        let drawn = |place: usize| if (place as u64) < FIRST_UNITS_AUDITED { 1.0 } else { share };
        let told = lies.iter().enumerate().filter(|(_, is_lie)| **is_lie);
        let draws: Vec<f64> = told.map(|(place, _)| drawn(place)).collect();
        let unfound: f64 = draws.iter().map(|draw| 1.0 - draw * (1.0 - confirmed)).product();
        let undrawn: f64 = draws.iter().map(|draw| 1.0 - draw).product();
        (!draws.is_empty(), unfound, undrawn)
    };
    let [(one_lies, one, one_undrawn), (two_lies, two, two_undrawn)] =
        [0, 1].map(|liar| escapes(&would_say[liar]));
    let is = |is: bool| if is { 1.0 } else { 0.0 };
    one * two * is(one_lies || two_lies)
        + (1.0 - two) * one_undrawn * is(one_lies)
        + (1.0 - one) * two_undrawn * is(two_lies)
}

/// Many runs together.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Sum {
    /// Runs.
    pub runs: u64,
    /// Runs with a wrong root, and how many are expected.
    pub wrong: u64,
    /// See `wrong`.
    pub expected: f64,
    /// Lies that were told.
    pub lies: u64,
    /// Units that each liar which was found had executed by then.
    pub until_found: Vec<u64>,
    /// Honest hosts that were blamed.
    pub blamed: u64,
    /// Units of all runs.
    pub units: u64,
    /// What should not have happened, with the seed.
    pub broken: Vec<String>,
}

impl Sum {
    /// Adds a run.
    pub fn add(&mut self, seed: u64, seen: Seen) {
        self.runs += 1;
        self.wrong += u64::from(seen.is_wrong);
        self.expected += seen.expected;
        self.lies += seen.lies;
        self.until_found.extend(seen.until_found);
        self.blamed += seen.blamed;
        self.units += seen.units;
        self.broken.extend(seen.broken.into_iter().map(|why| format!("seed {seed}: {why}")));
    }

    /// How far the number of wrong roots is from the expected one with a probability of at most 1 %.
    pub fn band(&self) -> f64 {
        // Of a normal distribution, on both sides.
        const DEVIATIONS: f64 = 2.576;
        let runs = self.runs.max(1) as f64;
        let share = (self.expected / runs).clamp(0.0, 1.0);
        DEVIATIONS * (runs * share * (1.0 - share)).sqrt()
    }

    /// Whether as many roots are wrong as the policy says, except for chance.
    pub fn is_as_expected(&self) -> bool {
        (self.wrong as f64 - self.expected).abs() <= self.band()
    }
}

/// What an audit costs if nobody lies and all hosts have standing.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cost {
    /// The work of an audited run, by that of one whose hosts are trusted.
    pub ratio: f64,
    /// Units of the first.
    pub units: u64,
    /// Of these, units that were computed again, and how often.
    pub units_checked: u64,
    /// See `units_checked`.
    pub checks: u64,
    /// The share of the work that is in the units that were computed again.
    pub work_share: f64,
    /// Owners without standing.
    pub without_standing: u64,
}

/// The cost on a grid of [`HOSTS_FOR_COST`] hosts.
pub fn cost(seed: u64, share_millionths: u32) -> Cost {
    let executed = |grid: &Grid| -> u64 {
        let of = |process: &Process| process.runtime.executed(grid.world.now).into_values().sum::<u64>();
        grid.world.processes.iter().map(of).sum()
    };
    let mut grid = Grid::new(seed, HOSTS_FOR_COST);
    let trust = Trust::Audit(share_millionths);
    // After these, each host has some standing.
    for _ in 0..3 {
        grid.run(trust);
    }
    let mut turn = |trust: Trust| {
        let before = executed(&grid);
        let (tree, run) = grid.run(trust);
        let checked = grid.world.server.machine.as_ref().and_then(|machine| machine.run_over(run)?.checked());
        ((executed(&grid) - before) as f64 / tree.root().work_ns as f64, checked.unwrap_or_default())
    };
    let (audited, checked) = turn(trust);
    let (trusted, _) = turn(Trust::Trust);
    Cost {
        ratio: audited / trusted,
        units: checked.units,
        units_checked: checked.units_checked,
        checks: checked.checks,
        work_share: checked.work_checked_ns as f64 / checked.work_ns.max(1) as f64,
        without_standing: checked.without_standing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_follows_from_the_policy() {
        let plan = |is_together| Plan { share_millionths: 100_000, per_mille: 10, is_together };
        let first = FIRST_UNITS_AUDITED as usize;
        let lies_at = |place: usize| (0..first + 9).map(|at| at == place).collect::<Vec<bool>>();
        let honest = vec![false; first];
        let near = |expected: f64, is: f64| assert!((expected - is).abs() < 1e-9, "{expected} {is}");
        near(expected(&[honest.clone(), honest.clone()], plan(false)), 0.0);
        near(expected(&[lies_at(first - 1), honest.clone()], plan(false)), 0.0);
        near(expected(&[lies_at(first), honest.clone()], plan(false)), 0.9);
        near(expected(&[lies_at(first), lies_at(first)], plan(false)), 0.99);
        near(expected(&[lies_at(first - 1), honest], plan(true)), 1.0 / (HOSTS - 1) as f64);
    }
}
