//! Who may use a coordinator at the address where it listens, and its first token.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sateen_access::{Scope, Token};

use crate::Error;
use crate::access::{Audit, Guard, New, Tokens, check_name};
use crate::clock::unix_ms;
use crate::limits::{BLOBS_BYTES_MAX, RESULTS_BYTES_MAX};
use crate::store::{Opening, Store, StoreError};
use crate::tls::TlsSource;

/// Who may use a coordinator, and how connections are encrypted.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Allow addresses that other machines can reach without TLS and tokens.
    pub insecure: bool,
    /// Requests need a token even if only this machine, or a trusted network, can send them.
    pub require_tokens: bool,
    /// The certificate; without one, connections are not encrypted.
    pub tls: Option<TlsSource>,
}

impl Entry {
    /// Checks whether the address may be listened on.
    ///
    /// # Errors
    /// When other machines could reach it, and nothing protects it.
    pub fn check(&self, address: SocketAddr) -> Result<(), Error> {
        if address.ip().is_loopback() || self.insecure || self.tls.is_some() {
            Ok(())
        } else {
            Err(Error::NotLoopback(address))
        }
    }

    /// Whether requests need a token if they come to this address.
    pub fn needs_tokens(&self, address: SocketAddr) -> bool {
        self.require_tokens || !(address.ip().is_loopback() || self.insecure)
    }

    /// What is missing for safety at an address that other machines can reach, in a sentence.
    pub fn exposure(&self, address: SocketAddr) -> Option<&'static str> {
        match (self.needs_tokens(address), self.tls.is_some()) {
            _ if address.ip().is_loopback() => None,
            (false, false) => Some(
                "the coordinator was started with --insecure: nothing is encrypted, and anyone who can reach it can use the grid",
            ),
            (false, true) => {
                Some("the coordinator was started with --insecure: anyone who can reach it can use the grid")
            }
            (true, false) => Some(
                "the coordinator was started with --insecure: tokens and results cross the network without encryption",
            ),
            (true, true) => None,
        }
    }
}

/// Makes a token in the data folder of a coordinator that does not run; returns its name and its secret. Blocks.
///
/// # Errors
/// When the folder is in use or cannot be written, or another token has that name.
pub fn make_token(
    data_dir: &Path,
    scope: Scope,
    name: Option<String>,
    valid_for: Option<Duration>,
) -> Result<(String, Token), Error> {
    let opening =
        Opening { blobs_bytes_max: BLOBS_BYTES_MAX, results_bytes_max: RESULTS_BYTES_MAX, new_grid: false };
    let (store, _) = Store::open(data_dir, opening).map_err(|error| match error {
        StoreError::InUse(folder) => Error::Token(format!(
            "a coordinator runs on the data folder {}; make the token there with `sateen token new`, which needs an admin's \
             token, or stop the coordinator first",
            folder.display()
        )),
        error => error.into(),
    })?;
    if let Some(name) = &name {
        check_name(name).map_err(Error::Token)?;
    }
    let expires_at_ms = valid_for.map(|time| unix_ms().saturating_add(time.as_millis() as u64));
    let new = New {
        name,
        scope,
        expires_at_ms,
        uses_max: None,
        made_by: "the coordinator's data folder".to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = Arc::new(store);
        let tokens = Tokens::load(Arc::clone(&store)).await?;
        let made = tokens.make(new).await.map_err(|error| Error::Token(error.to_string()))?;
        store.checkpoint().await?;
        Ok((made.held.name().to_owned(), made.secret))
    })
}

/// Who may do what at this address.
pub(crate) async fn guard(
    entry: &Entry,
    address: SocketAddr,
    store: &Arc<Store>,
    audit: Audit,
) -> Result<Guard, StoreError> {
    let is_required = entry.needs_tokens(address);
    let audit = if is_required { audit } else { Audit::off() };
    let tokens = Tokens::load(Arc::clone(store)).await?;
    let is_exposed = entry.exposure(address);
    if let Some(what) = is_exposed {
        tracing::warn!(%address, "{what}");
    }
    Ok(Guard::new(is_required, is_exposed, tokens, audit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_others_reach_needs_tls_and_tokens_or_a_word() {
        let open = Entry::default();
        let insecure = Entry { insecure: true, ..Entry::default() };
        let with_tls = Entry { tls: Some(TlsSource::SelfSigned), ..Entry::default() };
        let behind_a_proxy = Entry { require_tokens: true, ..insecure.clone() };
        for local in ["127.0.0.1:7700", "[::1]:7700"].map(|address| address.parse().expect("an address")) {
            assert!(open.check(local).is_ok() && !open.needs_tokens(local) && open.exposure(local).is_none());
            assert!(!with_tls.needs_tokens(local) && behind_a_proxy.needs_tokens(local));
        }
        for public in
            ["0.0.0.0:7700", "[::]:7700", "10.0.0.1:7700"].map(|address| address.parse().expect("an address"))
        {
            let why = open.check(public).expect_err("it is refused").to_string();
            for part in ["--tls-cert", "--tls-self-signed", "token new --scope admin", "--insecure"] {
                assert!(why.contains(part), "{why}");
            }
            assert!(with_tls.check(public).is_ok() && with_tls.needs_tokens(public));
            assert_eq!(with_tls.exposure(public), None);
            assert!(insecure.check(public).is_ok() && !insecure.needs_tokens(public));
            assert!(insecure.exposure(public).is_some_and(|what| what.contains("anyone")));
            assert!(behind_a_proxy.needs_tokens(public) && behind_a_proxy.exposure(public).is_some());
        }
    }
}
