//! Whether a direct link still carries messages both ways.
//!
//! A path may fail silently: written data waits in the system's buffers, and there is no error for minutes. So
//! a link on which something was sent is probed with a websocket ping. If there is no answer, the link is
//! *doubtful*: messages go through the relay, until the answer arrives or the link is given up. Idle links are
//! not probed.
//!
//! Large messages delay the answer on a slow link, so patience grows with the bytes in transit.

use std::time::Duration;

use sateen_protocol::Time;

/// How often a link with messages is probed.
pub const ASK_EVERY: Duration = Duration::from_millis(200);
/// Maximum time of an answer, in addition to the time of the data before it.
const ANSWER_MAX: Duration = Duration::from_millis(600);
/// The same if the peer seems to doubt the link.
const ANSWER_SOON_MAX: Duration = Duration::from_millis(250);
/// A link that is slower than this, in bytes per second, may become doubtful while it carries much data.
const RATE_MIN: u64 = 512 << 10;
/// The longest time until an answer, whatever is in transit.
const PATIENCE_MAX: Duration = Duration::from_secs(5);
/// If a peer sends through the relay, a link that has not answered for this long becomes doubtful.
const STALE: Duration = Duration::from_millis(500);

/// The state of one direct link.
#[derive(Debug, Clone)]
pub struct Probe {
    opened: Time,
    sent_bytes: u64,
    /// Bytes sent up to the last answered ping.
    proven_bytes: u64,
    /// When the last answer was seen.
    proven: Time,
    pings: u64,
    last_ping: Time,
    waiting: Option<Ping>,
    doubtful_since: Option<Time>,
}

#[derive(Debug, Clone, Copy)]
struct Ping {
    at: Time,
    sent_bytes: u64,
    heard_bytes: u64,
    answer_max: Duration,
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Send a ping with this number.
    pub ping: Option<u64>,
    /// Whether the link is doubted from now on, or no longer.
    pub change: Option<Change>,
}

/// How the state of a link has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Messages sent on it may be lost.
    Doubted,
    /// It has answered.
    Healed,
}

impl Probe {
    pub fn new(now: Time) -> Self {
        Self {
            opened: now,
            sent_bytes: 0,
            proven_bytes: 0,
            proven: now,
            pings: 0,
            last_ping: Time::default(),
            waiting: None,
            doubtful_since: None,
        }
    }

    /// When the link was opened.
    pub fn opened(&self) -> Time {
        self.opened
    }

    /// The time since which it is doubtful.
    pub fn doubtful_since(&self) -> Option<Time> {
        self.doubtful_since
    }

    /// Frames were passed to the link.
    pub fn on_sent(&mut self, bytes: usize) {
        self.sent_bytes += bytes as u64;
    }

    /// Whether there is anything to check.
    pub fn has_more_to_check(&self) -> bool {
        self.waiting.is_some() || self.doubtful_since.is_some() || self.sent_bytes > self.proven_bytes
    }

    /// The peer sends through the relay: perhaps it doubts this link. Returns true if the link counts as
    /// doubtful until it answers.
    pub fn suspect(&mut self, now: Time) -> bool {
        if self.doubtful_since.is_some() || now.since(self.proven) < STALE {
            return false;
        }
        self.doubtful_since = Some(now);
        // The peer has begun to wait long ago.
        if let Some(ping) = &mut self.waiting {
            ping.answer_max = ping.answer_max.min(now.since(ping.at) + ANSWER_SOON_MAX);
        }
        true
    }

    /// This host itself was late: the delay is not the peer's fault.
    pub fn excuse(&mut self, late: Duration) {
        if let Some(ping) = &mut self.waiting {
            ping.at = ping.at + late;
        }
    }

    /// Checks the link; `answered` is the last ping that was answered.
    pub fn look(&mut self, now: Time, answered: u64, heard_bytes: u64) -> Seen {
        let mut seen = Seen::default();
        if let Some(ping) = self.waiting
            && answered == self.pings
        {
            self.waiting = None;
            self.proven_bytes = ping.sent_bytes;
            self.proven = now;
            if self.doubtful_since.take().is_some() {
                seen.change = Some(Change::Healed);
            }
        }
        match self.waiting {
            Some(ping)
                if self.doubtful_since.is_none()
                    && now.since(ping.at) >= self.patience(ping, heard_bytes) =>
            {
                self.doubtful_since = Some(now);
                seen.change = Some(Change::Doubted);
            }
            None if self.has_more_to_check() && now.since(self.last_ping) >= ASK_EVERY => {
                self.pings += 1;
                self.last_ping = now;
                let answer_max = if self.doubtful_since.is_some() { ANSWER_SOON_MAX } else { ANSWER_MAX };
                self.waiting = Some(Ping { at: now, sent_bytes: self.sent_bytes, heard_bytes, answer_max });
                seen.ping = Some(self.pings);
            }
            _ => {}
        }
        seen
    }

