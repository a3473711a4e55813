//! Programs compiled for this machine have no grid: an object has one replica, on the thread that shared it.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use super::replica::{News, ObjectId};

#[derive(Default)]
struct Objects {
    count: u32,
    /// By number: updates that have not been applied yet.
    open: BTreeMap<u32, News>,
}

thread_local! {
    /// Places of objects whose ids were written since anything was shared or updated.
    static MENTIONED: RefCell<Vec<Weak<dyn Any>>> = const { RefCell::new(Vec::new()) };
    /// Objects that other objects mention stay to the end, by their addresses.
    static KEPT: RefCell<BTreeMap<*const (), Rc<dyn Any>>> = const { RefCell::new(BTreeMap::new()) };
    static OBJECTS: RefCell<Objects> = RefCell::default();
}

/// There are no other updates.
#[inline(always)]
pub fn news() -> u32 {
    1
}

pub fn share(initial: &[u8]) -> (ObjectId, u32) {
    keep_mentioned();
    OBJECTS.with_borrow_mut(|objects| {
        objects.count += 1;
        let number = objects.count;
        objects.open.insert(number, News { bytes: piece(initial), anew: true, wants_snapshot: false });
        (u128::from(number).to_le_bytes(), number)
    })
}

/// There is one.
pub fn in_each_replica<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Nobody measures here.
pub fn applied_before(_number: u32) -> usize {
    usize::MAX
}

/// Nobody measures here.
pub fn updating(_name: &'static str) {}

/// The caller has no reference to the object yet.
pub fn open(id: ObjectId) -> u32 {
    panic!(
        "the shared object {} is gone: nobody on this thread has a reference to it",
        u128::from_le_bytes(id)
    )
}

pub fn close(number: u32) {
    // When the thread ends, the objects may not exist any more.
    let _ = OBJECTS.try_with(|objects| objects.borrow_mut().open.remove(&number));
}

/// The id of the object at `place` is being written.
pub fn mention(_number: u32, place: Weak<dyn Any>) {
    MENTIONED.with_borrow_mut(|mentioned| mentioned.push(place));
}

/// The mentioned objects are in an object or an update: their encoded ids would not keep them alive.
fn keep_mentioned() {
    let mentioned = MENTIONED.take();
    KEPT.with_borrow_mut(|kept| {
        let places = mentioned.iter().filter_map(Weak::upgrade);
        kept.extend(places.map(|place| (Rc::as_ptr(&place).cast::<()>(), place)));
    });
}

pub fn catch_up(number: u32) -> Option<News> {
    OBJECTS.with_borrow_mut(|objects| {
        let waiting = objects.open.get_mut(&number)?;
        let nothing = News { bytes: Vec::new(), anew: false, wants_snapshot: false };
        let news = std::mem::replace(waiting, nothing);
        (!news.bytes.is_empty()).then_some(news)
    })
}

/// Whether the caller must apply the update itself, and whether a snapshot is wanted. `None` if it must catch
/// up first.
pub fn update(number: u32, update: &[u8], can_apply: bool) -> Option<(bool, bool)> {
    keep_mentioned();
    OBJECTS.with_borrow_mut(|objects| {
        let waiting = objects.open.get_mut(&number)?;
        if can_apply && waiting.bytes.is_empty() {
            return Some((true, false));
        }
        waiting.bytes.extend(piece(update));
        Some((false, false))
    })
}

/// `bytes`, preceded by their length.
fn piece(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

pub fn snapshot(_number: u32, _value: &[u8]) {}

pub fn within_update<R>(_object: &str, _update: &str, apply: impl FnOnce() -> R) -> R {
    apply()
}

pub fn fail_update(name: &str, error: &str) -> ! {
    panic!("the update `{name}` failed: {error}")
}
