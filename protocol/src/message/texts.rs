//! Checks the length of texts in messages. No honest host sends longer ones.
//!
//! All fields are named, so that the compiler reports a new one that is missing here.
//!
//! A host's description of itself is shown to people, in one line. Characters that would control a terminal or turn the
//! direction of the text after them are replaced: they must not be shown, and each of their bytes would take six in
//! JSON.

use crate::JobFailure;
use crate::limits::{NOTED_PARAMETERS_BYTES_MAX, REASON_BYTES_MAX, TEXT_BYTES_MAX};

use super::{HostReport, JobNote, LogLine, PeerMessage, ToCoordinator};

/// Whether a text is too long for a name or an address.
fn is_long(text: &str) -> bool {
    text.len() > TEXT_BYTES_MAX
}

/// Whether a text is too long even for one that quotes an error at length.
fn is_lengthy(text: &str) -> bool {
    text.len() > REASON_BYTES_MAX
}

/// Whether a character is invisible, but changes how others are shown.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{061c}' | '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

/// Replaces hidden characters by spaces.
fn make_plain(text: &mut String) {
    if text.contains(is_hidden) {
        *text = text.replace(is_hidden, " ");
    }
}

impl HostReport {
    fn make_plain(&mut self) {
        let Self { name, site, threads: _, version, direct, key: _ } = self;
        [name, site, version].into_iter().chain(direct).for_each(make_plain);
    }

    fn has_long_text(&self) -> bool {
        let Self { name, site, threads: _, version, direct, key: _ } = self;
        is_long(name) || is_long(site) || is_long(version) || direct.as_deref().is_some_and(is_long)
    }
}

impl JobFailure {
    fn has_long_text(&self) -> bool {
        let Self { job, message, backtrace } = self;
        let backtrace: usize = backtrace.iter().map(String::len).sum();
        is_lengthy(job) || is_lengthy(message) || backtrace > REASON_BYTES_MAX
    }
}

impl LogLine {
    fn has_long_text(&self) -> bool {
        let Self { job: _, function, text } = self;
        is_lengthy(function) || is_lengthy(text)
    }
}

impl JobNote {
    fn has_long_text(&self) -> bool {
        let Self { job: _, parent: _, kind: _, depth: _, what: _, ago_ms: _, parameters, shares: _ } = self;
        parameters.as_ref().is_some_and(|parameters| parameters.len() > NOTED_PARAMETERS_BYTES_MAX)
    }
}

impl ToCoordinator {
    /// Whether the message has a text, or a note with parameters, that is longer than allowed.
    pub fn has_long_text(&self) -> bool {
        match self {
            Self::Hello { report, was: _, incarnation: _, roots: _, paused } => {
                report.has_long_text() || paused.as_deref().is_some_and(is_long)
            }
            Self::Paused { reason } | Self::Holds { reason } => reason.as_deref().is_some_and(is_long),
            Self::Unready { run: _, reason }
            | Self::Limit { run: _, reason }
            | Self::Misbehaved { host: _, reason } => is_lengthy(reason),
            Self::Failed { run: _, failure } => failure.has_long_text(),
            Self::Log { run: _, lines } => lines.iter().any(LogLine::has_long_text),
            Self::Counts {
                run: _,
                series: _,
                counts: _,
                progress: _,
                ahead_ns: _,
                notes,
                notes_dropped: _,
                workers: _,
            } => notes.iter().any(JobNote::has_long_text),
            Self::Ready { run: _ }
            | Self::RootFinished { run: _, number: _, finished: _ }
            | Self::Entries { run: _, entries: _ }
            | Self::Recovered { epoch: _ }
            | Self::Find { run: _, key: _ }
            | Self::Suspended { run: _ }
            | Self::Leaving
            | Self::Relay { to: _, frame: _ }
            | Self::Pong { ping: _ }
            | Self::Knows { hosts: _ }
            | Self::Meet { hosts: _ }
            | Self::Forgot { ask: _, host: _, forgotten: _ }
            | Self::Parcel(_)
            | Self::RelayBulk { to: _, frame: _ }
            | Self::Stopped { run: _ }
            | Self::Unit { run: _, unit: _ }
            | Self::Proof(_) => false,
        }
    }
}

