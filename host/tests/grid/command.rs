//! The command, as a process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

pub fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sateen-host"));
    command
        .arg("--data-dir")
        .arg(folder)
        .args(words)
        .env_remove("SATEEN_COORDINATOR")
        .env_remove("SATEEN_LOG");
    command
}

pub fn run(folder: &Path, words: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command(folder, words).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    (status.code().expect("no signal"), text(stdout), text(stderr))
}

/// A host that ends with its test.
pub struct Host {
    child: Child,
    log: std::io::Lines<BufReader<std::process::ChildStderr>>,
    seen: Vec<String>,
}

impl Host {
    pub fn start(folder: &Path, words: &[&str]) -> Self {
        Self::of(command(folder, words))
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let log = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        Self { child, log, seen: Vec::new() }
    }

    /// Waits until this many lines have the text, and returns the last of them.
    pub fn line_with(&mut self, text: &str, times: usize) -> String {
        loop {
            if let Some(line) = self.seen.iter().filter(|line| line.contains(text)).nth(times - 1) {
                return line.clone();
            }
            match self.log.next() {
                Some(Ok(line)) => self.seen.push(line),
                _ => panic!("it ended without a line that has {text:?}: {:?}", self.seen),
            }
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nobody listens there: port 9 of loopback is refused at once.
pub const NOBODY: &str = "http://127.0.0.1:9";

#[test]
fn a_host_without_coordinator_says_so_and_continues() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("data");
    let mut host = Host::start(&folder, &["--coordinator", NOBODY, "--site", "attic", "--name", "old"]);
    let line = host.line_with("cannot reach the coordinator", 1);
    assert!(line.contains(NOBODY) && line.contains("--coordinator"), "{line}");

    let (code, text, _) = run(&folder, &["status"]);
    assert!(
        code == 0 && text.contains("old") && text.contains("attic") && text.contains("refused"),
        "{text}"
    );
    let (_, json, _) = run(&folder, &["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((&status["site"], &status["id"]), (&"attic".into(), &serde_json::Value::Null));

    let (code, _, said) = run(&folder, &["--coordinator", NOBODY]);
    assert!(code == 4 && said.contains("in use") && said.contains("--data-dir"), "{said}");
    let owner = host.child.id().to_string();
    assert!(said.contains(&owner) && said.contains(&*folder.to_string_lossy()), "{said}");

    let (code, _, said) = run(&folder, &["pause", "30m"]);
    assert_eq!(code, 0, "{said}");
    let last = said.lines().last().unwrap_or_default();
    let until = last.strip_prefix("sateen-host: paused by you until ").unwrap_or_else(|| panic!("{said}"));
    // `17:30`; before midnight with the date.
    assert!([5, 16].contains(&until.len()) && until.as_bytes()[until.len() - 3] == b':', "{said}");
    assert!(run(&folder, &["status"]).1.contains(&format!("paused by you until {until}")), "{said}");
    let (_, json, _) = run(&folder, &["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert!(
        status["paused"].as_str().is_some_and(|why| why.ends_with('Z') && why.contains("until 20")),
        "{json}"
    );
    assert!(status["paused_until_s"].as_u64().is_some_and(|until| until > 1_700_000_000), "{json}");
    assert_eq!(run(&folder, &["resume"]).0, 0);
    assert!(run(&folder, &["status"]).1.contains("takes work"));
    // It was said to take work again.
    let (code, _, said) = run(&folder, &["resume"]);
    assert!(code == 0 && said.contains("you had not paused it; it takes work"), "{said}");
    assert_eq!(run(&folder, &["pause", "1s"]).0, 0);
    host.line_with("takes work again", 2);

    let (code, _, said) = run(&folder, &["leave"]);
    assert!(code == 0 && said.contains("left"), "{said}");
    let ended =
        host.child.try_wait().expect("it is ours").expect("its process is gone when the command returns");
    assert_eq!(ended.code(), Some(0));
    let (code, _, said) = run(&folder, &["status"]);
    assert!(code == 4 && said.contains("no sateen-host runs"), "{said}");
}

/// It was refused: a process that is killed keeps its lock until its memory is freed.
#[test]
fn the_folder_of_a_host_that_was_just_killed_can_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    for _ in 0..3 {
        let mut host = Host::start(folder.path(), &["--coordinator", NOBODY]);
        host.line_with("cannot reach the coordinator", 1);
        host.child.kill().expect("it runs");
        let mut next = Host::start(folder.path(), &["--coordinator", NOBODY]);
        next.line_with("cannot reach the coordinator", 1);
    }
}

#[test]
fn a_host_with_little_memory_says_so_and_a_signal_makes_it_leave() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut host = Host::start(&folder.path().join("data"), &["--coordinator", NOBODY, "--memory", "300M"]);
    let line = host.line_with("refuses runs with default limits", 1);
    assert!(line.contains("300 MiB") && line.contains("--memory 1024M"), "{line}");
    host.line_with("cannot reach", 1);
    let killed = Command::new("kill").args(["-TERM", &host.child.id().to_string()]).status();
    assert!(killed.expect("kill is there").success());
    assert_eq!(host.child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn wrong_words_are_named_and_cost_exit_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    for (words, said) in [
        (&["--threads", "none"][..], "--threads"),
        (&["--coordinator", "ftp://grid"], "ftp://grid"),
        (&["--direct", "nowhere"], "--direct"),
        (&["--direct", "192.0.2.1:1", "--coordinator", NOBODY], "192.0.2.1:1"),
        (&["pause", "soon"], "soon"),
        (&["dance"], "dance"),
    ] {
        let (code, stdout, stderr) = run(&folder.path().join("data"), words);
        assert_eq!((code, stdout.as_str()), (2, ""), "{words:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.trim_end().lines().count() == 1, "{words:?}: {stderr}");
    }
}

#[test]
fn folders_that_are_not_its_own_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("version"), "7000\n").expect("written");
    let (code, _, said) = run(folder.path(), &["--coordinator", NOBODY]);
    assert!(code == 2 && said.contains("newer") && said.contains("7000"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 1);
}

#[test]
fn where_nothing_can_be_written_it_works_without() {
    let mut host = Host::start(Path::new("/proc/sateen-test"), &["--coordinator", NOBODY]);
    let line = host.line_with("nothing is saved", 1);
    assert!(line.contains("/proc/sateen-test"), "{line}");
    host.line_with("cannot reach", 1);
}

#[test]
fn the_self_test_says_what_it_found_and_a_host_runs_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("data");
    let (code, text, said) = run(&folder, &["self-test"]);
    assert_eq!(code, 0, "{said}");
    let checks: Vec<_> = text.lines().filter_map(|line| line.split_once(" right, in ")).collect();
    let names: Vec<_> = checks.iter().map(|(name, _)| name.trim()).collect();
    assert_eq!(names, ["integer", "float", "simd", "memory"], "{text}");
    let (_, json, _) = run(&folder, &["self-test", "--json"]);
    let outcome: serde_json::Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((&outcome["is_fit"], outcome["checks"].as_array().map(Vec::len)), (&true.into(), Some(4)));
    let mut host = Host::start(&folder, &["--coordinator", NOBODY]);
    host.line_with("the self-test found nothing wrong", 1);
}
