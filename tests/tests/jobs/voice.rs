//! Inputs, outputs, log and progress.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sateen_host::{LogLine, Output, Run, RunError, RunOptions};
use sateen_tests::grid::{SETTINGS, Setting, call, call_logging, finish, shared, usual};

fn logged(function: &str, argument: &str, setting: Setting) -> (Vec<LogLine>, u64) {
    let lines: Arc<Mutex<Vec<LogLine>>> = Arc::default();
    let log = {
        let lines = lines.clone();
        Arc::new(move |line| lines.lock().expect("nobody panics with the lock").push(line))
    };
    let finished = call_logging(&usual(), function, &[argument], setting, log).expect("it runs");
    let lines = std::mem::take(&mut *lines.lock().expect("nobody panics with the lock"));
    (lines, finished.log_lines_dropped)
}

#[test]
fn every_line_of_every_job_is_logged_once() {
    for setting in SETTINGS {
        let (lines, dropped) = logged("log_from_jobs", "100", setting);
        let texts: BTreeSet<String> = lines.iter().map(|line| line.text.clone()).collect();
        assert_eq!((lines.len(), texts.len(), dropped), (100, 100, 0), "with {setting:?}");
    }
}

#[test]
fn a_million_lines_are_cut_off_and_the_rest_is_counted() {
    let (lines, dropped) = logged("log_lines", "1000000", shared(1));
    assert_eq!((lines.len(), dropped), (100_000, 900_000));
}

#[test]
fn a_long_line_is_cut_at_its_limit() {
    let (lines, _) = logged("log_long", "100001", shared(1));
    let text = &lines[0].text;
    assert!(text.len() <= (8 << 10) + 8 && text.ends_with('…'), "{} bytes", text.len());
}

#[test]
fn progress_is_seen_from_outside_and_never_beyond_its_total() {
    let options = RunOptions {
        function: "report".to_owned(),
        arguments: vec!["200".to_owned()],
        ..RunOptions::default()
    };
    let run = Run::start(&usual(), options).expect("it starts");
    let mut seen = BTreeSet::new();
    while !run.wait_for(Duration::from_millis(1)) {
        seen.extend(run.snapshot().progress);
    }
    seen.extend(run.snapshot().progress);
    assert!(seen.len() > 2, "several steps are seen: {seen:?}");
    assert!(seen.iter().all(|(done, total)| done <= total && *total == 200), "{seen:?}");
    finish(run).expect("it ends well");
}

fn with_inputs(
    function: &str,
    inputs: &[(&str, &[u8])],
    setting: Setting,
) -> Result<sateen_host::Finished, RunError> {
    let inputs: BTreeMap<String, Vec<u8>> =
        inputs.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    let arguments = if function == "read_input" { vec!["6".to_owned()] } else { Vec::new() };
    finish(Run::start(
        &usual(),
        RunOptions {
            function: function.to_owned(),
            arguments,
            inputs,
            threads: setting.threads,
            pristine: setting.pristine,
            ..RunOptions::default()
        },
    )?)
}

#[test]
fn every_job_reads_the_same_inputs() {
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let mut all = BTreeSet::new();
    for setting in SETTINGS {
        let finished =
            with_inputs("read_input", &[("data", &bytes), ("extra", b"")], setting).expect("it runs");
        let Output::Text(text) = finished.output else { panic!("it returns text") };
        assert!(text.starts_with("1000000 bytes, ") && text.ends_with(", same: true"), "{text}");
        assert_eq!(finished.unread_inputs, ["extra"]);
        all.insert(text);
    }
    assert_eq!(all.len(), 1, "{all:?}");
    let empty = with_inputs("read_input", &[("data", b"")], shared(2)).expect("an empty input is one");
    assert!(matches!(empty.output, Output::Text(text) if text.starts_with("0 bytes, ")));
}

#[test]
fn inputs_that_are_missing_or_no_text_are_bad_input() {
    let missing = with_inputs("read_text", &[], shared(1)).map(|_| ());
    assert!(matches!(missing, Err(RunError::BadInput(why)) if why.contains("--input text=FILE")));
    let binary = with_inputs("read_text", &[("text", b"ab\xff")], shared(1)).map(|_| ());
    assert!(
        matches!(binary, Err(RunError::BadInput(why)) if why.contains("line 1: text in UTF-8 is expected, and byte 2 "))
    );
}

#[test]
fn outputs_are_text_or_bytes_as_they_are() {
    let output = |function, arguments: &[&str]| {
        call(&usual(), function, arguments, shared(1)).expect("it runs").output
    };
    assert_eq!(output("text", &["a", "", "b"]), Output::Text("a  b".to_owned()));
    assert_eq!(output("bytes", &["2"]), Output::Bytes((0..=255).cycle().take(512).collect()));
    assert_eq!(output("silence", &[]), Output::Bytes(Vec::new()));
    assert_eq!(output("literal", &[]), Output::Text("as it stands".to_owned()));
}

#[test]
fn arguments_are_parsed_as_their_types() {
    let words = ["18446744073709551615", "-7", "1e3", "true", "ß", "two words", "1", "255"];
    let given = call(&usual(), "arguments", &words, shared(1)).expect("they fit");
    let expected = "18446744073709551615 -7 1000 true ß two words [1, 255]";
    assert_eq!(given.output, Output::Text(expected.to_owned()));
}

#[test]
fn parameters_may_have_any_name() {
    let given = call(&usual(), "echo", &["a", "b", "c"], shared(1)).expect("they fit");
    assert_eq!(given.output, Output::Text("a b c".to_owned()));
}
