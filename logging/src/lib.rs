//! Logs of coordinator and host on stderr: one line per event, its message first and then its fields. Text from
//! apps and from other machines is hostile: characters that could control a terminal or begin a new line are
//! escaped, and only some lines of one kind are written in a minute.
#![forbid(unsafe_code)]

mod limit;
mod line;
mod object;
#[cfg(test)]
mod sink;
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
    /// Least important kind of events to log
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
    /// Errors
    Error,
    /// Also warnings
    Warn,
    /// Also normal events
    Info,
    /// Also reasons of events
    Debug,
    /// Also all details
    Trace,
}

/// Whether a source file belongs to sled, which panics on broken stores. The caller catches the panic and
/// reports its consequences.
fn is_of_the_store(file: &str) -> bool {
    file.split(['/', '\\']).any(|part| part.starts_with("sled-"))
}

/// Starts logging. Called once, before anything is logged.
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
