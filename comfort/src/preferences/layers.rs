//! The layers of preferences: of each key, the uppermost layer that has a value for it counts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::file::FileLayer;
use super::keys::{KEYS, Key, Profile, key_named};
use super::value::{Percent, Value};
use super::{BatteryRule, Hours, Limits, MachineRule, Preferences, Share, Trust};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody has set it.
    Default,
    /// The file of preferences.
    File(PathBuf),
    /// A variable of the environment.
    Environment(String),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A value and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// Where it comes from.
    pub source: Source,
}

/// What the layers above the defaults say.
#[derive(Default)]
pub struct Given<'a> {
    /// Whether somebody uses the machine.
    pub profile: Profile,
    /// The file, if there is one.
    pub file: Option<&'a FileLayer>,
    /// Values of the environment, by the variable's name.
    pub environment: Vec<(String, String)>,
    /// Values of flags, by the key's name.
    pub flags: Vec<(String, String)>,
}

/// A flag whose value makes no sense.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("invalid value '{value}' for '{flag}': {expected}")]
pub struct Invalid {
    flag: String,
    value: String,
    expected: String,
}

/// All preferences, with what was wrong with the layers.
#[derive(Debug, Clone)]
pub struct Resolved {
    settings: BTreeMap<&'static str, Setting>,
    /// Sentences about values that were not used.
    pub warnings: Vec<String>,
}

/// Puts the layers together. A value in the file or the environment that makes no sense is reported, and that of the
/// layer below is kept.
///
/// # Errors
/// If the value of a flag makes no sense.
pub fn resolve(given: &Given<'_>) -> Result<Resolved, Invalid> {
    let mut resolved = Resolved { settings: BTreeMap::new(), warnings: Vec::new() };
    for key in &KEYS {
        let text = key.default_of(given.profile);
        // A test shows that all defaults are values.
        let value = key.kind.parse(text).unwrap_or(Value::Off);
        resolved.settings.insert(key.name, Setting { value, source: Source::Default });
    }
    if let Some(file) = given.file {
        resolved.warnings.extend(file.warnings.iter().cloned());
        for (key, text) in &file.values {
            resolved.put(key, text, Source::File(file.path.clone()));
        }
    }
    for (variable, text) in &given.environment {
        if let Some(key) = KEYS.iter().find(|key| key.variable() == *variable) {
            resolved.put(key, text, Source::Environment(variable.clone()));
        }
    }
    for (name, text) in &given.flags {
        let Some(key) = key_named(name) else { continue };
        let value = key.kind.parse(text).map_err(|expected| Invalid {
            flag: key.flag(),
            value: text.clone(),
            expected,
        })?;
        resolved.settings.insert(key.name, Setting { value, source: Source::Flag(key.flag()) });
    }
    Ok(resolved)
}

impl Resolved {
    fn put(&mut self, key: &'static Key, text: &str, source: Source) {
        match key.kind.parse(text) {
            Ok(value) => {
                self.settings.insert(key.name, Setting { value, source });
            }
            Err(expected) => {
                let kept = self.settings.get(key.name).map(|setting| setting.value.to_string());
                let kept = kept.unwrap_or_default();
                self.warnings.push(format!(
                    "{source}: the value '{}' of {} makes no sense and is not used; {expected}; it stays '{kept}'",
                    text.escape_default(),
                    key.name
                ));
            }
        }
    }

    /// All keys with their values and sources, in the order of [`KEYS`].
    pub fn settings(&self) -> impl Iterator<Item = (&'static Key, &Setting)> {
        KEYS.iter().filter_map(|key| Some((key, self.settings.get(key.name)?)))
    }

