//! A process that raises its walls and then does what its first argument names: the tests run it.
//!
//! ```text
//! sateen-walls-intruder WHAT [parent=ID] [memory=BYTES] [descriptors=N] [without] [threads]
//! ```
//!
//! `without` leaves the walls out, to show that it is they which refuse; with `threads`, another thread starts before them and
//! does it.

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod needs;
#[cfg(target_os = "linux")]
mod stage;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    stage::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    let report = sateen_walls::raise(&sateen_walls::Options::default());
    assert!(!report.is_complete(), "only Linux has walls");
}
