//! Peers that present invalid tokens. Nobody can guess a token; but a flood of guesses would fill logs, and hide who uses a
//! token that was revoked.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::limits::{BAD_TOKEN_EVERY, BAD_TOKEN_PEERS_MAX, BAD_TOKENS_MAX};
use crate::peer::Peer;

/// Invalid tokens by peer. Each peer has a bucket, from which one leaks now and then.
#[derive(Debug, Default)]
pub struct Strikes(Mutex<HashMap<Peer, Bucket>>);

#[derive(Debug)]
struct Bucket {
    count: f64,
    at: Instant,
}

impl Bucket {
    fn leak(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.count = (self.count - passed / BAD_TOKEN_EVERY.as_secs_f64()).max(0.0);
        self.at = now;
    }
}

impl Strikes {
    /// A peer has presented an invalid token. False if it has presented too many.
    pub fn add(&self, peer: Peer, now: Instant) -> bool {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= BAD_TOKEN_PEERS_MAX && !buckets.contains_key(&peer) {
            buckets.retain(|_, bucket| {
                bucket.leak(now);
                bucket.count > 0.0
            });
            // All of them are busy guessing: one more is not listened to.
            if buckets.len() >= BAD_TOKEN_PEERS_MAX {
                return false;
            }
        }
        let bucket = buckets.entry(peer).or_insert(Bucket { count: 0.0, at: now });
        bucket.leak(now);
        if bucket.count + 1.0 > f64::from(BAD_TOKENS_MAX) {
            return false;
        }
        bucket.count += 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: u32) -> Peer {
        Peer::of(std::net::Ipv4Addr::from(number).into())
    }

    #[test]
    fn a_peer_that_guesses_has_to_wait_and_others_do_not() {
        let (strikes, now) = (Strikes::default(), Instant::now());
        for _ in 0..BAD_TOKENS_MAX {
            assert!(strikes.add(peer(1), now));
        }
        assert!(!strikes.add(peer(1), now));
        assert!(strikes.add(peer(2), now));
        let later = now + BAD_TOKEN_EVERY;
        assert!(strikes.add(peer(1), later), "one has leaked");
        assert!(!strikes.add(peer(1), later));
        let much_later = later + BAD_TOKEN_EVERY * BAD_TOKENS_MAX;
        assert!((0..BAD_TOKENS_MAX).all(|_| strikes.add(peer(1), much_later)));
        assert!(!strikes.add(peer(1), much_later));
    }

    #[test]
    fn peers_are_bounded_and_those_that_stopped_make_room() {
        let (strikes, now) = (Strikes::default(), Instant::now());
        for number in 0..BAD_TOKEN_PEERS_MAX as u32 {
            assert!(strikes.add(peer(number), now));
        }
        assert!(!strikes.add(peer(u32::MAX), now));
        assert!(strikes.add(peer(u32::MAX), now + BAD_TOKEN_EVERY));
        assert_eq!(strikes.0.lock().expect("no panic").len(), 1);
    }
}
