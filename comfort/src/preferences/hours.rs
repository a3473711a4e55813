//! Hours by weekday: `mon-fri 18:00-08:00, sat-sun`.

use std::fmt;

use jiff::Zoned;
use jiff::civil::Weekday;

const DAY_MINUTES: u16 = 24 * 60;
const WEEK_MINUTES: u16 = 7 * DAY_MINUTES;
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const EXPECTED: &str =
    "expected hours by weekday, like `mon-fri 18:00-08:00, sat-sun`, or `always` or `never`";

/// The hours of a week in which a host may compute, by the machine's own clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hours {
    text: String,
    /// Minutes since the beginning of Monday: first included, last excluded; in order, and none touches another.
    spans: Vec<(u16, u16)>,
}

impl Hours {
    /// All the time.
    pub fn always() -> Self {
        Self { text: "always".to_owned(), spans: vec![(0, WEEK_MINUTES)] }
    }

    /// Reads hours: entries of days and times, separated by commas. A day may be a range (`mon-fri`) and is a whole day
    /// without times; a time that ends before it begins ends on the next day.
    ///
    /// # Errors
    /// Says what is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let text = words.join(" ");
        match text.as_str() {
            "always" => return Ok(Self::always()),
            "never" => return Ok(Self { text, spans: Vec::new() }),
            _ => {}
        }
        let mut open = [false; WEEK_MINUTES as usize];
        for entry in text.split([',', ';']) {
            open_entry(entry.trim(), &mut open)?;
        }
        Ok(Self { spans: spans(&open), text })
    }

    /// Whether these are all hours.
    pub fn are_always(&self) -> bool {
        self.spans == [(0, WEEK_MINUTES)]
    }

    /// Whether all of these hours are among the others.
    pub fn are_within(&self, others: &Self) -> bool {
        let is_within =
            |(from, to): &(u16, u16)| others.spans.iter().any(|(first, last)| first <= from && to <= last);
        self.spans.iter().all(is_within)
    }

    /// Whether a host may compute at this time.
    pub fn allow(&self, now: &Zoned) -> bool {
        let minute = minute_of_week(now);
        self.spans.iter().any(|(from, to)| (*from..*to).contains(&minute))
    }

    /// The next time at which a host may compute, if it may not now.
    pub fn next(&self, now: &Zoned) -> Option<Zoned> {
        let minute = minute_of_week(now);
        let wait = self.spans.iter().map(|(from, _)| (from + WEEK_MINUTES - minute) % WEEK_MINUTES).min()?;
        // By the clock: a change to or from summer time in between does not count.
        let at = now.datetime().checked_add(jiff::Span::new().minutes(i64::from(wait))).ok()?;
        let at = at.with().second(0).subsec_nanosecond(0).build().ok()?;
        at.to_zoned(now.time_zone().clone()).ok()
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn minute_of_week(now: &Zoned) -> u16 {
    let day = match now.weekday() {
        Weekday::Monday => 0,
        Weekday::Tuesday => 1,
        Weekday::Wednesday => 2,
        Weekday::Thursday => 3,
        Weekday::Friday => 4,
        Weekday::Saturday => 5,
        Weekday::Sunday => 6,
    };
    let (hour, minute) = (now.hour().unsigned_abs(), now.minute().unsigned_abs());
    day * DAY_MINUTES + u16::from(hour) * 60 + u16::from(minute)
}

fn open_entry(entry: &str, open: &mut [bool; WEEK_MINUTES as usize]) -> Result<(), String> {
    let mut words = entry.split(' ');
    let days = days(words.next().unwrap_or_default())?;
    let mut times = words.map(time_span).collect::<Result<Vec<_>, _>>()?;
    if times.is_empty() {
        times.push((0, DAY_MINUTES));
    }
    for day in days {
        for (from, to) in &times {
            let length = if to > from { to - from } else { to + DAY_MINUTES - from };
            for minute in 0..length {
                open[usize::from((day * DAY_MINUTES + from + minute) % WEEK_MINUTES)] = true;
            }
        }
    }
    Ok(())
}

/// Days of the week, from 0 for Monday.
fn days(text: &str) -> Result<Vec<u16>, String> {
    let day = |name: &str| {
        let full = |short: &&str| name.len() >= 3 && long(short).starts_with(name);
        DAYS.iter().position(full).map(|day| day as u16).ok_or_else(|| EXPECTED.to_owned())
    };
    match text.split_once('-') {
        _ if text == "daily" => Ok((0..7).collect()),
        Some((first, last)) => {
            let (first, last) = (day(first)?, day(last)?);
            let count = (last + 7 - first) % 7;
            Ok((0..=count).map(|after| (first + after) % 7).collect())
        }
        None => Ok(vec![day(text)?]),
    }
}

fn long(short: &str) -> &'static str {
    match short {
        "mon" => "monday",
        "tue" => "tuesday",
        "wed" => "wednesday",
        "thu" => "thursday",
        "fri" => "friday",
        "sat" => "saturday",
        _ => "sunday",
    }
}

/// A span of a day in minutes.
fn time_span(text: &str) -> Result<(u16, u16), String> {
    let (from, to) = text.split_once('-').ok_or(EXPECTED)?;
    let (from, to) = (time(from)?, time(to)?);
    if from == DAY_MINUTES || from == to {
        return Err(EXPECTED.to_owned());
    }
    Ok((from, to))
}

