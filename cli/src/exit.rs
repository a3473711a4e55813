//! Exit codes, and the one line on stderr that goes with each.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use sateen_host::RunError;

/// Why the command did not succeed.
#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    pub message: String,
    /// The job that failed, if one did.
    pub job: Option<String>,
    /// The guest's stack, if there is one; shown on request.
    pub backtrace: Vec<String>,
}

pub const APP_FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const LIMIT: u8 = 3;
pub const GRID: u8 = 4;
pub const UNVERIFIED: u8 = 5;
pub const CANCELLED: u8 = 130;

impl Failure {
    /// A failure that is not that of a job.
    pub fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string(), job: None, backtrace: Vec::new() }
    }

    /// Wrong usage or bad input.
    pub fn usage(message: impl Display) -> Self {
        Self::new(USAGE, message)
    }

    /// The reader of stdout has closed it and needs no more, as `head` does. The command ends without an error.
    pub fn reader_gone() -> Self {
        Self::new(0, "")
    }

    fn is_reader_gone(&self) -> bool {
        self.code == 0
    }

    /// Ignores that the reader is gone, where the command has more to do or an exit code to return.
    ///
    /// # Errors
    /// Any other failure.
    pub fn unless_reader_gone(self) -> Result<(), Self> {
        if self.is_reader_gone() { Ok(()) } else { Err(self) }
    }

    /// Prints what happened, on one line, and returns the exit code.
    pub fn report(&self) -> ExitCode {
        if self.is_reader_gone() {
            return ExitCode::SUCCESS;
        }
        say(&self.message);
        for frame in &self.backtrace {
            write_line(&format!("    in {}", visible(frame)));
        }
        ExitCode::from(self.code)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match &error {
            RunError::Job(_) | RunError::App(_) => APP_FAILED,
            RunError::BadInput(_) => USAGE,
            RunError::Limit(_) => LIMIT,
            RunError::Cancelled => CANCELLED,
            RunError::Host(_) => GRID,
        };
        let (job, backtrace) = match &error {
            RunError::Job(failure) => (Some(failure.job.clone()), failure.backtrace.clone()),
            _ => (None, Vec::new()),
        };
        Self { code, message: error.to_string(), job, backtrace }
    }
}

/// One line on stderr, with the command's name.
pub fn say(message: impl Display) {
    let line = message.to_string().replace('\n', "; ");
    write_line(&format!("sateen: {}", visible(&line)));
}

/// `text` with all invisible characters except tabs escaped. Names and messages may come from a stranger's module, and
/// must not control a terminal, change the direction of text, or begin a line of their own.
pub fn visible(text: &str) -> String {
    text.split('\t').map(sateen_logging::visible).collect::<Vec<_>>().join("\t")
}

/// Writes a line to stderr. If that fails, there is no other place to report it.
pub fn write_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
