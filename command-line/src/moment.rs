//! Dates and times in this machine's time zone. Times that are sent, or read by machines, stay in UTC.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// A time in the format of RFC 3339, without fractions and without the Z; `d` stands for a digit.
const RFC3339: &[u8] = b"dddd-dd-ddTdd:dd:dd";
/// Times of today that are nearer than this have seconds.
const NEAR_S: u64 = 300;

/// `17:30` for a time of today, `17:30:05` if it is near, `2026-11-25 17:30` for another day.
pub fn time_of_day(unix_s: u64) -> String {
    short(&at(unix_s), &Zoned::now().with_time_zone(zone()))
}

/// `2026-11-25 17:30`.
pub fn local(unix_s: u64) -> String {
    at(unix_s).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A time from a coordinator, as `2026-11-25 17:30:05 CET`; other text is left unchanged.
pub fn local_with_zone(rfc3339: &str) -> String {
    match rfc3339.parse::<Timestamp>() {
        Ok(moment) => with_zone(&moment.to_zoned(zone())),
        Err(_) => rfc3339.to_owned(),
    }
}

/// `text` with each time in it, which is in UTC, replaced by that of [`time_of_day`].
pub fn localised(text: &str) -> String {
    localised_in(text, &Zoned::now().with_time_zone(zone()))
}

/// UTC, if the system does not report its time zone.
fn zone() -> TimeZone {
    TimeZone::try_system().unwrap_or(TimeZone::UTC)
}

fn at(unix_s: u64) -> Zoned {
    let s = i64::try_from(unix_s).unwrap_or(i64::MAX);
    Timestamp::from_second(s).unwrap_or(Timestamp::MAX).to_zoned(zone())
}

fn short(moment: &Zoned, now: &Zoned) -> String {
    let is_near = moment.timestamp().as_second().abs_diff(now.timestamp().as_second()) < NEAR_S;
    let format = match moment.date() == now.date() {
        // To the minute it would seem past, or far.
        true if is_near => "%H:%M:%S",
        true => "%H:%M",
        false => "%Y-%m-%d %H:%M",
    };
    moment.strftime(format).to_string()
}

fn with_zone(moment: &Zoned) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

fn localised_in(text: &str, now: &Zoned) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = moment_length(rest.as_bytes());
        match rest.get(..length).and_then(|moment| moment.parse::<Timestamp>().ok()) {
            Some(moment) => {
                shown.push_str(&short(&moment.to_zoned(now.time_zone().clone()), now));
                rest = &rest[length..];
            }
            None => {
                shown.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
    }
    shown
}

/// Length of the time with which `text` begins, in bytes; 0 if it does not.
fn moment_length(text: &[u8]) -> usize {
    let fits = |(pattern, byte): (&u8, &u8)| {
        if *pattern == b'd' { byte.is_ascii_digit() } else { pattern == byte }
    };
    if text.len() <= RFC3339.len() || !RFC3339.iter().zip(text).all(fits) {
        return 0;
    }
    let after = &text[RFC3339.len()..];
    let fraction = after.iter().take_while(|byte| **byte == b'.' || byte.is_ascii_digit()).count();
    if after.get(fraction) == Some(&b'Z') { RFC3339.len() + fraction + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half an hour off the hour, so that a time in UTC is seen.
    fn now() -> Zoned {
        let zone = TimeZone::posix("<IST>-5:30").expect("a zone");
        "2026-11-25T10:00:00Z".parse::<Timestamp>().expect("a moment").to_zoned(zone)
    }

    #[test]
    fn moments_of_today_are_times_of_day() {
        for (text, shown) in [
            ("paused by its user until 2026-11-25T12:00:00Z", "paused by its user until 17:30"),
            ("until 2026-11-25T18:29:59.999Z, then", "until 23:59, then"),
            ("until 2026-11-25T10:00:06Z", "until 15:30:06"),
            ("until 2026-11-25T18:30:00Z", "until 2026-11-26 00:00"),
            ("2026-11-25T12:00:00Z 2026-11-24T12:00:00Z", "17:30 2026-11-24 17:30"),
        ] {
            assert_eq!(localised_in(text, &now()), shown);
        }
    }

    #[test]
    fn texts_that_are_not_moments_stay_unchanged() {
        for text in [
            "",
            "größe 2026-11-25",
            "2026-13-45T99:00:00Z",
            "2026-11-25T12:00:00",
            "x2026-11-25T12:00:00+01:00",
        ] {
            assert_eq!(localised_in(text, &now()), text);
        }
        assert_eq!(local_with_zone("soon"), "soon");
    }

    #[test]
    fn zones_are_named() {
        assert_eq!(with_zone(&now()), "2026-11-25 15:30:00 IST");
        assert!(local_with_zone("2026-11-25T10:00:00.123Z").starts_with("2026-11-2"));
        assert!(local(u64::MAX).starts_with("9999-12-3") || local(u64::MAX).starts_with("10000-"));
    }
}
