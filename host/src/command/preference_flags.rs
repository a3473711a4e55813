//! Flags for the owner's preferences: one for each key.

use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use sateen_comfort::preferences::{KEYS, Key, Profile};

/// Keys that have flags of their own.
const OTHERS: [&str; 2] = ["threads", "memory"];

/// The values that were given, by key.
#[derive(Debug, Clone, Default)]
pub struct PreferenceFlags(pub Vec<(String, String)>);

fn keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| !OTHERS.contains(&key.name))
}

fn flag(key: &'static Key) -> Arg {
    let (volunteer, dedicated) = (key.default_of(Profile::Volunteer), key.default_of(Profile::Dedicated));
    let default = match (volunteer, dedicated) {
        ("", _) => "none".to_owned(),
        (one, other) if one == other => one.to_owned(),
        (one, other) => format!("{one}; {other} with --dedicated"),
    };
    let range = key.kind.range().map_or_else(String::new, |range| format!(" [range: {range}]"));
    Arg::new(key.name)
        .long(key.name)
        .value_name(key.value_name())
        .help(format!("{} [default: {default}]{range}", key.help))
        .help_heading("Preferences")
        .value_parser(move |text: &str| key.kind.parse(text).map(|_| text.to_owned()))
}

impl Args for PreferenceFlags {
    fn augment_args(command: Command) -> Command {
        keys().fold(command, |command, key| command.arg(flag(key)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PreferenceFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = keys().filter_map(|key| {
            let value = matches.try_get_one::<String>(key.name).ok()??;
            Some((key.name.to_owned(), value.clone()))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
