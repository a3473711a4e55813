//! stdout carries the result and nothing else, whatever its reader.

use std::fs::{File, OpenOptions};
use std::io::Read;

use sateen_tests::command::{ended, probe_command, run_probe};
use tempfile::TempDir;

#[test]
fn text_ends_with_one_newline_and_bytes_are_as_they_are() {
    assert_eq!(run_probe("balanced", &["20"]).result(), "6765\n");
    assert_eq!(run_probe("text", &["a", "b"]).result(), "a b\n");
    assert_eq!(run_probe("text", &[]).result(), "\n");
    assert_eq!(run_probe("text", &["--", "--json", "-x"]).result(), "--json -x\n");
    assert_eq!(run_probe("silence", &[]).result(), "");
    let bytes = run_probe("bytes", &["3"]);
    assert_eq!(bytes.stdout, (0..=255).cycle().take(768).collect::<Vec<u8>>());
}

#[test]
fn a_result_goes_to_a_file_instead() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let path = folder.path().join("result");
    let to_file = |function: &str, more: &[&str]| {
        let mut command = probe_command(function, more);
        command.arg("--output").arg(&path);
        ended(command)
    };
    assert_eq!(to_file("balanced", &["30"]).result(), "");
    assert_eq!(std::fs::read_to_string(&path).expect("it was made"), "832040\n");
    assert_eq!(to_file("balanced", &["10"]).result(), "");
    assert_eq!(std::fs::read_to_string(&path).expect("it was replaced"), "55\n");
    to_file("panic_in_root", &[]).fails_with(1, &["the root fails"]);
    assert_eq!(std::fs::read_to_string(&path).expect("a failure leaves it"), "55\n");
    std::fs::remove_file(&path).expect("it is ours");
    to_file("panic_in_root", &[]).fails_with(1, &["the root fails"]);
    assert!(!path.exists(), "a failed run leaves no file behind");
}

#[test]
fn an_output_that_cannot_be_written_costs_no_run() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let folder_itself = folder.path().display().to_string();
    let missing = folder.path().join("missing/result").display().to_string();
    // The app would never end: the file is checked first.
    run_probe("loop_for_ever", &["--output", &missing])
        .fails_with(2, &["output ", "/missing; create it first"]);
    run_probe("loop_for_ever", &["--output", &folder_itself]).fails_with(2, &["it is a folder"]);
}

/// By whatever name.
#[test]
fn an_output_never_replaces_the_module_or_an_input() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("data"), "important").expect("it can be written");
    std::fs::hard_link(path("data"), path("linked")).expect("it can be linked");
    std::os::unix::fs::symlink(path("data"), path("symbolic")).expect("it can be linked");
    std::fs::copy(sateen_tests::probe::module_path(), path("m.wasm")).expect("it can be copied");
    let module = std::fs::read(path("m.wasm")).expect("it was copied");
    for output in ["data", "linked", "symbolic", "m.wasm"] {
        let mut command = sateen_tests::command::command(["run"]);
        command.arg(path("m.wasm")).args([
            "--function",
            "balanced",
            "10",
            "--input",
            "spare=data",
            "-o",
            output,
        ]);
        command.current_dir(folder.path());
        ended(command).fails_with(2, &[output, "is the same file as", "which this command reads"]);
    }
    assert_eq!(std::fs::read_to_string(path("data")).expect("it is left"), "important");
    assert!(std::fs::read(path("m.wasm")).expect("it is left") == module);
    run_probe("balanced", &["10", "-o", "-"]).fails_with(2, &["leave out --output for stdout", "./-"]);
}

#[test]
fn devices_and_pipes_are_outputs_too() {
    assert_eq!(run_probe("balanced", &["10", "--output", "/dev/stdout"]).result(), "55\n");
    assert_eq!(run_probe("balanced", &["10", "--output", "/dev/null"]).result(), "");
    run_probe("balanced", &["10", "--output", "/dev/full"])
        .fails_with(4, &["output /dev/full: disk full: free some space"]);
}

#[test]
fn a_full_disk_behind_stdout_is_reported() {
    for more in [&["40000"][..], &["1"], &["1", "--json"]] {
        let mut command = probe_command("bytes", more);
        command.stdout(OpenOptions::new().write(true).open("/dev/full").expect("/dev/full is there"));
        ended(command).fails_with(4, &["cannot be written to stdout", "disk full: free some space"]);
    }
}

/// As in `sateen run … | head -c 1`.
#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let mut child = probe_command("bytes", &["40000"]).spawn().expect("the command can be started");
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut first = [1];
    stdout.read_exact(&mut first).expect("there is a result");
    drop(stdout);
    let rest = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8(rest.stderr).expect("stderr is text");
    assert_eq!((first, rest.status.code()), ([0], Some(0)), "{stderr}");
    assert_eq!(stderr, "");
}

#[test]
fn a_missing_reader_is_not_an_error() {
    let mut child = probe_command("balanced", &["25", "--json"]).spawn().expect("the command can be started");
    drop(child.stdout.take());
    let rest = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8(rest.stderr).expect("stderr is text");
    assert_eq!((rest.status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_failure_has_its_exit_code_without_a_reader_too() {
    let mut child = probe_command("panic_in_root", &["--json"]).spawn().expect("the command can be started");
    drop(child.stdout.take());
    let rest = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8(rest.stderr).expect("stderr is text");
    assert!(rest.status.code() == Some(1) && stderr.lines().count() == 1, "{stderr}");
    assert!(stderr.contains("the root fails"), "{stderr}");
}

#[test]
fn a_full_disk_behind_stderr_costs_no_result() {
    for function in ["log_from_jobs", "log_lines"] {
        let mut command = probe_command(function, &["100"]);
        command.stderr(File::options().write(true).open("/dev/full").expect("/dev/full is there"));
        let ended = ended(command);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(!ended.stdout.is_empty());
    }
    let mut command = probe_command("panic_in_root", &[]);
    command.stderr(File::options().write(true).open("/dev/full").expect("/dev/full is there"));
    assert_eq!(ended(command).code, Some(1));
}

#[test]
fn an_input_may_come_from_stdin() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("text");
    std::fs::write(&path, "from afar").expect("it can be written");
    let mut command = probe_command("read_text", &["--input", "text=-"]);
    command.stdin(File::open(&path).expect("it is there"));
    assert_eq!(ended(command).result(), "from afar\n");
}
