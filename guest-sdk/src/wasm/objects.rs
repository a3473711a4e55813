//! Shared objects that live on the host.

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

/// The host keeps mentioned objects.
pub fn mention(object: u32, _place: Weak<dyn Any>) {
    if !IS_CHECKING.get() {
        abi::mention(object);
    }
}

thread_local! {
    /// The encoded bytes are not sent.
    static IS_CHECKING: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that encodes values only to check them, so that the host does not hear of the objects in them.
pub fn without_mentions<R>(look: impl FnOnce() -> R) -> R {
    IS_CHECKING.set(true);
    let seen = look();
    IS_CHECKING.set(false);
    seen
}

pub fn open(id: ObjectId) -> u32 {
    abi::open(&id)
}

pub fn catch_up(object: u32) -> Option<News> {
    let answer = abi::catch_up(object)?;
    let bytes = abi::take(answer.length);
    Some(News { bytes, anew: answer.anew, wants_snapshot: answer.wants_snapshot })
}

/// Runs code that every replica runs for itself, and that does not count as work.
pub fn in_each_replica<R>(work: impl FnOnce() -> R) -> R {
    latent::measure::aside(work)
}

/// How many of the object's new updates, counted from the first, others have already applied.
pub fn applied_before(object: u32) -> usize {
    latent::measure::applied_before(object)
}

/// Reports that an object of the type with this name is about to be updated.
pub fn updating(name: &'static str) {
    latent::measure::updated(name);
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
