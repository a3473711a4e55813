//! Follows a run until it is over, with its progress and its log on stderr.

use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};

use sateen_api::{Counted, Log, Run};
use sateen_command_line::localised;
use serde_json::json;

use super::client::{Client, GONE_MAX, SHORT};
use super::refusal::Refusal;
use super::view::{self, read};
use crate::exit::{CANCELLED, Failure, say, visible};
use crate::files::print_json;
use crate::progress::{Progress, counted, short};

/// Maximum time after which the coordinator answers, even if the run is not over.
const TURN_S: u64 = 1;
/// Additional time for the answer to arrive.
const TURN_LATE: Duration = Duration::from_secs(20);
const RETRY: Duration = Duration::from_millis(500);

pub struct Follow {
    pub quiet: bool,
    pub json: bool,
    /// Whether to wait for the last counts of the hosts.
    pub figures: bool,
}

/// Waits for the run `number`, and returns it and the number of lines dropped from its log.
pub fn follow(client: &Client, number: u64, how: &Follow) -> Result<(Run, u64), Failure> {
    detach_on_interrupt(number, how.json)?;
    // If the first request fails, there is no coordinator at all, so do not retry.
    client.get(&format!("/api/v1/runs/{number}"))?;
    let progress = Progress::new(how.quiet);
    let mut log = LogReader::default();
    let path = format!("/api/v1/runs/{number}/wait?timeout_s={TURN_S}&figures={}", how.figures);
    let mut was_over = false;
    let mut gone: Option<Instant> = None;
    loop {
        let answer = match client.get_once(&path, Duration::from_secs(TURN_S) + TURN_LATE) {
            Ok(answer) => answer,
            Err(refusal @ (Refusal::Unreachable(_) | Refusal::Busy(..))) => {
                let (why, again) = match &refusal {
                    Refusal::Busy(why, after) => (why, (*after).max(RETRY)),
                    Refusal::Unreachable(why) | Refusal::Answered(_, why) => (why, RETRY),
                };
                if gone.is_none() && !how.quiet {
                    progress.print(&visible(&format!("sateen: {why}; still trying, for run {number}")));
                }
                if gone.get_or_insert_with(Instant::now).elapsed() > GONE_MAX {
                    progress.clear();
                    return Err(refusal.into());
                }
                thread::sleep(again);
                continue;
            }
            Err(refusal) if refusal.is_not_found() => {
                progress.clear();
                // It existed before.
                return Err(Failure::usage(format!("run {number} has been deleted")));
            }
            Err(refusal) => {
                progress.clear();
                return Err(refusal.into());
            }
        };
        if gone.take().is_some() && !how.quiet {
            progress.print("sateen: the coordinator answers again");
        }
        let run: Run = client.read(&answer)?;
        progress.show_line(run.figures.progress.map(|progress| (progress.done, progress.total)), line(&run));
        if !how.quiet {
            log.print_new(client, number, &progress);
        }
        // Hosts report their last counts within a moment; do not wait longer than one turn for those that do not.
        let is_all = !how.figures || was_over || run.figures.counted != Counted::SoFar;
        if run.is_over() && is_all {
            progress.clear();
            return Ok((run, log.dropped));
        }
        was_over = run.is_over();
    }
}

/// The app's log, and how far it was read.
#[derive(Default)]
struct LogReader {
    after: u64,
    dropped: u64,
}

impl LogReader {
    /// Lines that cannot be read now may be read the next time.
    fn print_new(&mut self, client: &Client, run: u64, progress: &Progress) {
        let path = format!("/api/v1/runs/{run}/log?after={}", self.after);
        let Ok(answer) = client.get_once(&path, SHORT) else { return };
        let Ok(log) = read::<Log>(&answer) else { return };
        for line in &log.lines {
            self.after = self.after.max(line.number);
            for text in line.text.split('\n') {
                progress.print(&visible(&format!("[{}] {text}", line.job)));
            }
        }
        self.dropped = log.dropped;
    }
}

/// Ctrl-C ends the wait, not the run.
fn detach_on_interrupt(run: u64, as_json: bool) -> Result<(), Failure> {
    let installed = ctrlc::set_handler(move || {
        let message = format!(
            "run {run} continues: `sateen wait {run}` waits for it again, `sateen cancel {run}` ends it"
        );
        if as_json {
            let object = json!({
                "run": run, "result": null,
                "error": { "message": message, "exit_code": CANCELLED, "job": null, "backtrace": [] },
            });
            let _ = print_json(&object);
        }
        say(message);
        exit(i32::from(CANCELLED));
    });
    installed.map_err(|error| Failure::usage(format!("Ctrl-C cannot be handled: {error}")))
}

fn line(run: &Run) -> String {
    if let Some(why) = run.waiting_for.as_deref().filter(|why| !why.is_empty()) {
        return visible(&format!("{}: {}", run.state, localised(why)));
    }
    let (jobs, present) = (&run.figures.jobs, view::present(run));
    let busy = present.busy("core", "cores").map_or_else(String::new, |busy| format!(", {busy}"));
    format!(
        "{}, {} stolen, {}{}{busy}",
        counted(jobs.spawned, "job", "jobs"),
        short(jobs.stolen),
        counted(present.hosts, "host", "hosts"),
        present.away(),
    )
}
