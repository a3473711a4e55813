//! Clients behind a proxy. When it connects for a client, the proxy first names the client's address, in the header of the
//! PROXY protocol, version 1 or 2 (HAProxy, `doc/proxy-protocol.txt`). Only proxies that the operator trusts are believed:
//! to anyone else, the header is a bad request.

use std::fmt::{self, Display};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ipnet::IpNet;
use ppp::{v1, v2};
use sateen_command_line::explained;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;

use crate::limits::{PROXY_HEADER_BYTES_MAX, PROXY_HEADER_MAX};

/// What the header of version 2 begins with.
const SIGNATURE_2: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// The length of that, version and command, family, and the length of the rest.
const HEAD_2_BYTES: usize = 16;
/// What the header of version 1 begins with.
const BEGIN_1: &[u8] = b"PROXY ";
/// The maximum length of a header of version 1, with the end of its line.
const LINE_1_BYTES_MAX: usize = 107;

/// Addresses of proxies whose word about clients' addresses is taken: one address, or a network like `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

impl FromStr for TrustedProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self(address.to_canonical().into()));
        }
        let network: IpNet = text.parse().map_err(|_| {
            format!(
                "`{text}` is neither an IP address nor a network; give 192.0.2.7 or 10.0.0.0/8, for example"
            )
        })?;
        if network.prefix_len() == 0 {
            return Err(format!(
                "{text} is every address, so anyone could claim any address; name the proxies"
            ));
        }
        Ok(Self(network.trunc()))
    }
}

impl Display for TrustedProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() {
            self.0.addr().fmt(formatter)
        } else {
            self.0.fmt(formatter)
        }
    }
}

/// The proxies of a server.
#[derive(Debug, Default)]
pub struct Proxies {
    trusted: Vec<TrustedProxy>,
    /// An operator whose proxy sends no header is warned once, not for each client.
    has_warned: AtomicBool,
}

impl Proxies {
    /// Trusts these.
    pub fn new(trusted: Vec<TrustedProxy>) -> Self {
        Self { trusted, has_warned: AtomicBool::new(false) }
    }

    /// Whether connections from there begin with a header.
    pub(super) fn trust(&self, address: SocketAddr) -> bool {
        let address = address.ip().to_canonical();
        self.trusted.iter().any(|proxy| proxy.0.contains(&address))
    }

    /// Reads the header, and nothing behind it: the client's address, or the proxy's own if the proxy names none, as for its
    /// own checks of health. `None` if there is no header; then the connection is to be closed.
    pub(super) async fn client(
        &self,
        socket: &mut (impl AsyncRead + Unpin),
        proxy: SocketAddr,
    ) -> Option<SocketAddr> {
        let read = timeout(PROXY_HEADER_MAX, header(socket)).await;
        let why = match read {
            Ok(Ok(client)) => return Some(client.unwrap_or(proxy)),
            // It only looked whether somebody listens.
            Ok(Err(Bad::Nothing)) => return None,
            Ok(Err(Bad::Header(why))) => why,
            Err(_) => format!("it sent no header within {} s", PROXY_HEADER_MAX.as_secs()),
        };
        if self.has_warned.swap(true, Relaxed) {
            tracing::debug!(%proxy, why, "a connection from a trusted proxy was closed");
        } else {
            tracing::warn!(
                %proxy,
                why,
                "a connection from a trusted proxy was closed; let the proxy send the PROXY protocol, or leave out --trusted-proxy \
                 (further ones are logged at level debug)"
            );
        }
        None
    }
}

/// Why there is no header.
#[derive(Debug, PartialEq, Eq)]
enum Bad {
    /// The connection was closed without a byte.
    Nothing,
    Header(String),
}

/// The address of the client in the header, if the header has one.
async fn header(socket: &mut (impl AsyncRead + Unpin)) -> Result<Option<SocketAddr>, Bad> {
    let broke = |error: std::io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => Bad::Header("the connection was closed within the header".to_owned()),
        _ => Bad::Header(format!("the header cannot be read: {}", explained(&error))),
    };
    let mut bytes = vec![0; SIGNATURE_2.len()];
    // Both versions are longer than this.
    match socket.read(&mut bytes).await.map_err(broke)? {
        0 => return Err(Bad::Nothing),
        count => socket.read_exact(&mut bytes[count..]).await.map_err(broke)?,
    };
    if bytes == SIGNATURE_2 {
        bytes.resize(HEAD_2_BYTES, 0);
        socket.read_exact(&mut bytes[SIGNATURE_2.len()..]).await.map_err(broke)?;
        let rest = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
        if rest > PROXY_HEADER_BYTES_MAX {
            return Err(Bad::Header(format!(
                "its header has {rest} bytes; {PROXY_HEADER_BYTES_MAX} are allowed"
            )));
        }
        bytes.resize(HEAD_2_BYTES + rest, 0);
        socket.read_exact(&mut bytes[HEAD_2_BYTES..]).await.map_err(broke)?;
        return of_version_2(&bytes);
    }
    if !bytes.starts_with(BEGIN_1) {
        return Err(Bad::Header("it does not begin with the PROXY protocol".to_owned()));
    }
    while !bytes.ends_with(b"\r\n") {
        if bytes.len() == LINE_1_BYTES_MAX {
            return Err(Bad::Header(format!("its header has no end within {LINE_1_BYTES_MAX} bytes")));
        }
        bytes.push(socket.read_u8().await.map_err(broke)?);
    }
    of_version_1(&bytes)
}

