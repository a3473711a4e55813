//! Shared objects: values that every host has a replica of (TOPLAS 3.2).

mod replica;
#[cfg(not(target_family = "wasm"))]
mod unreplicated;

use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use replica::Replica;
#[cfg(target_family = "wasm")]
pub(crate) use replica::{News, ObjectId, forget_readers};
#[cfg(not(target_family = "wasm"))]
use unreplicated as source;

#[cfg(target_family = "wasm")]
use crate::wasm::objects as source;

/// A type whose values can be shared; `#[shared] impl` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared",
    note = "put #[shared] on an `impl {Self}` that has its #[update] functions; it may be empty"
)]
pub trait SharedObject: Serialize + DeserializeOwned + 'static {
    /// What it is called in messages.
    const NAME: &'static str;
    /// Has the update functions as methods.
    #[doc(hidden)]
    type Updates: Updates<Self>;

    /// The name of an update function.
    #[doc(hidden)]
    fn update_name(update: u32) -> Option<&'static str>;

    /// Calls an update function with encoded arguments; an error when they do not decode.
    #[doc(hidden)]
    fn apply(&mut self, update: u32, arguments: &[u8]) -> Result<(), String>;
}

/// What a [`Shared`] derefs to: the update functions as they are called from outside.
#[doc(hidden)]
pub trait Updates<T: SharedObject> {
    fn of(replica: Replica<T>) -> Self;
    fn replica(&self) -> &Replica<T>;
}

/// A reference to a shared object: a value that all hosts of a run have a replica of.
///
/// ```
/// # mod app {
/// use sateen::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Best {
///     cost: u64,
/// }
///
/// #[shared]
/// impl Best {
///     #[update]
///     fn lower(&mut self, cost: u64) {
///         self.cost = self.cost.min(cost);
///     }
/// }
///
/// /// The least cost that `item` and those below it have, or any that is worse than what others found.
/// #[job]
/// fn search(item: u64, cost: u64, best: Shared<Best>) -> u64 {
///     if cost > best.read().cost {
///         return cost; // somebody has found a better one
///     }
///     if item > 1000 {
///         best.lower(cost); // applied here at once, and shipped to every replica
///         return cost;
///     }
///     let left = search::spawn(2 * item, cost + item % 7, best.clone());
///     let right = search(2 * item + 1, cost + item % 5, best);
///     left.sync().min(right) // results are certain; what others update may come late
/// }
///
/// #[main]
/// fn main() -> u64 {
///     let best = Shared::new(Best { cost: u64::MAX });
///     search(1, 0, best)
/// }
/// # fn all(item: u64, cost: u64) -> u64 {
/// #     if item > 1000 { return cost; }
/// #     all(2 * item, cost + item % 7).min(all(2 * item + 1, cost + item % 5))
/// # }
/// # pub fn check() { assert_eq!(main(), all(1, 0)); }
/// # }
/// # fn main() { app::check(); }
/// ```
///
/// A clone is another reference to the same object, and so is what a job elsewhere gets as its
/// parameter. Reading is local and takes nanoseconds. The value is changed by its update functions
/// only; they are called on the reference, take effect here at once, and on every other replica as
/// soon as they get there.
///
/// # What an app may count on
/// * What one job updates and then reads, it sees. So does whatever it spawns afterwards, where that
///   runs in place.
/// * The updates of one host come to each replica in their order, those of different hosts in any.
/// * On one machine, what a job has updated is seen by whoever has synced it. On a grid the updates may come
///   later than the result: what must be certain is returned, or waited for by a guard.
/// * A job elsewhere may begin with an older replica. If it must not, give it a guard:
///   `#[job(guard = is_new_enough)]` names a function of references to the job's parameters that says
///   whether the replica is new enough. The job waits until it is. A guard is not evaluated for a job
///   that runs in place: its replica is its parent's.
/// * An object is there as long as a host of the run has a replica and a job or a result mentions it. A
///   reference that is returned is fetched where it is opened; if all that had the object have crashed by
///   then, the run ends with an error that says so. Rather create an object above the jobs that use it.
///
/// # What an app must keep
/// * An update function is a function of the value and its arguments and of nothing else: it reads no
///   other shared object, and does not panic. A panic there ends the run.
/// * Updates bear to come twice, and not at all: a job that is run again after a crash makes its updates
///   again, and one whose result was saved does not. So a guard waits for what the job's spawner, or those
///   above it, have done before the spawn, and for nothing that other jobs do.
/// * A job that is run again may find what it told itself. So a search that prunes with a shared bound keeps
///   the best answer itself in the object, and each job returns the best answer that it knows. With the bound
///   alone, the search must go on wherever it could do *as well*, or no job returns what set the bound: 2 to
///   24 times as many nodes.
/// * A job's result may depend on how new its replica was only as far as any of these results is
///   right: after a crash, one that another replica gave may be used.
/// * What is not serialised (`#[serde(skip)]`) is not shared: each replica begins with the default.
pub struct Shared<T: SharedObject> {
    updates: T::Updates,
}

impl<T: SharedObject> Shared<T> {
    /// A new shared object.
    pub fn new(value: T) -> Self {
        Self { updates: Updates::of(Replica::share(&value)) }
    }

    /// The value as this replica has it. While the answer is kept it stays the same value: updates are
    /// applied when nobody has one any more.
    #[inline(always)]
    pub fn read(&self) -> Reading<T> {
        Reading(self.updates.replica().read())
    }
}

impl<T: SharedObject> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self { updates: Updates::of(self.updates.replica().clone()) }
    }
}

/// The update functions.
impl<T: SharedObject> Deref for Shared<T> {
    type Target = T::Updates;

    fn deref(&self) -> &T::Updates {
        &self.updates
    }
}

impl<T: SharedObject> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared<{}>({:02x?})", T::NAME, self.updates.replica().id())
    }
}

/// The reference, not the value.
impl<T: SharedObject> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.updates.replica().mention().serialize(serializer)
    }
}

impl<'de, T: SharedObject> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = <[u8; 16]>::deserialize(deserializer)?;
        let replica = Replica::open(id).map_err(D::Error::custom)?;
        Ok(Self { updates: Updates::of(replica) })
    }
}

/// The value of a shared object, as it was when it was asked for.
pub struct Reading<T>(Rc<T>);

impl<T> Deref for Reading<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// For the code that `#[shared]` writes: the arguments of an update function.
#[doc(hidden)]
pub fn decode_arguments<A: DeserializeOwned>(bytes: &[u8]) -> Result<A, String> {
    crate::codec::decode(bytes)
}
