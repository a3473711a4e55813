//! The self-test of a host that works for months.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::{Passed, SelfTestError, self_test};
use crate::scheduler::Priority;

const EVERY: Duration = Duration::from_secs(24 * 3600);

/// Runs the self-test now and every 24 hours, on a thread with idle priority that ends with the process. Calls `tell` with each
/// outcome, and tests no more once the machine is unfit.
///
/// # Errors
/// If the thread cannot be started.
pub fn self_test_daily(tell: impl Fn(Result<Vec<Passed>, SelfTestError>) + Send + 'static) -> io::Result<()> {
    let test = move || {
        // The workers of the test have the priority of the thread that starts them.
        Priority::Idle.take();
        loop {
            let outcome = self_test();
            let is_unfit = matches!(outcome, Err(SelfTestError::Unfit(_)));
            tell(outcome);
            if is_unfit {
                return;
            }
            sleep(EVERY);
        }
    };
    std::thread::Builder::new().name("sateen-self-test".to_owned()).spawn(test).map(drop)
}
