//! One peer: its routes and the messages that wait for it.

use std::time::Duration;

use sateen_protocol::Time;
use sateen_protocol::codec::Encoder;

use super::probe::Probe;
use crate::grid::transport::Link;

/// Direct links of one peer: both sides may have dialled at once. A further one replaces the oldest.
pub const LINKS_PER_PEER_MAX: usize = 2;
/// The rest before a peer is dialled again, which doubles each time.
const DIAL_REST_MIN: Duration = Duration::from_secs(1);
/// The longest such rest.
const DIAL_REST_MAX: Duration = Duration::from_secs(30);
/// A link that worked for this long does not count as a failure.
const LASTING: Duration = Duration::from_secs(30);

/// A direct link and its probe.
pub struct DirectLink {
    pub link: Link,
    pub probe: Probe,
    /// It is doubtful because the peer sends through the relay, and no messages were repeated for that yet.
    pub is_suspected: bool,
}

/// Whether a direct link is being made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dial {
    /// Not yet tried, or worth another attempt.
    #[default]
    Idle,
    /// Under way.
    Dialling,
    /// It failed.
    NotBefore(Time),
}

/// The routes to a peer. All links are read; messages are written to the newest that works.
#[derive(Default)]
pub struct Route {
    /// From the oldest to the newest.
    pub links: Vec<DirectLink>,
    pub encoder: Encoder,
    pub has_messages: bool,
    pub dial: Dial,
    dial_rest: Duration,
    /// The time since which nothing can be sent to it.
    pub unreachable_since: Option<Time>,
    /// Its direct link broke while the coordinator was away: if dialling fails, the peer is lost.
    pub is_last_dial: bool,
}

impl Route {
    /// Whether a direct link works, as far as is known.
    pub fn is_direct(&self) -> bool {
        self.links.iter().any(|direct| direct.probe.doubtful_since().is_none())
    }

    /// The link to write to. If nothing is relayed, a doubtful one is better than none.
    pub fn link(&mut self, may_relay: bool) -> Option<&mut DirectLink> {
        let works = self.links.iter().rposition(|direct| direct.probe.doubtful_since().is_none());
        match works {
            Some(index) => self.links.get_mut(index),
            None if may_relay => None,
            None => self.links.last_mut(),
        }
    }

    /// The peer is not dialled for a while, longer each time.
    pub fn rest_from_dialling(&mut self, now: Time) {
        let rest = self.dial_rest.max(DIAL_REST_MIN);
        self.dial = Dial::NotBefore(now + rest);
        self.dial_rest = (rest * 2).min(DIAL_REST_MAX);
    }

    /// A link that was opened at this time has ended.
    pub fn note_end(&mut self, opened: Time, now: Time) {
        if now.since(opened) >= LASTING {
            self.dial_rest = DIAL_REST_MIN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialling_rests_for_longer_each_time() {
        let mut route = Route::default();
        let rests: Vec<u64> = (0..7)
            .map(|_| {
                route.rest_from_dialling(Time::default());
                let Dial::NotBefore(moment) = route.dial else { panic!("it rests") };
                moment.0 / 1_000_000_000
            })
            .collect();
        assert_eq!(rests, [1, 2, 4, 8, 16, 30, 30]);
        route.note_end(Time::default(), Time(40_000_000_000));
        route.rest_from_dialling(Time::default());
        assert_eq!(route.dial, Dial::NotBefore(Time(1_000_000_000)));
    }
}
