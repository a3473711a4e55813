//! What protects a coordinator at the address where it listens.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::Error;
use crate::access::{Audit, Guard, Tokens};
use crate::server::TrustedProxy;
use crate::store::{Store, StoreError};
use crate::tls::TlsSource;

/// What protects a coordinator: whether requests need tokens, and how connections are encrypted.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    /// Allow addresses that other machines can reach without TLS and tokens.
    pub insecure: bool,
    /// Requests need a token even if only this machine, or a trusted network, can send them.
    pub require_tokens: bool,
    /// Proxies that name their clients' addresses.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// The certificate; without one, connections are not encrypted.
    pub tls: Option<TlsSource>,
}

impl Protection {
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
        let others_reach_it = !address.ip().is_loopback() || !self.trusted_proxies.is_empty();
        self.require_tokens || (others_reach_it && !self.insecure)
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

/// Who may do what at this address.
pub(crate) async fn guard(
    protection: &Protection,
    address: SocketAddr,
    store: &Arc<Store>,
    audit: Audit,
) -> Result<Guard, StoreError> {
    let is_required = protection.needs_tokens(address);
    let audit = if is_required { audit } else { Audit::off() };
    let tokens = Tokens::load(Arc::clone(store)).await?;
    let is_exposed = protection.exposure(address);
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
        let open = Protection::default();
        let insecure = Protection { insecure: true, ..Protection::default() };
        let with_tls = Protection { tls: Some(TlsSource::SelfSigned), ..Protection::default() };
        let behind_a_proxy = Protection { require_tokens: true, ..insecure.clone() };
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
