//! Simulated histories whose coordinator is what people see.
//!
//! A seed derives a grid and what is done to it, as in [`sateen_simulator`]. Beside the coordinator's machine that the
//! simulated hosts deal with, the real driver of the coordinator runs, with its store, its chronicles and its API, in the
//! same virtual time: all that the machine is told is told to it as well. At random moments and at the end, all that the
//! API says is compared by the rules of cluster tests ([`sateen_contradictions`]).

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
/// Moments of the time in which faults may happen at which people look.
const LOOKS: usize = 6;
/// A run that is not over so long after the last fault is not waited for: whether runs end is a law of the simulator's.
const PATIENCE_NS: u64 = 120 * S;
/// After the end of the last run, what hosts counted of it becomes final, and the grid comes to rest.
const REST_NS: u64 = 20 * S;

/// What became of a history.
#[derive(Debug, Default)]
pub struct History {
    /// What people were told that contradicts something else, or what broke down.
    pub contradictions: Vec<String>,
    /// How many runs they saw.
    pub runs: usize,
    /// How often they looked and were answered.
    pub looks: usize,
    /// How often the coordinator was started.
    pub starts: u32,
    /// When it was over, in virtual seconds.
    pub end_s: f64,
}

/// The faults of histories: all families but disks, as the coordinator's disk is a real one here, and blips, which are only
/// on their own.
pub fn families() -> Vec<Family> {
    Family::ALL.iter().copied().filter(|family| *family != Family::Disks).collect()
}

/// Runs a seed.
pub fn run(seed: u64) -> History {
    run_with(seed, &families())
}

/// Runs a seed with faults of these families, beside those that each seed has.
pub fn run_with(seed: u64, families: &[Family]) -> History {
    play(seed, families, false).0
}

/// Runs a seed and writes down all that happens in it, what people are told that contradicts something else as well.
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
    world.log = is_traced.then(Vec::new);
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
    // As soon as all is over, and when nobody has anything more to say.
    people.look();
    people.go_on(Time(people.now().0 + REST_NS), |_| false);
    people.look();
    people.end()
}

/// An empty folder, in memory where the system has a file system there: what is on the disk after a power cut is not what
/// this is about.
fn folder() -> std::io::Result<TempDir> {
    const IN_MEMORY: &str = "/dev/shm";
    match tempfile::tempdir_in(IN_MEMORY) {
        Ok(folder) => Ok(folder),
        Err(_) => tempfile::tempdir(),
    }
}
