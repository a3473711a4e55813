//! Shared objects as the host has them.

use std::any::Any;
use std::cell::Cell;
use std::rc::Weak;

use super::abi::{self, Fault};
use super::latent;
use crate::shared::{News, ObjectId};

pub use abi::{close, share, snapshot, update};
pub use latent::news;

thread_local! {
    /// The object and the update that is being applied.
    static WITHIN: Cell<Option<(&'static str, &'static str)>> = const { Cell::new(None) };
}

/// The host keeps what is mentioned.
pub fn mention(object: u32, _place: Weak<dyn Any>) {
    abi::mention(object);
}

pub fn open(id: ObjectId) -> u32 {
    abi::open(&id)
}

pub fn catch_up(object: u32) -> Option<News> {
    let answer = abi::catch_up(object)?;
    let bytes = abi::take(answer.length);
    Some(News { bytes, anew: answer.anew, wants_snapshot: answer.wants_snapshot })
}

/// A panic within `apply` ends the run, and names the update.
pub fn within_update<R>(object: &'static str, update: &'static str, apply: impl FnOnce() -> R) -> R {
    let outer = WITHIN.replace(Some((object, update)));
    let result = apply();
    WITHIN.set(outer);
    result
}

/// For the panic hook.
pub fn fail_if_within_update(panic: &str) {
    if let Some((object, update)) = WITHIN.get() {
        abi::fail(Fault::Update, &format!("{object}::{update}\n{panic}"));
    }
}

pub fn fail_update(name: &str, error: &str) -> ! {
    abi::fail(Fault::Replica, &format!("{name}\n{error}"))
}