fn of_version_1(bytes: &[u8]) -> Result<Option<SocketAddr>, Bad> {
    let header = v1::Header::try_from(bytes).map_err(|error| Bad::Header(error.to_string()))?;
    Ok(match header.addresses {
        v1::Addresses::Unknown => None,
        v1::Addresses::Tcp4(of) => Some((of.source_address, of.source_port).into()),
        v1::Addresses::Tcp6(of) => Some((of.source_address, of.source_port).into()),
    })
}

fn of_version_2(bytes: &[u8]) -> Result<Option<SocketAddr>, Bad> {
    let header = v2::Header::try_from(bytes).map_err(|error| Bad::Header(error.to_string()))?;
    if header.command == v2::Command::Local {
        return Ok(None);
    }
    Ok(match header.addresses {
        v2::Addresses::IPv4(of) => Some((of.source_address, of.source_port).into()),
        v2::Addresses::IPv6(of) => Some((of.source_address, of.source_port).into()),
        v2::Addresses::Unspecified | v2::Addresses::Unix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> (Result<Option<SocketAddr>, Bad>, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let client = runtime.block_on(header(&mut bytes));
        (client, bytes.len())
    }

    fn version_2(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
        let length = u16::try_from(addresses.len()).expect("short").to_be_bytes();
        [SIGNATURE_2.as_slice(), &[0x20 | command, family], &length, addresses].concat()
    }

    #[test]
    fn the_client_is_in_the_header_and_nothing_behind_it_is_read() {
        let client = Some("203.0.113.9:4711".parse().expect("an address"));
        let client_6 = Some("[2001:db8::9]:4711".parse().expect("an address"));
        let v6 = |last: u8| [&[0x20, 1, 0x0d, 0xb8][..], &[0; 11], &[last]].concat();
        let of_v4 =
            [&[203, 0, 113, 9, 192, 0, 2, 1][..], &4711_u16.to_be_bytes(), &443_u16.to_be_bytes()].concat();
        let of_v6 = [v6(9), v6(1), 4711_u16.to_be_bytes().to_vec(), 443_u16.to_be_bytes().to_vec()].concat();
        // A further field (PP2_TYPE_NOOP), as load balancers send them.
        let with_field = [&of_v4[..], &[4, 0, 1, 7]].concat();
        for (header, client) in [
            (b"PROXY TCP4 203.0.113.9 192.0.2.1 4711 443\r\n".to_vec(), client),
            (b"PROXY TCP6 2001:db8::9 2001:db8::1 4711 443\r\n".to_vec(), client_6),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n".to_vec(), None),
            (version_2(1, 0x11, &of_v4), client),
            (version_2(1, 0x11, &with_field), client),
            (version_2(1, 0x21, &of_v6), client_6),
            (version_2(1, 0x00, &[]), None),
            (version_2(0, 0x11, &of_v4), None),
        ] {
            let text = String::from_utf8_lossy(&header).into_owned();
            assert_eq!(read(&[&header[..], b"GET / HTTP/1.1"].concat()), (Ok(client), 14), "{text:?}");
            for length in 1..header.len() {
                let (cut, _) = read(&header[..length]);
                assert!(
                    matches!(&cut, Err(Bad::Header(why)) if why.contains("closed")),
                    "{length} of {text:?}: {cut:?}"
                );
            }
        }
        assert_eq!(read(b"").0, Err(Bad::Nothing));
    }

    #[test]
    fn whatever_else_comes_is_named() {
        let long = [SIGNATURE_2.as_slice(), &[0x21, 0x11, 0xff, 0xff]].concat();
        for (bytes, why) in [
            (&b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"[..], "does not begin"),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00", "does not begin"),
            (&[b"PROXY TCP4 "[..].to_vec(), vec![b'1'; 200]].concat(), "no end within 107 bytes"),
            (b"PROXY TCP4 203.0.113.999 192.0.2.1 4711 443\r\n", "IP"),
            (b"PROXY TCP4 \xff\xff\xff\xff\r\n", "UTF-8"),
            (&long, "65535 bytes"),
            (&version_2(1, 0x11, &[1, 2, 3]), ""),
            (&version_2(7, 0x11, &[0; 12]), ""),
        ] {
            let (read, _) = read(bytes);
            assert!(matches!(&read, Err(Bad::Header(text)) if text.contains(why)), "{why}: {read:?}");
        }
    }

    #[test]
    fn only_named_addresses_are_trusted() {
        let proxies = ["192.0.2.7", "10.1.2.3/8", "2001:db8::/64"].map(|text| text.parse().expect("a proxy"));
        let shown = proxies.map(|proxy: TrustedProxy| proxy.to_string());
        assert_eq!(shown, ["192.0.2.7", "10.0.0.0/8", "2001:db8::/64"]);
        let proxies = Proxies::new(proxies.to_vec());
        let trusts =
            |address: &str| proxies.trust((address.parse::<IpAddr>().expect("an address"), 1).into());
        assert!(
            trusts("192.0.2.7") && trusts("::ffff:192.0.2.7") && trusts("10.9.9.9") && trusts("2001:db8::5")
        );
        assert!(!trusts("192.0.2.8") && !trusts("11.0.0.1") && !trusts("2001:db8:0:1::5") && !trusts("::1"));
        for (text, why) in [
            ("proxy", "neither"),
            ("10.0.0.0/33", "neither"),
            ("", "neither"),
            ("0.0.0.0/0", "every"),
            ("::/0", "every"),
        ] {
            let error = text.parse::<TrustedProxy>().expect_err(text);
            assert!(error.contains(why), "{error}");
        }
    }
}
