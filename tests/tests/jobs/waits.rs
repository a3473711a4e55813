//! A worker whose guest waits does other work, but never on top of the waiting guest's stack.

use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use sateen_host::LogLine;
use sateen_tests::grid::{call_logging, gives_everywhere, shared, usual};

/// Blocks workers in their log lines: a line waits until all lines that it waits for were written.
struct Stage {
    seen: Mutex<Vec<(String, ThreadId)>>,
    changed: Condvar,
    waits: &'static [(&'static str, &'static [&'static str])],
}

impl Stage {
    fn new(waits: &'static [(&'static str, &'static [&'static str])]) -> Arc<Self> {
        Arc::new(Self { seen: Mutex::default(), changed: Condvar::new(), waits })
    }

    /// Records a line, and returns when the lines that it waits for have been seen as well, or after a long time.
    fn enter(&self, text: String) {
        let deadline = Instant::now() + Duration::from_secs(20);
        let waits = self.waits.iter().find(|(line, _)| *line == text).map_or(&[][..], |(_, waits)| waits);
        let mut seen = self.seen.lock().expect("nobody panics with the lock");
        seen.push((text, std::thread::current().id()));
        self.changed.notify_all();
        while !waits.iter().all(|wanted| seen.iter().any(|(line, _)| line == wanted)) {
            let now = Instant::now();
            if now >= deadline {
                seen.push(("late".to_owned(), std::thread::current().id()));
                return;
            }
            seen = self.changed.wait_timeout(seen, deadline - now).expect("nobody panics with the lock").0;
        }
    }

    fn play(self: Arc<Self>, function: &str, arguments: &[&str], threads: usize) -> Vec<(String, ThreadId)> {
        let stage = self.clone();
        let log = Arc::new(move |line: LogLine| stage.enter(line.text));
        call_logging(&usual(), function, arguments, shared(threads), log).expect("it runs");
        std::mem::take(&mut *self.seen.lock().expect("nobody panics with the lock"))
    }
}

/// The place of a line, and the worker that wrote it.
#[track_caller]
fn find(lines: &[(String, ThreadId)], text: &str) -> (usize, ThreadId) {
    let at =
        lines.iter().position(|(line, _)| line == text).unwrap_or_else(|| panic!("no `{text}` in {lines:?}"));
    (at, lines[at].1)
}

/// `family` is blocked until the root waits, and the family's own first piece until the root's worker has
/// taken another: so that worker must steal while its guest waits.
#[test]
fn a_worker_that_waits_for_a_stolen_job_does_other_work() {
    for function in ["share_while_waiting", "share_while_attempting"] {
        let stage = Stage::new(&[
            ("root waits", &["family runs"]),
            ("family runs", &["root waits"]),
            ("piece 0 runs", &["piece 1 runs"]),
            ("piece 1 runs", &["piece 0 runs"]),
        ]);
        let lines = stage.play(function, &["2"], 2);
        let (waits, root) = find(&lines, "root waits");
        let (goes_on, _) = find(&lines, "root goes on");
        let (_, family) = find(&lines, "family runs");
        assert!(!lines.iter().any(|(line, _)| line == "late"), "two workers work at once: {lines:?}");
        assert_ne!(root, family, "the family was stolen: {lines:?}");
        let between = &lines[waits + 1..goes_on];
        assert!(
            between.iter().any(|(line, worker)| line.starts_with("piece") && *worker == root),
            "the root's worker takes a piece while the root waits: {lines:?}"
        );
    }
}

/// The root's worker takes a stranger while the root waits, and the stranger waits for a job that cannot end
/// before the root continues. On top of the root's stack, it would bury the root for ever.
#[test]
fn a_waiting_job_is_not_buried_under_a_stranger_that_waits_longer() {
    let stage = Stage::new(&[
        ("root waits", &["wanted runs", "other runs"]),
        ("other runs", &["stranger runs"]),
        ("stranger waits", &["inner runs"]),
        ("wanted runs", &["inner runs"]),
        ("inner runs", &["root goes on"]),
    ]);
    let lines = stage.play("wait_beside_a_stranger", &[], 3);
    assert!(!lines.iter().any(|(line, _)| line == "late"), "somebody is stuck: {lines:?}");
    let (_, root) = find(&lines, "root waits");
    let (_, stranger) = find(&lines, "stranger runs");
    assert_eq!(root, stranger, "the only free worker is the root's: {lines:?}");
    assert!(find(&lines, "root goes on").0 < find(&lines, "stranger ends").0, "{lines:?}");
}

/// Far more waits at once than there are instances: neither a deadlock nor an error.
#[test]
fn more_waiting_jobs_than_instances_work() {
    gives_everywhere("many_waits", &["40", "40"], 1600);
}
