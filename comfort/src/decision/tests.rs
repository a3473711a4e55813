use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::preferences::{Given, resolve};
use crate::sense::Battery;

fn preferences(flags: &[(&str, &str)]) -> Preferences {
    let flags = flags.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    resolve(&Given { flags, ..Given::default() }).expect("sound").preferences()
}

/// A Monday, 14:02 in UTC and 15:02 by the clock.
fn at(seconds: i64) -> Zoned {
    let zone = jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
    let start = jiff::civil::date(2026, 11, 23).at(15, 2, 0, 0).to_zoned(zone).expect("a time");
    start.checked_add(jiff::Span::new().seconds(seconds)).expect("in range")
}

fn nobody() -> Readings {
    Readings { idle: Some(Duration::from_secs(3600)), ..Readings::default() }
}

fn on_battery(charge: u8) -> Readings {
    Readings { battery: Some(Battery { is_discharging: true, charge: Percent::of(charge) }), ..nobody() }
}

/// Decides again and again, and returns the reasons of each state.
fn story(preferences: &Preferences, readings: &[(i64, Readings)]) -> Vec<String> {
    let mut memory = Memory::default();
    let states = readings.iter().map(|(s, readings)| {
        let (state, next) = decide(preferences, &memory, readings, &at(*s));
        memory = next;
        state.reason().unwrap_or_else(|| state.share().to_string())
    });
    states.collect()
}

#[test]
fn a_machine_in_use_is_left_alone_until_it_is_idle() {
    let used = |s: u64| Readings { idle: Some(Duration::from_secs(s)), ..Readings::default() };
    let told = story(&preferences(&[]), &[(0, used(0)), (179, used(179)), (180, used(180)), (190, used(1))]);
    let busy = "somebody uses the machine";
    assert_eq!(told, [busy, busy, "100 %", busy]);
    let told =
        story(&preferences(&[("share-in-use", "25"), ("idle-after", "1m")]), &[(0, used(59)), (1, used(60))]);
    assert_eq!(told, ["25 %", "100 %"]);
}

#[test]
fn a_machine_without_senses_is_idle() {
    assert_eq!(story(&preferences(&[]), &[(0, Readings::default())]), ["100 %"]);
}

#[test]
fn the_battery_has_the_time_since_which_it_is_used() {
    let plugged =
        Readings { battery: Some(Battery { is_discharging: false, charge: Percent::of(10) }), ..nobody() };
    let told = story(
        &preferences(&[]),
        &[(0, on_battery(90)), (60, on_battery(89)), (61, plugged), (120, on_battery(88))],
    );
    let since = |time: &str| format!("on battery since 2026-11-23T{time}Z");
    assert_eq!(told, [since("14:02:00"), since("14:02:00"), "100 %".to_owned(), since("14:04:00")]);
}

#[test]
fn a_low_battery_must_gain_some_charge() {
    let allowed = preferences(&[("on-battery", "true"), ("battery-min", "40")]);
    let charges = [41, 39, 40, 44, 45, 40];
    let readings: Vec<_> = (0..).zip(charges).map(|(s, charge)| (s, on_battery(charge))).collect();
    let low = |charge: u8| format!("the battery is at {charge} %, less than 40 %");
    let expected = ["100 %".to_owned(), low(39), low(40), low(44), "100 %".to_owned(), "100 %".to_owned()];
    assert_eq!(story(&allowed, &readings), expected);
}

#[test]
fn a_hot_machine_must_have_cooled_down_for_a_while() {
    let hot = |celsius: f32| Readings { temperature_c: Some(celsius), ..nobody() };
    let readings = [
        (0, hot(85.0)),
        (1, hot(96.2)),
        (2, hot(80.0)),
        (10, hot(74.0)),
        (20, hot(76.0)),
        (21, hot(74.0)),
        (40, hot(74.0)),
        (41, hot(74.0)),
        (42, hot(85.0)),
    ];
    let cooling = |celsius: u8| format!("{celsius} °C: cooling down after more than 85 °C");
    let expected = [
        "100 %".to_owned(),
        "96 °C: hotter than 85 °C".to_owned(),
        cooling(80),
        cooling(74),
        cooling(76),
        cooling(74),
        cooling(74),
        "100 %".to_owned(),
        "100 %".to_owned(),
    ];
    assert_eq!(story(&preferences(&[]), &readings), expected);
    assert_eq!(story(&preferences(&[("temperature-max", "off")]), &[(0, hot(119.0))]), ["100 %"]);
}

