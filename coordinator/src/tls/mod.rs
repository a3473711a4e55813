//! The coordinator's certificate: from files, which are read again when they change, or made by itself.

mod own;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use sateen_access::Pin;
use sateen_command_line::explained;
use thiserror::Error;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::limits::CERTIFICATE_LOOK_EVERY;
use crate::shutdown::stopped;
use own::Own;

/// Where a coordinator's certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsSource {
    /// Files in PEM, with the chain of certificates and the private key.
    Files {
        /// The certificate, and those between it and a public authority.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// Made by this program, signed by an authority of its own, which is in the data folder.
    SelfSigned,
}

/// Why there is no certificate.
#[derive(Debug, Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{flag} {}: {why}", .path.display())]
    File {
        /// The flag that names it.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The two do not belong together.
    #[error(
        "the private key in {} does not belong to the certificate in {}: expected the key with which this certificate was requested",
        .key.display(), .certificate.display()
    )]
    OtherKey {
        /// The file with the certificate.
        certificate: PathBuf,
        /// The file with the key.
        key: PathBuf,
    },
    /// It cannot be made.
    #[error("the coordinator's own certificate cannot be made: {0}")]
    Own(String),
}

/// The certificate that is presented now.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// TLS for a coordinator's sockets.
#[derive(Debug)]
pub struct Tls {
    current: Arc<Current>,
    config: Arc<ServerConfig>,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Files { certificate: PathBuf, key: PathBuf, seen: Stamp },
    Own(Own),
}

/// The time and the size of both files. `None` for one that cannot be looked at.
type Stamp = [Option<(SystemTime, u64)>; 2];

fn stamp(certificate: &Path, key: &Path) -> Stamp {
    [certificate, key].map(|path| {
        let about = fs::metadata(path).ok()?;
        Some((about.modified().ok()?, about.len()))
    })
}

impl Tls {
    /// Reads or makes the certificate. Blocks.
    ///
    /// # Arguments
    /// * `names`: under which clients reach the coordinator, in addition to the addresses that it finds by itself.
    ///
    /// # Errors
    /// When a file cannot be used, or the certificate cannot be made.
    pub fn open(
        source: &TlsSource,
        data_dir: &Path,
        names: &[String],
        listen: SocketAddr,
    ) -> Result<Self, CertificateError> {
        let (first, origin) = match source {
            TlsSource::Files { certificate, key } => {
                let seen = stamp(certificate, key);
                let first = read(certificate, key)?;
                warn_of_open_key(key);
                (first, Origin::Files { certificate: certificate.clone(), key: key.clone(), seen })
            }
            TlsSource::SelfSigned => {
                let mut own = Own::open(data_dir, names, listen)?;
                (own.issue()?, Origin::Own(own))
            }
        };
        let current = Arc::new(Current(RwLock::new(Arc::new(first))));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| CertificateError::Own(error.to_string()))?;
        let mut config = config.with_no_client_auth().with_cert_resolver(Arc::<Current>::clone(&current));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { current, config: Arc::new(config), origin })
    }

    /// Accepts connections.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }

    /// The fingerprint of the coordinator's own authority, if it has one.
    pub fn pin(&self) -> Option<Pin> {
        match &self.origin {
            Origin::Files { .. } => None,
            Origin::Own(own) => Some(own.pin()),
        }
    }

    /// Keeps the certificate up to date until the service stops. If a new one cannot be used, the last one stays.
    pub async fn keep(mut self, mut stopping: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(CERTIFICATE_LOOK_EVERY) => {}
                () = stopped(&mut stopping) => return,
            }
            let looked = tokio::task::spawn_blocking(move || {
                let new = self.look();
                (self, new)
            });
            let Ok((same, new)) = looked.await else { return };
            self = same;
            match new {
                Some(Ok(new)) => {
                    *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                    tracing::info!(
                        "the TLS certificate has changed, and the new one is presented from now on"
                    );
                }
                Some(Err(error)) => {
                    tracing::warn!(%error, "the new TLS certificate cannot be used; the last one is still presented");
                }
                None => {}
            }
        }
    }

    /// The new certificate, if there is one. Blocks.
    fn look(&mut self) -> Option<Result<CertifiedKey, CertificateError>> {
        match &mut self.origin {
            Origin::Files { certificate, key, seen } => {
                let now = stamp(certificate, key);
                if now == *seen {
                    return None;
                }
                *seen = now;
                Some(read(certificate, key))
            }
            Origin::Own(own) => own.is_due().then(|| own.issue()),
        }
    }
}

