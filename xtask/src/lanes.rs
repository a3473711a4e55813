//! Commands that run side by side, with output that can still be told apart.

use std::io::{BufRead, BufReader, PipeReader, Write, pipe};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::shell::run;

/// Maximum time for the last lines of a command that has ended.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Commands that run one after another.
pub struct Lane {
    /// Precedes each line of their output.
    pub name: &'static str,
    /// The commands; each is run even if one before it has failed.
    pub commands: Vec<Command>,
}

/// Runs all lanes at the same time, and returns an error that names all commands that failed.
pub fn run_side_by_side(lanes: Vec<Lane>) -> Result<()> {
    let failed: Vec<String> = thread::scope(|scope| {
        let lanes: Vec<_> = lanes.into_iter().map(|lane| scope.spawn(|| run_lane(lane))).collect();
        let join = |lane: thread::ScopedJoinHandle<'_, _>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        lanes.into_iter().flat_map(join).collect()
    });
    if failed.is_empty() { Ok(()) } else { bail!("{}", failed.join("; ")) }
}

/// Returns what failed.
fn run_lane(lane: Lane) -> Vec<String> {
    let run = |command| run_named(lane.name, command).err().map(|error| format!("{error:#}"));
    lane.commands.into_iter().filter_map(run).collect()
}

fn run_named(name: &'static str, mut command: Command) -> Result<()> {
    let (reader, writer) = pipe().context("no pipe can be made")?;
    command.stdout(writer.try_clone().context("a pipe cannot be shared")?).stderr(writer);
    let (last, is_last) = mpsc::channel::<()>();
    thread::spawn(move || {
        pass_on(name, reader);
        drop(last);
    });
    // This drops the command, and with it the writers.
    let result = run(command);
    // A process that the command has left behind would keep the pipe open.
    let _ = is_last.recv_timeout(LAST_LINES);
    result
}

/// Prints lines as they come.
fn pass_on(name: &str, reader: PipeReader) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        // If nobody reads this any more, the command still runs to its end.
        let _ = writeln!(std::io::stderr(), "{name}: {}", text.trim_end());
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::shell::command;

    fn shell(script: &str) -> Command {
        command("sh", ["-c", script])
    }

    #[test]
    fn lanes_run_at_the_same_time_and_all_their_failures_are_named() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = |name| folder.path().join(name).display().to_string();
        let wait_for = |other: &str| {
            format!("for i in $(seq 500); do test -e {other} && exit; sleep 0.02; done; exit 7")
        };
        let (one, other) = (file("one"), file("other"));
        let since = Instant::now();
        let lanes = vec![
            Lane { name: "one", commands: vec![shell(&format!("touch {one}; {}", wait_for(&other)))] },
            Lane {
                name: "other",
                commands: vec![
                    shell("exit 3"),
                    shell(&format!("touch {other}; {}", wait_for(&one))),
                    shell("exit 4"),
                ],
            },
        ];
        let error = run_side_by_side(lanes).expect_err("two commands failed").to_string();
        assert!(since.elapsed() < Duration::from_secs(10), "they did not wait for each other");
        assert!(error.contains("exit 3 failed") && error.contains("exit 4 failed"), "{error}");
        assert!(!error.contains("exit 7") && !error.contains("seq"), "{error}");
    }
    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let since = Instant::now();
        let left = Lane { name: "left", commands: vec![shell("sleep 60 & exit 0"), shell("exit 5")] };
        let error = run_side_by_side(vec![left]).expect_err("the second fails").to_string();
        assert!(error.contains("exit 5") && !error.contains("sleep"), "{error}");
        assert!(since.elapsed() < Duration::from_secs(30));
    }
}
