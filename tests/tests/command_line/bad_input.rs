//! User errors: exit code 2, and one line that says what to do.

use std::path::PathBuf;
use std::process::Stdio;

use sateen_tests::command::{Ended, app, ended, run, run_probe};
use sateen_tests::wat;
use tempfile::TempDir;

/// `run` of a file with these bytes.
fn run_bytes(bytes: &[u8]) -> Ended {
    let folder = TempDir::new().expect("a temporary folder can be made");
    run(["run".into(), file(&folder, "app.wasm", bytes)])
}

fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a temporary file can be written");
    path
}

#[test]
fn a_file_that_is_not_a_module() {
    run_bytes(b"not wasm at all").fails_with(2, &["app.wasm: not a wasm module"]);
    run_bytes(b"").fails_with(2, &["app.wasm: not a wasm module"]);
    run_bytes(b"\0asm\x0d\0\x01\0").fails_with(2, &["a component", "sateen build"]);
}

#[test]
fn a_truncated_module() {
    let whole = std::fs::read(app("fib")).expect("it can be read");
    for length in [8, 100, whole.len() / 2, whole.len() - 1] {
        let ended = run_bytes(&whole[..length]);
        // Eight bytes are a complete module, but not an app.
        let why = if length == 8 { "not a Sateen app" } else { "not a valid module, at byte" };
        ended.fails_with(2, &["app.wasm: ", why]);
    }
}

#[test]
fn a_module_with_foreign_imports() {
    let text = r#"(module (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))
        (import "env" "clock" (func (result i64))))"#;
    let names = ["`wasi_snapshot_preview1.random_get`", "`env.clock`", "what no host offers"];
    run_bytes(&wat::bytes(text)).fails_with(2, &names);
}

#[test]
fn names_in_a_module_cannot_forge_lines() {
    let text = r#"(module (import "a\0asateen: all is well\1b[2J" "b" (func)))"#;
    run_bytes(&wat::bytes(text)).fails_with(2, &["a; sateen: all is well\\u{1b}[2J.b"]);
}

#[test]
fn a_module_for_a_newer_abi() {
    let newer = wat::app("").replace("sateen_abi_1", "sateen_abi_2");
    run_bytes(&wat::bytes(&newer)).fails_with(2, &["version 2 of the ABI", "update Sateen"]);
}

/// If every job has its own instance, its parent decodes its result.
#[test]
fn values_from_another_version_of_an_app_break_the_abi() {
    let words =
        ["job `", "the result of `older` breaks the ABI: 1999999 bytes follow a ", "OfAnotherVersion"];
    run_probe("result_of_another_version", &["--pristine", "2000000"]).fails_with(1, &words);
    run_probe("parameters_of_another_version", &["--pristine", "2000000"])
        .fails_with(1, &["job `newer` failed: its parameters break the ABI: 1999999 bytes follow a "]);
}

/// Short values are read back where they are encoded, so that the error names the type there.
#[test]
fn values_that_encoding_changes_are_refused_by_type() {
    for (function, what) in [
        ("result_of_another_version", "the result of the job `older` cannot travel to another machine"),
        (
            "parameters_of_another_version",
            "the parameters of the job `newer` cannot travel to another machine",
        ),
    ] {
        let words = [what, "OfAnotherVersion", "cannot be read back"];
        run_probe(function, &["--pristine", "7"]).fails_with(1, &words);
    }
}

#[test]
fn a_guard_that_is_never_true_is_named_with_the_time_it_took() {
    run_probe("wait_before_the_door", &["--pristine", "--guard-limit", "300ms"])
        .fails_with(3, &["the guard `is_open` of the job `enter` was false for 0.3", "--guard-limit"]);
}

#[test]
fn an_update_that_panics_fails_the_run_by_its_name() {
    let failed = run_probe("panic_in_update", &[]);
    failed.fails_with(1, &["the update `Door::slam` failed: the door slams: wind, at ", "objects.rs:"]);
}

#[test]
fn files_that_cannot_be_read() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    run(["run", "/nonexistent/app.wasm"]).fails_with(2, &["/nonexistent/app.wasm: there is no such file"]);
    run(["run".as_ref(), folder.path().as_os_str()]).fails_with(2, &["it is a folder"]);
    run(["check", "/nonexistent/app.wasm"]).fails_with(2, &["there is no such file"]);
    // An endless file is read only up to the maximum length of a module.
    run(["run", "/dev/zero"]).fails_with(2, &["/dev/zero: the module is larger than the limit of 64 MiB"]);
}

#[test]
fn an_entry_point_that_does_not_exist() {
    run_probe("nothing_like_that", &[])
        .fails_with(2, &["no entry point `nothing_like_that`", "it has: ", "balanced"]);
    let none = wat::bytes(&format!("(module {} {})", wat::IMPORTS, wat::FRAME));
    run_bytes(&none).fails_with(2, &["no entry point; mark a function with #[main]"]);
}

#[test]
fn arguments_of_the_wrong_number_or_type() {
    run_probe("balanced", &[]).fails_with(2, &["argument `n` is missing; expected a whole number"]);
    run_probe("balanced", &["seven"]).fails_with(2, &["argument `n` is `seven`; expected a whole number"]);
    run_probe("balanced", &["-1"]).fails_with(2, &["argument `n` is `-1`"]);
    run_probe("balanced", &["99999999999999999999"])
        .fails_with(2, &["argument `n` is", "from 0 to 18446744073709551615"]);
    run_probe("balanced", &["7", "8", "9"])
        .fails_with(2, &["too many arguments: the app takes 1 (n: u64), and argument 2 is `8`"]);
    run_probe("arguments", &["1", "2", "3", "true", "ab", "w"])
        .fails_with(2, &["`letter` is `ab`", "one character"]);
}