#[test]
fn load_of_others_counts_if_it_lasts() {
    let load = |percent: f32| Readings { others_load_percent: Some(percent), ..nobody() };
    let readings = [
        (0, load(90.0)),
        (5, load(60.0)),
        (6, load(90.0)),
        (15, load(90.0)),
        (16, load(90.0)),
        (20, load(60.0)),
        (30, load(50.0)),
        (59, load(50.0)),
        (60, load(50.0)),
    ];
    let now = "other programs use 90 % of the processors, more than 75 %";
    let before = "other programs have used more than 75 % of the processors";
    let expected = ["100 %", "100 %", "100 %", "100 %", now, before, before, before, "100 %"];
    assert_eq!(story(&preferences(&[]), &readings), expected);
}

#[test]
fn hours_have_the_time_at_which_they_begin() {
    let evenings = preferences(&[("hours", "mon-fri 18:00-08:00")]);
    // In summer and winter alike, the sentence has UTC.
    assert_eq!(story(&evenings, &[(0, nobody())]), ["outside its hours until 2026-11-23T17:00:00Z"]);
    assert_eq!(story(&evenings, &[(3 * 3600, nobody())]), ["100 %"]);
    let never = preferences(&[("hours", "never")]);
    assert_eq!(story(&never, &[(0, nobody())]), ["`hours` allows no time"]);
    let (state, _) = decide(&never, &Memory::default(), &nobody(), &at(0));
    assert!(state.is_lasting());
}

#[test]
fn what_was_transferred_counts_until_midnight() {
    let sent = |bytes: u64| Readings { transferred_bytes: Some(bytes), ..nobody() };
    let told = story(&preferences(&[("daily-transfer", "1M")]), &[(0, sent(1 << 20)), (1, sent(5))]);
    assert_eq!(told, ["daily transfer limit of 1M reached, until 2026-11-23T23:00:00Z", "100 %"]);
}

#[test]
fn power_lowers_the_share_and_pauses_if_that_does_not_help() {
    let sixty = preferences(&[("watts-max", "60")]);
    let draws = |watts: f32| Readings { watts: Some(watts), ..nobody() };
    let told = story(
        &sixty,
        &[
            (0, draws(50.0)),
            (2, draws(95.0)),
            (3, draws(95.0)),
            (4, draws(70.0)),
            (6, draws(58.0)),
            (8, draws(40.0)),
        ],
    );
    assert_eq!(told, ["100 %", "80 %", "80 %", "64 %", "64 %", "71 %"]);
    let readings: Vec<_> = (0..50).map(|step| (2 * step, draws(95.0))).collect();
    let told = story(&sixty, &readings);
    let paused = "the processors draw 95 W, more than 60 W";
    let first = told.iter().position(|text| text == paused).expect("it pauses");
    assert!((10..20).contains(&first), "{told:?}");
    assert_eq!(told[first + 29], paused);
    assert_eq!(told[first + 30], "10 %");
}

#[test]
fn all_reasons_are_named_and_lasting_ones_first() {
    let evenings = preferences(&[("hours", "mon-fri 18:00-08:00")]);
    let readings = Readings { idle: Some(Duration::ZERO), temperature_c: Some(90.0), ..on_battery(50) };
    let [told] = &story(&evenings, &[(0, readings)])[..] else { panic!("one state") };
    let parts: Vec<&str> = told.split("; ").collect();
    assert_eq!(parts.len(), 4, "{told}");
    assert!(parts[0].starts_with("outside its hours") && parts[3] == "somebody uses the machine", "{told}");
}

