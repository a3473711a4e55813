//! Shared objects: values with a replica on every host (TOPLAS 3.2).

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

use crate::prepared::refuse_while_preparing;
#[cfg(target_family = "wasm")]
use crate::wasm::objects as source;

/// A type whose values can be shared; `#[shared] impl` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shared",
    note = "put #[shared] on an `impl {Self}` that has its #[update] functions; it may be empty"
)]
pub trait SharedObject: Serialize + DeserializeOwned + 'static {
    /// The type's name in messages.
    const NAME: &'static str;
    /// The type that has the update functions as methods.
    #[doc(hidden)]
    type Updates: Updates<Self>;

    /// The name of an update function.
    #[doc(hidden)]
    fn update_name(update: u32) -> Option<&'static str>;

    /// Calls an update function with encoded arguments; returns an error if they do not decode.
    #[doc(hidden)]
    fn apply(&mut self, update: u32, arguments: &[u8]) -> Result<(), String>;
}

/// The target of a [`Shared`]'s `Deref`: the update functions as they are called from outside.
#[doc(hidden)]
pub trait Updates<T: SharedObject> {
    fn of(replica: Replica<T>) -> Self;
    fn replica(&self) -> &Replica<T>;
}

/// A reference to a shared object: a value of which all hosts of a run have a replica.
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
/// A clone is another reference to the same object, and so is the parameter of a job that runs elsewhere.
/// Reading is local and takes nanoseconds. Only update functions change the value. They are called on the
/// reference, and take effect here at once, and on every other replica as soon as they arrive there.
///
/// # What an app may count on
/// * A job sees its own updates. So do jobs that it spawns afterwards, if they run in place.
/// * The updates of one host reach each replica in their order, those of different hosts in any order.
/// * On one machine, a parent that has synced a job sees the job's updates. On a grid, the updates may arrive
///   later than the result: return what must be certain, or wait for it with a guard.
/// * A job elsewhere may begin with an older replica. If it must not, give it a guard:
///   `#[job(guard = is_new_enough)]` names a function that takes references to the job's parameters and says
///   whether the replica is new enough. The job waits until it is. A guard is not evaluated for a job that runs
///   in place: it uses its parent's replica.
/// * An object exists as long as a host of the run has a replica and a job or a result mentions it. The object
///   of a returned reference is fetched when the reference is opened; if all hosts that had the object have
///   crashed by then, the run ends with an error that says so. To avoid this, create an object above the jobs
///   that use it.
///
/// # What an app must keep
/// * An update function is a function of the value and its arguments and of nothing else: it reads no
///   other shared object, and does not panic. A panic there ends the run.
/// * An update may arrive twice or not at all: a job that is run again after a crash makes its updates again,
///   and a job whose result was saved does not. So a guard must only wait for updates that the job's spawner,
///   or jobs above it, made before the spawn, and not for updates of other jobs.
/// * A job that is run again may find its own updates. So a search that prunes with a shared bound keeps the
///   best answer itself in the object, and each job returns the best answer that it knows. With only the bound,
///   the search must continue wherever it could do *as well*, or no job returns the answer that set the bound:
///   2 to 24 times as many nodes.
/// * A job's result may depend on the age of its replica only if each of the possible results is right: after a
///   crash, a result computed with another replica may be used.
/// * Fields that are not serialised (`#[serde(skip)]`) are not shared: each replica begins with their default.
pub struct Shared<T: SharedObject> {
    updates: T::Updates,
}

impl<T: SharedObject> Shared<T> {
    /// A new shared object.
    pub fn new(value: T) -> Self {
        refuse_while_preparing("share an object");
        Self { updates: Updates::of(Replica::share(&value)) }
    }

    /// The value of this replica. It does not change while a returned reference exists: updates are applied
    /// once no such reference is left.
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

/// Shows the reference, not the value.
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

/// The value of a shared object at the time of the read.
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
