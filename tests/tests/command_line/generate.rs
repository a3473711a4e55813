//! Completion scripts and man pages of all three programs have every flag and every subcommand that their help has.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use sateen_tests::command::{Ended, ended};

use crate::flags::{commands, program};

const PROGRAMS: [(&str, usize); 3] = [("sateen", 60), ("sateen-host", 15), ("sateen-coordinator", 10)];
const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

fn run(name: &str, words: &[&str]) -> Ended {
    let mut command = Command::new(program(name));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(command)
}

fn help(name: &str, words: &[&str]) -> String {
    run(name, &[words, &["--help"]].concat()).result().to_owned()
}

/// The long flags in a command's help. What describes them is further to the right, where a line may begin with another
/// flag's name.
fn flags(help: &str) -> BTreeSet<String> {
    let is_flag = |line: &&str| line.len() - line.trim_start().len() <= 6;
    let lines = help.lines().filter(is_flag).map(str::trim).filter(|line| line.starts_with('-'));
    let words = lines.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--")));
    words.map(str::to_owned).collect()
}

/// The program itself, as an empty list of words, and its subcommands.
fn all(name: &str) -> Vec<Vec<String>> {
    let subcommands = commands(&help(name, &[])).into_iter().map(|command| vec![command]);
    std::iter::once(Vec::new()).chain(subcommands).collect()
}

#[test]
fn man_pages_have_every_flag() {
    let folder = tempfile::tempdir().expect("a folder");
    // The command creates it.
    let pages = folder.path().join("share/man");
    for (name, flags_min) in PROGRAMS {
        let told = run(name, &["man", &pages.display().to_string()]);
        assert_eq!(told.result(), "", "{name}");
        let mut found = 0;
        for words in all(name) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let page = [&[name], &words[..]].concat().join("-") + ".1";
            let text =
                fs::read_to_string(pages.join(&page)).unwrap_or_else(|error| panic!("{page}: {error}"));
            assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
            let text = text.replace('\\', "");
            for flag in flags(&help(name, &words)) {
                assert!(text.contains(&flag), "{page} lacks {flag}: {text}");
                found += 1;
            }
        }
        assert!(found >= flags_min, "{name}: only {found} flags were found");
    }
}

#[test]
fn completions_have_every_flag_and_subcommand() {
    for (name, flags_min) in PROGRAMS {
        for shell in SHELLS {
            let told = run(name, &["completions", shell]);
            let script = told.result();
            let mut found = 0;
            for words in all(name) {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                assert!(words.iter().all(|word| script.contains(word)), "{name} {shell} lacks {words:?}");
                for flag in flags(&help(name, &words)) {
                    // fish has flags without their dashes.
                    let flag = if shell == "fish" { flag.replace("--", "-l ") } else { flag };
                    assert!(script.contains(&flag), "{name} {shell} lacks {flag} of {words:?}");
                    found += 1;
                }
            }
            assert!(found >= flags_min, "{name}: only {found} flags were found");
        }
    }
}

#[test]
fn bash_can_read_its_completions() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, _) in PROGRAMS {
        let script = folder.path().join(name);
        fs::write(&script, run(name, &["completions", "bash"]).result()).expect("it can be written");
        // The words that bash itself would offer after `NAME --`.
        let ask = format!(
            "set -e; source '{0}'; COMP_WORDS=({name} --); COMP_CWORD=1; complete -p {name} > /dev/null; \
             f=$(complete -p {name} | sed 's/.*-F \\([^ ]*\\) .*/\\1/'); $f {name} -- {name}; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &ask]);
        bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let told = ended(bash);
        assert!(told.result().contains("--version") && told.text().contains("--help"), "{name}: {told:?}");
    }
}

#[test]
fn an_unwritable_file_is_named() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().display().to_string();
    for (name, _) in PROGRAMS {
        let told = run(name, &["man", &path]);
        let line = told.stderr.as_str();
        assert!(told.code == Some(2) && line.lines().count() == 1, "{told:?}");
        assert!(line.starts_with(&format!("{name}: {path} cannot be written")), "{told:?}");
        let told = run(name, &["completions", "csh"]);
        assert!(
            told.code == Some(2) && told.stderr.contains("csh") && told.stderr.contains("zsh"),
            "{told:?}"
        );
    }
}