#[test]
fn a_share_of_nothing_is_a_pause_with_a_reason() {
    let told = story(&preferences(&[("share-idle", "0")]), &[(0, nobody())]);
    assert_eq!(told, ["`share-idle` is 0 %"]);
}

fn readings() -> impl Strategy<Value = Readings> {
    let battery = proptest::option::of((any::<bool>(), 0..=100u8));
    let parts = (
        proptest::option::of(0..400u64),
        battery,
        proptest::option::of(-20f32..130.0),
        proptest::option::of(0f32..110.0),
        proptest::option::of(0f32..300.0),
        proptest::option::of(0..10u64 << 20),
    );
    parts.prop_map(|(idle_s, battery, temperature_c, others_load_percent, watts, transferred_bytes)| {
        Readings {
            idle: idle_s.map(Duration::from_secs),
            battery: battery
                .map(|(is_discharging, charge)| Battery { is_discharging, charge: Percent::of(charge) }),
            temperature_c,
            others_load_percent,
            watts,
            transferred_bytes,
        }
    })
}

proptest! {
    /// Whatever is read, in whatever order and at whatever times: guests never compute beyond a limit.
    #[test]
    fn no_limit_is_ever_exceeded(
        story in proptest::collection::vec((readings(), -5..60i64), 1..60),
        in_use in 0..=100u8,
        idle in 0..=100u8,
    ) {
        let flags = [
            ("share-in-use", in_use.to_string()),
            ("share-idle", idle.to_string()),
            ("watts-max", "60".to_owned()),
            ("daily-transfer", "5M".to_owned()),
            ("hours", "mon-fri 12:00-16:00".to_owned()),
        ];
        let flags: Vec<(&str, &str)> = flags.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let preferences = preferences(&flags);
        let (mut memory, mut s) = (Memory::default(), 0);
        for (readings, step_s) in story {
            s += step_s;
            let now = at(s);
            let (state, next) = decide(&preferences, &memory, &readings, &now);
            prop_assert_eq!(&decide(&preferences, &memory, &readings, &now).0, &state, "it is pure");
            memory = next;
            match &state {
                State::Compute { share, in_use: is_used } => {
                    let used = readings.idle.is_some_and(|idle| idle.as_secs() < 180);
                    prop_assert_eq!(*is_used, used);
                    let most = if used { in_use } else { idle };
                    prop_assert!(share.get() > 0 && share.get() <= most);
                    prop_assert!(preferences.hours.allow(&now));
                    prop_assert!(!readings.battery.is_some_and(|battery| battery.is_discharging));
                    prop_assert!(readings.temperature_c.is_none_or(|celsius| celsius <= 85.0));
                    prop_assert!(readings.transferred_bytes.is_none_or(|bytes| bytes < 5 << 20));
                }
                State::Paused { reasons } => {
                    prop_assert!(!reasons.is_empty());
                    let told = state.reason().unwrap_or_default();
                    prop_assert!(!told.is_empty() && !told.contains('\n'));
                }
            }
        }
    }

    /// When all is well for long enough, guests compute.
    #[test]
    fn no_pause_lasts_for_ever(story in proptest::collection::vec((readings(), 0..60i64), 0..40)) {
        let preferences = preferences(&[("watts-max", "60"), ("daily-transfer", "5M")]);
        let (mut memory, mut s) = (Memory::default(), 0);
        for (readings, step_s) in story {
            s += step_s;
            memory = decide(&preferences, &memory, &readings, &at(s)).1;
        }
        let well = Readings {
            battery: Some(Battery { is_discharging: false, charge: Percent::ALL }),
            temperature_c: Some(40.0),
            others_load_percent: Some(3.0),
            watts: Some(20.0),
            transferred_bytes: Some(0),
            ..nobody()
        };
        let mut state = State::Paused { reasons: Vec::new() };
        for _ in 0..150 {
            s += 1;
            let (next, remembered) = decide(&preferences, &memory, &well, &at(s));
            (state, memory) = (next, remembered);
        }
        let computes = matches!(state, State::Compute { share, .. } if share.get() > 5);
        prop_assert!(computes, "{:?}", state);
    }
}
