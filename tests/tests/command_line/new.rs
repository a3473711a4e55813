//! `sateen new`: each template, outside this repo, from nothing to its answer.

use std::path::Path;
use std::process::{Command, Stdio};

use sateen_tests::command::{Ended, ended, sateen};
use sateen_tests::{kept, root};
use tempfile::TempDir;

/// A user's own shell: its environment has nothing of the cargo that runs these tests, except the target
/// folder, which is kept.
fn at_home(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> Ended {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars() {
        if name.starts_with("CARGO_") || name.starts_with("RUSTUP_TOOLCHAIN") || name == "CARGO" {
            command.env_remove(name);
        }
    }
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        command.env("CARGO_HOME", home);
    }
    command
        .args(arguments)
        .env("CARGO_TARGET_DIR", kept().join("templates"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    ended(command)
}

#[track_caller]
fn succeeds(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str], folder: &Path) -> Ended {
    let ended = at_home(program, arguments, folder);
    assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:#?}");
    ended
}

fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder can be made")
}

/// The documented commands, one after another.
fn from_nothing_to(template: &str, argument: &str, answer: &str) {
    let outside = folder();
    let name = format!("my-{template}");
    let made = succeeds(sateen(), &["new", &name, "--template", template], outside.path());
    made.says_one_line(&["made my-", "next: cd my-"]);
    let folder = outside.path().join(&name);
    // A sum that overflows panics in the module, as it does in tests.
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("it was made");
    assert!(manifest.contains("[profile.release]\noverflow-checks = true\n"), "{manifest}");
    let tested = succeeds("cargo", &["test"], &folder);
    assert!(tested.text().contains("known_answers ... ok"), "{tested:?}");
    let compared = succeeds(sateen(), &["test"], &folder);
    assert_eq!(compared.text(), "test known_answers ... the same everywhere\n");
    assert!(compared.stderr.contains("known_answers ... ok"), "{compared:?}");
    let built = succeeds(sateen(), &["build"], &folder);
    assert_eq!(built.text(), "", "stdout carries a result and nothing else");
    let module = format!("{name}.wasm");
    assert!(folder.join(&module).is_file());
    assert_eq!(succeeds(sateen(), &["run", &module, argument], &folder).result(), answer);
    for more in ["--threads=1", "--threads=8"] {
        assert_eq!(succeeds(sateen(), &["run", &module, argument, more], &folder).result(), answer);
    }
    let readme = std::fs::read_to_string(folder.join("README.md")).expect("there is one");
    assert!(readme.contains(&format!("sateen run {module}")), "{readme}");
}

#[test]
fn the_template_search_counts_queens() {
    from_nothing_to("search", "12", "14200\n");
}

#[test]
fn the_template_map_counts_primes() {
    from_nothing_to("map", "1000000", "78498\n");
}

#[test]
fn the_template_fib_adds() {
    // OEIS A000045.
    from_nothing_to("fib", "30", "832040\n");
}

#[test]
fn the_template_optimise_finds_the_cheapest_plan() {
    // By dynamic programming over sets of tasks, in another language.
    from_nothing_to("optimise", "14", "163: [2, 12, 5, 11, 7, 13, 9, 3, 1, 0, 10, 4, 8, 6]\n");
}

#[test]
fn the_template_bag_reads_and_writes_csv() {
    let rows = "mersenne,2147483647,2147483647\nfermat,4294967297,641\nsquare,9999800001,3\nsmall,91,7\n";
    from_nothing_to("bag", "--input=tasks=tasks.csv", &format!("name,number,factor\n{rows}"));
}

#[test]
fn cargo_finds_sateen() {
    let outside = folder();
    let binaries = sateen().parent().expect("it is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path =
        std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&path))).expect("paths");
    let cargo = |words: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(words).env("PATH", &path).current_dir(outside.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ended(command)
    };
    assert!(cargo(&["sateen", "--version"]).result().starts_with("sateen "));
    let made = cargo(&["sateen", "new", "mine"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(outside.path().join("mine/Cargo.toml").is_file());
    assert_eq!(cargo(&["sateen", "new", "mine"]).code, Some(2), "the exit code is that of sateen");
}

#[test]
fn invalid_names_are_refused() {
    let outside = folder();
    for name in [
        "9queens",
        "two words",
        "",
        ".",
        "..",
        "a/..",
        "sateen",
        "std",
        "naïve",
        "a.b",
        "a\nb",
        "sateen-macros",
    ] {
        at_home(sateen(), &["new", name], outside.path()).fails_with(2, &["cannot be an app's name"]);
    }
    for (name, why) in [
        ("std", "a crate of Rust's standard library"),
        ("sateen", "a crate that every app depends on"),
        ("crate", "a keyword of Rust"),
        ("9queens", "a letter first"),
    ] {
        at_home(sateen(), &["new", name], outside.path()).fails_with(2, &[why]);
    }
    at_home(sateen(), &["new", "--", "-x"], outside.path()).fails_with(2, &["cannot be an app's name"]);
    at_home(sateen(), &["new"], outside.path()).fails_with(2, &["NAME"]);
    at_home(sateen(), &["new", "a", "--template", "b"], outside.path())
        .fails_with(2, &["fib, search, map, optimise, bag"]);
    assert_eq!(std::fs::read_dir(outside.path()).expect("it is there").count(), 0, "nothing was made");
}

#[test]
fn existing_files_are_left_alone() {
    let outside = folder();
    std::fs::create_dir(outside.path().join("taken")).expect("it can be made");
    std::fs::write(outside.path().join("file"), "mine").expect("it can be written");
    for name in ["taken", "file"] {
        at_home(sateen(), &["new", name], outside.path()).fails_with(2, &[name, "already exists"]);
    }
    std::os::unix::fs::symlink("nowhere", outside.path().join("link")).expect("it can be made");
    at_home(sateen(), &["new", "link"], outside.path()).fails_with(2, &["link", "already exists"]);
    assert_eq!(std::fs::read_to_string(outside.path().join("file")).expect("it is there"), "mine");
}

#[test]
fn parent_folders_are_made_and_the_sdk_can_be_elsewhere() {
    let outside = folder();
    let sdk = root().join("guest-sdk").display().to_string();
    let made = succeeds(sateen(), &["new", "apps/mine", "--sdk", &sdk], outside.path());
    made.says_one_line(&["made apps/mine; next: cd apps/mine"]);
    assert!(outside.path().join("apps/mine/src/lib.rs").is_file());
    let missing = at_home(sateen(), &["new", "other", "--sdk", "/nonexistent"], outside.path());
    missing.fails_with(2, &["the crate `sateen` is not at /nonexistent", "--sdk"]);
    assert!(!outside.path().join("other").exists());
}
