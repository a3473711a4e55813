//! What `sateen-host status` shows of the owner's governor.

use sateen_comfort::governor::Phase;
use sateen_command_line::{localised, time_of_day};
use serde::{Deserialize, Serialize};

/// How the reasons of pauses begin for which the user has asked.
pub const PAUSED_BY_USER: &str = "paused by its user";

/// What the owner's governor lets guests do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComfortStatus {
    /// Whether they compute, stand still, or hand over their jobs.
    pub phase: Phase,
    /// The share of the host's processors that they have, in per cent.
    pub share_percent: u8,
    /// Whether somebody uses the machine, though guests compute.
    pub in_use: bool,
    /// Why they do not compute; times are in UTC.
    pub reason: Option<String>,
    /// Senses that this machine lacks, each in a sentence.
    pub missing: Vec<String>,
}

/// What became of the owner's preferences since the host has begun.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreferencesStatus {
    /// When they were read again because their file had changed, in seconds since 1970.
    pub read_s: Option<u64>,
    /// Those that take effect at the next start, each with its value.
    pub at_next_start: Vec<String>,
    /// What is wrong with the file, if anything: its other preferences count, or those from before.
    pub problem: Option<String>,
}

impl PreferencesStatus {
    /// As lines of text; none if the file has not changed.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(read_s) = self.read_s {
            lines.push(format!("prefers   what its file says since {}", time_of_day(read_s)));
        }
        if !self.at_next_start.is_empty() {
            lines
                .push(format!("          takes effect at the next start: {}", self.at_next_start.join(", ")));
        }
        lines.extend(self.problem.as_ref().map(|why| format!("          a problem with it: {why}")));
        lines
    }
}

/// A reason as the user of the machine reads it.
pub fn to_user(reason: &str) -> String {
    localised(&reason.replace("somebody uses the machine", "you are using the machine"))
}

/// The host's state in words, if the governor has anything to say about it. `paused` is why the host takes no work.
pub fn state(comfort: &ComfortStatus, paused: Option<&str>) -> Option<String> {
    if paused.is_some_and(|reason| reason.starts_with(PAUSED_BY_USER)) {
        return None;
    }
    match (comfort.phase, &comfort.reason) {
        (Phase::Holds, Some(reason)) => Some(format!("paused, its jobs wait here: {}", to_user(reason))),
        (Phase::HandsOver, Some(reason)) => {
            let done = if paused.is_some() { "paused" } else { "paused, gives back its jobs" };
            Some(format!("{done}: {}", to_user(reason)))
        }
        _ if paused.is_some() || comfort.share_percent == 100 => None,
        _ => {
            let why = if comfort.in_use { ", because you are using the machine" } else { "" };
            Some(format!("takes work, with {} % of its processors{why}", comfort.share_percent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comfort(phase: Phase, share_percent: u8, reason: Option<&str>) -> ComfortStatus {
        let reason = reason.map(str::to_owned);
        ComfortStatus { phase, share_percent, in_use: false, reason, missing: Vec::new() }
    }

    #[test]
    fn every_pause_says_why() {
        let held = comfort(Phase::Holds, 0, Some("somebody uses the machine"));
        let expected = "paused, its jobs wait here: you are using the machine";
        assert_eq!(state(&held, None).as_deref(), Some(expected));
        assert_eq!(state(&held, Some("paused by its user until 2001-01-01T10:00:00Z")), None);
        let reason = "on battery since 2001-01-01T10:00:00Z; 96 °C: hotter than 85 °C";
        let over = comfort(Phase::HandsOver, 0, Some(reason));
        let told = state(&over, None).expect("a reason");
        assert!(told.starts_with("paused, gives back its jobs: on battery since 200"), "{told}");
        let told = state(&over, Some(reason)).expect("a reason");
        assert!(
            told.starts_with("paused: on battery since 200") && told.ends_with("hotter than 85 °C"),
            "{told}"
        );
        assert!(!told.contains("T10:00:00Z"), "the time is the viewer's: {told}");
    }

    #[test]
    fn a_share_is_shown_unless_it_is_everything() {
        assert_eq!(state(&comfort(Phase::Computes, 100, None), None), None);
        let used = ComfortStatus { in_use: true, ..comfort(Phase::Computes, 25, None) };
        let expected = "takes work, with 25 % of its processors, because you are using the machine";
        assert_eq!(state(&used, None).as_deref(), Some(expected));
    }
}
