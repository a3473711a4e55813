//! Who submitted a run, as the state machine knows them.

use sateen_protocol::coordinator::Submitter;

use crate::peer::Peer;
use crate::token::TokenId;

/// Where submitters with tokens begin. The numbers of others are their IPv6 addresses, and these would be addresses in
/// `ff00::/8`: for multicast, so that no connection comes from there.
const TOKENS: u128 = 0xff << 120;

/// The submitter of a run: its token, wherever that is used, or if none was needed, its address.
pub fn submitter_of(peer: Option<Peer>, token: Option<TokenId>) -> Submitter {
    match (token, peer) {
        (Some(token), _) => Submitter(TOKENS | u128::from(token.0)),
        (None, Some(peer)) => peer.number(),
        (None, None) => Submitter::default(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_token_is_one_submitter_at_any_address_and_none_of_the_addresses() {
        let peers = ["192.0.2.7", "192.0.2.8", "2001:db8:1:2::", "fe80::1", "127.0.0.1"];
        let peers = peers.map(|address| Some(Peer::of(address.parse().expect("an address"))));
        let tokens = [1, 2, u64::MAX].map(TokenId);
        for token in tokens {
            let known: BTreeSet<_> = peers.iter().map(|peer| submitter_of(*peer, Some(token))).collect();
            assert_eq!(known, [submitter_of(None, Some(token))].into());
        }
        let others = peers.iter().map(|peer| submitter_of(*peer, None));
        let all: BTreeSet<_> = others.chain(tokens.map(|token| submitter_of(None, Some(token)))).collect();
        assert_eq!(all.len(), peers.len() + tokens.len());
        assert!(!all.contains(&submitter_of(None, None)), "that is all whose submitters are not known");
    }
}
