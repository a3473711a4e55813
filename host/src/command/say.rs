//! Exit codes, and the one line on stderr that goes with each.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

pub const USAGE: u8 = 2;
pub const GRID: u8 = 4;
pub const WRONG: u8 = 5;
pub const INTERRUPTED: u8 = 130;

/// Prints the reason, and returns the exit code.
pub fn fail(code: u8, message: impl Display) -> ExitCode {
    let line = message.to_string().replace('\n', "; ");
    note(&format!("sateen-host: {line}"));
    ExitCode::from(code)
}

/// Writes a line to stderr. If that fails, there is no other place to report it.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// A result on stdout.
pub fn result(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
