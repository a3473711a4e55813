//! What an app says while it runs.

/// Writes one line to the run's log, formatted as by `format!`. On the grid it travels to the
/// submitter; natively it goes to stderr.
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

/// Reports how far the run is, `done` of `total` in any unit of the app's own; only the root job
/// knows, so only its reports are shown.
pub fn progress(done: u64, total: u64) {
    #[cfg(target_family = "wasm")]
    crate::wasm::progress(done, total);
    #[cfg(not(target_family = "wasm"))]
    let _ = (done, total);
}
