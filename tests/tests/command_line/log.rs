//! An app's log goes to stderr, a line at a time.

use sateen_tests::command::run_probe;

#[test]
fn each_line_names_its_job() {
    let ended = run_probe("log_from_jobs", &["3"]);
    assert_eq!((ended.code, ended.text()), (Some(0), "3\n"));
    assert_eq!(ended.stderr.lines().count(), 3, "{ended:?}");
    for n in 0..3 {
        // The line of a job in place is attributed to its instance.
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
fn a_log_line_cannot_imitate_sateens_lines_or_control_a_terminal() {
    let ended = run_probe("log_control", &[]);
    assert_eq!(ended.stderr, "[log_control] one\n[log_control] sateen: forged\\r\\u{1b}[2J\\u{7}two\n");
}

#[test]
fn a_million_lines_are_cut_off_and_the_rest_is_reported() {
    let ended = run_probe("log_lines", &["1000000"]);
    assert_eq!((ended.code, ended.text()), (Some(0), "1000000\n"));
    let last = ended.stderr.lines().last();
    assert_eq!(last, Some("sateen: 900000 more lines of the app's log were dropped"));
    assert_eq!(ended.stderr.lines().count(), 100_001);
}

/// Without a terminal, progress is not shown.
#[test]
fn progress_is_shown_only_on_a_terminal() {
    assert_eq!(run_probe("report", &["100"]).result(), "100\n");
}
