//! The progress of a run, on stderr if that is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sateen_command_line::wrap;
use sateen_host::Snapshot;

use crate::exit::write_line;

/// How often the line is drawn.
pub const PERIOD: Duration = Duration::from_millis(100);

/// The line that shows a run's progress; shows nothing if stderr is not a terminal.
#[derive(Clone)]
pub struct Progress {
    bar: ProgressBar,
    has_fraction: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10))
        };
        bar.set_style(style(PLAIN));
        Self { bar, has_fraction: std::sync::Arc::default() }
    }

    /// Shows `snapshot`.
    pub fn show(&self, snapshot: &Snapshot) {
        self.show_line(snapshot.progress, line(snapshot));
    }

    /// Shows how much is done, of which total, if that is known, and `line`.
    pub fn show_line(&self, fraction: Option<(u64, u64)>, line: String) {
        use std::sync::atomic::Ordering::Relaxed;
        if let Some((done, total)) = fraction.filter(|(_, total)| *total > 0) {
            if !self.has_fraction.swap(true, Relaxed) {
                self.bar.set_style(style(with_fraction(wrap::width_of_stderr())));
            }
            self.bar.set_length(total);
            self.bar.set_position(done);
        } else {
            self.bar.tick();
        }
        self.bar.set_message(line);
    }

    /// Writes a line above the progress, or just writes it.
    pub fn print(&self, line: &str) {
        self.bar.suspend(|| write_line(line));
    }

    /// Erases the line.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// What does not fit the terminal is cut off: a line that is broken could not be erased.
const PLAIN: &str = "{elapsed_precise} {wide_msg}";
/// Terminals with fewer columns have no room for a bar beside the words.
const BAR_COLUMNS_MIN: usize = 72;

fn with_fraction(columns: Option<usize>) -> &'static str {
    match columns {
        Some(columns) if columns < BAR_COLUMNS_MIN => "{elapsed_precise} {percent:>3}% {wide_msg}",
        _ => "{elapsed_precise} [{bar:24}] {percent:>3}% {wide_msg}",
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

fn line(snapshot: &Snapshot) -> String {
    let jobs = snapshot.jobs;
    format!(
        "{}, {} exposed, {} stolen, {}/{} cores busy",
        counted(jobs.spawned, "job", "jobs"),
        short(jobs.exposed),
        short(jobs.stolen),
        snapshot.busy,
        snapshot.threads
    )
}

/// A count with its noun, shortened as by [`short`].
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", short(count), if count == 1 { one } else { many })
}

/// A count in at most four characters or so.
pub fn short(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")];
    match UNITS.iter().find(|(from, _)| count >= *from) {
        Some((from, unit)) => {
            let one = if *unit == "k" { 1000 } else { *from };
            format!("{:.1} {unit}", count as f64 / one as f64)
        }
        None => count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Result;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Keeps what is written, and ignores the rest.
    #[derive(Debug, Clone)]
    struct Terminal {
        columns: u16,
        written: Arc<Mutex<String>>,
    }

    impl indicatif::TermLike for Terminal {
        fn width(&self) -> u16 {
            self.columns
        }

        fn move_cursor_up(&self, _lines: usize) -> Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _lines: usize) -> Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _columns: usize) -> Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _columns: usize) -> Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> Result<()> {
            self.written.lock().expect("no panic").push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> Result<()> {
            Ok(())
        }

        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_fits_a_narrow_terminal() {
        for (template, columns) in [(PLAIN, 40), (with_fraction(Some(40)), 40), (with_fraction(Some(80)), 80)]
        {
            let terminal = Terminal { columns, written: Arc::default() };
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let bar = ProgressBar::with_draw_target(Some(9), target);
            bar.set_style(style(template));
            bar.set_message("13.5 k jobs, 417 exposed, 21 stolen, 3/3 cores busy");
            terminal.written.lock().expect("no panic").clear();
            bar.tick();
            let shown = terminal.written.lock().expect("no panic").clone();
            assert!(
                shown.contains("13.5 k jobs") && wrap::columns(shown.trim_end()) <= usize::from(columns),
                "{shown}"
            );
        }
    }

    #[test]
    fn counts_are_short() {
        assert_eq!(short(0), "0");
        assert_eq!(short(9_999), "9999");
        assert_eq!(short(12_345), "12.3 k");
        assert_eq!(short(433_494_436), "433.5 M");
        assert_eq!(counted(1, "job", "jobs"), "1 job");
        assert_eq!(counted(12_345, "job", "jobs"), "12.3 k jobs");
    }
}
