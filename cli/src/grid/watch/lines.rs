//! The watch without a terminal: a line for each change.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::source::{News, Source};
use super::{AWAY_MAX, Page, interrupted};
use crate::exit::{Failure, GRID};
use crate::files::{is_reader_gone, print, print_json};

const TURN: Duration = Duration::from_millis(100);

/// Writes until it is over, or a signal comes.
pub fn print_all(
    source: Source,
    stopped: &AtomicBool,
    page: &mut impl Page,
    json: bool,
) -> Result<(), Failure> {
    let news = source.start();
    let mut away: Option<Instant> = None;
    let mut is_over = false;
    loop {
        let lines = if json { page.new_objects() } else { page.new_lines() };
        if !lines.is_empty() {
            let text = lines.join("\n");
            if json { print_json(&text) } else { print(format!("{text}\n").as_bytes()) }?;
        }
        if is_over {
            return Ok(());
        }
        match news.recv_timeout(TURN) {
            Ok(what) => {
                let what = what?;
                match &what {
                    News::Away(why) if away.get_or_insert_with(Instant::now).elapsed() > AWAY_MAX => {
                        return Err(Failure::new(GRID, why));
                    }
                    News::Away(_) => {}
                    _ => away = None,
                }
                is_over = page.take(what);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        // There may be nothing to write for a long time.
        if is_reader_gone() {
            return Err(Failure::reader_gone());
        }
        if stopped.load(Relaxed) {
            return Err(interrupted());
        }
    }
}

/// The text that remains on the terminal after the view is closed: how the run ended.
pub fn print_last(page: &mut impl Page) -> Result<(), Failure> {
    match page.new_lines().last() {
        Some(line) => print(format!("{line}\n").as_bytes()),
        None => Ok(()),
    }
}