    /// Whether a doubtful link has had enough time to answer, and did not.
    pub fn is_confirmed(&self, now: Time, heard_bytes: u64) -> bool {
        self.doubtful_since.is_some()
            && self.waiting.is_some_and(|ping| now.since(ping.at) >= self.patience(ping, heard_bytes))
    }

    fn patience(&self, ping: Ping, heard_bytes: u64) -> Duration {
        let under_way = ping.sent_bytes - self.proven_bytes + heard_bytes.saturating_sub(ping.heard_bytes);
        (ping.answer_max + Duration::from_secs_f64(under_way as f64 / RATE_MIN as f64)).min(PATIENCE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// A link that was opened long ago and written to just now.
    fn written(bytes: usize) -> Probe {
        let mut probe = Probe::new(at(0));
        probe.on_sent(bytes);
        assert_eq!(probe.look(at(1000), 0, 0), Seen { ping: Some(1), change: None });
        probe
    }

    #[test]
    fn idle_links_are_not_asked() {
        let mut probe = Probe::new(at(0));
        assert!(!probe.has_more_to_check());
        assert_eq!(probe.look(at(10_000), 0, 0), Seen::default());
    }

    #[test]
    fn a_link_that_answers_is_asked_now_and_then() {
        let mut probe = written(100);
        assert_eq!(probe.look(at(1050), 1, 0), Seen::default());
        assert!(!probe.has_more_to_check(), "all has arrived");
        probe.on_sent(1);
        assert_eq!(probe.look(at(1100), 1, 0), Seen::default(), "it was asked just before");
        assert_eq!(probe.look(at(1200), 1, 0), Seen { ping: Some(2), change: None });
    }

    #[test]
    fn a_silent_link_is_doubted_until_it_answers() {
        let mut probe = written(100);
        assert_eq!(probe.look(at(1550), 0, 0), Seen::default());
        assert_eq!(probe.look(at(1650), 0, 0), Seen { ping: None, change: Some(Change::Doubted) });
        assert_eq!(probe.doubtful_since(), Some(at(1650)));
        assert_eq!(probe.look(at(9000), 0, 0), Seen::default(), "it is asked once");
        assert_eq!(probe.look(at(9050), 1, 0), Seen { ping: None, change: Some(Change::Healed) });
        assert_eq!(probe.doubtful_since(), None);
    }

    /// One direction is broken: data that still arrives in the other direction proves nothing.
    #[test]
    fn small_messages_from_the_peer_do_not_hide_that_it_receives_nothing() {
        let mut probe = written(100);
        let mut heard = 0;
        let doubted = (1050..9000).step_by(50).find(|ms| {
            heard += 500;
            probe.look(at(*ms), 0, heard).change == Some(Change::Doubted)
        });
        assert!(doubted.is_some_and(|ms| ms < 1800), "{doubted:?}");
    }

    #[test]
    fn bulk_in_either_direction_has_its_time() {
        let mut sends = written(1 << 20);
        assert_eq!(sends.look(at(3500), 0, 0).change, None);
        assert_eq!(sends.look(at(3650), 0, 0).change, Some(Change::Doubted));
        let mut hears = written(100);
        assert_eq!(hears.look(at(3500), 0, 1 << 20).change, None);
        let mut endless = written(1 << 30);
        assert_eq!(endless.look(at(6000), 0, 1 << 30).change, Some(Change::Doubted));
    }

    #[test]
    fn a_host_that_was_late_itself_blames_no_peer() {
        let mut probe = written(100);
        probe.excuse(Duration::from_secs(3));
        assert_eq!(probe.look(at(4100), 0, 0).change, None);
        assert_eq!(probe.look(at(4700), 0, 0).change, Some(Change::Doubted));
    }

    #[test]
    fn a_peer_that_sends_by_the_relay_is_believed_if_the_link_is_not_proven() {
        let mut idle = Probe::new(at(0));
        assert!(!idle.suspect(at(400)), "the link has just been made");
        assert!(idle.suspect(at(5000)));
        assert!(!idle.is_confirmed(at(5000), 0));
        assert_eq!(idle.look(at(5000), 0, 0).ping, Some(1));
        assert!(!idle.is_confirmed(at(5200), 0) && idle.is_confirmed(at(5300), 0));
        assert_eq!(idle.look(at(5310), 1, 0).change, Some(Change::Healed));
        assert!(!idle.suspect(at(5400)), "it has just proven itself: what was relayed was in transit");

        let mut waits = written(100);
        assert!(waits.suspect(at(1500)));
        assert!(!waits.is_confirmed(at(1550), 0) && waits.is_confirmed(at(1700), 0), "no later than without");
    }
}
