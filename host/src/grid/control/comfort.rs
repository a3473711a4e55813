//! What `sateen-host status` shows of the owner's governor.

use sateen_comfort::governor::Phase;
use sateen_command_line::localised;
use serde::{Deserialize, Serialize};

use super::Status;

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

/// A reason as its user reads it: he is the one who uses the machine.
pub fn to_user(reason: &str) -> String {
    localised(&reason.replace("somebody uses the machine", "you are using the machine"))
}

/// The host's state in words, if the governor has anything to say about it.
pub fn state(status: &Status) -> Option<String> {
    let by_user = status.paused.as_ref().is_some_and(|reason| reason.starts_with("paused by its user"));
    let comfort = status.comfort.as_ref().filter(|_| !by_user && !status.leaving)?;
    match (comfort.phase, &comfort.reason) {
        (Phase::Holds, Some(reason)) => Some(format!("paused, its jobs wait here: {}", to_user(reason))),
        (Phase::HandsOver, Some(reason)) => {
            let done = if status.paused.is_some() { "paused" } else { "paused, gives back its jobs" };
            Some(format!("{done}: {}", to_user(reason)))
        }
        _ if status.paused.is_some() || comfort.share_percent == 100 => None,
        _ => {
            let why = if comfort.in_use { ", because you are using the machine" } else { "" };
            Some(format!("takes work, with {} % of its processors{why}", comfort.share_percent))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(phase: Phase, share_percent: u8, reason: Option<&str>) -> Status {
        let reason = reason.map(str::to_owned);
        let comfort = ComfortStatus { phase, share_percent, in_use: false, reason, missing: Vec::new() };
        Status { comfort: Some(comfort), ..Status::default() }
    }

    #[test]
    fn every_pause_says_why() {
        let in_use = Some("somebody uses the machine");
        let mut held = status(Phase::Holds, 0, in_use);
        let expected = "state     paused, its jobs wait here: you are using the machine\n";
        assert!(held.to_text(None).contains(expected), "{}", held.to_text(None));
        held.paused = Some("paused by its user".to_owned());
        assert!(held.to_text(None).contains("state     paused by you\n"));
        let mut over = status(
            Phase::HandsOver,
            0,
            Some("on battery since 2001-01-01T10:00:00Z; 96 °C: hotter than 85 °C"),
        );
        let text = over.to_text(None);
        assert!(text.contains("state     paused, gives back its jobs: on battery since 200"), "{text}");
        over.paused.clone_from(&over.comfort.as_ref().expect("there").reason);
        let text = over.to_text(None);
        assert!(text.contains("state     paused: on battery since 200") && text.contains("85 °C"), "{text}");
        assert!(!text.contains("T10:00:00Z"), "{text}");
    }

    #[test]
    fn a_share_is_shown_unless_it_is_everything() {
        assert!(status(Phase::Computes, 100, None).to_text(None).contains("state     takes work\n"));
        let mut used = status(Phase::Computes, 25, None);
        if let Some(comfort) = &mut used.comfort {
            comfort.in_use = true;
            comfort.missing = vec!["this machine has no battery that can be read".to_owned()];
        }
        let text = used.to_text(None);
        assert!(
            text.contains("takes work, with 25 % of its processors, because you are using the machine"),
            "{text}"
        );
        assert!(text.contains("\nsenses    this machine has no battery"), "{text}");
    }
}
