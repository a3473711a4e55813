//! Ctrl-C and termination.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use sateen_tests::command::{probe_command, signal};

/// Starts `function`, waits until it logs that it has begun, sends the signal, and returns the exit code
/// with the output on stdout and stderr since then.
#[track_caller]
fn interrupted(function: &str, more: &[&str], name: &str) -> (Option<i32>, String, String) {
    let mut command = probe_command(function, more);
    command.process_group(0);
    let mut child = command.spawn().expect("the command can be started");
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("it says that it has begun");
    assert!(line.ends_with("begun\n"), "{line}");
    std::thread::sleep(Duration::from_millis(50));

    let sent = Instant::now();
    signal(&child, name);
    let status = child.wait().expect("it ends");
    let took = sent.elapsed();
    // A single instruction that writes a gibibyte takes a while.
    let patience = Duration::from_secs(if function == "fill_for_ever" { 2 } else { 1 });
    assert!(took < patience, "{function} took {took:?} to end");

    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().expect("it is piped").read_to_string(&mut out).expect("stdout is text");
    stderr.read_to_string(&mut err).expect("stderr is text");
    let group = format!("-{}", child.id());
    let left = Command::new("kill").args(["-0", "--", &group]).output().expect("kill can be started");
    assert!(!left.status.success(), "something is left running");
    (status.code(), out, err)
}

#[test]
fn an_interrupted_run_ends_at_once_with_130() {
    for (function, more) in [
        ("begin_for_ever", &["--threads", "1"][..]),
        ("begin_for_ever", &["--threads", "8"]),
        ("begin_waiting_for_ever", &["--threads", "2"]),
        ("begin_waiting_for_ever", &["--pristine"]),
        ("fill_for_ever", &["900"]),
    ] {
        for name in ["INT", "TERM"] {
            let ended = interrupted(function, more, name);
            assert_eq!(
                ended,
                (Some(130), String::new(), "sateen: cancelled\n".to_owned()),
                "{function} {more:?}"
            );
        }
    }
}

#[test]
fn an_interrupted_run_says_so_in_json() {
    let (code, out, err) = interrupted("begin_for_ever", &["--json"], "INT");
    assert_eq!((code, err.as_str()), (Some(130), "sateen: cancelled\n"));
    let object: serde_json::Value = serde_json::from_str(&out).expect("stdout is JSON");
    assert_eq!(object["error"]["exit_code"], 130);
}

#[test]
fn an_interrupted_run_leaves_no_output_file() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("result");
    let (code, ..) = interrupted("begin_for_ever", &["--output", &path.display().to_string()], "INT");
    assert_eq!(code, Some(130));
    assert!(!path.exists());
}