fn read(certificate: &Path, key: &Path) -> Result<CertifiedKey, CertificateError> {
    let wrong = |flag, path: &Path, what: &str, error: pem::Error| {
        let why = match error {
            pem::Error::Io(error) => format!("the file cannot be read: {}", explained(&error)),
            pem::Error::NoItemsFound => format!("the file holds no {what} in PEM"),
            error => format!("the file holds no {what} in PEM: {error}"),
        };
        CertificateError::File { flag, path: path.to_owned(), why }
    };
    let of_certificate = |error| wrong("--tls-cert", certificate, "certificate", error);
    let chain = CertificateDer::pem_file_iter(certificate).map_err(of_certificate)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(of_certificate)?;
    if chain.is_empty() {
        return Err(of_certificate(pem::Error::NoItemsFound));
    }
    let private =
        PrivateKeyDer::from_pem_file(key).map_err(|error| wrong("--tls-key", key, "private key", error))?;
    CertifiedKey::from_der(chain, private, &default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            CertificateError::OtherKey { certificate: certificate.to_owned(), key: key.to_owned() }
        }
        error => CertificateError::File { flag: "--tls-key", path: key.to_owned(), why: error.to_string() },
    })
}

/// Other users of this machine can impersonate the coordinator if they can read its key.
fn warn_of_open_key(key: &Path) {
    #[cfg(unix)]
    if let Ok(about) = fs::metadata(key)
        && std::os::unix::fs::MetadataExt::mode(&about) & 0o007 != 0
    {
        tracing::warn!(key = %key.display(), "all users of this machine can read the private key; chmod 600 makes it private");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn write(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("made");
        let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        fs::write(&certificate, made.cert.pem()).expect("written");
        fs::write(&key, made.signing_key.serialize_pem()).expect("written");
        (certificate, key)
    }

    fn open(certificate: &Path, key: &Path) -> Result<Tls, CertificateError> {
        let source = TlsSource::Files { certificate: certificate.to_owned(), key: key.to_owned() };
        Tls::open(&source, Path::new("/nowhere"), &[], "127.0.0.1:0".parse().expect("an address"))
    }

    #[test]
    fn files_that_cannot_be_used_are_named_with_what_was_expected() {
        let folder = tempfile::tempdir().expect("a folder");
        let (certificate, key) = write(folder.path(), "one");
        let (_, other_key) = write(folder.path(), "other");
        assert!(open(&certificate, &key).is_ok_and(|tls| tls.pin().is_none()));
        for (certificate, key, words) in [
            (&certificate, &other_key, &["other.key", "one.pem", "expected the key"][..]),
            (&folder.path().join("missing.pem"), &key, &["--tls-cert", "missing.pem", "no such file"]),
            (&certificate, &folder.path().join("missing.key"), &["--tls-key", "missing.key", "no such file"]),
            (&key, &key, &["--tls-cert", "one.key", "no certificate in PEM"]),
            (&certificate, &certificate, &["--tls-key", "one.pem", "no private key in PEM"]),
        ] {
            let why = open(certificate, key).expect_err("it cannot be used").to_string();
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
        }
    }

    #[test]
    fn a_changed_certificate_is_read_again_and_a_wrong_one_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let (certificate, key) = write(folder.path(), "one");
        let mut tls = open(&certificate, &key).expect("it can be used");
        assert!(tls.look().is_none(), "nothing has changed");
        let (new_certificate, new_key) = write(folder.path(), "new");
        let replace = |from: &Path, to: &Path| {
            fs::copy(from, to).expect("copied");
            let file = fs::File::options().append(true).open(to).expect("it exists");
            file.set_modified(SystemTime::now() + Duration::from_secs(5)).expect("set");
        };
        replace(&new_certificate, &certificate);
        assert!(
            matches!(tls.look(), Some(Err(CertificateError::OtherKey { .. }))),
            "the key is still the old one"
        );
        assert!(tls.look().is_none(), "this is reported once");
        replace(&new_key, &key);
        assert!(matches!(tls.look(), Some(Ok(_))));
    }
}