#[test]
fn inputs_that_are_missing_or_unreadable() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let input = |given: &str| run_probe("read_input", &["1", "--input", given]);
    run_probe("read_input", &["1"]).fails_with(2, &["needs the input `data`", "--input data=FILE"]);
    input("data=/nonexistent/file")
        .fails_with(2, &["input `data`: /nonexistent/file: there is no such file"]);
    input(&format!("data={}", folder.path().display())).fails_with(2, &["input `data`: ", "it is a folder"]);
    input("dato=/dev/null").fails_with(2, &["needs the input `data`", "it was given `dato`"]);
    run_probe("read_input", &["1", "--input", "data=-", "--input", "b=-"])
        .fails_with(2, &["only one", "stdin"]);
    input("data").fails_with(2, &["NAME=FILE is expected"]);
    input("=file").fails_with(2, &["NAME=FILE is expected"]);
    for name in ["", "a\u{1b}[31m", "\u{9b}2J", "\u{202e}a", "a\nb"] {
        let words = ["the name of an input must have 1 to 256 bytes without control characters"];
        input(&format!("{name}=file")).fails_with(2, &words);
    }
    let twice = ["1", "--input", "data=/dev/null", "--input", "data=/dev/null"];
    run_probe("read_input", &twice).fails_with(2, &["the input `data` is given twice"]);
    let endless = ["1", "--input", "data=/dev/zero", "--memory", "4M"];
    run_probe("read_input", &endless).fails_with(2, &["input `data`: /dev/zero: ", "--memory"]);
}

#[test]
fn an_input_that_the_user_may_not_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().expect("a temporary folder can be made");
    let path = file(&folder, "secret", b"x");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).expect("it is ours");
    if std::fs::read(&path).is_ok() {
        eprintln!("skipped: root may read everything");
        return;
    }
    let given = format!("data={}", path.display());
    run_probe("read_input", &["1", "--input", &given]).fails_with(2, &["you do not have permission to read"]);
}

/// A file that the user names and nobody can use is wrong usage, whichever program is to read it.
#[test]
fn files_with_secrets_that_cannot_be_read() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let (here, data) =
        (folder.path().display().to_string(), folder.path().join("data").display().to_string());
    let cases: [(&str, &[&str]); 3] = [
        ("sateen", &["ps", "--token-file", &here]),
        (
            "sateen-host",
            &["--dedicated", "--yes", "--coordinator", "http://127.0.0.1:9", "--key-file", &here],
        ),
        ("sateen-coordinator", &["--listen", "127.0.0.1:0", "--tls-cert", &here, "--tls-key", &here]),
    ];
    for (name, words) in cases {
        let mut command = std::process::Command::new(super::flags::program(name));
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_clear().env("HOME", &here);
        if name != "sateen" {
            command.args(["--data-dir", &data]);
        }
        let ended = ended(command);
        assert!(ended.code == Some(2) && ended.stderr.contains(&here), "{name}: {ended:?}");
    }
}

#[test]
fn an_unread_input_is_reported_and_does_no_harm() {
    let ended = run_probe("balanced", &["10", "--input", "spare=/dev/null"]);
    assert_eq!((ended.code, ended.text()), (Some(0), "55\n"));
    ended.says_one_line(&["the input `spare` was never read"]);
}

#[test]
fn options_that_make_no_sense() {
    let cases: [(&[&str], &str); 16] = [
        (&["run", "app.wasm", "--thread", "2"], "--thread"),
        (&["run", "app.wasm", "--jsno"], "--jsno"),
        (&["check", "app.wasm", "--frobnicate"], "--frobnicate"),
        (&["run"], "APP.wasm"),
        (&["rum", "app.wasm"], "rum"),
        (&[], "no command; see `sateen --help`"),
        (&["run", "app.wasm", "--threads", "0"], "1 to 1024"),
        (&["run", "app.wasm", "--threads", "-1"], "1 to 1024"),
        (&["run", "app.wasm", "--threads", "100000"], "1 to 1024"),
        (&["run", "app.wasm", "--memory", "1K"], "64K to 4G"),
        (&["run", "app.wasm", "--memory", "5G"], "64K to 4G"),
        (&["run", "app.wasm", "--stack", "lots"], "64K to 4G"),
        (&["run", "app.wasm", "--time-limit", "0"], "from 1ms to"),
        (&["run", "app.wasm", "--time-limit", "soon"], "from 1ms to"),
        (&["run", "app.wasm", "--max-output", "0"], "from 1B to 4G"),
        (&["check"], "APP"),
    ];
    for (words, why) in cases {
        run(words).fails_with(2, &[why]);
    }
    // Words that are not options belong to the app, which reports them.
    let fib = app("fib").display().to_string();
    run(["run", &fib, "5", "--frobnicate"]).fails_with(2, &["`--frobnicate`", "(n: u64)"]);
}

#[test]
fn help_goes_to_stdout() {
    for words in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let ended = run(words);
        assert!(ended.result().contains("sateen"), "{ended:?}");
    }
}
