//! Certificates signed by an authority that a test makes.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// A certificate authority.
pub struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "an authority of the tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("signed").pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// Writes a certificate for a name, with that of the authority after it, and its key.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let leaf = params.signed_by(&key, &self.issuer).expect("signed");
        let (certificate, private) = (folder.join("tls.pem"), folder.join("tls.key"));
        fs::write(&certificate, format!("{}{}", leaf.pem(), self.pem)).expect("written");
        fs::write(&private, key.serialize_pem()).expect("written");
        (certificate, private)
    }

    /// Its fingerprint, as clients are given it.
    pub fn pin(&self) -> String {
        sateen_access::Authority::from_pem(&self.pem).expect("a certificate").pin().to_string()
    }
}
