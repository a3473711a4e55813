//! What a client sends to a coordinator, and what it trusts of it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sateen_command_line::explained;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use ureq::config::ConfigBuilder;
use ureq::http::{HeaderValue, Request};
use ureq::middleware::MiddlewareNext;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::{Agent, SendBody};

use crate::pin::Authority;
use crate::secret_file::write_private;
use crate::token::Token;

/// The variable that names the folder for the user's settings.
const FOLDER_VARIABLE: &str = "SATEEN_CONFIG_DIR";

/// What a client sends to a coordinator, and what it trusts of it.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// Sent with each request.
    pub token: Option<Token>,
    /// Trusted instead of the public authorities.
    pub authority: Option<Authority>,
}

impl Credentials {
    /// The value of the header `Authorization`.
    pub fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.token.as_ref()?.text())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// An HTTP client that sends and trusts these.
    pub fn agent(&self, config: ConfigBuilder<AgentScope>) -> Agent {
        let roots = match &self.authority {
            Some(authority) => {
                RootCerts::new_with_certs(&[Certificate::from_der(authority.der()).to_owned()])
            }
            None => RootCerts::WebPki,
        };
        let config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        let Some(header) = self.header() else { return config.build().new_agent() };
        let config =
            config.middleware(move |mut request: Request<SendBody<'_>>, next: MiddlewareNext<'_>| {
                request.headers_mut().insert("authorization", header.clone());
                next.handle(request)
            });
        config.build().new_agent()
    }
}

/// Credentials in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCredentials {
    /// The coordinator's URL.
    pub coordinator: String,
    /// The token.
    #[serde(default)]
    pub token: Option<String>,
    /// The certificate of the authority, in PEM.
    #[serde(default)]
    pub authority: Option<String>,
    /// The hash of the join key in exchange for which a host got its token, in hexadecimal digits.
    #[serde(default)]
    pub key: Option<String>,
}

/// Why stored credentials cannot be used.
#[derive(Debug, Error)]
pub enum KeptError {
    /// The file cannot be read.
    #[error("{} cannot be read: {}", .path.display(), explained(.why))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: io::Error,
    },
    /// It holds something else.
    #[error("{} is damaged ({why}); log in or join again", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl StoredCredentials {
    /// To be stored for the coordinator with this URL.
    pub fn of(coordinator: &str, credentials: &Credentials) -> Self {
        Self {
            coordinator: coordinator.to_owned(),
            token: credentials.token.as_ref().map(|token| token.text().to_owned()),
            authority: credentials.authority.as_ref().map(pem),
            key: None,
        }
    }

    /// Reads a file; nothing if it does not exist.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub fn read(path: &Path) -> Result<Option<Self>, KeptError> {
        match fs::read(path) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(read) => Ok(Some(read)),
                Err(error) => Err(KeptError::Damaged { path: path.to_owned(), why: error.to_string() }),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(KeptError::Unreadable { path: path.to_owned(), why }),
        }
    }

    /// Writes the file, which only its owner can read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        write_private(path, &serde_json::to_vec_pretty(self)?)
    }

    /// The credentials.
    ///
    /// # Errors
    /// When the file at `path`, from which they come, is damaged.
    pub fn credentials(&self, path: &Path) -> Result<Credentials, KeptError> {
        let damaged = |why: &str| KeptError::Damaged { path: path.to_owned(), why: why.to_owned() };
        let token = self.token.as_deref().map(str::parse).transpose();
        let token = token.map_err(|why: String| damaged(&why))?;
        let authority = match &self.authority {
            Some(pem) => Some(Authority::from_pem(pem).ok_or_else(|| damaged("not a certificate"))?),
            None => None,
        };
        Ok(Credentials { token, authority })
    }
}

/// The certificate of an authority as other programs read it.
fn pem(authority: &Authority) -> String {
    let text = BASE64_STANDARD.encode(authority.der());
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for line in text.as_bytes().chunks(64) {
        pem.extend(line.iter().map(|byte| char::from(*byte)));
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

/// The folder for the user's settings. None if the user has none.
pub fn client_folder() -> Option<PathBuf> {
    let named = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty());
    named.map(PathBuf::from).or_else(|| {
        let folders = directories::ProjectDirs::from("", "", "sateen")?;
        Some(folders.config_dir().to_owned())
    })
}

/// The file in that folder for the coordinator with this URL.
pub fn file_for(folder: &Path, coordinator: &str) -> PathBuf {
    let mut name = String::new();
    for byte in coordinator.trim_end_matches('/').bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' => name.push(char::from(byte)),
            b'A'..=b'Z' => name.push(char::from(byte.to_ascii_lowercase())),
            _ => name.push_str(&format!("_{byte:02x}")),
        }
    }
    folder.join("credentials").join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Scope;

    #[test]
    fn credentials_survive_their_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = file_for(folder.path(), "https://grid.example.org:7700");
        assert_eq!(StoredCredentials::read(&path).expect("no error"), None);
        let token = Token::new(Scope::Submitter).expect("there is randomness");
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = rcgen::CertificateParams::default().self_signed(&key).expect("signed");
        let authority = Authority::from_der(certificate.der());
        let given = Credentials { token: Some(token.clone()), authority: Some(authority.clone()) };
        StoredCredentials::of("https://grid.example.org:7700", &given).save(&path).expect("written");
        let read = StoredCredentials::read(&path).expect("no error").expect("it exists");
        let read = read.credentials(&path).expect("undamaged");
        assert_eq!(read.token.map(|token| token.hash()), Some(token.hash()));
        assert_eq!(read.authority, Some(authority));
        fs::write(&path, "{").expect("written");
        let error = StoredCredentials::read(&path).expect_err("damaged").to_string();
        assert!(error.contains("damaged") && error.contains("log in"), "{error}");
    }

    #[test]
    fn each_coordinator_has_a_file() {
        let of = |url: &str| file_for(Path::new("/c"), url).display().to_string();
        assert_eq!(of("https://Grid:7700/"), "/c/credentials/https_3a_2f_2fgrid_3a7700.json");
        assert_ne!(of("http://grid:7700"), of("https://grid:7700"));
        assert_ne!(of("http://a_3ab"), of("http://a:b"));
    }
}
