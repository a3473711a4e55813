//! Every flag with a value in the help of all three programs: a nonsensical value is refused, with the
//! flag's name and the expected values, and nothing is started.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sateen_tests::command::{Ended, ended, sateen};

/// Values that every flag must refuse.
const ABSURD: [&str; 9] =
    ["-1", "0", "1e30", "99999999999999999999999999", "nan", "1e999", "\u{1f980}", "x", ""];
/// The same for addresses: a single word may be a machine's name.
const NO_URLS: [&str; 8] = [
    "",
    "ftp://x",
    "http://",
    "http://a b",
    "http://127.0.0.1:99999",
    "http://127.0.0.1:0",
    "http://u:secret@a:7",
    "u:secret@a:7",
];
/// Names of values that may be any word: files and folders, names that are checked elsewhere, search words.
const WORDS: [&str; 5] = ["FILE", "FOLDER", "DIR", "NAME", "WHO"];
/// Names of values that may be anything.
const FREE: [&str; 4] = ["TEXT", "FEATURES", "NAMES", "HASHES"];
/// Names of values that may be 0.
const ZERO: [&str; 2] = ["PERCENT", "PERCENT|off"];
/// Names of values that have a minimum and a maximum.
const RANGED: [&str; 3] = ["N", "SIZE", "TIME"];
/// Substitutes for the words that a command needs.
const WANTED: [(&str, &str); 10] = [
    ("URL", "http://127.0.0.1:9"),
    ("RUN", "1"),
    ("APP.wasm", "a.wasm"),
    ("APP", "a.wasm"),
    ("KEY", "12345678"),
    ("NAME", "a"),
    ("NAME-OR-ID", "a"),
    ("SCOPE", "--scope=viewer"),
    ("SHELL", "bash"),
    ("FOLDER", "pages"),
];

/// One of the programs.
pub fn program(name: &str) -> PathBuf {
    sateen().with_file_name(name)
}

/// Runs a program in an empty folder that is its user's home, and in which it must leave nothing.
fn run(program: &Path, words: &[String]) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().env("HOME", folder.path()).current_dir(folder.path());
    let ended = ended(command);
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0, "{words:?} leaves something behind: {ended:?}");
    ended
}

/// A flag with a value in help: `--flag <VALUE>`, and its description.
struct Flag {
    name: String,
    value: String,
    /// On one line.
    about: String,
}

impl Flag {
    fn range(&self) -> Option<(&str, &str)> {
        self.about.split_once("[range: ")?.1.split_once(']')?.0.split_once(" to ")
    }
}

fn flags(help: &str) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    let mut is_in_flag = false;
    for line in help.lines().map(str::trim) {
        if line.starts_with('-') {
            let flag = line.split_once(" <").and_then(|(before, rest)| {
                let name = before.split_whitespace().last()?.strip_prefix("--")?;
                let (value, about) = rest.split_once('>')?;
                Some(Flag { name: format!("--{name}"), value: value.to_owned(), about: about.to_owned() })
            });
            is_in_flag = flag.is_some();
            flags.extend(flag);
        } else if let Some(flag) = flags.last_mut().filter(|_| is_in_flag) {
            flag.about = format!("{} {line}", flag.about);
        }
    }
    flags
}

/// The end of a range, one unit further down or up.
fn beyond(end: &str, by: i64) -> String {
    let digits = end.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(end.len());
    let number: i64 = end[..digits].parse().expect("an end of a range begins with a number");
    format!("{}{}", number + by, &end[digits..])
}

/// The words that a command requires, flags among them.
fn wanted(help: &str) -> Vec<String> {
    let usage = help.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default();
    let words = usage.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
    let stand_in =
        |name: &str| WANTED.iter().find(|(known, _)| *known == name).map(|(_, word)| (*word).to_owned());
    words.map(|(name, _)| stand_in(name).unwrap_or_else(|| panic!("what is a {name}?"))).collect()
}

