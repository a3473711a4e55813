//! The address under which a host is reachable for others of its site. These hosts connect to it, so it is
//! passed on only if the host's own connection comes from there.

use std::net::{IpAddr, SocketAddr};

use sateen_protocol::message::ToCoordinator;

/// Removes from a hello an address other than that of the connection: such a host is reached by relay.
pub fn check(message: &mut ToCoordinator, comes_from: IpAddr) {
    let ToCoordinator::Hello { report, .. } = message else { return };
    let Some(reported) = report.direct.take() else { return };
    report.direct = passed_on(&reported, comes_from).map(|address| address.to_string());
    if report.direct.is_none() {
        tracing::info!(
            host = report.name,
            reported,
            %comes_from,
            "the host does not come from the direct address that it reports; it is relayed"
        );
    }
}

fn passed_on(reported: &str, comes_from: IpAddr) -> Option<SocketAddr> {
    let address: SocketAddr = reported.parse().ok()?;
    let (ip, seen) = (address.ip().to_canonical(), comes_from.to_canonical());
    let is_same = ip == seen || ip.is_loopback() && seen.is_loopback();
    (is_same && address.port() != 0).then_some(SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_from_which_the_host_connects_are_passed_on() {
        for (reported, comes_from, expected) in [
            ("192.0.2.1:9", "192.0.2.1", Some("192.0.2.1:9")),
            ("192.0.2.1:9", "::ffff:192.0.2.1", Some("192.0.2.1:9")),
            ("[::ffff:192.0.2.1]:9", "192.0.2.1", Some("192.0.2.1:9")),
            ("[2001:db8::1]:9", "2001:db8::1", Some("[2001:db8::1]:9")),
            ("127.0.0.2:9", "127.0.0.1", Some("127.0.0.2:9")),
            ("192.0.2.2:9", "192.0.2.1", None),
            ("127.0.0.1:9", "192.0.2.1", None),
            ("192.0.2.1:9", "127.0.0.1", None),
            ("192.0.2.1:0", "192.0.2.1", None),
            ("0.0.0.0:9", "192.0.2.1", None),
            ("example.org:9", "192.0.2.1", None),
            ("", "192.0.2.1", None),
        ] {
            let comes_from = comes_from.parse().expect("an address");
            let passed_on = passed_on(reported, comes_from).map(|address| address.to_string());
            assert_eq!(passed_on.as_deref(), expected, "{reported} from {comes_from}");
        }
    }
}
