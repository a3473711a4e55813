//! `sateen test`: an app's tests on this machine and in sandboxes.

use std::path::Path;
use std::process::Stdio;

use sateen_tests::command::{Ended, command, ended};
use sateen_tests::{kept, root};
use tempfile::TempDir;

/// Some tests whose results are the same everywhere, and some that depend on their sandbox.
const APP: &str = r#"
use sateen::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static COUNT: AtomicU64 = AtomicU64::new(0);

#[main]
fn main(n: u64) -> u64 { add(n) }

#[job]
fn add(n: u64) -> u64 {
    if n < 2 { return n; }
    let left = add::spawn(n - 1);
    add(n - 2) + left.sync()
}

#[job]
fn count(depth: u64) -> u64 {
    if depth == 0 { return COUNT.fetch_add(1, Relaxed) + 1; }
    let left = count::spawn(depth - 1);
    count(depth - 1) + left.sync()
}

#[job]
fn letters(from: usize, to: usize) -> Vec<u8> {
    let text = sateen::input("the-text").expect("it is given");
    if to - from < 2 { return text[from..to].to_vec(); }
    let left = letters::spawn(from, (from + to) / 2);
    let right = letters((from + to) / 2, to);
    [left.sync(), right].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OEIS A000045.
    #[sateen::test]
    fn good_sum() -> u64 {
        assert_eq!(add(1), 1);
        add(15)
    }

    #[sateen::test(inputs("the-text" = b"sateen", other = Vec::<u8>::new()))]
    fn good_input() -> Result<Vec<u8>, BadInput> {
        assert_eq!(sateen::input("other")?, b"");
        Ok(letters(0, 6))
    }

    #[sateen::test]
    fn bad_static() -> u64 {
        count(4)
    }

    #[sateen::test]
    fn bad_address() -> String {
        format!("at {:p}", Box::into_raw(Box::new(7)))
    }

    #[sateen::test]
    fn bad_order() -> String {
        let set: std::collections::HashSet<u32> = (0..50).collect();
        format!("{set:?}")
    }

    #[sateen::test]
    fn bad_elsewhere() {
        assert!(!cfg!(target_family = "wasm"), "a sandbox");
    }

    #[sateen::test]
    #[ignore = "it would fail"]
    fn good_but_ignored() {
        panic!("it fails");
    }

    #[test]
    fn good_without_sandboxes() {
        sateen::testing::set_input("a", "b");
        assert_eq!(sateen::input_text("a").as_deref(), Ok("b"));
    }
}
"#;

fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder can be made")
}

fn write(folder: &Path, source: &str) {
    let sdk = root().join("guest-sdk");
    let manifest = format!(
        "[package]\nname = \"compared\"\nedition = \"2024\"\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\
         [dependencies]\nsateen = {{ path = {sdk:?} }}\n[workspace]\n"
    );
    std::fs::create_dir_all(folder.join("src")).expect("it can be made");
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("it can be written");
    std::fs::write(folder.join("src/lib.rs"), source).expect("it can be written");
}

fn test(folder: &Path, more: &[&str]) -> Ended {
    let mut command = command(["test"]);
    command
        .args(more)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", kept().join("compared"))
        .stdin(Stdio::null());
    ended(command)
}

/// The lines about the test `name`: the first, and those that follow it.
fn about<'a>(output: &'a str, name: &str) -> Vec<&'a str> {
    let begins = format!("test {name} ... ");
    let mut lines = output.lines().skip_while(|line| !line.starts_with(&begins));
    let first = lines.next().unwrap_or_else(|| panic!("{name} is not in {output}"));
    std::iter::once(first).chain(lines.take_while(|line| line.starts_with(' '))).collect()
}

#[test]
fn results_of_sandboxes_are_compared_with_this_machines() {
    let folder = folder();
    write(folder.path(), APP);
    let compared = test(folder.path(), &[]);
    assert_eq!(compared.code, Some(1), "{compared:#?}");
    let text = compared.text();
    for name in ["good_sum", "good_input"] {
        assert_eq!(about(text, name), [format!("test {name} ... the same everywhere")], "{compared:#?}");
    }
    // With every job in an instance of its own, each leaf begins to count.
    let lines = about(text, "bad_static");
    assert_eq!(lines[..2], ["test bad_static ... DIFFERS", "    this machine         136"], "{text}");
    assert!(lines.ends_with(&["    1 worker, pristine   16", "    4 workers, pristine  16"]), "{text}");
    for name in ["bad_address", "bad_order", "bad_elsewhere"] {
        let lines = about(text, name);
        assert!(lines[0].ends_with("DIFFERS") && lines.len() == 7, "{text}");
        assert!(lines[2].starts_with("    1 worker  "), "{text}");
    }
    assert!(about(text, "bad_address")[2].contains(" at 0x"), "{text}");
    assert!(about(text, "bad_elsewhere")[2].contains("failed: ") && text.contains("a sandbox"), "{text}");
    assert!(!text.contains("ignored") && !text.contains("without"), "{text}");
    let last = compared.stderr.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("sateen: 4 of 6 tests do not give everywhere what they give on this machine: bad_"),
        "{last}"
    );

    let some = test(folder.path(), &["good_"]);
    assert_eq!(some.code, Some(0), "{some:#?}");
    assert_eq!(
        some.text(),
        "test good_input ... the same everywhere\ntest good_sum ... the same everywhere\n",
        "stdout has the result and nothing else"
    );
    let none = test(folder.path(), &["good_without"]);
    assert_eq!((none.code, none.text()), (Some(2), ""), "{none:#?}");
    assert!(none.stderr.contains("no test for sandboxes whose name contains `good_without`"), "{none:#?}");
}

/// A test that fails here is not tried elsewhere; and a parameter that cannot be encoded fails here.
#[test]
fn a_test_that_fails_on_this_machine_ends_it() {
    let folder = folder();
    let source = "
        #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct Skips { #[serde(skip)] cache: u64 }
        #[sateen::job] pub fn pass(skips: Skips) -> u64 { skips.cache }
        #[sateen::main] fn main() -> u64 { pass::spawn(Skips { cache: 7 }).sync() }
        #[sateen::test] fn seven() -> u64 { main() }
    ";
    write(folder.path(), source);
    let manifest = folder.path().join("Cargo.toml");
    let more = std::fs::read_to_string(&manifest).expect("it is there");
    let more = more.replace(
        "[dependencies]\n",
        "[dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n",
    );
    std::fs::write(&manifest, more).expect("it can be written");
    let failed = test(folder.path(), &[]);
    assert_eq!((failed.code, failed.text()), (Some(1), ""), "{failed:#?}");
    assert!(failed.stderr.contains("the parameters of the job `pass` cannot travel"), "{failed:#?}");
    assert!(failed.stderr.contains("`cache: 7` of `Skips` in the parameter `skips`"), "{failed:#?}");
    assert!(failed.stderr.ends_with("sateen: the app's tests fail on this machine\n"), "{failed:#?}");
}
