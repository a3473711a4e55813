//! Access to a coordinator, for the programs on both sides: tokens, the certificates that clients trust, and the files in
//! which clients keep both.
//!
//! * [`Token`] is a secret of 256 random bits with a [`Scope`]; coordinators store only its [`TokenHash`].
//! * [`Pin`] is the fingerprint of a certificate authority. A client that is given one fetches this authority's certificate
//!   ([`fetch_authority`]), and afterwards trusts nothing else.
//! * [`Credentials`] are what a client sends to one coordinator, and what it trusts of it.
#![forbid(unsafe_code)]

mod credentials;
mod pin;
mod secret_file;
mod tls;
mod token;

pub use credentials::{Credentials, KeptError, StoredCredentials, client_folder, file_for};
pub use pin::{Authority, Pin};
pub use secret_file::{SecretError, read_secret, read_secret_from, write_private};
pub use tls::{TlsError, client_config, explain_tls, fetch_authority};
pub use token::{Scope, TOKEN_DIGITS, Token, TokenHash};
