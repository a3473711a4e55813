//! Values of preferences. Whatever layer a value comes from, it is read from the same text.

use std::fmt;
use std::time::Duration;

use sateen_command_line as command_line;

use super::Hours;

/// Times in preferences are at most a day.
const DAY_MS: u64 = 24 * 3_600_000;
/// More than any machine has.
const BYTES_MAX: u64 = 1 << 50;
/// Maximum entries of a list.
const NAMES_MAX: usize = 256;
/// Maximum bytes of one of them.
const NAME_BYTES_MAX: usize = 256;
/// Digits of a hash.
const HASH_DIGITS: usize = 64;
/// Words for no limit.
const NO_LIMIT: [&str; 2] = ["off", "none"];

/// A share in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Everything.
    pub const ALL: Self = Self(100);

    /// A share of at most 100 %; more counts as everything.
    pub fn of(percent: u8) -> Self {
        Self(percent.min(100))
    }

    /// As a number from 0 to 100.
    pub fn get(self) -> u8 {
        self.0
    }

    /// As a number from 0 to 1.
    pub fn ratio(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// The kind of a preference's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A share from 0 to 100.
    Percent,
    /// A share, or `off`.
    PercentOrOff,
    /// A time between this number of milliseconds and a day.
    Time(u64),
    /// Hours by weekday.
    Hours,
    /// `true` or `false`.
    Switch,
    /// A whole number within this range, or `off`.
    NumberOrOff(u16, u16),
    /// A number of bytes, not less than this one, or `off`.
    SizeOrOff(u64),
    /// A list of names.
    Names,
    /// A list of the first digits of hashes.
    Hashes,
}

/// The value of a preference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// No limit.
    Off,
    /// A share.
    Percent(Percent),
    /// A time.
    Time(Duration),
    /// Hours by weekday.
    Hours(Hours),
    /// Yes or no.
    Switch(bool),
    /// A number.
    Number(u16),
    /// A number of bytes.
    Bytes(u64),
    /// Names.
    Names(Vec<String>),
}

impl Kind {
    /// Reads a value.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        let is_off = NO_LIMIT.contains(&text.to_ascii_lowercase().as_str());
        match self {
            Self::PercentOrOff | Self::NumberOrOff(..) | Self::SizeOrOff(_) if is_off => Ok(Value::Off),
            Self::Percent => percent(text).map(Value::Percent),
            Self::PercentOrOff => percent(text).map(Value::Percent).map_err(or_off),
            Self::Time(least_ms) => command_line::time(text, least_ms..=DAY_MS).map(Value::Time),
            Self::Hours => Hours::parse(text).map(Value::Hours),
            Self::Switch => match text.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Ok(Value::Switch(true)),
                "false" | "no" | "off" => Ok(Value::Switch(false)),
                _ => Err("expected `true` or `false`".to_owned()),
            },
            Self::NumberOrOff(least, most) => command_line::number(text, least.into()..=most.into())
                .map(|number| Value::Number(u16::try_from(number).unwrap_or(most)))
                .map_err(or_off),
            Self::SizeOrOff(least) => {
                let bare = text.strip_suffix("/s").unwrap_or(text);
                command_line::size(bare, least..=BYTES_MAX).map(Value::Bytes).map_err(or_off)
            }
            Self::Names => names(text).map(Value::Names),
            Self::Hashes => hashes(text).map(Value::Names),
        }
    }

    /// The range of its values, if its value is a time.
    pub fn range(self) -> Option<String> {
        match self {
            Self::Time(least_ms) => {
                Some(format!("{} to {}", time_text(Duration::from_millis(least_ms)), "1d"))
            }
            _ => None,
        }
    }

    /// The name of a value in help texts.
    pub fn value_name(self) -> &'static str {
        match self {
            Self::Percent => "PERCENT",
            Self::PercentOrOff => "PERCENT|off",
            Self::Time(_) => "TIME",
            Self::Hours => "HOURS",
            Self::Switch => "true|false",
            Self::NumberOrOff(..) => "N|off",
            Self::SizeOrOff(_) => "SIZE|off",
            Self::Names => "NAMES",
            Self::Hashes => "HASHES",
        }
    }
}

fn or_off(error: String) -> String {
    format!("{error}, or `off`")
}

fn percent(text: &str) -> Result<Percent, String> {
    let bare = text.strip_suffix('%').unwrap_or(text).trim_end();
    let number = command_line::number(bare, 0..=100);
    let number = number.map_err(|_| "expected a share from 0 to 100 (per cent)".to_owned())?;
    Ok(Percent::of(u8::try_from(number).unwrap_or(100)))
}

