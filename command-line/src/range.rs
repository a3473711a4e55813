//! Values of flags. An invalid value and one out of range get the same error: the expected range, in the notation of
//! the flag. clap adds the flag and the given value.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Units of sizes, and their binary powers.
const SIZE_UNITS: [(char, u32); 4] = [('t', 40), ('g', 30), ('m', 20), ('k', 10)];
/// Maximum digits after the point of a size: more are less than a byte.
const FRACTION_DIGITS_MAX: usize = 15;
/// Units of times in milliseconds, the largest first; `ms` before `m` and `s`, which are its letters.
const TIME_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("d", 24 * 3_600_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];

/// A whole number within the range.
///
/// # Errors
/// Says what is expected.
pub fn number(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("expected a number from {} to {}", range.start(), range.end()))
}

/// A number of bytes within the range; with K, M, G or T for binary multiples, of which fractions are rounded down.
///
/// # Errors
/// Says what is expected.
pub fn size(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let bytes = bytes_of(text).filter(|bytes| range.contains(bytes));
    bytes.ok_or_else(|| {
        format!("expected a size from {} to {}", size_text(*range.start()), size_text(*range.end()))
    })
}

/// A time within the range, whose ends are in milliseconds; with the unit ms, s, m, h or d, and seconds without one.
///
/// # Errors
/// Says what is expected.
pub fn time(text: &str, range_ms: RangeInclusive<u64>) -> Result<Duration, String> {
    let (least, most) = (*range_ms.start(), *range_ms.end());
    let range = Duration::from_millis(least)..=Duration::from_millis(most);
    let time = time_of(text).filter(|time| range.contains(time));
    time.ok_or_else(|| format!("expected a time from {} to {}", time_text(least), time_text(most)))
}

/// A name of 1 to `bytes_max` bytes, on one line.
///
/// # Errors
/// Says what is expected.
pub fn name(text: &str, bytes_max: usize) -> Result<String, String> {
    if (1..=bytes_max).contains(&text.len()) && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err(format!("expected 1 to {bytes_max} bytes on one line"))
    }
}

fn bytes_of(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let bare = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let in_units = |(unit, shift)| bare.strip_suffix(unit).map(|digits| (digits, shift));
    let (digits, shift) = SIZE_UNITS.into_iter().find_map(in_units).unwrap_or((bare, 0));
    let digits = digits.trim();
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let Some((whole, fraction)) = digits.split_once('.') else {
        return digits.parse::<u64>().ok()?.checked_mul(1 << shift);
    };
    let whole = whole.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    if fraction.is_empty() || fraction.len() > FRACTION_DIGITS_MAX || shift == 0 {
        return None;
    }
    let part = u128::from(fraction.parse::<u64>().ok()?) << shift;
    whole.checked_add(u64::try_from(part / 10_u128.pow(u32::try_from(fraction.len()).ok()?)).ok()?)
}

fn time_of(text: &str) -> Option<Duration> {
    let in_units = |(unit, ms)| text.strip_suffix(unit).map(|digits| (digits, ms));
    let (digits, ms) = TIME_UNITS.into_iter().find_map(in_units).unwrap_or((text, 1000));
    let number: f64 = digits.trim().parse().ok()?;
    Duration::try_from_secs_f64(number * ms as f64 / 1e3).ok()
}

/// The size in the largest unit of which it is a multiple.
fn size_text(bytes: u64) -> String {
    let whole = SIZE_UNITS.into_iter().find(|(_, shift)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    whole.map_or_else(
        || format!("{bytes}B"),
        |(unit, shift)| format!("{}{}", bytes >> shift, unit.to_ascii_uppercase()),
    )
}

/// The time in the largest unit of which it is a multiple.
fn time_text(ms: u64) -> String {
    let whole = TIME_UNITS.into_iter().skip(1).find(|(_, unit_ms)| ms.is_multiple_of(*unit_ms));
    let (unit, unit_ms) = whole.unwrap_or(("ms", 1));
    format!("{}{unit}", ms / unit_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_binary_units() {
        let all = 1..=u64::MAX;
        for (text, bytes) in [
            ("1", 1),
            ("64K", 64 << 10),
            ("500MiB", 500 << 20),
            ("1g", 1 << 30),
            ("2TB", 2 << 40),
            ("5 k", 5 << 10),
            ("7b", 7),
            ("1.5M", 3 << 19),
            ("0.25GiB", 1 << 28),
            ("0.1k", 102),
        ] {
            assert_eq!(size(text, all.clone()), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "G",
            "-1",
            "1.5",
            "1.G",
            ".5G",
            "1.-5G",
            "1.+5G",
            "1.5.5G",
            "1e3G",
            "99999999999T",
            "1X",
            "1e3",
            "ib",
            "x",
        ] {
            assert!(size(text, all.clone()).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units_and_fractions() {
        let all = 1..=u64::MAX / 1_000_000;
        for (text, ms) in
            [("90", 90_000), ("500ms", 500), ("1.5h", 5_400_000), ("5m", 300_000), ("2d", 172_800_000)]
        {
            assert_eq!(time(text, all.clone()), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "soon", "-1", "0", "nan", "inf", "1e999", "1e30", "ms", "5x", "0.1ms"] {
            assert!(time(text, all.clone()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        assert_eq!(number("1024", 1..=1024), Ok(1024));
        assert_eq!(number("0", 1..=1024), Err("expected a number from 1 to 1024".to_owned()));
        assert_eq!(size("65M", 1..=64 << 20), Err("expected a size from 1B to 64M".to_owned()));
        assert_eq!(size("1", 64 << 10..=1 << 50), Err("expected a size from 64K to 1024T".to_owned()));
        let year_ms = 365 * 24 * 3_600_000;
        assert_eq!(time("0", 1..=3_600_000), Err("expected a time from 1ms to 1h".to_owned()));
        assert_eq!(time("366d", 1000..=year_ms), Err("expected a time from 1s to 365d".to_owned()));
        assert_eq!(time("365d", 1000..=year_ms), Ok(Duration::from_millis(year_ms)));
        assert!(name("", 8).is_err() && name("nine long", 8).is_err() && name("a\nb", 8).is_err());
    }

    #[test]
    fn ends_of_ranges_are_written_as_they_are_read() {
        for bytes in [1, 1000, 64 << 10, 1 << 20, 3 << 30, 1 << 50] {
            assert_eq!(size(&size_text(bytes), 0..=u64::MAX), Ok(bytes));
        }
        for ms in [1, 100, 1000, 90_000, 3_600_000, 31_536_000_000] {
            assert_eq!(time(&time_text(ms), 0..=u64::MAX / 2), Ok(Duration::from_millis(ms)));
        }
    }
}
