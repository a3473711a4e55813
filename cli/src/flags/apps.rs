//! Flags for the app: those of `sateen run` and `sateen submit` that `sateen` does not know.

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use strsim::damerau_levenshtein;

/// Maximum wrong letters in a misspelt flag.
const SLIPS_MAX: usize = 2;
/// Commands that pass words to an app.
const COMMANDS_OF_APPS: [&str; 2] = ["run", "submit"];

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
        let error = match T::try_parse_from(all) {
            Err(error) if error.kind() == ErrorKind::UnknownArgument => error,
            parsed => return parsed,
        };
        let Some(at) = of_the_app(&own, &error) else { return Err(error) };
        let length = 1 + own[at + 1..].iter().take_while(|word| !is_flag(word)).count();
        moved.extend(own.drain(at..at + length));
    }
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
        let words = ["sateen", "check", "a.wasm", "--nothing"].map(OsString::from);
        assert!(parse::<Sateen>(words).is_err());
    }
}
