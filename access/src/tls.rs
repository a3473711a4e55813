//! TLS for clients: which certificates they trust, and errors that say what was expected.

use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use sateen_command_line::explained;
use thiserror::Error as ThisError;

use crate::pin::{Authority, Pin};

/// Why the certificate of an authority was not fetched.
#[derive(Debug, ThisError)]
pub enum TlsError {
    /// Nothing answers.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// The coordinator's certificates are others.
    #[error(
        "{at} has another certificate authority: expected {expected}, and it presents {presented}. Either the fingerprint is that of another coordinator or the coordinator's data folder is new, or somebody intercepts the connection; ask the operator for the fingerprint"
    )]
    OtherPin {
        /// The coordinator.
        at: String,
        /// The fingerprint that was given.
        expected: Pin,
        /// That of the last certificate that the coordinator has sent.
        presented: Pin,
    },
    /// The handshake failed for another reason.
    #[error("{0}")]
    Handshake(String),
}

/// What a client trusts: `authority` alone, or the public authorities that browsers trust.
///
/// # Errors
/// When the certificate of the authority cannot be used.
pub fn client_config(authority: Option<&Authority>) -> Result<Arc<ClientConfig>, Error> {
    let mut roots = RootCertStore::empty();
    match authority {
        Some(authority) => roots.add(authority.der().clone())?,
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// Fetches the certificate of the authority with this fingerprint from a coordinator, whose own certificate must be signed
/// by it.
///
/// # Arguments
/// * `host`: a name or an address; that of an IPv6 address may be in brackets.
/// * `patience`: maximum time for each step.
///
/// # Errors
/// When the coordinator does not answer, has another authority, or its own certificate is not for `host`.
pub fn fetch_authority(host: &str, port: u16, pin: Pin, patience: Duration) -> Result<Authority, TlsError> {
    let bare = host.trim_matches(['[', ']']);
    let at = format!("{host}:{port}");
    let failed = |error: &io::Error| {
        let why = explain_tls(error, host).unwrap_or_else(|| explained(error));
        TlsError::Unreachable(at.clone(), why)
    };
    let name = ServerName::try_from(bare.to_owned())
        .map_err(|_| TlsError::Handshake(format!("{host} is not the name or address of a machine")))?;
    let verifier =
        Arc::new(Pinned { pin, provider: Arc::new(ring::default_provider()), seen: Mutex::default() });
    let handshake = |error: Error| TlsError::Handshake(error.to_string());
    let config = ClientConfig::builder_with_provider(Arc::clone(&verifier.provider))
        .with_safe_default_protocol_versions()
        .map_err(handshake)?
        .dangerous() // It verifies more than usual, not less.
        .with_custom_certificate_verifier(Arc::<Pinned>::clone(&verifier))
        .with_no_client_auth();
    let mut socket = dial(bare, port, patience).map_err(|error| failed(&error))?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(handshake)?;
    let done = connection.complete_io(&mut socket);
    let seen = verifier.seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (seen, done) {
        (Some(Seen::Other(presented)), _) => Err(TlsError::OtherPin { at, expected: pin, presented }),
        (Some(Seen::Pinned(authority)), Ok(_)) => Ok(authority),
        (_, Err(error)) => Err(failed(&error)),
        (None, Ok(_)) => Err(TlsError::Handshake(format!("{at} presented no certificate"))),
    }
}

fn dial(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, "no address is known for this name");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(socket) => {
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What happened to a TLS connection with `host`, and what to do; `None` if the error is about something else.
pub fn explain_tls(error: &io::Error, host: &str) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(why) => certificate(why, host),
        Error::InvalidMessage(_) => {
            format!("{host} does not speak TLS at this port; use an address that begins with http://")
        }
        Error::NoCertificatesPresented => format!("{host} presented no certificate"),
        other => format!("the TLS handshake with {host} failed: {other}"),
    })
}

fn certificate(why: &CertificateError, host: &str) -> String {
    match why {
        CertificateError::NotValidForNameContext { presented, .. } => format!(
            "the certificate of {host} does not match: expected one for {host}, and it is for {}; use one of these names, or let \
             the operator add this one with --public-name {host}",
            names(presented)
        ),
        CertificateError::NotValidForName => {
            format!("the certificate of {host} does not match: it is for other names")
        }
        CertificateError::UnknownIssuer => format!(
            "the certificate of {host} is not signed by an authority that this program trusts: expected a public authority, or \
             the pinned one; for a coordinator with a certificate of its own (--tls-self-signed), give the fingerprint that the \
             operator knows with --pin"
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
            "the certificate of {host} has expired, by the clock of this machine; check the clock, or let the operator renew \
             the certificate"
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!(
                "the certificate of {host} is not valid yet, by the clock of this machine; check the clock"
            )
        }
        other => format!("the certificate of {host} is refused: {}", Error::from(other.clone())),
    }
}

/// The names of a certificate: of `DnsName("a")` and `IpAddress(…)`, what is within.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        inner.unwrap_or(name).trim_matches('"').to_owned()
    };
    if presented.is_empty() {
        "no name".to_owned()
    } else {
        presented.iter().map(bare).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Debug)]
