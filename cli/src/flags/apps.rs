//! Flags for the app: those of `sateen run` and `sateen submit` that `sateen` does not know.

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use sateen_command_line::parsed;
use strsim::damerau_levenshtein;

/// Maximum wrong letters in a misspelt flag.
const SLIPS_MAX: usize = 2;
/// Commands that pass words to an app.
const COMMANDS_OF_APPS: [&str; 2] = ["run", "submit"];

/// Flags of one of these commands that the other does not have, and why.
const OF_ONE_COMMAND: [(&str, &str, &str); 10] = [
    ("run", "--threads", "the owner of each host sets its number of workers"),
    ("run", "-t", "the owner of each host sets its number of workers"),
    ("run", "--attempts", "the hosts of a grid have a fixed limit"),
    ("run", "--pristine", "on a grid, jobs of other hosts always run in instances of their own"),
    ("run", "--profile", "only a run on one machine can be profiled"),
    ("run", "--no-cache", "hosts keep compiled apps themselves"),
    ("submit", "--wait", "`sateen run` always waits for the result"),
    ("submit", "--stealing", "a run on this machine has no other hosts"),
    ("submit", "--fault-tolerance", "a run on this machine has no other hosts"),
    ("submit", "--record-every", "a run on this machine records nothing"),
];

/// Parses `words`, including the program's name. A word that begins with a dash and is not a flag of the command
/// goes to the app, together with the words up to the next flag, as if they stood behind `--`. A flag that
/// almost equals one of the command is treated as a misspelling.
pub fn parse<T: Parser>(words: impl IntoIterator<Item = OsString>) -> Result<T, clap::Error> {
    let mut own: Vec<OsString> = words.into_iter().collect();
    let behind = own.iter().position(|word| word == "--").map_or_else(Vec::new, |at| own.split_off(at));
    let mut moved: Vec<OsString> = Vec::new();
    loop {
        let dashes = behind.is_empty().then(|| OsString::from("--")).filter(|_| !moved.is_empty());
        let (dashes_given, after) = behind.split_at(behind.len().min(1));
        let all = own.iter().chain(&dashes).chain(dashes_given).chain(&moved).chain(after);
        let error = match parsed(all) {
            Err(error) if error.kind() == ErrorKind::UnknownArgument => error,
            parsed => return parsed,
        };
        if let Some(why) = of_the_other(&own, &error) {
            return Err(T::command().error(ErrorKind::UnknownArgument, why));
        }
        let Some(at) = of_the_app(&own, &error) else { return Err(error) };
        let length = 1 + own[at + 1..].iter().take_while(|word| !is_flag(word)).count();
        moved.extend(own.drain(at..at + length));
    }
}

/// If the unknown word is a flag of the other command that passes words to an app: why this command does not have it.
fn of_the_other(own: &[OsString], error: &clap::Error) -> Option<String> {
    let command = own.get(1)?.to_str()?;
    let ContextValue::String(unknown) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_it = |(of, flag, _): &&(&str, &str, &str)| *flag == unknown && *of != command;
    let (of, flag, why) =
        OF_ONE_COMMAND.iter().find(is_it).filter(|_| COMMANDS_OF_APPS.contains(&command))?;
    Some(format!(
        "`sateen {command}` does not have `{flag}`, which is for `sateen {of}` only, as {why}; put it behind `--` if it is \
         the app's"
    ))
}

/// The index of the unknown word, if it can belong to the app.
fn of_the_app(own: &[OsString], error: &clap::Error) -> Option<usize> {
    let command = own.get(1)?.to_str()?;
    let ContextValue::String(unknown) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_slip = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(known)) => is_almost(unknown, known),
        _ => false,
    };
    if !COMMANDS_OF_APPS.contains(&command) || is_slip {
        return None;
    }
    // Behind the app, that is, so that there is one.
    let app = own.iter().skip(2).position(|word| !is_flag(word))? + 2;
    let at = own.iter().skip(app).position(|word| {
        let word = word.to_string_lossy();
        word == unknown.as_str() || word.split_once('=').is_some_and(|(flag, _)| flag == unknown)
    })?;
    Some(app + at)
}

/// Whether the user who wrote `unknown` probably meant `known`.
fn is_almost(unknown: &str, known: &str) -> bool {
    known.starts_with(unknown) || damerau_levenshtein(unknown, known) <= SLIPS_MAX
}

/// Whether the word looks like a flag; negative numbers do not.
fn is_flag(word: &OsString) -> bool {
    matches!(word.as_encoded_bytes(), [b'-', next, ..] if !next.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Run, Sateen};
    use super::*;

    fn run(words: &str) -> Result<Run, clap::Error> {
        let words = ["sateen", "run"].into_iter().chain(words.split_ascii_whitespace());
        let sateen: Sateen = parse(words.map(OsString::from))?;
        let Command::Run(run) = sateen.command else { panic!("it parses as a run") };
        Ok(run)
    }

    #[track_caller]
    fn arguments(words: &str, expected: &[&str]) -> Run {
        let run = run(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        assert_eq!(run.arguments, expected, "{words}");
        run
    }

    #[test]
    fn flags_that_are_unknown_are_the_apps() {
        arguments("a.wasm 9 --shared", &["9", "--shared"]);
        arguments("a.wasm 9 --shared --all", &["9", "--shared", "--all"]);
        let run =
            arguments("a.wasm 9 --shared --threads 2 --depth 5 --json", &["9", "--shared", "--depth", "5"]);
        assert!(run.json && run.threads == Some(2));
        arguments("a.wasm 9 --depth -3", &["9", "--depth", "-3"]);
        arguments("a.wasm --depth=5 -x --quiet 7", &["7", "--depth=5", "-x"]);
    }

    #[test]
    fn words_after_two_dashes_are_left_alone() {
        arguments("a.wasm 9 --shared -- --json --threads", &["9", "--shared", "--json", "--threads"]);
        arguments("a.wasm -- --json 9", &["--json", "9"]);
    }

    #[test]
    fn slips_are_not_the_apps() {
        for words in ["a.wasm --thread 2", "a.wasm --jsno", "--nothing a.wasm", "a.wasm --shared --threads 0"]
        {
            assert!(run(words).is_err(), "{words}");
        }
        for words in ["submit a.wasm 9 --attempts 5", "submit --attempts 5 a.wasm", "run a.wasm --wait"] {
            let words = ["sateen"].into_iter().chain(words.split(' ')).map(OsString::from);
            let Err(error) = parse::<Sateen>(words) else { panic!("it is refused") };
            assert!(error.to_string().contains("behind `--` if it is the app's"), "{error}");
        }
        arguments("a.wasm -- --wait", &["--wait"]);
        let words = ["sateen", "check", "a.wasm", "--nothing"].map(OsString::from);
        assert!(parse::<Sateen>(words).is_err());
    }
}
