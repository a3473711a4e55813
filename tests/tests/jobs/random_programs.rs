//! Random programs have the same results natively, on one worker and on many.

use std::time::{Duration, Instant};

use sateen_tests::grid::{SETTINGS, text};
use sateen_tests::random::{Random, seed};

/// Maximum time to look for a difference.
const BUDGET: Duration = Duration::from_secs(20);
/// Programs that are compared even on a slow machine.
const PROGRAMS_MIN: usize = 30;

#[test]
fn random_programs_have_their_native_results() {
    silence_this_thread();
    let mut random = Random::new(seed(20_261_121));
    let started = Instant::now();
    let mut compared = 0;
    let mut difference = None;
    while compared < PROGRAMS_MIN || started.elapsed() < BUDGET {
        let (program, depth) = (random.number(), 2 + random.below(6) as u32);
        let expected = probe::program::random_program(program, depth).to_string();
        let arguments = [program.to_string(), depth.to_string()];
        let arguments = [arguments[0].as_str(), arguments[1].as_str()];
        for setting in SETTINGS {
            let given = text("random_program", &arguments, setting);
            if given != expected {
                difference =
                    Some(format!("random_program {arguments:?} with {setting:?}: {given}, not {expected}"));
            }
        }
        compared += 1;
        if difference.is_some() {
            break;
        }
    }
    eprintln!("{compared} programs compared");
    assert_eq!(difference, None);
}

/// Failing leaves are part of the programs; their native messages are not of interest.
pub fn silence_this_thread() {
    let (usual, this) = (std::panic::take_hook(), std::thread::current().id());
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() != this
            || panic.location().is_none_or(|at| !at.file().contains("probe"))
        {
            usual(panic);
        }
    }));
}
