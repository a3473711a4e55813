//! A host's link to the coordinator, and how it dials anew.

use sateen_protocol::Random;
use sateen_protocol::codec::PROTOCOL_VERSION;
use sateen_protocol::coordinator::LinkId;

/// The pause after the first failed dial.
pub const BACKOFF_MIN_NS: u64 = 100_000_000;
/// The longest pause between dials.
const BACKOFF_MAX_NS: u64 = 2_000_000_000;
/// The pause after the first refusal.
const REFUSED_REST_MIN_NS: u64 = 1_000_000_000;
/// The longest pause after a refusal; shorter than that of a real host, so that seeds need not wait for it.
const REFUSED_REST_MAX_NS: u64 = 8_000_000_000;

/// A host's way to the coordinator.
#[derive(Debug)]
pub struct Uplink {
    /// Its link, as it believes.
    link: Option<LinkId>,
    /// The pause before the next dial.
    backoff_ns: u64,
    /// The pause after the next refusal.
    refused_rest_ns: u64,
    /// Its version of the protocol.
    version: u8,
    /// Whether it had another version before, and has not joined since.
    was_updated: bool,
}

impl Default for Uplink {
    fn default() -> Self {
        Self {
            link: None,
            backoff_ns: BACKOFF_MIN_NS,
            refused_rest_ns: REFUSED_REST_MIN_NS,
            version: PROTOCOL_VERSION,
            was_updated: false,
        }
    }
}

impl Uplink {
    /// Its link, as it believes.
    pub fn link(&self) -> Option<LinkId> {
        self.link
    }

    /// Whether it uses a link.
    pub fn uses(&self, link: LinkId) -> bool {
        self.link == Some(link)
    }

    /// A link is open.
    pub fn open(&mut self, link: LinkId) {
        self.link = Some(link);
        self.backoff_ns = BACKOFF_MIN_NS;
    }

    /// Its link, if it had one, is not used any more.
    pub fn close(&mut self) -> Option<LinkId> {
        self.link.take()
    }

    /// A dial has failed: the pause before the next.
    pub fn back_off(&mut self, random: &mut Random) -> u64 {
        let half = self.backoff_ns / 2;
        self.backoff_ns = (self.backoff_ns * 2).min(BACKOFF_MAX_NS);
        half + random.below(half as usize + 1) as u64
    }

    /// The coordinator has refused it: the pause before it dials again.
    pub fn rest_after_refusal(&mut self) -> u64 {
        let rest_ns = self.refused_rest_ns;
        self.refused_rest_ns = (2 * rest_ns).min(REFUSED_REST_MAX_NS);
        rest_ns
    }

    /// Its version of the protocol.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// It has another version of the protocol.
    pub fn begin_with(&mut self, version: u8) {
        self.version = version;
    }

    /// It has the present version from its next link on.
    pub fn update(&mut self) {
        self.was_updated |= self.version != PROTOCOL_VERSION;
        self.version = PROTOCOL_VERSION;
    }

    /// Whether it has been updated since this was last asked.
    pub fn take_updated(&mut self) -> bool {
        std::mem::take(&mut self.was_updated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_maximum_until_a_link_opens() {
        let (mut uplink, mut random) = (Uplink::default(), Random::new(1));
        let mut pause = |uplink: &mut Uplink| uplink.back_off(&mut random);
        for most_ns in [1, 2, 4, 8, 16, 20, 20].map(|times| times * BACKOFF_MIN_NS) {
            assert!((most_ns / 2..=most_ns).contains(&pause(&mut uplink)));
        }
        uplink.open(LinkId(1));
        assert!(pause(&mut uplink) <= BACKOFF_MIN_NS);
        let rests: Vec<u64> = (0..5).map(|_| uplink.rest_after_refusal() / REFUSED_REST_MIN_NS).collect();
        assert_eq!(rests, [1, 2, 4, 8, 8]);
    }

    #[test]
    fn only_a_host_of_another_version_is_updated() {
        let mut uplink = Uplink::default();
        uplink.update();
        assert!(!uplink.take_updated());
        uplink.begin_with(PROTOCOL_VERSION - 1);
        uplink.update();
        uplink.update();
        assert!(uplink.take_updated() && !uplink.take_updated());
        assert_eq!(uplink.version(), PROTOCOL_VERSION);
    }
}