    /// The keys whose values differ from those of `before`, each with the value before and now.
    pub fn changes<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'static Key, &'a Value, &'a Value)> {
        self.settings().filter_map(move |(key, setting)| {
            let old = &before.setting(key.name)?.value;
            (*old != setting.value).then_some((key, old, &setting.value))
        })
    }

    /// The value of a key and where it comes from.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.get(name)
    }

    fn value(&self, name: &str) -> &Value {
        self.settings.get(name).map_or(&Value::Off, |setting| &setting.value)
    }

    fn percent(&self, name: &str) -> Option<Percent> {
        match self.value(name) {
            Value::Percent(percent) => Some(*percent),
            _ => None,
        }
    }

    fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Time(time) => *time,
            _ => Duration::ZERO,
        }
    }

    fn switch(&self, name: &str) -> bool {
        matches!(self.value(name), Value::Switch(true))
    }

    fn number(&self, name: &str) -> Option<u16> {
        match self.value(name) {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn bytes(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Value::Bytes(bytes) => Some(*bytes),
            _ => None,
        }
    }

    fn names(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Value::Names(names) => names.clone(),
            _ => Vec::new(),
        }
    }

    /// The values by themselves.
    pub fn preferences(&self) -> Preferences {
        let hours = match self.value("hours") {
            Value::Hours(hours) => hours.clone(),
            _ => Hours::always(),
        };
        Preferences {
            share: Share {
                in_use: self.percent("share-in-use").unwrap_or(Percent::NONE),
                idle: self.percent("share-idle").unwrap_or(Percent::NONE),
                idle_after: self.time("idle-after"),
            },
            hours,
            battery: BatteryRule {
                on_battery: self.switch("on-battery"),
                battery_min: self.percent("battery-min").unwrap_or(Percent::NONE),
            },
            machine: MachineRule {
                temperature_max_c: self.number("temperature-max"),
                others_load_max: self.percent("others-load-max"),
                watts_max: self.number("watts-max"),
            },
            hand_over_after: self.time("hand-over-after"),
            limits: Limits {
                threads: self.number("threads").map(usize::from),
                memory_bytes: self.bytes("memory"),
                disk_bytes: self.bytes("disk"),
                bandwidth_bytes_s: self.bytes("bandwidth"),
                daily_transfer_bytes: self.bytes("daily-transfer"),
            },
            trust: Trust {
                apps_allowed: self.names("apps-allowed"),
                apps_refused: self.names("apps-refused"),
                submitters_allowed: self.names("submitters-allowed"),
                submitters_refused: self.names("submitters-refused"),
                require_walls: self.switch("require-walls"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_uppermost_layer_counts_and_is_named() {
        let file = FileLayer::parse(
            Path::new("/p.toml"),
            "version = 1\nshare-in-use = 10\nshare-idle = 50\nidle-after = \"5m\"\n",
        )
        .expect("a file");
        let given = Given {
            profile: Profile::Volunteer,
            file: Some(&file),
            environment: pairs(&[
                ("SATEEN_SHARE_IDLE", "60"),
                ("SATEEN_IDLE_AFTER", "4m"),
                ("SATEEN_LOG", "x"),
            ]),
            flags: pairs(&[("idle-after", "2m")]),
        };
        let resolved = resolve(&given).expect("sound");
        let from = |name: &str| {
            let setting = resolved.setting(name).expect("a key");
            (setting.value.to_string(), setting.source.to_string())
        };
        assert_eq!(from("share-in-use"), ("10".to_owned(), "/p.toml".to_owned()));
        assert_eq!(from("share-idle"), ("60".to_owned(), "SATEEN_SHARE_IDLE".to_owned()));
        assert_eq!(from("idle-after"), ("2m".to_owned(), "--idle-after".to_owned()));
        assert_eq!(from("on-battery"), ("false".to_owned(), "default".to_owned()));
        assert_eq!(resolved.warnings, Vec::<String>::new());
        let preferences = resolved.preferences();
        assert_eq!(preferences.share.in_use.get(), 10);
        assert_eq!(preferences.share.idle_after, Duration::from_secs(120));
        assert_eq!(resolved.settings().count(), KEYS.len());
    }

    #[test]
    fn a_value_that_makes_no_sense_is_named_and_the_lower_one_is_kept() {
        let file =
            FileLayer::parse(Path::new("p.toml"), "version = 1\nshare-idle = 50\nshare-in-use = 400\n");
        let file = file.expect("a file");
        let environment = pairs(&[("SATEEN_SHARE_IDLE", "lots")]);
        let given = Given { file: Some(&file), environment, ..Given::default() };
        let resolved = resolve(&given).expect("sound");
        assert_eq!(resolved.preferences().share.idle.get(), 50);
        assert_eq!(resolved.preferences().share.in_use.get(), 0);
        let [first, second] = &resolved.warnings[..] else { panic!("{:?}", resolved.warnings) };
        assert!(
            first.contains("p.toml") && first.contains("400") && first.contains("share-in-use"),
            "{first}"
        );
        assert!(second.contains("SATEEN_SHARE_IDLE") && second.contains("stays '50'"), "{second}");
    }

    #[test]
    fn a_flag_that_makes_no_sense_is_an_error() {
        let given = Given { flags: pairs(&[("temperature-max", "hot")]), ..Given::default() };
        let error = resolve(&given).expect_err("no number").to_string();
        assert!(error.contains("'hot' for '--temperature-max'") && error.contains("or `off`"), "{error}");
    }

    #[test]
    fn a_dedicated_machine_computes_all_the_time_by_default() {
        let dedicated = resolve(&Given { profile: Profile::Dedicated, ..Given::default() }).expect("sound");
        let dedicated = dedicated.preferences();
        assert!(dedicated.are_unlimited());
        let volunteer = resolve(&Given::default()).expect("sound").preferences();
        assert_eq!(volunteer.share.in_use, Percent::NONE);
        assert!(
            !volunteer.are_unlimited()
                && !volunteer.battery.on_battery
                && volunteer.machine.temperature_max_c == Some(85)
        );
        assert_eq!(volunteer.share.idle_after, Duration::from_secs(180));
    }
}