fn names(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.len() > NAMES_MAX {
        return Err(format!("expected at most {NAMES_MAX} names"));
    }
    for name in &names {
        command_line::name(name, NAME_BYTES_MAX)?;
    }
    Ok(names)
}

/// The first digits of hashes, in the notation of `sateen apps`.
fn hashes(text: &str) -> Result<Vec<String>, String> {
    let all = names(text)?;
    let is_hash =
        |name: &String| name.len() <= HASH_DIGITS && name.bytes().all(|digit| digit.is_ascii_hexdigit());
    match all.iter().find(|name| !is_hash(name)) {
        None => Ok(all.into_iter().map(|name| name.to_ascii_lowercase()).collect()),
        Some(name) => Err(format!(
            "`{name}` is not the beginning of a hash: expected up to {HASH_DIGITS} hexadecimal digits, as `sateen apps` shows them"
        )),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Percent(percent) => write!(f, "{}", percent.get()),
            Self::Time(time) => f.write_str(&time_text(*time)),
            Self::Hours(hours) => hours.fmt(f),
            Self::Switch(on) => on.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Bytes(bytes) => f.write_str(&size_text(*bytes)),
            Self::Names(names) => f.write_str(&names.join(", ")),
        }
    }
}

/// A time in the largest unit of which it is a multiple, as it is read.
fn time_text(time: Duration) -> String {
    let ms = time.as_millis();
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1000)];
    let whole = units.into_iter().find(|(_, unit_ms)| ms >= *unit_ms && ms.is_multiple_of(*unit_ms));
    let (unit, unit_ms) = whole.unwrap_or(("ms", 1));
    format!("{}{unit}", ms / unit_ms)
}

/// A size in the largest unit of which it is a multiple, as it is read.
fn size_text(bytes: u64) -> String {
    let units = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];
    match units.into_iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift)) {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_they_are_read() {
        let cases: [(Kind, &str, &str); 21] = [
            (Kind::Percent, "25 %", "25"),
            (Kind::Percent, "0", "0"),
            (Kind::PercentOrOff, "off", "off"),
            (Kind::PercentOrOff, "100%", "100"),
            (Kind::Time(0), "90", "90s"),
            (Kind::Time(0), "3m", "3m"),
            (Kind::Time(0), "1.5h", "90m"),
            (Kind::Time(0), "0", "0ms"),
            (Kind::Time(0), "250ms", "250ms"),
            (Kind::Switch, "yes", "true"),
            (Kind::Switch, "Off", "false"),
            (Kind::NumberOrOff(30, 110), "85", "85"),
            (Kind::NumberOrOff(30, 110), "none", "off"),
            (Kind::SizeOrOff(1), "2G", "2G"),
            (Kind::SizeOrOff(1), "500K/s", "500K"),
            (Kind::SizeOrOff(1), "1000", "1000"),
            (Kind::SizeOrOff(1), "OFF", "off"),
            (Kind::Names, "a1, b2,", "a1, b2"),
            (Kind::Names, "", ""),
            (Kind::Hashes, "AB12, 00ff", "ab12, 00ff"),
            (Kind::Hours, "always", "always"),
        ];
        for (kind, text, shown) in cases {
            let value = kind.parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(value.to_string(), shown, "{text}");
            assert_eq!(kind.parse(shown), Ok(value), "{shown}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_is_expected() {
        let cases: [(Kind, &str, &str); 12] = [
            (Kind::Percent, "101", "0 to 100"),
            (Kind::Percent, "-1", "0 to 100"),
            (Kind::Percent, "off", "0 to 100"),
            (Kind::PercentOrOff, "half", "or `off`"),
            (Kind::Time(1000), "0", "1s to 1d"),
            (Kind::Time(1000), "2d", "1s to 1d"),
            (Kind::Switch, "maybe", "`true` or `false`"),
            (Kind::NumberOrOff(30, 110), "29", "30 to 110, or `off`"),
            (Kind::SizeOrOff(64 << 10), "1K", "64K to 1024T, or `off`"),
            (Kind::Names, "a\u{7}b", "one line"),
            (Kind::Hashes, "ab, zz", "`zz` is not the beginning of a hash"),
            (Kind::Hashes, "nqueens", "hexadecimal digits"),
        ];
        for (kind, text, expected) in cases {
            let error = kind.parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
