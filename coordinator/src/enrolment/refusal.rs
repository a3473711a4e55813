//! Why a host is refused, and what to do.

use std::net::IpAddr;

use sateen_protocol::PublicKey;
use thiserror::Error;

use crate::limits::{KEY_DIGITS_MIN, KEYS_WAITING_PER_PEER_MAX};
use crate::release::TooOld;

/// Why a host is refused although its hello is proven.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Its release is below the operator's minimum.
    #[error(transparent)]
    TooOld(#[from] TooOld),
    /// The operator has not decided yet.
    #[error(
        "waiting for the operator's approval of the key {key}: `sateen host approve {key}`",
        key = .0.short()
    )]
    Waiting(PublicKey),
    /// Too many others wait.
    #[error(
        "too many hosts wait for the operator's approval (from one address at most {KEYS_WAITING_PER_PEER_MAX}), so the key \
         {key} cannot; the operator can approve it with `sateen host approve {}`",
        .0,
        key = .0.short()
    )]
    Crowd(PublicKey),
    /// The operator has revoked the key.
    #[error("the operator has revoked this host's key {}; only the operator can approve it again", .0.short())]
    Revoked(PublicKey),
    /// The host has another key by now.
    #[error(
        "the key {} was replaced by {} and is no longer valid: a host with the earlier key has an old copy of the data folder",
        .key.short(),
        .by.short()
    )]
    Replaced {
        /// The earlier key.
        key: PublicKey,
        /// The key that has replaced it.
        by: PublicKey,
    },
    /// A host comes with a new key while one with its earlier key is connected.
    #[error(
        "a host with the earlier key {} is still connected, as {name}: the data folder was copied, or its process has not \
         ended yet; this is tried again",
        .key.short()
    )]
    InUse {
        /// The earlier key.
        key: PublicKey,
        /// The name of that host.
        name: String,
    },
    /// Another process has the same key.
    #[error(
        "another host with the same key {} is connected, as {name} from {address}: if the data folder was copied, remove \
         the file `key` in the copy; if that is an earlier process of this host, it is given up in a few seconds",
        .key.short()
    )]
    Copied {
        /// The key.
        key: PublicKey,
        /// The name of the host that is connected.
        name: String,
        /// Its address.
        address: IpAddr,
    },
}

/// Why no key is meant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoSuchKey {
    /// It is not a key, nor the beginning of one.
    #[error(
        "{0:?} is not the key of a host: the 64 digits that `sateen-host key show` prints are expected, or the first \
         {KEY_DIGITS_MIN} or more of a key that `sateen host ls` lists"
    )]
    NotAKey(String),
    /// No known key begins with these digits.
    #[error("no key begins with {0}; `sateen host ls` lists those that are known")]
    Unknown(String),
    /// Several keys do.
    #[error("several keys begin with {0}; give more digits")]
    Several(String),
}
