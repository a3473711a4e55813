//! How coordinator and host write their logs, on stderr: one line an event, its message first and then its
//! fields. What comes from apps and from other machines is hostile text: whatever could steer a terminal or
//! begin a line of its own is spelled out, and of lines of one kind only some are written in a minute.
#![forbid(unsafe_code)]

mod limit;
mod line;
mod object;
mod text;

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::LevelFilter;

use limit::{Kinds, Limited};
use line::Line;
use object::Object;

pub use text::{escaped, visible, visible_lines, write_value};

/// The flags of both programs.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Log")]
pub struct LogFlags {
    /// Format of the log on stderr
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// Least important events to log
    #[arg(long, value_name = "LEVEL", value_enum, env = "SATEEN_LOG", default_value_t = LogLevel::Info)]
    pub log_level: LogLevel,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people: time, level, message, fields
    Text,
    /// A JSON object on each line
    Json,
}

/// The least important events that are logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What does not work
    Error,
    /// Also what somebody should look at
    Warn,
    /// Also what happens
    Info,
    /// Also why
    Debug,
    /// Also every detail
    Trace,
}

/// Whether a source file is of sled, which panics over stores that are broken. Its user catches that and reports
/// what follows from it.
fn is_of_the_store(file: &str) -> bool {
    file.split(['/', '\\']).any(|part| part.starts_with("sled-"))
}

/// Logs from now on. Called once, before anything is logged.
pub fn start(flags: LogFlags) {
    let level = match flags.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let kinds = Kinds::default();
    let base = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    match flags.log_format {
        LogFormat::Text => {
            let is_coloured = std::io::stderr().is_terminal();
            let format = Limited { format: Line { is_coloured }, kinds: kinds.clone() };
            base.with_ansi(is_coloured).event_format(format).init();
        }
        LogFormat::Json => {
            let limited = |format| Limited { format: Object(format), kinds: kinds.clone() };
            base.json().flatten_event(true).with_target(false).map_event_format(limited).init();
        }
    }
    kinds.report_for_ever();
    std::panic::set_hook(Box::new(|panic| {
        if panic.location().is_some_and(|at| is_of_the_store(at.file())) {
            return tracing::debug!(panic = %panic, "the embedded database panicked");
        }
        tracing::error!(panic = %panic, "a part panicked; this is a bug in Sateen, please report it");
    }));
}
