//! Apps that fail (exit code 1) or exceed a limit (3), and the option that raises it.

use std::time::Duration;

use sateen_tests::command::run_probe;

#[test]
fn a_guest_that_panics_or_traps_or_returns_an_error() {
    for threads in ["1", "2"] {
        let more = ["7", "--threads", threads];
        let place = "job `fragile` failed: job 7 is told to fail, at ";
        run_probe("panic_passes", &more).fails_with(1, &[place]);
        run_probe("error_text", &more).fails_with(1, &["7 is odd"]);
    }
    run_probe("panic_in_root", &[])
        .fails_with(1, &["job `panic_in_root` failed: the root fails; in two lines"]);
    run_probe("trap", &[]).fails_with(1, &["job `trap` failed: trap: ", "unreachable"]);
    run_probe("panic_passes", &["7", "--pristine"]).fails_with(1, &["job `fragile` failed"]);
}

#[test]
fn a_failed_guests_stack_is_shown_on_request() {
    let ended = run_probe("panic_passes", &["7", "--verbose"]);
    assert_eq!(ended.code, Some(1));
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(
        lines[0].starts_with("sateen: job `fragile` failed") && lines[1].contains("failures::fragile"),
        "{ended:?}"
    );
    assert!(lines[1..].iter().all(|line| line.starts_with("    in ")), "{ended:?}");
}

#[test]
fn messages_of_guests_cannot_forge_lines() {
    run_probe("fail_control", &[]).fails_with(1, &["one; sateen: forged\\r\\u{1b}[2J\\u{7}two"]);
    run_probe("panic_control", &[]).fails_with(1, &["one; sateen: forged\\r\\u{1b}[2J\\u{7}two"]);
}

#[test]
fn recursion_for_ever() {
    run_probe("recurse_for_ever", &[]).fails_with(3, &["stack of 64 MiB", "raise it with --stack"]);
    run_probe("recurse_for_ever", &["--stack", "1M"]).fails_with(3, &["stack of 1 MiB"]);
    run_probe("recurse_in_memory_for_ever", &[]).fails_with(3, &["raise it with `sateen build --stack`"]);
    run_probe("spawn_deeper_for_ever", &["--threads", "2"]).fails_with(3, &["raise it with"]);
}

#[test]
fn skewed_recursion_works_100_000_deep_and_more_with_more_stack() {
    assert_eq!(run_probe("skewed", &["100000"]).result(), "5000050000\n");
    run_probe("skewed", &["100000", "--stack", "1M"]).fails_with(3, &["raise it with --stack"]);
    run_probe("skewed", &["3000000"]).fails_with(3, &["raise it with"]);
    assert_eq!(run_probe("skewed", &["3000000", "--stack", "1G"]).result(), "4500001500000\n");
}

#[test]
fn loops_for_ever() {
    for function in ["loop_for_ever", "wait_for_ever", "spawn_and_sync_for_ever"] {
        let timed = run_probe(function, &["--time-limit", "300ms"]);
        timed.fails_with(3, &["longer than 0.3 s", "raise it with --time-limit"]);
        assert!(timed.took < Duration::from_secs(10), "{timed:?}");
        run_probe(function, &["--cpu-limit", "300ms"])
            .fails_with(3, &["0.3 s of processor time", "--cpu-limit"]);
    }
    // A single instruction that writes a gibibyte cannot be stopped; the process still ends.
    let filling = run_probe("fill_for_ever", &["900", "--time-limit", "500ms", "--quiet"]);
    filling.fails_with(3, &["raise it with --time-limit"]);
}

#[test]
fn ten_gibibytes_and_a_gibibyte_returned() {
    run_probe("allocate", &["10"]).fails_with(3, &["more memory than a 32-bit guest can address"]);
    run_probe("grow", &["10"])
        .fails_with(3, &["asked for 10 GiB of memory and the limit is 1 GiB", "raise it with --memory"]);
    run_probe("allocate", &["1"]).fails_with(3, &["raise it with --memory"]);
    run_probe("large_output", &["1024"]).fails_with(3, &["asked for", "raise it with --memory"]);
    run_probe("large_output", &["1024", "--memory", "3G"])
        .fails_with(3, &["is 1 GiB", "raise it with --max-output"]);
}

#[test]
fn limits_can_be_raised() {
    let vector = 1_u64 << 27;
    assert_eq!(run_probe("allocate", &["1", "--memory", "4G"]).result(), format!("{vector}\n"));
    let large = run_probe("large_output", &["100", "--max-output", "200M"]);
    assert_eq!((large.code, large.stdout.len()), (Some(0), 100 << 20), "{}", large.stderr);
}

#[test]
fn spawning_for_ever() {
    run_probe("spawn_wider_for_ever", &["--memory", "64M"]).fails_with(3, &["raise it with --memory"]);
    run_probe("spawn_wider_for_ever", &["--threads", "1", "--memory", "64M"])
        .fails_with(3, &["raise it with --memory"]);
}

#[test]
fn attempts_nested_for_ever() {
    run_probe("attempted_chain", &["1000000"]).fails_with(3, &["`sateen run --attempts` raises the limit"]);
    assert_eq!(run_probe("attempted_chain", &["3000", "--attempts", "4000"]).result(), "3000\n");
    // More than the system maps at once for one pool.
    assert_eq!(run_probe("attempted_chain", &["3000", "--attempts", "100000"]).result(), "3000\n");
}

#[test]
fn very_many_threads_work() {
    assert_eq!(run_probe("balanced", &["20", "--threads", "1024"]).result(), "6765\n");
}

#[test]
fn little_address_space_is_enough_for_an_app_that_needs_little() {
    let probe = sateen_tests::probe::module_path().display().to_string();
    let sateen = sateen_tests::command::sateen().display().to_string();
    let script =
        format!("ulimit -v 4000000; {sateen} run {probe} --function balanced 20 --threads 1 --memory 64M");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ended = sateen_tests::command::ended(command);
    assert_eq!((ended.code, ended.text()), (Some(0), "6765\n"), "{ended:?}");
}