/// A time of day in minutes; 24:00 is the end of the day.
fn time(text: &str) -> Result<u16, String> {
    let (hour, minute) = text.split_once(':').unwrap_or((text, "00"));
    let number = |text: &str| {
        let is_plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|_| is_plain)
    };
    match (number(hour), number(minute)) {
        (Some(hour @ 0..24), Some(minute @ 0..60)) => Ok(hour * 60 + minute),
        (Some(24), Some(0)) => Ok(DAY_MINUTES),
        _ => Err(EXPECTED.to_owned()),
    }
}

fn spans(open: &[bool; WEEK_MINUTES as usize]) -> Vec<(u16, u16)> {
    let mut spans = Vec::new();
    let mut since = None;
    for (minute, is_open) in (0..).zip(open.iter().chain([&false])) {
        match (since, is_open) {
            (None, true) => since = Some(minute),
            (Some(from), false) => {
                spans.push((from, minute));
                since = None;
            }
            _ => {}
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use jiff::civil::DateTime;
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::*;

    /// By a clock that is set forward on the last Sunday of March and back on the last one of October.
    fn clock(text: &str) -> Zoned {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        text.parse::<DateTime>().and_then(|time| time.to_zoned(zone)).expect("a time")
    }

    /// 23 November 2026 was a Monday.
    fn at(day: i8, time: &str) -> Zoned {
        clock(&format!("2026-11-{:02}T{time}", 23 + day))
    }

    #[test]
    fn evenings_reach_into_the_next_day() {
        let hours = Hours::parse("Mon-Fri  18:00-08:00, sat-sun").expect("hours");
        assert_eq!(hours.to_string(), "mon-fri 18:00-08:00, sat-sun");
        for (day, time, allowed) in [
            (0, "07:59", false),
            (0, "17:59", false),
            (0, "18:00", true),
            (1, "07:59", true),
            (1, "08:00", false),
            (4, "23:00", true),
            (5, "12:00", true),
            (6, "23:59", true),
        ] {
            assert_eq!(hours.allow(&at(day, time)), allowed, "day {day}, {time}");
        }
    }

    #[test]
    fn hours_are_among_others() {
        let hours = |text: &str| Hours::parse(text).expect("hours");
        assert!(hours("mon 8-9, sat").are_within(&hours("mon-wed, fri-sun")));
        assert!(
            hours("never").are_within(&hours("never"))
                && hours("sun 23:00-01:00").are_within(&Hours::always())
        );
        assert!(
            !hours("mon-sat").are_within(&hours("mon-fri")) && !Hours::always().are_within(&hours("never"))
        );
    }

    #[test]
    fn the_next_time_is_known() {
        let hours = Hours::parse("mon-fri 18:00-08:00").expect("hours");
        assert_eq!(hours.next(&at(0, "12:34:56")), Some(at(0, "18:00")));
        // From Saturday morning on, the next is Monday evening.
        assert_eq!(hours.next(&at(5, "08:00")), Some(clock("2026-11-30T18:00")));
        assert_eq!(Hours::parse("never").expect("hours").next(&at(0, "00:00")), None);
    }

    #[test]
    fn the_clock_counts_when_it_is_changed() {
        // On 28 March 2027, 2:00 is followed by 3:00.
        let hours = Hours::parse("sun 06:00-07:00").expect("hours");
        let now = clock("2027-03-28T01:30");
        assert_eq!(hours.next(&now), Some(clock("2027-03-28T06:00")));
    }

    #[test]
    fn days_and_times_have_several_forms() {
        for (text, day, time) in [
            ("daily 9-17", 2, "16:59"),
            ("monday", 0, "00:00"),
            ("fri-mon 12:00-13:00", 0, "12:00"),
            ("sun 22:00-24:00 00:00-01:00", 6, "23:59"),
            ("sun 23:00-01:00", 0, "00:30"),
            ("tue; thurs", 3, "10:00"),
        ] {
            let hours = Hours::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(hours.allow(&at(day, time)), "{text}");
        }
        for text in
            ["", "mo", "mon 25-26", "mon 8", "mon 8:00-8:00", "mon 24:00-01:00", "8-9", "mon,", "mon 8:60-9"]
        {
            assert!(Hours::parse(text).is_err_and(|error| error.contains("mon-fri 18:00-08:00")), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_span_has_its_minutes(day in 0..7u16, from in 0..1440u16, to in 0..1440u16, minute in 0..10_080u16) {
            prop_assume!(from != to);
            let text_of = |minute: u16| format!("{}:{:02}", minute / 60, minute % 60);
            let text = format!("{} {}-{}", DAYS[usize::from(day)], text_of(from), text_of(to));
            let hours = Hours::parse(&text).expect("hours");
            let length = (to + 1440 - from) % 1440;
            let since = (minute + 10_080 - (day * 1440 + from)) % 10_080;
            let now = at(i8::try_from(minute / 1440).expect("a day"), &padded(minute % 1440));
            prop_assert_eq!(hours.allow(&now), since < length, "{}", text);
            if since >= length {
                let next = hours.next(&now).expect("a next time");
                prop_assert!(hours.allow(&next));
            }
        }

        #[test]
        fn no_text_panics(text in "[a-z0-9:, -]{0,40}") {
            let _ = Hours::parse(&text);
        }
    }

    fn padded(minute: u16) -> String {
        format!("{:02}:{:02}", minute / 60, minute % 60)
    }
}
