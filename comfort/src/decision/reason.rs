//! Why a host does not compute, as a sentence.

use std::fmt;

use jiff::Timestamp;

use crate::preferences::{Percent, Value};

/// Why a host does not compute.
///
/// Times are written in UTC, because a grid has hosts in several time zones: each program shows them in its user's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is not one of its hours.
    OutsideHours {
        /// When they begin; `None` if never.
        until: Option<Timestamp>,
    },
    /// It has transferred what it may in a day.
    Transferred {
        /// The limit, in bytes.
        most: u64,
        /// Midnight.
        until: Timestamp,
    },
    /// The machine runs on battery.
    OnBattery {
        /// Since when it is known to, in seconds since 1970.
        since_s: i64,
    },
    /// The battery's charge is low.
    BatteryLow {
        /// The charge.
        charge: Percent,
        /// The limit.
        least: Percent,
    },
    /// The machine is hot.
    Hot {
        /// Its temperature, in °C.
        celsius: i16,
        /// The limit.
        most: u16,
    },
    /// Somebody uses the machine.
    InUse,
    /// Its share is 0 even while nobody uses it.
    NoShare,
    /// Other programs need the processors.
    Loaded {
        /// Their load, in per cent of all processors.
        percent: u16,
        /// The limit.
        most: Percent,
    },
    /// The processors draw too much power.
    Power {
        /// The power, in watts.
        watts: u16,
        /// The limit.
        most: u16,
    },
}

impl Reason {
    /// Whether the pause lasts long, as is known when it begins.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::OutsideHours { .. } | Self::Transferred { .. } | Self::NoShare)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideHours { until: Some(until) } => write!(f, "outside its hours until {}", utc(*until)),
            Self::OutsideHours { until: None } => f.write_str("`hours` allows no time"),
            Self::Transferred { most, until } => {
                write!(f, "daily transfer limit of {} reached, until {}", Value::Bytes(*most), utc(*until))
            }
            Self::OnBattery { since_s } => match Timestamp::from_second(*since_s) {
                Ok(since) => write!(f, "on battery since {}", utc(since)),
                Err(_) => f.write_str("on battery"),
            },
            Self::BatteryLow { charge, least } => {
                write!(f, "the battery is at {charge}, less than {least}")
            }
            Self::Hot { celsius, most } => match i32::from(*celsius) > i32::from(*most) {
                true => write!(f, "{celsius} °C: hotter than {most} °C"),
                false => write!(f, "{celsius} °C: cooling down after more than {most} °C"),
            },
            Self::InUse => f.write_str("somebody uses the machine"),
            Self::NoShare => f.write_str("`share-idle` is 0 %"),
            Self::Loaded { percent, most } => match *percent > u16::from(most.get()) {
                true => write!(f, "other programs use {percent} % of the processors, more than {most}"),
                false => write!(f, "other programs have used more than {most} of the processors"),
            },
            Self::Power { watts, most } => match watts > most {
                true => write!(f, "the processors draw {watts} W, more than {most} W"),
                false => write!(f, "the processors would draw more than {most} W"),
            },
        }
    }
}

fn utc(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
