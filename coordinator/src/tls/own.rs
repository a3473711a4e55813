//! The certificate that a coordinator makes for itself, for grids without a public name. An authority of its own signs it,
//! whose fingerprint clients are given when they join: it stays the same when the certificate is made anew.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use sateen_access::{Authority, Pin, write_private};
use sateen_command_line::explained;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::CertificateError;
use crate::clock::unix_ms;

const DAY_S: i64 = 24 * 3600;
/// Validity of the authority.
const AUTHORITY_S: i64 = 20 * 365 * DAY_S;
/// Validity of the certificate. Browsers accept at most 398 days.
const CERTIFICATE_S: i64 = 397 * DAY_S;
/// It is made anew after this time.
const RENEWED_AFTER_MS: u64 = 30 * DAY_S as u64 * 1000;
/// A client's clock may be behind by this much.
const EARLIER_S: i64 = DAY_S;
/// Addresses of documentation (RFC 5737, RFC 3849): nothing is sent there, but the system says from which address it would be.
const SOMEWHERE: [&str; 2] = ["192.0.2.1:9", "[2001:db8::1]:9"];

/// The coordinator's own authority.
pub struct Own {
    authority: Authority,
    key_pem: Zeroizing<String>,
    names: Vec<String>,
    listen: SocketAddr,
    issued_at_ms: u64,
}

/// Without the private key, which must not get into logs.
impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("pin", &self.pin()).finish_non_exhaustive()
    }
}

impl Own {
    /// Reads the authority from the data folder, or makes one there.
    pub fn open(data_dir: &Path, names: &[String], listen: SocketAddr) -> Result<Self, CertificateError> {
        let folder = data_dir.join("tls");
        let (certificate, key) = (folder.join("authority.pem"), folder.join("authority-key.pem"));
        let read = |path: &PathBuf| match fs::read_to_string(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(format!("{} cannot be read: {}", path.display(), explained(&error)))),
        };
        let (authority, key_pem) = match (read(&certificate)?, read(&key)?) {
            (Some(text), Some(key_pem)) => {
                let authority = Authority::from_pem(&text).ok_or_else(|| {
                    failed(format!("{} holds no certificate in PEM", certificate.display()))
                })?;
                (authority, key_pem)
            }
            (None, None) => {
                let (text, key_pem) = make()?;
                // The key first: with a certificate alone, nothing could be signed.
                for (path, text) in [(&key, &key_pem), (&certificate, &text)] {
                    write_private(path, text.as_bytes()).map_err(|error| {
                        failed(format!("{} cannot be written: {}", path.display(), explained(&error)))
                    })?;
                }
                (Authority::from_pem(&text).ok_or_else(|| failed("it is damaged".to_owned()))?, key_pem)
            }
            (has_certificate, _) => {
                let missing = if has_certificate.is_some() { &key } else { &certificate };
                return Err(failed(format!(
                    "{} is missing; restore it, or delete the folder {} to begin with another authority, which clients must then \
                     be given anew",
                    missing.display(),
                    folder.display()
                )));
            }
        };
        Ok(Self {
            authority,
            key_pem: Zeroizing::new(key_pem),
            names: names.to_vec(),
            listen,
            issued_at_ms: 0,
        })
    }

    /// The fingerprint of the authority.
    pub fn pin(&self) -> Pin {
        self.authority.pin()
    }

    /// Whether the certificate should be made anew.
    pub fn is_due(&self) -> bool {
        unix_ms().saturating_sub(self.issued_at_ms) > RENEWED_AFTER_MS
    }

    /// Makes a certificate for the names and addresses at which clients reach this coordinator.
    pub fn issue(&mut self) -> Result<CertifiedKey, CertificateError> {
        let key = KeyPair::from_pem(&self.key_pem).map_err(|error| failed(error.to_string()))?;
        let issuer = Issuer::new(authority_params()?, key);
        let of_rcgen = |error: rcgen::Error| failed(error.to_string());
        let mut params = CertificateParams::new(self.all_names()).map_err(of_rcgen)?;
        params.distinguished_name.push(DnType::CommonName, "Sateen coordinator");
        (params.not_before, params.not_after) = valid_for(CERTIFICATE_S)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(of_rcgen)?;
        let leaf = params.signed_by(&key, &issuer).map_err(of_rcgen)?;
        let chain: Vec<CertificateDer<'static>> = vec![leaf.der().clone(), self.authority.der().clone()];
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(|why| failed(why.to_owned()))?;
        self.issued_at_ms = unix_ms();
        CertifiedKey::from_der(chain, key, &default_provider()).map_err(|error| failed(error.to_string()))
    }

    fn all_names(&self) -> Vec<String> {
        let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        names.extend(Some(machine).filter(|name| sateen_command_line::is_machine_name(name)));
        names.extend(self.names.iter().cloned());
        match self.listen.ip() {
            address if address.is_unspecified() => {
                names.extend(own_addresses().map(|address| address.to_string()));
            }
            address => names.push(address.to_string()),
        }
        names.sort();
        names.dedup();
        names
    }
}

fn failed(why: String) -> CertificateError {
    CertificateError::Own(why)
}

/// The addresses from which this machine reaches others.
fn own_addresses() -> impl Iterator<Item = IpAddr> {
    SOMEWHERE.iter().filter_map(|somewhere| {
        let to: SocketAddr = somewhere.parse().ok()?;
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip())
    })
}

/// The same for each certificate: the authority is known by its name and its key.
fn authority_params() -> Result<CertificateParams, CertificateError> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Sateen coordinator's authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = valid_for(AUTHORITY_S)?;
    Ok(params)
}

fn valid_for(seconds: i64) -> Result<(OffsetDateTime, OffsetDateTime), CertificateError> {
    let now_s = i64::try_from(unix_ms() / 1000).unwrap_or(i64::MAX);
    let at = |at_s: i64| {
        let wrong = |_| failed("this machine's clock is wrong".to_owned());
        OffsetDateTime::from_unix_timestamp(at_s).map_err(wrong)
    };
    Ok((at(now_s.saturating_sub(EARLIER_S))?, at(now_s.saturating_add(seconds))?))
}

/// A new authority: its certificate and its private key, in PEM.
fn make() -> Result<(String, String), CertificateError> {
    let of_rcgen = |error: rcgen::Error| failed(error.to_string());
    let key = KeyPair::generate().map_err(of_rcgen)?;
    let certificate = authority_params()?.self_signed(&key).map_err(of_rcgen)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_stays_and_a_half_of_it_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let listen = "0.0.0.0:7700".parse().expect("an address");
        let open = || Own::open(folder.path(), &["grid.example.org".to_owned()], listen);
        let mut own = open().expect("made");
        own.issue().expect("issued");
        assert!(!own.is_due());
        for name in ["localhost", "127.0.0.1", "grid.example.org"] {
            assert!(own.all_names().iter().any(|known| known == name), "{name}");
        }
        assert_eq!(open().expect("read").pin(), own.pin());
        let key = folder.path().join("tls/authority-key.pem");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&key).expect("it exists").permissions().mode() & 0o777, 0o600);
        }
        fs::remove_file(&key).expect("removed");
        let why = open().expect_err("half of it").to_string();
        assert!(why.contains("authority-key.pem is missing") && why.contains("delete"), "{why}");
    }
}