impl ToCoordinator {
    /// The message, with spaces in place of the hidden characters in the host's description of itself.
    pub fn in_plain_text(mut self) -> Self {
        match &mut self {
            Self::Hello { report, was: _, incarnation: _, roots: _, paused } => {
                report.make_plain();
                paused.iter_mut().for_each(make_plain);
            }
            Self::Paused { reason } | Self::Holds { reason } => reason.iter_mut().for_each(make_plain),
            Self::Unready { run: _, reason } => make_plain(reason),
            _ => {}
        }
        self
    }
}

impl PeerMessage {
    /// Whether the message has a text that is longer than allowed.
    pub fn has_long_text(&self) -> bool {
        match self {
            Self::Refused { reason } => is_long(reason),
            Self::Steal { run: _, steal: _, holding: _, ahead: _, more: _ }
            | Self::Job { run: _, steal: _, number: _, spec: _ }
            | Self::Jobs { run: _, steal: _, jobs: _ }
            | Self::Nothing { run: _, steal: _ }
            | Self::Result { run: _, number: _, finished: _ }
            | Self::Received { run: _, number: _ }
            | Self::Abort { run: _, number: _ }
            | Self::Returned { run: _, number: _, begun: _ }
            | Self::Adopt { run: _, number: _, key: _ }
            | Self::Adopted { run: _, number: _, holding: _ }
            | Self::NotHeld { run: _, number: _ }
            | Self::Holding { run: _, holding: _, next_steal: _, held: _, pending: _ }
            | Self::Lending { run: _ }
            | Self::Unknown { run: _, numbers: _ }
            | Self::Entries { run: _, entries: _ }
            | Self::Want { run: _, key: _ }
            | Self::Have { run: _, key: _, finished: _ }
            | Self::Orphaned { run: _, number: _ }
            | Self::Updates { run: _, object: _, writer: _, first: _, updates: _ }
            | Self::Versions { run: _, object: _, versions: _, digest: _, sharers: _, is_question: _ }
            | Self::FetchReplica { run: _, object: _ }
            | Self::Replica { run: _, object: _, snapshot: _, sharers: _ }
            | Self::NotShared { run: _, object: _ }
            | Self::Parcel(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::coordinator::tests::Grid;
    use crate::host::tests::{PEER, host, said};
    use crate::host::{Event, Transmit};
    use crate::message::NoteKind;
    use crate::{HostId, JobTag, PublicKey, RunId, Time};

    const RUN: RunId = RunId(1);
    /// Stands in the place of each text.
    const MARK: &str = "a text";

    fn mark() -> String {
        MARK.to_owned()
    }

    /// A message of each variant that has texts, with all of them.
    fn samples() -> Vec<ToCoordinator> {
        let direct = Some(mark());
        let key = PublicKey::default();
        let report = HostReport { name: mark(), site: mark(), threads: 1, version: mark(), direct, key };
        let failure = JobFailure { job: mark(), message: mark(), backtrace: vec![mark(), mark()] };
        let note = JobNote {
            job: JobTag(1),
            parent: None,
            kind: 0,
            depth: 0,
            what: NoteKind::Failed,
            ago_ms: 0,
            parameters: Some(MARK.as_bytes().to_vec()),
            shares: false,
        };
        let line = LogLine { job: None, function: mark(), text: mark() };
        vec![
            ToCoordinator::Hello {
                report,
                was: None,
                incarnation: 0,
                roots: Vec::new(),
                paused: Some(mark()),
            },
            ToCoordinator::Unready { run: RUN, reason: mark() },
            ToCoordinator::Limit { run: RUN, reason: mark() },
            ToCoordinator::Failed { run: RUN, failure },
            ToCoordinator::Counts {
                run: RUN,
                series: 1,
                counts: Box::default(),
                progress: None,
                ahead_ns: None,
                notes: vec![note],
                notes_dropped: 0,
                workers: Vec::new(),
            },
            ToCoordinator::Log { run: RUN, lines: vec![line] },
            ToCoordinator::Paused { reason: Some(mark()) },
            ToCoordinator::Holds { reason: Some(mark()) },
            ToCoordinator::Misbehaved { host: HostId(1), reason: mark() },
        ]
    }

    /// Copies of the message, each with another one of its texts replaced by one of this length.
    fn with_texts_of<M: Serialize + DeserializeOwned>(message: &M, length: usize) -> Vec<M> {
        let bytes = postcard::to_allocvec(message).expect("it can be encoded");
        let marked = postcard::to_allocvec(MARK).expect("it can be encoded");
        let long = postcard::to_allocvec(&"x".repeat(length)).expect("it can be encoded");
        let places = (0..bytes.len()).filter(|place| bytes[*place..].starts_with(&marked));
        let replaced = places.map(|place| {
            let bytes = [&bytes[..place], &long, &bytes[place + marked.len()..]].concat();
            postcard::from_bytes(&bytes).expect("a message")
        });
        replaced.collect()
    }

    #[test]
    fn no_text_of_a_message_to_the_coordinator_is_longer_than_allowed() {
        let mut texts = 0;
        for message in samples() {
            assert!(!message.has_long_text());
            let is_hello = matches!(message, ToCoordinator::Hello { .. });
            for long in with_texts_of(&message, REASON_BYTES_MAX + 1) {
                texts += 1;
                let mut grid = Grid::new();
                grid.submit(RUN);
                let link = if is_hello { crate::coordinator::LinkId(1) } else { grid.join().0 };
                grid.tell(link, ToCoordinator::Ready { run: RUN });
                if is_hello {
                    let mut fresh = Grid::new();
                    fresh.tell(link, long);
                    assert!(fresh.is_closed(link), "{texts}");
                } else {
                    grid.tell(link, long);
                    assert!(grid.is_closed(link), "{texts}");
                }
                assert!(grid.ends.is_empty());
            }
        }
        assert_eq!(texts, 5 + 1 + 1 + 4 + 1 + 2 + 1 + 1 + 1);
        // The longest that are allowed.
        for message in samples() {
            for long in with_texts_of(&message, TEXT_BYTES_MAX) {
                assert!(!long.has_long_text());
            }
        }
    }

    #[test]
    fn a_hosts_description_becomes_plain_text() {
        let hostile = || "one\u{1}\n\u{202e}\u{2066}two ü".to_owned();
        let plain = "one    two ü";
        let report = HostReport {
            name: hostile(),
            site: hostile(),
            threads: 1,
            version: hostile(),
            direct: Some(hostile()),
            key: PublicKey::default(),
        };
        let hello = ToCoordinator::Hello {
            report,
            was: None,
            incarnation: 0,
            roots: Vec::new(),
            paused: Some(hostile()),
        };
        let mut grid = Grid::new();
        let link = crate::coordinator::LinkId(1);
        grid.tell(link, hello);
        let host = grid.machine.hosts().next().expect("it was let in");
        let HostReport { name, site, threads: _, version, direct, key: _ } = &*host.report;
        for text in [name, site, version].into_iter().chain(direct).chain(&host.paused) {
            assert_eq!(text, plain);
        }
        grid.tell(link, ToCoordinator::Paused { reason: Some(hostile()) });
        assert_eq!(grid.machine.hosts().next().and_then(|host| host.paused).as_deref(), Some(plain));
        let unready = ToCoordinator::Unready { run: RUN, reason: hostile() }.in_plain_text();
        assert!(matches!(unready, ToCoordinator::Unready { reason, .. } if reason == plain));
    }

    #[test]
    fn no_text_of_a_peers_message_is_longer_than_allowed() {
        let refused = PeerMessage::Refused { reason: mark() };
        let long = with_texts_of(&refused, TEXT_BYTES_MAX + 1);
        assert_eq!(long.len(), 1);
        for long in long {
            let mut host = host();
            host.handle_from_peer(Time(0), PEER, long);
            let events: Vec<Event> = std::iter::from_fn(|| host.poll_event()).collect();
            assert!(events.iter().any(|event| matches!(event, Event::Misbehaved(PEER, _))), "{events:?}");
        }
    }

    #[test]
    fn a_hosts_reason_to_pause_is_shortened() {
        let mut host = host();
        host.pause(Time(0), Some("é".repeat(TEXT_BYTES_MAX)));
        host.pause(Time(0), Some("é".repeat(TEXT_BYTES_MAX)));
        // Its guests do not come to rest, and its `Leaving` is not answered.
        for minutes in 1..=3 {
            host.handle_timeout(Time(minutes * 60_000_000_000));
        }
        assert!(host.paused().is_some_and(|reason| reason.len() <= TEXT_BYTES_MAX));
        let told = said(&mut host);
        assert!(told.iter().all(|transmit| match transmit {
            Transmit::ToCoordinator(message) => !message.has_long_text(),
            Transmit::ToPeer(_, message) => !message.has_long_text(),
        }));
    }
}
