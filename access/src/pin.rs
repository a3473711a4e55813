//! Fingerprints of certificate authorities.

use std::fmt;
use std::str::FromStr;

use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

const KIND: &str = "sha256:";

/// The SHA-256 fingerprint of a certificate authority's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; 32]);

impl Pin {
    /// The fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(KIND)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Pin {
    type Err = String;

    /// Reads `sha256:` and 64 hexadecimal digits, which may have colons in between, as other programs write them.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected {KIND} and 64 hexadecimal digits, as `sateen-coordinator --tls-self-signed` prints them at its start"
            )
        };
        let digits: String =
            text.trim().strip_prefix(KIND).ok_or_else(wrong)?.chars().filter(|digit| *digit != ':').collect();
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// The certificate of a certificate authority that a client trusts for one coordinator, instead of the public authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority(CertificateDer<'static>);

impl Authority {
    /// From a certificate in DER.
    pub fn from_der(certificate: &[u8]) -> Self {
        Self(CertificateDer::from(certificate.to_vec()))
    }

    /// From a certificate in PEM.
    pub fn from_pem(text: &str) -> Option<Self> {
        CertificateDer::from_pem_slice(text.as_bytes()).ok().map(|certificate| Self(certificate.into_owned()))
    }

    /// The certificate in DER.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.0
    }

    /// Its fingerprint.
    pub fn pin(&self) -> Pin {
        Pin::of(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_was_written() {
        let pin = Pin::of(b"abc");
        // The example of FIPS 180-2.
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(pin.to_string(), expected);
        assert_eq!(expected.parse(), Ok(pin));
        let digits = expected.trim_start_matches(KIND).to_uppercase();
        let with_colons: Vec<&str> = (0..32).map(|place| &digits[2 * place..2 * place + 2]).collect();
        assert_eq!(format!("{KIND}{}", with_colons.join(":")).parse(), Ok(pin));
        for wrong in ["", "sha256:", "sha1:ba78", &expected[7..], &expected[..70], &format!("{expected}0")] {
            let error = wrong.parse::<Pin>().expect_err(wrong);
            assert!(error.contains("sha256:") && error.contains("--tls-self-signed"), "{error}");
        }
    }
}