pub fn commands(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("Commands:\n").unwrap_or(("", ""));
    let rows = list.lines().take_while(|line| !line.trim().is_empty());
    // Continued explanations are indented further than a command's name.
    let rows = rows.filter(|row| row.starts_with("  ") && !row.starts_with("   "));
    let names = rows.filter_map(|row| row.split_whitespace().next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

/// A command of a program, with all words that it requires.
struct Called {
    program: PathBuf,
    name: String,
    words: Vec<String>,
}

impl Called {
    fn with(&self, given: Vec<String>) -> Ended {
        let is_given = |required: &&String| given[0].split('=').next() != required.split('=').next();
        let mut words: Vec<String> = self.words.iter().filter(is_given).cloned().collect();
        words.extend(given);
        run(&self.program, &words)
    }

    /// Checks how a value is refused, and returns an error.
    fn complaint(&self, flag: &Flag, value: &str, expected: &str) -> Option<String> {
        self.complaint_of(flag, value, expected, self.with(vec![format!("{}={value}", flag.name)]))
    }

    /// The same for a value that stands in a word of its own.
    fn complaint_apart(&self, flag: &Flag, value: &str) -> Option<String> {
        self.complaint_of(flag, value, "", self.with(vec![flag.name.clone(), value.to_owned()]))
    }

    fn complaint_of(&self, flag: &Flag, value: &str, expected: &str, ended: Ended) -> Option<String> {
        let said = &ended.stderr;
        let is_refused = ended.code == Some(2)
            && ended.stdout.is_empty()
            && said.contains(&flag.name)
            && said.contains(expected)
            && !said.contains("secret")
            && said.ends_with(&format!("see `{} --help`\n", self.name))
            && said.lines().count() == 1;
        (!is_refused).then(|| format!("{} {}={value}: {:?}, {said}", self.name, flag.name, ended.code))
    }

    /// Checks how a flag handles its values, and returns the errors.
    fn complaints(&self, flag: &Flag) -> Vec<String> {
        let absurd = match flag.value.as_str() {
            "URL" => NO_URLS.as_slice(),
            value if WORDS.contains(&value) => &[""],
            value if FREE.contains(&value) => &[],
            _ => &ABSURD,
        };
        let mut wrong: Vec<String> = absurd
            .iter()
            .filter(|value| **value != "0" || !ZERO.contains(&flag.value.as_str()))
            .filter_map(|value| self.complaint(flag, value, ""))
            .collect();
        if absurd.contains(&"-1") {
            wrong.extend(self.complaint_apart(flag, "-1"));
        }
        let Some((least, most)) = flag.range() else {
            if RANGED.contains(&flag.value.as_str()) {
                wrong.push(format!("{}: the help of {} has no range: {}", self.name, flag.name, flag.about));
            }
            return wrong;
        };
        if !flag.about.contains("default: ") {
            wrong.push(format!("{}: the help of {} has no default: {}", self.name, flag.name, flag.about));
        }
        let expected = format!("from {least} to {most}");
        let refused = [beyond(least, -1), beyond(most, 1)];
        wrong.extend(refused.iter().filter_map(|value| self.complaint(flag, value, &expected)));
        for value in [least, most] {
            // Help is shown once all words before it have been parsed.
            let words = [&self.words[..], &[format!("{}={value}", flag.name), "--help".to_owned()]].concat();
            let ended = run(&self.program, &words);
            if ended.code != Some(0) {
                wrong.push(format!("{} {words:?}: {:?}, {}", self.name, ended.code, ended.stderr));
            }
        }
        wrong
    }
}

/// The number of flags tried, and the errors.
fn try_all(name: &str) -> (usize, Vec<String>) {
    let program = program(name);
    let help = run(&program, &["--help".to_owned()]).text().to_owned();
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for command in commands(&help) {
        let help = run(&program, &[command.clone(), "--help".to_owned()]).text().to_owned();
        let usage = help.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default();
        match usage.contains("<COMMAND>") {
            true => all.extend(commands(&help).into_iter().map(|below| vec![command.clone(), below])),
            false => all.push(vec![command]),
        }
    }
    let (mut tried, mut wrong) = (0, Vec::new());
    for command in all {
        if name == "sateen" && command.is_empty() {
            continue;
        }
        let help = run(&program, &[&command[..], &["--help".to_owned()]].concat()).text().to_owned();
        let words = [command.clone(), wanted(&help)].concat();
        let name = [&[name.to_owned()], &command[..]].concat().join(" ");
        let called = Called { program: program.clone(), name, words };
        for flag in flags(&help) {
            tried += 1;
            wrong.extend(called.complaints(&flag));
        }
    }
    (tried, wrong)
}

#[test]
fn values_that_make_no_sense_are_refused_by_every_flag() {
    for (name, least) in [("sateen", 60), ("sateen-host", 12), ("sateen-coordinator", 7)] {
        let (tried, wrong) = try_all(name);
        assert!(wrong.is_empty(), "{} of {name}:\n{}", wrong.len(), wrong.join("\n"));
        assert!(tried >= least, "of {name} only {tried} flags were found");
    }
}

/// A flag's section in help must fit the flag.
#[test]
fn flags_stand_below_their_own_headings() {
    let help = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        run(&program("sateen"), &words).text().to_owned()
    };
    for command in commands(&help(&["--help"])) {
        let help = help(&[&command, "--help"]);
        let Some((_, grid)) = help.split_once("\nGrid:\n") else { continue };
        let lines = grid.lines().take_while(|line| line.is_empty() || line.starts_with(' '));
        let section = lines.collect::<Vec<_>>().join("\n");
        let names: Vec<String> = flags(&section).into_iter().map(|flag| flag.name).collect();
        assert_eq!(names, ["--coordinator", "--token-file"], "{command}: {help}");
        let below = section.lines().filter(|line| line.trim_start().starts_with('-')).count();
        assert_eq!(below, 2, "{command}: {help}");
    }
}

#[test]
fn positional_words_have_ranges_as_well() {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (name, given, expected) in [
        (
            "sateen-host",
            &["pause", "0"][..],
            "'[TIME]': expected a time from 1s to 365d; see `sateen-host pause",
        ),
        ("sateen-host", &["pause", "366d"], "'[TIME]': expected a time from 1s to 365d"),
        ("sateen", &["status", "0"], "'<RUN>': expected a run's number, as `sateen ps --all`"),
        ("sateen", &["rm", "1", "x"], "'<RUN>...': expected a run's number"),
        ("sateen", &["replay", "123"], "'<KEY>'"),
        ("sateen", &["status", "-1"], "'<RUN>': expected a run's number"),
        (
            "sateen-host",
            &["--apps-allowed", "zz"],
            "'--apps-allowed <HASHES>': `zz` is not the beginning of a hash",
        ),
        ("sateen-coordinator", &["--listen", "localhost:7812"], "for example 127.0.0.1:7700"),
        ("sateen-host", &["--direct", "x"], "for example 127.0.0.1:7700"),
    ] {
        let ended = run(&program(name), &words(given));
        assert!(ended.code == Some(2) && ended.stderr.contains(expected), "{given:?}: {ended:?}");
    }
}

#[test]
fn errors_name_the_help_that_explains_them() {
    for (name, words, help) in [
        ("sateen", &["run"][..], "sateen run"),
        ("sateen", &["submit", "a.wasm", "--memroy"], "sateen submit"),
        ("sateen", &["rum", "a.wasm"], "sateen"),
        ("sateen", &[], "sateen"),
        ("sateen-host", &["status", "now"], "sateen-host status"),
        ("sateen-host", &["--site", "leave", "pause", "soon"], "sateen-host pause"),
        ("sateen-coordinator", &["--liste"], "sateen-coordinator"),
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ended = run(&program(name), &words);
        let end = format!("see `{help} --help`\n");
        assert!(ended.code == Some(2) && ended.stderr.ends_with(&end), "{words:?}: {ended:?}");
    }
}