enum Seen {
    Pinned(Authority),
    Other(Pin),
}

/// Accepts a server whose certificate is signed by the authority with this fingerprint, which it sends as well.
#[derive(Debug)]
struct Pinned {
    pin: Pin,
    provider: Arc<CryptoProvider>,
    seen: Mutex<Option<Seen>>,
}

impl Pinned {
    fn see(&self, seen: Seen) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = intermediates.iter().find(|known| Pin::of(known) == self.pin) else {
            self.see(Seen::Other(Pin::of(intermediates.last().unwrap_or(end_entity))));
            return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        };
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider)).build();
        let verifier = verifier.map_err(|error| Error::General(error.to_string()))?;
        let verified =
            verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        self.see(Seen::Pinned(Authority::from_der(authority)));
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ServerConfig, ServerConnection};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// A server with a certificate for `names` that an authority of its own has signed.
    fn server(names: &[&str]) -> (u16, Authority) {
        server_valid(names, 1975, 4096)
    }

    /// The same with a certificate that is valid from one year to another.
    fn server_valid(names: &[&str], from: i32, to: i32) -> (u16, Authority) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).expect("signed");
        let issuer = Issuer::new(params, key);
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).expect("names");
        (params.not_before, params.not_after) = (date_time_ymd(from, 1, 1), date_time_ymd(to, 1, 1));
        let leaf = params.signed_by(&key, &issuer).expect("signed");
        let chain = vec![leaf.der().clone(), authority.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("it matches");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        thread::spawn(move || {
            let config = Arc::new(config);
            while let Ok((mut socket, _)) = listener.accept() {
                let mut connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
                let _ = connection.complete_io(&mut socket);
            }
        });
        (port, Authority::from_der(authority.der()))
    }

    /// The handshake of a client that trusts `authority`.
    fn handshake(port: u16, name: &str, authority: Option<&Authority>) -> Result<(), String> {
        let config = client_config(authority).expect("it can be used");
        let mut socket = dial("127.0.0.1", port, PATIENCE).expect("it listens");
        let server = ServerName::try_from(name.to_owned()).expect("a name");
        let mut connection = ClientConnection::new(config, server).expect("a connection");
        let done = connection.complete_io(&mut socket);
        done.map(drop).map_err(|error| explain_tls(&error, name).expect("it is about TLS"))
    }

    #[test]
    fn the_pinned_authority_is_fetched_and_trusted_from_then_on() {
        let (port, authority) = server(&["127.0.0.1", "localhost"]);
        let fetched = fetch_authority("127.0.0.1", port, authority.pin(), PATIENCE).expect("it is this one");
        assert_eq!(fetched, authority);
        assert_eq!(handshake(port, "localhost", Some(&fetched)), Ok(()));
        let why = handshake(port, "localhost", None).expect_err("no public authority signed it");
        assert!(why.contains("--pin") && why.contains("localhost"), "{why}");
    }

    #[test]
    fn another_authority_is_named_with_what_was_expected() {
        let (port, authority) = server(&["127.0.0.1"]);
        let expected = Pin::of(b"another");
        let why = fetch_authority("127.0.0.1", port, expected, PATIENCE).expect_err("another").to_string();
        for part in [expected.to_string(), authority.pin().to_string(), format!("127.0.0.1:{port}")] {
            assert!(why.contains(&part), "{why}");
        }
    }

    #[test]
    fn a_certificate_for_another_name_is_named_with_what_was_expected() {
        let (port, authority) = server(&["grid.example.org", "192.0.2.1"]);
        let error = fetch_authority("127.0.0.1", port, authority.pin(), PATIENCE).expect_err("another name");
        let why = handshake(port, "grid.example.com", Some(&authority)).expect_err("another name");
        for (why, expected) in [(error.to_string(), "127.0.0.1"), (why, "grid.example.com")] {
            assert!(why.contains(&format!("expected one for {expected}")), "{why}");
            assert!(why.contains("it is for grid.example.org, 192.0.2.1"), "{why}");
            assert!(why.contains(&format!("--public-name {expected}")), "{why}");
        }
    }

    #[test]
    fn a_certificate_of_another_time_is_blamed_on_one_of_the_clocks() {
        for (from, to, word) in [(1975, 2001, "has expired"), (4000, 4096, "is not valid yet")] {
            let (port, authority) = server_valid(&["localhost"], from, to);
            let why = handshake(port, "localhost", Some(&authority)).expect_err("another time");
            assert!(
                why.contains(word) && why.contains("by the clock of this machine; check the clock"),
                "{why}"
            );
        }
    }

    #[test]
    fn a_server_without_tls_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("it dials");
            let _ = socket.read(&mut [0; 64]);
            let _ = io::Write::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n");
            thread::sleep(Duration::from_millis(200));
        });
        let error = fetch_authority("127.0.0.1", port, Pin::of(b"any"), PATIENCE).expect_err("no TLS");
        assert!(error.to_string().contains("http://"), "{error}");
    }
}
