//! The address on which this host listens for others of its site, and the addresses that it dials.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener, ToSocketAddrs, UdpSocket};

use sateen_command_line::explained;
use thiserror::Error;

use crate::grid::address::CoordinatorAddress;

/// Lower ports belong to a machine's own services.
const PORT_MIN: u16 = 1024;

/// Where hosts of the same site may reach this one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DirectListen {
    /// On the interface towards the coordinator, on any port.
    #[default]
    Auto,
    /// On this address.
    At(SocketAddr),
    /// On one address, which others reach by another: a port is forwarded.
    Forwarded {
        /// The address on which this host listens.
        listen: SocketAddr,
        /// The address that others dial.
        advertised: SocketAddr,
    },
    /// Does not listen: all messages are relayed.
    Off,
}

/// An address on which this host cannot listen.
#[derive(Debug, Error)]
#[error(
    "this host cannot listen on {address} ({}); name another address with --direct ADDRESS:PORT, or --direct off", explained(.why)
)]
pub struct ListenError {
    address: SocketAddr,
    why: io::Error,
}

/// A bound socket, and the address to report to others.
pub struct Listener {
    pub(super) socket: StdListener,
    /// `address:port`.
    pub reported: SocketAddr,
}

impl DirectListen {
    /// Binds the socket, if there should be one.
    ///
    /// # Errors
    /// If the requested address cannot be bound.
    pub fn bind(self, coordinator: &CoordinatorAddress) -> Result<Option<Listener>, ListenError> {
        let address = match self {
            Self::Off => return Ok(None),
            Self::At(address) | Self::Forwarded { listen: address, .. } => address,
            Self::Auto => match interface_towards(coordinator) {
                Some(interface) => SocketAddr::new(interface, 0),
                None => return Ok(None),
            },
        };
        let bound = StdListener::bind(address)
            .and_then(|socket| {
                socket.set_nonblocking(true)?;
                let mut reported = socket.local_addr()?;
                if let Self::Forwarded { advertised, .. } = self {
                    reported = advertised;
                } else if reported.ip().is_unspecified() {
                    reported.set_ip(interface_towards(coordinator).unwrap_or(Ipv4Addr::LOCALHOST.into()));
                }
                Ok(Some(Listener { socket, reported }))
            })
            .map_err(|why| ListenError { address, why });
        match bound {
            // It was not requested explicitly; the relay is sufficient.
            Err(_) if self == Self::Auto => Ok(None),
            bound => bound,
        }
    }
}

/// This machine's address on the route to the coordinator. Nothing is sent.
fn interface_towards(coordinator: &CoordinatorAddress) -> Option<IpAddr> {
    let to = coordinator.authority().to_socket_addrs().ok()?.next()?;
    let any: IpAddr =
        if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// How this host reaches its coordinator, which decides which addresses of peers it dials.
#[derive(Debug, Clone, Copy)]
pub struct Way(Option<IpAddr>);

impl Way {
    /// Determines it from this machine's interfaces.
    pub fn to(coordinator: &CoordinatorAddress) -> Self {
        Self(interface_towards(coordinator))
    }

    /// The address that a peer reports, if a host may listen there. The coordinator passes on only addresses of the
    /// machine from which the peer connects. A peer on the coordinator's machine connects from a loopback address,
    /// which would mean this machine here, where services may listen that trust all local clients.
    pub fn to_peer(self, reported: &str) -> Option<SocketAddr> {
        // An address and not a name: a stranger's report must not cause a name lookup.
        let address: SocketAddr = reported.parse().ok()?;
        let ip = address.ip().to_canonical();
        let is_broadcast = ip == IpAddr::V4(Ipv4Addr::BROADCAST);
        if ip.is_unspecified() || ip.is_multicast() || is_broadcast || address.port() == 0 {
            return None;
        }
        let is_local_grid = self.0.is_some_and(|own| own.to_canonical().is_loopback());
        (!ip.is_loopback() || is_local_grid && address.port() >= PORT_MIN).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_loopback_no_other_machine_can_dial() {
        let listener = DirectListen::Auto.bind(&CoordinatorAddress::default()).expect("a port").expect("one");
        assert!(listener.reported.ip().is_loopback() && listener.reported.port() != 0);
        assert!(DirectListen::Off.bind(&CoordinatorAddress::default()).expect("nothing to do").is_none());
    }

    #[test]
    fn an_address_that_cannot_be_had_is_named() {
        let taken = StdListener::bind("127.0.0.1:0").expect("a port");
        let address = taken.local_addr().expect("it has one");
        let error =
            DirectListen::At(address).bind(&CoordinatorAddress::default()).err().expect("taken").to_string();
        assert!(error.contains(&address.to_string()) && error.contains("--direct"), "{error}");
    }

    #[test]
    fn others_dial_the_address_that_is_forwarded() {
        let listen = "127.0.0.1:0".parse().expect("an address");
        let advertised = "127.0.0.1:7".parse().expect("an address");
        let listener = DirectListen::Forwarded { listen, advertised }.bind(&CoordinatorAddress::default());
        assert_eq!(listener.expect("a port").expect("one").reported, advertised);
    }

    #[test]
    fn a_peer_has_this_host_dial_nothing_but_hosts() {
        for (reported, is_dialled_locally, is_dialled_from_afar) in [
            ("127.0.0.1:7710", true, false),
            ("[::1]:7710", true, false),
            ("[::ffff:127.0.0.1]:7710", true, false),
            ("127.0.0.1:25", false, false),
            ("127.0.0.1:0", false, false),
            ("192.0.2.1:7710", true, true),
            ("[2001:db8::1]:7710", true, true),
            ("0.0.0.0:7710", false, false),
            ("[::]:7710", false, false),
            ("255.255.255.255:7710", false, false),
            ("224.0.0.1:7710", false, false),
            ("localhost:7710", false, false),
            ("example.org:80", false, false),
            ("", false, false),
        ] {
            for (own, expected) in [("127.0.0.1", is_dialled_locally), ("192.0.2.9", is_dialled_from_afar)] {
                let way = Way(Some(own.parse().expect("an address")));
                assert_eq!(way.to_peer(reported).is_some(), expected, "{reported} from {own}");
            }
        }
    }
}
