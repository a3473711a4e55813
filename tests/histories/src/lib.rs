//! Simulated histories with the real coordinator, as its users see it.
//!
//! A seed derives a grid and its faults, as in [`sateen_simulator`]. In parallel with the coordinator's machine that
//! the simulated hosts talk to, the coordinator's real driver runs, with its store, its chronicles and its API, in the
//! same virtual time: it receives all inputs of the machine as well. At random moments and at the end, everything that
//! the API reports is compared by the rules of cluster tests ([`sateen_contradictions`]).

mod people;
pub mod sweep;

use sateen_protocol::{Random, Time};
use sateen_simulator::families::Family;
use sateen_simulator::seed;
use sateen_simulator::world::World;
use tempfile::TempDir;

use people::People;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// Inspections during the phase of faults.
const LOOKS: usize = 6;
/// Maximum wait for a run after the last fault: whether runs end is checked by a law of the simulator.
const PATIENCE_NS: u64 = 120 * S;
/// Time after the end of the last run in which its counts become final, and the grid becomes idle.
const REST_NS: u64 = 20 * S;

/// The outcome of a history.
#[derive(Debug, Default)]
pub struct History {
    /// Contradictions, or failures.
    pub contradictions: Vec<String>,
    /// The number of runs inspected.
    pub runs: usize,
    /// The number of inspections that were answered.
    pub looks: usize,
    /// The number of starts of the coordinator.
    pub starts: u32,
    /// Its end, in virtual seconds.
    pub end_s: f64,
}

/// The faults of histories: all families except disks, as the coordinator's disk is real here, and blips, which are
/// never combined with others.
pub fn families() -> Vec<Family> {
    Family::ALL.iter().copied().filter(|family| *family != Family::Disks).collect()
}

/// Runs a seed.
pub fn run(seed: u64) -> History {
    run_with(seed, &families())
}

/// Runs a seed with faults of these families, in addition to those of every seed.
pub fn run_with(seed: u64, families: &[Family]) -> History {
    play(seed, families, false).0
}

/// Runs a seed and logs everything that happens in it, including contradictions.
pub fn trace(seed: u64) -> (History, Vec<String>) {
    play(seed, &families(), true)
}

fn play(seed: u64, families: &[Family], is_traced: bool) -> (History, Vec<String>) {
    let folder = match folder() {
        Ok(folder) => folder,
        Err(error) => {
            let contradictions = vec![format!("there is no folder for the coordinator: {error}")];
            return (History { contradictions, ..History::default() }, Vec::new());
        }
    };
    let (mut world, calm_at, _) = seed::build(seed, families);
    world.even_out();
    if is_traced {
        world.trace.start_log();
    }
    let mut people = People::new(world, folder.path().to_owned());
    let mut random = Random::new(seed ^ 0x9e0_91e5);
    let mut looks: Vec<u64> = (0..LOOKS).map(|_| random.below(calm_at.0 as usize) as u64).collect();
    looks.sort_unstable();
    for at in looks {
        if people.go_on(Time(at), |_| false) {
            people.look();
        }
    }
    let patience = Time(calm_at.0 + PATIENCE_NS);
    people.go_on(calm_at, |_| false);
    people.look();
    people.go_on(patience, World::is_over);
    // As soon as all runs are over, and when the grid is idle.
    people.look();
    people.go_on(Time(people.now().0 + REST_NS), |_| false);
    people.look();
    people.end()
}

/// An empty folder, in memory if the system has a file system there: histories do not test the disk's contents after a
/// power cut.
fn folder() -> std::io::Result<TempDir> {
    const IN_MEMORY: &str = "/dev/shm";
    match tempfile::tempdir_in(IN_MEMORY) {
        Ok(folder) => Ok(folder),
        Err(_) => tempfile::tempdir(),
    }
}
