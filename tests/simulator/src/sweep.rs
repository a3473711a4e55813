//! Many seeds, on all processors.

use std::panic::UnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::families::Family;
use crate::seed;
use crate::sometimes::Sometimes;

/// One in this number of seeds is run twice.
const TWICE_EVERY: u64 = 8;

/// The outcomes of many seeds.
#[derive(Debug, Default)]
pub struct Swept {
    /// Rare states reached.
    pub sometimes: Sometimes,
    /// The first law broken by each seed that broke one.
    pub failures: Vec<String>,
}

/// Runs the seeds from `first` on; every eighth twice, to check that its trace is the same.
pub fn sweep(first: u64, seeds: u64, families: &[Family]) -> Swept {
    sum_of(
        first,
        seeds,
        |seed| check(seed, families),
        |swept: &mut Swept, (sometimes, failures)| {
            swept.sometimes.add(&sometimes);
            swept.failures.extend(failures);
        },
    )
}

/// Runs `one` with each seed from `first` on, on all processors, and adds up the results.
pub fn sum_of<T: Default + Send, R>(
    first: u64,
    seeds: u64,
    one: impl Fn(u64) -> R + Sync,
    add: impl Fn(&mut T, R) + Sync,
) -> T {
    let next = AtomicU64::new(first);
    let total = Mutex::new(T::default());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        break;
                    }
                    let result = one(seed);
                    if let Ok(mut total) = total.lock() {
                        add(&mut total, result);
                    }
                }
            });
        }
    });
    total.into_inner().unwrap_or_default()
}

/// Runs `act`, and returns its result or the message of its panic.
///
/// # Errors
/// When it panics.
pub fn unwound<R>(act: impl FnOnce() -> R + UnwindSafe) -> Result<R, String> {
    std::panic::catch_unwind(act).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
    })
}

fn check(seed: u64, families: &[Family]) -> (Sometimes, Vec<String>) {
    let result = match unwound(|| seed::run_with(seed, families)) {
        Ok(result) => result,
        Err(text) => return (Sometimes::default(), vec![format!("seed {seed}: {text}")]),
    };
    let mut failures: Vec<String> =
        result.violations.first().map(|violation| format!("seed {seed}: {violation}")).into_iter().collect();
    if seed.is_multiple_of(TWICE_EVERY) && seed::run_with(seed, families).digest != result.digest {
        failures.push(format!("seed {seed}: two runs differ"));
    }
    (result.sometimes, failures)
}
