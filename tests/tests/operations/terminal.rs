//! Results that would control a terminal: escaped on a terminal, unchanged in a pipe.

use sateen_protocol::{MainOutcome, Outcome};
use sateen_tests::cluster::{Cluster, binary};
use sateen_tests::command::app;
use sateen_tests::forged_host::ForgedHost;

use crate::watch::OnTerminal;

const HOSTILE: &str = "one\u{1b}[2J\u{1b}]0;owned\u{7}\ntwo\r\u{202e}three\u{9b}31m\tfour\n";

fn finish(cluster: &Cluster, host: &mut ForgedHost, outcome: &MainOutcome) -> u64 {
    let run = cluster.submit("fib", &["5"]);
    let (given, number) = host.take_root();
    host.finish(given, number, Outcome::Done(postcard::to_allocvec(outcome).expect("encodes").into()));
    host.await_acknowledgement(given);
    run
}

#[test]
fn a_hostile_result_does_not_control_a_terminal() {
    let mut cluster = Cluster::start(&[]);
    cluster.excuse("a forged host says how long it worked, and reports no worker's time");
    let (mut host, _) = ForgedHost::join(&cluster.address().to_string(), "forged");
    let text = finish(&cluster, &mut host, &MainOutcome::Text(HOSTILE.to_owned()));
    let mut bytes = HOSTILE.as_bytes().to_vec();
    bytes.extend([0xff, 0xfe, b'\n']);
    let binary = finish(&cluster, &mut host, &MainOutcome::Bytes(bytes.clone()));

    // In a pipe, it is the app's result.
    assert_eq!(cluster.sateen(["result", &text.to_string()]).stdout, HOSTILE.as_bytes());
    assert_eq!(cluster.sateen(["result", &binary.to_string()]).stdout, bytes);
    // A string of JSON has the same value with escapes, and a pipe may lead to a terminal.
    let ended = cluster.sateen(["result", "--json", &text.to_string()]);
    assert!(!ended.text().contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}']), "{ended:?}");
    assert_eq!(ended.json()["result"], HOSTILE);

    for command in ["result", "result --json", "status", "wait"] {
        for run in [text, binary] {
            // A progress bar moves the cursor itself, and is not checked.
            let line = format!("$SATEEN {command} {run} 2>/dev/null");
            let shown = OnTerminal::start(&cluster, 30, 200, &line).ended();
            let (shown, _) = shown.rsplit_once("code ").expect("the shell's last line");
            for hidden in ['\u{1b}', '\u{7}', '\u{202e}', '\u{9b}'] {
                assert!(!shown.contains(hidden), "{command} {run}: {shown:?}");
            }
            let steers = shown.replace("\r\n", "").contains('\r');
            assert!(!steers, "{command} {run}: {shown:?}");
        }
    }
    let shown = OnTerminal::start(&cluster, 30, 200, &format!("$SATEEN result {text}")).ended();
    assert!(shown.contains("one\\u{1b}[2J") && shown.contains("two\\r\\u{202e}three"), "{shown:?}");
    let shown = OnTerminal::start(&cluster, 30, 200, &format!("$SATEEN result --json {text}")).ended();
    assert!(shown.contains("\\u001b[2J") && shown.contains("\\u202ethree\\u009b"), "{shown:?}");
}

#[test]
fn forty_columns_are_enough() {
    let cluster = Cluster::start(&[("a-volunteer-with-a-long-name", "here")]);
    let run = cluster.submit("fib", &["25"]);
    cluster.done(run, "75025\n");
    for (command, words) in [
        (format!("status {run}"), "state        done"),
        (format!("tree {run}"), "main"),
        ("hosts".to_owned(), "NAME"),
        ("ps --all".to_owned(), "STATE"),
        ("apps".to_owned(), "fib"),
        (format!("check {}", app("fib").display()), "verdict"),
    ] {
        let whole = cluster.sateen(command.split(' '));
        is_shown(&cluster, &format!("$SATEEN {command}"), words, whole.text());
    }
    let folder = cluster.data_folder("a-volunteer-with-a-long-name").display().to_string();
    let whole = cluster.tell_host("a-volunteer-with-a-long-name", &["status"]);
    let command = format!("{} status --data-dir {folder}", binary("sateen-host").display());
    is_shown(&cluster, &command, "state     takes work", whole.text());
}

/// In a terminal of forty columns, a command shows all words that it prints to a pipe, except numbers, which change.
#[track_caller]
fn is_shown(cluster: &Cluster, command: &str, words: &str, whole: &str) {
    let shown = OnTerminal::start(cluster, 60, 40, command).ended();
    let (shown, _) = shown.rsplit_once("code ").expect("the shell's last line");
    assert!(shown.contains(words), "{command}: {shown}");
    let all: String = shown.split_whitespace().collect();
    // Headings of columns without a cell are left out.
    let is_stable = |word: &&str| word.contains(char::is_lowercase) && !word.contains(char::is_numeric);
    for word in whole.split_whitespace().filter(is_stable) {
        assert!(all.contains(word), "{command}: `{word}` is lost in {shown}");
    }
    for line in shown.lines() {
        assert!(line.trim_end().chars().count() <= 40, "{command}: {line:?} of {shown}");
    }
}
