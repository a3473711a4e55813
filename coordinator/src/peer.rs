//! The owner of a budget or a name, as long as there are no tokens.

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sateen_protocol::coordinator::Submitter;

/// The origin of a connection: an IPv4 address, or the 64 bits of an IPv6 address that its network assigned. A machine
/// chooses the other bits itself, and changes them daily.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer(IpAddr);

impl Peer {
    /// The peer to which an address belongs.
    pub fn of(address: IpAddr) -> Self {
        const NETWORK: u128 = !(u64::MAX as u128);
        match address.to_canonical() {
            IpAddr::V6(address) if address.is_loopback() => Self(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            IpAddr::V6(address) => Self(IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK))),
            address @ IpAddr::V4(_) => Self(address),
        }
    }

    /// As text.
    pub fn parse(text: &str) -> Option<Self> {
        text.trim_end_matches("/64").parse().ok().map(Self::of)
    }

    /// As the state machine knows it.
    pub fn number(self) -> Submitter {
        Submitter(match self.0 {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(network) => network.to_bits(),
        })
    }

    /// This machine.
    pub fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }
}

impl Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> String {
        Peer::of(address.parse().expect("an address")).to_string()
    }

    #[test]
    fn a_machine_is_one_peer_whatever_address_it_chooses() {
        assert_eq!(of("192.0.2.7"), "192.0.2.7");
        assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!(of("2001:db8:1:2:ffff::1"), of("2001:db8:1:2:3:4:5:6"));
        assert_ne!(of("2001:db8:1:3::1"), of("2001:db8:1:2::1"));
        assert_eq!(of("::1"), of("127.0.0.1"));
        for address in ["192.0.2.7", "2001:db8:1:2:3:4:5:6"] {
            assert_eq!(Peer::parse(&of(address)).map(|peer| peer.to_string()), Some(of(address)));
        }
        assert_eq!(Peer::parse("nobody"), None);
    }

    #[test]
    fn each_peer_has_another_number() {
        let numbers = ["192.0.2.7", "192.0.2.8", "2001:db8:1:2::", "2001:db8:1:3::", "127.0.0.1"];
        let numbers = numbers.map(|address| Peer::of(address.parse().expect("an address")).number());
        let all: std::collections::BTreeSet<_> = numbers.into_iter().chain([Submitter::default()]).collect();
        assert_eq!(all.len(), numbers.len() + 1);
    }
}
