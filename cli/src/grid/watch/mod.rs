//! `sateen watch`: a run or the whole grid, live. On a terminal, a view that is redrawn; otherwise, lines
//! about changes.

mod events;
mod grid_page;
mod lines;
mod row;
mod run_page;
mod screen;
mod source;

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sateen_api::Run;

use super::client::Client;
use super::ended::failure;
use crate::exit::{CANCELLED, Failure};
use crate::flags::Watch;
use grid_page::GridPage;
use row::Row;
use run_page::RunPage;
use screen::{Key, Screen};
use source::{News, Source};

/// How long to wait for a coordinator that is away, if no user can press a key.
const AWAY_MAX: Duration = Duration::from_secs(300);
/// Maximum time between two redraws of the view, because of its clocks.
const DRAWN_EVERY: Duration = Duration::from_secs(1);

/// The run or grid that is watched, and its data so far.
trait Page {
    /// Takes in an answer of the coordinator; returns true if there will be no more.
    fn take(&mut self, news: News) -> bool;
    /// The view, for a terminal of this many columns and lines.
    fn rows(&self, width: usize, height: usize) -> Vec<Row>;
    /// The changes since the last call, as lines.
    fn new_lines(&mut self) -> Vec<String>;
    /// The coordinator's last answer, as JSON; empty if nothing is new.
    fn new_objects(&mut self) -> Vec<String>;
}

/// Ends with the run and its exit code, or when the user quits.
pub fn watch(flags: &Watch) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let source = Source { client, run: flags.run, period: flags.every };
    let stopped = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&stopped);
    ctrlc::set_handler(move || on_signal.store(true, Relaxed))
        .map_err(|error| Failure::usage(format!("Ctrl-C cannot be handled: {error}")))?;
    // If the first request fails, there is no coordinator or no such run, so do not retry.
    let first = source.client.patiently(|| source.look(0))?;
    match flags.run {
        Some(number) => {
            let mut page = RunPage::new(number);
            page.take(first);
            show(flags, source, &stopped, &mut page)?;
            page.into_run().map_or(Ok(()), |run| ended(&run))
        }
        None => {
            let mut page = GridPage::default();
            page.take(first);
            show(flags, source, &stopped, &mut page)
        }
    }
}

fn show(flags: &Watch, source: Source, stopped: &AtomicBool, page: &mut impl Page) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() && !flags.json {
        on_terminal(source, stopped, page)
    } else {
        lines::print_all(source, stopped, page, flags.json)
    }
}

fn on_terminal(source: Source, stopped: &AtomicBool, page: &mut impl Page) -> Result<(), Failure> {
    let news = source.start();
    let mut screen = Screen::open()?;
    let mut drawn = None::<Instant>;
    loop {
        let (mut is_new, mut is_over) = (false, false);
        while let Ok(what) = news.try_recv() {
            is_over |= page.take(what?);
            is_new = true;
        }
        if is_new || drawn.is_none_or(|at| at.elapsed() >= DRAWN_EVERY) {
            let (width, height) = screen.size();
            screen.draw(&page.rows(width, height))?;
            drawn = Some(Instant::now());
        }
        if is_over {
            drop(screen);
            return lines::print_last(page);
        }
        match screen.key() {
            Some(Key::Quit) => return Ok(()),
            Some(Key::Interrupt) => return Err(interrupted()),
            Some(Key::Redraw) => drawn = None,
            None if stopped.load(Relaxed) => return Err(interrupted()),
            None => {}
        }
    }
}

/// A bar of this many columns, filled in proportion to `done` of `total`.
fn screen_bar(done: u64, total: u64, columns: usize) -> String {
    let part = if total > 0 { (done as f64 / total as f64).clamp(0.0, 1.0) } else { 0.0 };
    let filled = (part * columns as f64) as usize;
    format!("[{}{}]", "=".repeat(filled), " ".repeat(columns - filled))
}

fn interrupted() -> Failure {
    let message = "the watch is over; the run or grid continues".to_owned();
    Failure::new(CANCELLED, message)
}

/// The exit code is the run's, if it is over.
fn ended(run: &Run) -> Result<(), Failure> {
    match failure(run) {
        Some(mut failure) => {
            failure.backtrace.clear();
            Err(failure)
        }
        None => Ok(()),
    }
}
