//! `sateen watch`, on a terminal and without one.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sateen_tests::cluster::{Cluster, PATIENCE, SOON, until};
use sateen_tests::command::{app, sateen};
use serde_json::{Value, json};

const QUEENS: (&str, &[&str], &str) = ("nqueens", &["16"], "14772512\n");

/// A command on its own terminal, made by `script`.
pub struct OnTerminal {
    child: Child,
    shown: Arc<Mutex<String>>,
}

impl OnTerminal {
    /// Runs `words` in a shell whose terminal has `rows` lines and `columns` columns.
    pub fn start(cluster: &Cluster, rows: u32, columns: u32, words: &str) -> Self {
        let line = format!(
            "stty rows {rows} cols {columns}; {words}; echo \"code $?, $(stty -a | grep -o -- '-\\?icanon')\""
        );
        let mut command = Command::new("script");
        command.args(["-qfec", &line, "/dev/null"]);
        command.env("SATEEN_COORDINATOR", format!("http://{}", cluster.address())).env("TERM", "xterm");
        command.env("SATEEN", sateen()).env_remove("NO_COLOR");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("util-linux has `script`");
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut out, into) = (child.stdout.take().expect("piped"), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                into.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        Self { child, shown }
    }

    fn shown(&self) -> String {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[track_caller]
    fn await_text(&self, text: &str) {
        until(&format!("{text:?} on the terminal; it shows {:?}", self.shown()), PATIENCE, || {
            self.shown().contains(text).then_some(())
        });
    }

    fn press(&mut self, keys: &[u8]) {
        self.child.stdin.as_mut().expect("piped").write_all(keys).expect("it reads");
    }

    /// The output, after it ended by itself.
    pub fn ended(mut self) -> String {
        until("the view is gone", PATIENCE, || self.child.try_wait().expect("a child"));
        // The rest of its output is read by then, or soon.
        until("the shell's last line", SOON, || self.shown().contains("icanon").then_some(()));
        self.shown()
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that a view uses only its allowed terminal codes.
#[track_caller]
fn assert_only_own_codes(shown: &str) {
    for code in shown.split('\u{1b}').skip(1) {
        let own = code.strip_prefix('[').is_some_and(|code| {
            let end = code.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
            "HKJmhl".contains(&code[end..=end])
        });
        assert!(own, "{code:?}");
    }
    assert!(!shown.contains('\u{7}'), "it rang the bell");
}

#[test]
fn a_run_is_watched_to_its_end() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    let view = OnTerminal::start(&cluster, 30, 100, &format!("$SATEEN watch {run} --every 100ms"));
    view.await_text("Hosts (2)");
    cluster.await_work(run, &["ada", "bob"], 0.2);
    let root = cluster.root_host(run);
    cluster.kill_host(if root == "ada" { "bob" } else { "ada" });
    view.await_text("was given up");
    cluster.done(run, QUEENS.2);
    let shown = view.ended();
    // The screen and the keyboard are restored.
    let (_, after) = shown.rsplit_once("\u{1b}[?1049l").expect("it left the screen");
    assert!(after.contains(&format!("run {run} done")) && after.contains("code 0, icanon"), "{after:?}");
    assert_only_own_codes(&shown);
}

#[test]
fn the_view_follows_the_terminals_size_and_ends_with_q() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let run = cluster.submit("nqueens", &["17"]);
    let resize = "(sleep 2; stty rows 12 cols 40 < /dev/tty) &";
    let mut view =
        OnTerminal::start(&cluster, 30, 100, &format!("{resize} $SATEEN watch {run} --every 100ms"));
    view.await_text("\u{1b}[30;1H");
    view.await_text("q quits; the run continues");
    until("it is drawn for the smaller terminal", SOON, || {
        let shown = view.shown();
        let last = shown.rsplit("\u{1b}[?2026h").nth(1)?.to_owned();
        (last.contains("\u{1b}[12;1H") && !last.contains("\u{1b}[13;1H")).then_some(())
    });
    // Codes of other keys do not end the view.
    view.press(b"\x1b[A");
    std::thread::sleep(Duration::from_millis(300));
    view.press(b"q");
    let shown = view.ended();
    assert!(shown.contains("code 0, icanon"), "{shown:?}");
    assert_eq!(cluster.api().run(run)["state"], "running");
    assert_eq!(cluster.sateen(["cancel".to_owned(), run.to_string()]).code, Some(0));

    let mut view = OnTerminal::start(&cluster, 24, 80, "$SATEEN watch --every 100ms");
    view.await_text("1 host, ");
    view.await_text("cancelled");
    view.press(&[3]);
    let shown = view.ended();
    assert!(shown.contains("code 130, icanon"), "{shown:?}");
}

#[test]
fn without_a_terminal_it_writes_lines_and_its_exit_code_is_the_runs() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let run = cluster.submit("fib", &["30"]);
    cluster.done(run, "832040\n");
    let ended = cluster.sateen(["watch".to_owned(), run.to_string()]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(
        ended.text().contains(&format!("run {run} done")) && !ended.text().contains('\u{1b}'),
        "{ended:?}"
    );

    let object: Value = cluster.sateen(["watch".to_owned(), run.to_string(), "--json".to_owned()]).json();
    assert_eq!((&object["run"], &object["state"]), (&json!(run), &json!("done")));

    let module = sateen_tests::probe::module_path().display().to_string();
    let submitted = cluster.sateen(["submit", &module, "--function", "panic_in_root"]);
    let run = submitted.text().trim().to_owned();
    let ended = cluster.sateen(["watch", run.as_str()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.text().contains(&format!("run {run} failed")) && ended.stderr.contains("panic"),
        "{ended:?}"
    );

    cluster.sateen(["watch", "4711"]).fails_with(2, &["4711"]);

    // Its reader closes the pipe, as `head` does, and nothing is written any more.
    let mut command = cluster.sateen_command(["watch", "--every", "20ms"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut [0]).expect("it writes a line");
    drop(stdout);
    let status = until("it ends", SOON, || child.try_wait().expect("it was started"));
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn a_coordinator_that_stops_is_reported_and_waited_for() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada"], 0.1);
    let mut command =
        cluster.sateen_command(["watch".to_owned(), run.to_string(), "--every".into(), "100ms".into()]);
    let log = cluster.folder().join("watch.txt");
    command.stdout(std::fs::File::create(&log).expect("a file"));
    let mut child = command.spawn().expect("it starts");
    let said = || std::fs::read_to_string(&log).unwrap_or_default();
    until("it says how the run goes", SOON, || said().contains("running").then_some(()));
    cluster.kill_coordinator();
    until("it says that the coordinator is gone", SOON, || said().contains("trying again").then_some(()));
    cluster.start_coordinator();
    until("it says that it is back", SOON, || said().contains("answers again").then_some(()));
    cluster.done(run, QUEENS.2);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(0), "{}", said());

    cluster.kill_coordinator();
    cluster.sateen(["watch"]).fails_with(4, &["no coordinator answers"]);
}

/// Texts of an app, its arguments and a host's name are shown, without controlling the terminal.
#[test]
fn hostile_text_is_defused() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with("evil\u{202e}name", "here", &url, &[]);
    cluster.await_hosts(1);
    // Its first argument is any text, which the app itself refuses when the run has begun.
    let module = app("barneshut").display().to_string();
    assert_eq!(cluster.sateen(["publish", module.as_str()]).code, Some(0));
    let body = json!({"app": "barneshut", "arguments": ["14\u{1b}]0;owned\u{7}\u{1b}[2J\n", "1"]});
    let response = ureq::post(format!("{url}/api/v1/runs")).send(body.to_string().as_bytes());
    let run: Value =
        serde_json::from_str(&response.expect("accepted").body_mut().read_to_string().expect("text"))
            .expect("JSON");
    let view = OnTerminal::start(&cluster, 40, 120, &format!("$SATEEN watch {}", run["run"]));
    let shown = view.ended();
    assert!(shown.contains("\\u{1b}]0;owned\\u{7}"), "{shown:?}");
    assert!(!shown.contains('\u{202e}'), "{shown:?}");
    assert_only_own_codes(&shown);
    let shown = cluster.sateen(["watch".to_owned(), run["run"].to_string()]);
    assert!(shown.code == Some(2) && !shown.text().replace('\n', "").contains(char::is_control), "{shown:?}");
}

/// Every command uses the public API, and nothing else.
#[test]
fn commands_use_the_public_api_alone() {
    fn look(folder: &std::path::Path, found: &mut usize) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if entry.is_dir() {
                look(&entry, found);
                continue;
            }
            let text = std::fs::read_to_string(&entry).expect("a source");
            for (at, _) in text.match_indices("\"/") {
                let path = text[at + 1..].split('"').next().unwrap_or_default();
                // `/version` is how any of its releases says which one it is.
                assert!(
                    path.starts_with("/api/v1/") || path == "/version",
                    "{} asks for {path}",
                    entry.display()
                );
                *found += 1;
            }
        }
    }
    let mut found = 0;
    look(&sateen_tests::root().join("cli/src/grid"), &mut found);
    assert!(found > 15, "{found}");
}
