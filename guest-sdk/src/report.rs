//! Log lines and progress of a running app.

use crate::prepared::refuse_while_preparing;

/// Writes one line to the run's log, formatted as by `format!`. On a grid, the line is sent to the submitter;
/// natively it goes to stderr.
#[macro_export]
macro_rules! log {
    ($($argument:tt)*) => {
        $crate::log_line(&::std::format!($($argument)*))
    };
}

/// Writes one line to the run's log; [`log!`](crate::log) is the convenient form.
pub fn log_line(line: &str) {
    #[cfg(target_family = "wasm")]
    crate::wasm::log(line);
    #[cfg(not(target_family = "wasm"))]
    eprintln!("{line}");
}

/// Reports the progress of the run, `done` of `total` in any unit of the app. Only the root job knows the
/// progress, so only its reports are shown.
pub fn progress(done: u64, total: u64) {
    refuse_while_preparing("report progress");
    #[cfg(target_family = "wasm")]
    crate::wasm::progress(done, total);
    #[cfg(not(target_family = "wasm"))]
    let _ = (done, total);
}
