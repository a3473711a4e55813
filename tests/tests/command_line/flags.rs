//! Every flag with a value, of all three programs: a value that makes no sense is refused, with the flag's name.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use sateen_tests::command::{Ended, ended, sateen};

/// Values of which each flag must refuse each.
const ABSURD: [&str; 6] = ["-1", "99999999999999999999999999", "nan", "1e999", "\u{1f980}", ""];
/// The same for addresses: a word alone may be a machine's name.
const NO_URLS: [&str; 4] = ["", "ftp://x", "http://", "http://a b"];
/// Names of values that may be anything: files and folders, names that others check, words of a search.
const FREE: [&str; 9] = ["FILE", "FOLDER", "DIR", "NAME", "WHO", "TEXT", "FEATURES", "ARG", "APP.wasm"];
/// What stands for a word that a command wants.
const WANTED: [(&str, &str); 5] =
    [("RUN", "1"), ("APP.wasm", "a.wasm"), ("APP", "a.wasm"), ("KEY", "12345678"), ("NAME", "a")];

fn program(name: &str) -> PathBuf {
    sateen().with_file_name(name)
}

fn run(program: &PathBuf, words: &[String]) -> Ended {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("SATEEN_COORDINATOR").env_remove("SATEEN_LOG");
    ended(command)
}

/// A flag with a value, as help has it: `--flag <VALUE>`.
struct Flag {
    name: String,
    value: String,
}

fn flags(help: &str) -> Vec<Flag> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let flags = lines.filter_map(|line| {
        let (before, rest) = line.split_once(" <")?;
        let name = before.split_whitespace().last()?.strip_prefix("--")?;
        let value = rest.split_once('>')?.0;
        Some(Flag { name: format!("--{name}"), value: value.to_owned() })
    });
    flags.collect()
}

/// The words that a command cannot do without.
fn wanted(help: &str) -> Vec<String> {
    let usage = help.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default();
    let words = usage.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
    let stand_in =
        |name: &str| WANTED.iter().find(|(known, _)| *known == name).map(|(_, word)| (*word).to_owned());
    words.map(|(name, _)| stand_in(name).unwrap_or_else(|| panic!("what is a {name}?"))).collect()
}

fn commands(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("Commands:\n").unwrap_or(("", ""));
    let names = list.lines().take_while(|line| !line.trim().is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

/// How many flags were tried, and what was wrong with any.
fn try_all(name: &str) -> (usize, Vec<String>) {
    let program = program(name);
    let help = run(&program, &["--help".to_owned()]).text().to_owned();
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    all.extend(commands(&help).into_iter().map(|command| vec![command]));
    let (mut tried, mut wrong) = (0, Vec::new());
    for command in all {
        let help = run(&program, &[&command[..], &["--help".to_owned()]].concat()).text().to_owned();
        let words = if name == "sateen" && command.is_empty() { continue } else { wanted(&help) };
        for flag in flags(&help).iter().filter(|flag| !FREE.contains(&flag.value.as_str())) {
            tried += 1;
            let values = if flag.value == "URL" { NO_URLS.as_slice() } else { &ABSURD };
            for value in values {
                let all = [&command[..], &words, &[format!("{}={value}", flag.name)]].concat();
                let ended = run(&program, &all);
                let said = &ended.stderr;
                if ended.code != Some(2) || !said.contains(&flag.name) {
                    wrong.push(format!("{name} {all:?}: {:?}, {said}", ended.code));
                }
            }
        }
    }
    (tried, wrong)
}

#[test]
fn values_that_make_no_sense_are_refused_by_every_flag() {
    for (name, least) in [("sateen", 30), ("sateen-host", 8), ("sateen-coordinator", 4)] {
        let (tried, wrong) = try_all(name);
        assert!(wrong.is_empty(), "{} of {name}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(tried >= least, "of {name} only {tried} flags were found");
    }
}
