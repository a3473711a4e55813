//! Parses command lines, so that errors name the flag whose value is wrong.

use std::ffi::OsString;
use std::net::SocketAddr;

use clap::{Command, Error, Parser};

/// Parses `words`, including the program's name. A negative number after a flag or in the place of a word is its value, which
/// the flag refuses by its own name if it is out of range. `help --help` shows help.
///
/// # Errors
/// clap's own.
pub fn parsed<T: Parser>(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<T, Error> {
    let mut words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let mut program = with_negative_numbers(T::command());
    if let [_, help, flag] = words.as_slice()
        && program.has_subcommands()
        && help == "help"
        && (flag == "--help" || flag == "-h")
    {
        words.pop();
    }
    let mut matches = program.try_get_matches_from_mut(words)?;
    T::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut program))
}

fn with_negative_numbers(program: Command) -> Command {
    let program = program.mut_args(|arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    let names: Vec<String> = program.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(program, |program, name| program.mut_subcommand(name, with_negative_numbers))
}

/// An address to listen on or to connect to.
///
/// # Errors
/// Says what is expected.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected ADDRESS:PORT, for example 127.0.0.1:7700 or [::1]:7700; a name is not an address".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Parser)]
    #[command(name = "weave")]
    struct Weave {
        #[arg(long)]
        share: Option<u8>,
        #[command(subcommand)]
        what: Option<What>,
    }

    #[derive(Debug, clap::Subcommand)]
    enum What {
        Show { number: u8 },
    }

    #[test]
    fn negative_numbers_are_refused_by_the_name_of_their_flag() {
        for (words, expected) in [
            (&["weave", "--share", "-1"][..], "invalid value '-1' for '--share <SHARE>'"),
            (&["weave", "show", "-1"], "invalid value '-1' for '<NUMBER>'"),
        ] {
            let error = parsed::<Weave>(words.iter().copied()).expect_err("it is negative").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn help_has_help() {
        for words in [&["weave", "help", "--help"][..], &["weave", "help", "-h"], &["weave", "help"]] {
            let help = parsed::<Weave>(words.iter().copied()).expect_err("help");
            assert!(!help.use_stderr(), "{help}");
        }
    }

    #[test]
    fn an_address_has_a_port_and_no_name() {
        for wrong in ["", "x", "127.0.0.1", "localhost:7812", "127.0.0.1:99999"] {
            let error = socket_address(wrong).expect_err(wrong);
            assert!(error.contains("for example 127.0.0.1:7700"), "{error}");
        }
        assert!(socket_address("[::1]:0").is_ok());
    }
}
