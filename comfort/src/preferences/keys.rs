//! The keys of preferences, with their kinds and defaults.

use super::value::Kind;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name in the file and, with `--`, as a flag.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// What it means, for help texts.
    pub help: &'static str,
    /// The default of a machine that somebody uses, and of one that is dedicated to the grid.
    defaults: (&'static str, &'static str),
}

/// Whether somebody uses the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Somebody does, and lends it to a grid.
    #[default]
    Volunteer,
    /// It is for the grid: by default, it computes all the time.
    Dedicated,
}

const fn key(
    name: &'static str,
    kind: Kind,
    defaults: (&'static str, &'static str),
    help: &'static str,
) -> Key {
    Key { name, kind, help, defaults }
}

/// All keys, in the order in which they are shown.
#[rustfmt::skip]
pub const KEYS: [Key; 20] = [
    key("share-in-use", Kind::Percent, ("0", "100"),
        "Share of the processors while somebody uses the machine, in per cent; with 0, the host pauses"),
    key("share-idle", Kind::Percent, ("100", "100"),
        "Share of the processors while nobody uses the machine, in per cent"),
    key("idle-after", Kind::Time(1000), ("3m", "3m"),
        "Time without input after which the machine counts as not in use"),
    key("hours", Kind::Hours, ("always", "always"),
        "Hours by weekday, like `mon-fri 18:00-08:00, sat-sun`, or `always` or `never`"),
    key("on-battery", Kind::Switch, ("false", "true"),
        "Whether the host computes on battery"),
    key("battery-min", Kind::Percent, ("50", "0"),
        "Charge of the battery below which the host does not compute on it, in per cent"),
    key("temperature-max", Kind::NumberOrOff(30, 120), ("85", "off"),
        "Temperature of the processors at which the host pauses, in °C"),
    key("others-load-max", Kind::PercentOrOff, ("75", "off"),
        "Load of other programs at which the host pauses, in per cent of all processors"),
    key("watts-max", Kind::NumberOrOff(1, 5000), ("off", "off"),
        "Power of the processors that the host keeps to, in watts, where the system reports it"),
    key("hand-over-after", Kind::Time(1), ("1m", "1m"),
        "Time after which the jobs of a paused host go to other hosts"),
    key("threads", Kind::NumberOrOff(1, 1024), ("off", "off"),
        "Number of workers, shared by all runs; `off` stands for one for each processor"),
    key("memory", Kind::SizeOrOff(64 << 10), ("2G", "off"),
        "Memory of the apps of all runs and of results, together"),
    key("disk", Kind::SizeOrOff(1 << 20), ("4G", "off"),
        "Size of the host's data folder"),
    key("bandwidth", Kind::SizeOrOff(16 << 10), ("off", "off"),
        "Bytes a second that the host sends, and that it receives"),
    key("daily-transfer", Kind::SizeOrOff(1 << 20), ("off", "off"),
        "Bytes a day that the host sends and receives, together; then it pauses until midnight"),
    key("apps-allowed", Kind::Hashes, ("", ""),
        "Beginnings of the hashes of the only apps that the host runs"),
    key("apps-refused", Kind::Hashes, ("", ""),
        "Beginnings of the hashes of apps that the host does not run"),
    key("submitters-allowed", Kind::Names, ("", ""),
        "The only submitters whose runs the host takes, by the names of their tokens; a grid without tokens names none"),
    key("submitters-refused", Kind::Names, ("", ""),
        "Submitters whose runs the host does not take, by the names of their tokens"),
    key("require-walls", Kind::Switch, ("false", "false"),
        "Refuse all runs if the system lacks a wall around guests"),
];

impl Key {
    /// The text of its default.
    pub fn default_of(&self, profile: Profile) -> &'static str {
        match profile {
            Profile::Volunteer => self.defaults.0,
            Profile::Dedicated => self.defaults.1,
        }
    }

    /// The environment's variable for it.
    pub fn variable(&self) -> String {
        format!("SATEEN_{}", self.name.replace('-', "_").to_ascii_uppercase())
    }

    /// Whether a host that runs keeps its value until it starts again: threads, memory and folders are divided then.
    pub fn is_fixed(&self) -> bool {
        matches!(self.name, "threads" | "memory" | "disk" | "require-walls")
    }

    /// The name of its value in help texts.
    pub fn value_name(&self) -> &'static str {
        self.kind.value_name()
    }

    /// Its flag.
    pub fn flag(&self) -> String {
        format!("--{}", self.name)
    }
}

/// The key with this name; `_` counts as `-`.
pub fn key_named(name: &str) -> Option<&'static Key> {
    let name = name.replace('_', "-");
    KEYS.iter().find(|key| key.name == name)
}

/// The known key that resembles `name`, if there is one.
pub fn nearest(name: &str) -> Option<&'static Key> {
    /// Less alike, and another key was meant.
    const ALIKE_MIN: f64 = 0.75;
    let name = name.replace('_', "-").to_ascii_lowercase();
    let alike = KEYS.iter().map(|key| (strsim::jaro_winkler(&name, key.name), key));
    let (likeness, key) = alike.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (likeness >= ALIKE_MIN).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_values() {
        for key in &KEYS {
            for profile in [Profile::Volunteer, Profile::Dedicated] {
                let text = key.default_of(profile);
                let value = key.kind.parse(text).unwrap_or_else(|error| panic!("{}: {error}", key.name));
                assert_eq!(value.to_string(), text, "{}", key.name);
            }
        }
    }

    #[test]
    fn names_are_found() {
        assert_eq!(key_named("share_in_use").map(|key| key.name), Some("share-in-use"));
        assert_eq!(key_named("share").map(|key| key.name), None);
        for (name, meant) in [
            ("share-inuse", Some("share-in-use")),
            ("temperature", Some("temperature-max")),
            ("Idle_Aftr", Some("idle-after")),
            ("colour", None),
        ] {
            assert_eq!(nearest(name).map(|key| key.name), meant, "{name}");
        }
        assert_eq!(KEYS[0].variable(), "SATEEN_SHARE_IN_USE");
        assert_eq!(KEYS[0].flag(), "--share-in-use");
    }
}
