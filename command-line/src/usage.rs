//! Errors of the command line.

use std::ffi::OsStr;

use clap::Command;
use clap::error::{ContextKind, ContextValue};

/// clap's message on one line, without decoration and usage, followed by what the user may have meant and by the help to
/// read: that of the subcommand in `words`, the command line without the program.
pub fn one_line<W: AsRef<OsStr>>(error: &clap::Error, program: &Command, words: &[W]) -> String {
    let help = format!("see `{} --help`", called(program, words));
    let text = error.to_string();
    if text.starts_with("Usage:") || !text.contains("error:") {
        return format!("no command; {help}");
    }
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    let line = without_passwords(line.trim_start_matches("error: "));
    match meant(error) {
        Some(meant) => format!("{line}; did you mean {meant}? {help}"),
        None => format!("{line}; {help}"),
    }
}

/// The line without what stands before an `@` in a word: a password in a URL must not appear in logs.
fn without_passwords(line: &str) -> String {
    let hidden = |word: &str| match word.rsplit_once('@') {
        Some((before, after)) if before.contains(':') => {
            let begin = before
                .find("://")
                .map_or_else(|| before.find(|c: char| c.is_alphanumeric()), |at| Some(at + 3));
            format!("{}…@{after}", &before[..begin.unwrap_or(0)])
        }
        _ => word.to_owned(),
    };
    line.split(' ').map(hidden).collect::<Vec<_>>().join(" ")
}

/// The flags, subcommands or values that resemble the wrong one, if there are any.
fn meant(error: &clap::Error) -> Option<String> {
    const KINDS: [ContextKind; 4] = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
        ContextKind::Suggested,
    ];
    let names = KINDS.into_iter().find_map(|kind| {
        let names = match error.get(kind)? {
            ContextValue::String(name) => vec![name.clone()],
            ContextValue::Strings(names) => names.clone(),
            // A flag of a subcommand; clap has no other form for it.
            ContextValue::StyledStrs(tips) => {
                let tips = tips.iter().map(ToString::to_string);
                tips.filter_map(|tip| Some(tip.strip_prefix('\'')?.strip_suffix("' exists")?.to_owned()))
                    .collect()
            }
            _ => Vec::new(),
        };
        Some(names).filter(|names| !names.is_empty())
    })?;
    Some(names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "))
}

/// The program's name and that of the subcommand, if the words name one.
fn called<W: AsRef<OsStr>>(program: &Command, words: &[W]) -> String {
    let mut name = program.get_name().to_owned();
    let mut command = program;
    let mut words = words.iter().map(AsRef::as_ref);
    while let Some(word) = words.next().filter(|word| *word != "--") {
        if takes_next(command, word) {
            words.next();
        } else if let Some(subcommand) = command.find_subcommand(word) {
            name = format!("{name} {}", subcommand.get_name());
            command = subcommand;
        }
    }
    name
}

/// Whether `word` is a flag whose value is the next word.
fn takes_next(command: &Command, word: &OsStr) -> bool {
    let word = word.to_string_lossy();
    let is_it = |flag: &&clap::Arg| match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(long), _) => flag.get_long() == Some(long),
        (None, Some(short)) => {
            let mut letters = short.chars();
            letters.next() == flag.get_short() && flag.get_short().is_some() && letters.next().is_none()
        }
        _ => false,
    };
    command.get_arguments().find(is_it).is_some_and(|flag| flag.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    fn program() -> Command {
        let depth = Arg::new("depth").long("depth").value_parser(clap::value_parser!(u8));
        let colour = Arg::new("colour").long("colour").value_parser(["red", "green"]);
        Command::new("weave")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .arg(Arg::new("site").long("site").short('s'))
            .subcommand(Command::new("show").arg(depth).arg(colour))
            .subcommand(Command::new("help-me"))
    }

    fn line(words: &[&str]) -> String {
        let all = [&["weave"], words].concat();
        let error = program().try_get_matches_from(all).expect_err("it is wrong");
        one_line(&error, &program(), words)
    }

    #[test]
    fn the_subcommands_help_is_named() {
        for (words, end) in [
            (&["show", "--depth", "x"][..], "see `weave show --help`"),
            (&["show", "--width"], "see `weave show --help`"),
            (&["--site", "help-me", "show", "--depth=x"], "see `weave show --help`"),
            (&["-s", "show", "help-me", "--depth"], "see `weave help-me --help`"),
            (&["shwo"], "see `weave --help`"),
            (&[], "no command; see `weave --help`"),
        ] {
            let line = line(words);
            assert!(line.ends_with(end) && !line.contains('\n') && !line.contains("error:"), "{line}");
        }
    }

    #[test]
    fn the_flag_and_its_value_are_named() {
        let line = line(&["show", "--depth", "300"]);
        assert!(line.starts_with("invalid value '300' for '--depth <depth>'"), "{line}");
    }

    #[test]
    fn passwords_are_not_repeated() {
        for url in ["http://u:secret@a:7", "u:secret@a:7"] {
            let line = line(&["show", "--depth", url]);
            assert!(line.contains("…@a:7' for '--depth") && !line.contains("secret"), "{line}");
        }
    }

    #[test]
    fn misspelt_words_are_corrected() {
        for (words, expected) in [
            (
                &["show", "--dept", "3"][..],
                "unexpected argument '--dept' found; did you mean `--depth`? see `weave show --help`",
            ),
            (&["shwo"], "unrecognized subcommand 'shwo'; did you mean `show`? see `weave --help`"),
            (&["show", "--colour", "gren"], "did you mean `green`? see `weave show --help`"),
            (&["--depth", "3", "show"], "did you mean `show --depth`? see `weave show --help`"),
            (&["show", "--zzz"], "unexpected argument '--zzz' found; see `weave show --help`"),
        ] {
            let line = line(words);
            assert!(line.ends_with(expected), "{line}");
        }
    }
}
