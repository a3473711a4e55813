//! What an app logs goes to stderr, a line at a time.

use sateen_tests::command::run_probe;

#[test]
fn each_line_names_its_job() {
    let ended = run_probe("log_from_jobs", &["3"]);
    assert_eq!((ended.code, ended.text()), (Some(0), "3\n"));
    assert_eq!(ended.stderr.lines().count(), 3, "{ended:?}");
    for n in 0..3 {
        // In place, a job's line is that of the instance which it runs in.
        let texts = [format!("[speak] line {n}"), format!("[log_from_jobs] line {n}")];
        assert!(ended.stderr.lines().any(|line| texts.iter().any(|text| text == line)), "{ended:?}");
    }
}

#[test]
fn quiet_means_quiet() {
    let ended = run_probe("log_from_jobs", &["3", "--quiet"]);
    assert_eq!(ended.result(), "3\n");
}

#[test]
fn a_line_of_the_log_cannot_pass_for_ours_or_steer_a_terminal() {
    let ended = run_probe("log_control", &[]);
    assert_eq!(ended.stderr, "[log_control] one\n[log_control] sateen: forged\\r\\u{1b}[2J\\u{7}two\n");
}

#[test]
fn a_million_lines_are_cut_off_and_that_is_told() {
    let ended = run_probe("log_lines", &["1000000"]);
    assert_eq!((ended.code, ended.text()), (Some(0), "1000000\n"));
    let last = ended.stderr.lines().last();
    assert_eq!(last, Some("sateen: 900000 more lines of the app's log were dropped"));
    assert_eq!(ended.stderr.lines().count(), 100_001);
}

/// No terminal, no progress.
#[test]
fn progress_is_shown_to_nobody_but_a_terminal() {
    assert_eq!(run_probe("report", &["100"]).result(), "100\n");
}
