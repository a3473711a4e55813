//! This instance's replica of a shared object.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use serde::Serialize;

use super::{SharedObject, source};
use crate::codec;

/// The id of an object among hosts.
pub type ObjectId = [u8; 16];

/// Changes of an object since this instance last caught up.
pub struct News {
    /// Updates, each with its length in four bytes before it.
    pub bytes: Vec<u8>,
    /// The first piece is not an update but a value that replaces the current one.
    pub anew: bool,
    /// The host wants the value after these updates.
    pub wants_snapshot: bool,
}

thread_local! {
    /// The objects that this instance has references to.
    static OPEN: RefCell<BTreeMap<ObjectId, Weak<dyn Slot>>> = const { RefCell::new(BTreeMap::new()) };
}

/// A reference to this instance's replica.
pub struct Replica<T: SharedObject>(Rc<Place<T>>);

/// The place of the replica.
struct Place<T: SharedObject> {
    id: ObjectId,
    /// The host's number for it.
    number: u32,
    /// The host's word when this replica caught up last; 0 before, which is never such a word.
    seen: Cell<u32>,
    /// Replaced only while it is not read.
    value: RefCell<Option<Rc<T>>>,
}

/// A place, whatever is in it.
trait Slot: Any {
    fn into_any(self: Rc<Self>) -> Rc<dyn Any>;
    /// Readers that a failed attempt has left behind never finish.
    #[cfg(any(target_family = "wasm", test))]
    fn forget_readers(&self);
}

impl<T: SharedObject> Clone for Replica<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: SharedObject> Replica<T> {
    /// Shares `value`. This instance begins from its encoded form, as all others do.
    pub fn share(value: &T) -> Self {
        let (id, number) = source::share(&codec::encode(value));
        Self::keep(id, number)
    }

    /// The replica of the object `id`.
    pub fn open(id: ObjectId) -> Result<Self, String> {
        let known = OPEN.with_borrow(|open| open.get(&id).and_then(Weak::upgrade));
        match known {
            Some(slot) => match slot.into_any().downcast::<Place<T>>() {
                Ok(place) => Ok(Self(place)),
                Err(_) => Err(format!("the shared object is not a {}", T::NAME)),
            },
            None => Ok(Self::keep(id, source::open(id))),
        }
    }

    fn keep(id: ObjectId, number: u32) -> Self {
        let place = Rc::new(Place::<T> { id, number, seen: Cell::new(0), value: RefCell::new(None) });
        let slot: Rc<dyn Slot> = place.clone();
        OPEN.with_borrow_mut(|open| open.insert(id, Rc::downgrade(&slot)));
        Self(place)
    }

    /// What the object is called among hosts.
    pub fn id(&self) -> ObjectId {
        self.0.id
    }

    /// The object's name, to be written into parameters, a result, or another object. The host is notified.
    pub fn mention(&self) -> ObjectId {
        let place: Weak<Place<T>> = Rc::downgrade(&self.0);
        source::mention(self.0.number, place);
        self.0.id
    }

    /// The value, after all updates that have arrived here.
    #[inline(always)]
    pub fn read(&self) -> Rc<T> {
        let place = &*self.0;
        if place.seen.get() != source::news() {
            place.catch_up();
        }
        match place.value.try_borrow().as_deref() {
            Ok(Some(value)) => value.clone(),
            _ => read_within_update::<T>(),
        }
    }

    /// Updates the object, here and everywhere.
    pub fn update(&self, update: u32, arguments: &impl Serialize) {
        source::updating(T::NAME);
        self.0.update(&codec::encode(&(update, arguments)));
    }
}

#[cold]
fn read_within_update<T: SharedObject>() -> ! {
    panic!("an update function of {0} uses the shared {0} itself; it has it as `self`", T::NAME)
}

impl<T: SharedObject> Place<T> {
    #[cold]
    #[inline(never)]
    fn catch_up(&self) {
        // If an update reads its own object, `read` reports that.
        let Ok(mut value) = self.value.try_borrow_mut() else { return };
        // It is being read: catch up at the first read after that.
        if value.as_mut().is_some_and(|value| Rc::get_mut(value).is_none()) {
            return;
        }
        // Read the word first: it may change as soon as the host has answered.
        let seen = source::news();
        // The first instance that applies an update does work of the program. Later applications, and the rest of
        // this, do not count.
        let mut at = 0;
        let news = source::in_each_replica(|| {
            let news = source::catch_up(self.number)?;
            let mut rest = &*news.bytes;
            if news.anew {
                *value = Some(Rc::new(decoded(next::<T>(&mut rest))));
            }
            let mut again = source::applied_before(self.number);
            while !rest.is_empty() && again > 0 {
                apply(current(&mut value), next::<T>(&mut rest));
                again -= 1;
            }
            at = news.bytes.len() - rest.len();
            Some(news)
        });
        if let Some(news) = news {
            let mut rest = &news.bytes[at..];
            while !rest.is_empty() {
                apply(current(&mut value), next::<T>(&mut rest));
            }
            if news.wants_snapshot {
                let value = current(&mut value);
                source::in_each_replica(|| source::snapshot(self.number, &codec::encode(value)));
            }
        }
        self.seen.set(seen);
    }

    fn update(&self, update: &[u8]) {
        let mut place = self.value.try_borrow_mut();
        let value = place.as_deref_mut().ok().and_then(Option::as_mut).and_then(Rc::get_mut);
        // Applied at once, unless the value is being read or others' updates come first. Read the word first,
        // as above.
        let seen = source::news();
        let Some((applies, wants_snapshot)) = source::update(self.number, update, value.is_some()) else {
            // The first replica has not arrived yet.
            drop(place);
            self.catch_up();
            return self.update(update);
        };
        match value {
            Some(value) if applies => {
                apply(value, update);
                self.seen.set(seen);
                if wants_snapshot {
                    source::in_each_replica(|| source::snapshot(self.number, &codec::encode(value)));
                }
            }
            _ => {
                drop(place);
                self.seen.set(0);
                if wants_snapshot {
                    self.catch_up();
                }
            }
        }
    }
}

impl<T: SharedObject> Slot for Place<T> {
    fn into_any(self: Rc<Self>) -> Rc<dyn Any> {
        self
    }

    #[cfg(any(target_family = "wasm", test))]
    fn forget_readers(&self) {
        if let Ok(mut value) = self.value.try_borrow_mut()
            && let Some(current) = value.as_mut()
            && Rc::get_mut(current).is_none()
        {
            // Current readers keep the old value.
            *current = Rc::new(decoded(&codec::encode(&**current)));
        }
    }
}

impl<T: SharedObject> Drop for Place<T> {
    fn drop(&mut self) {
        // When the thread ends, the list may not exist any more.
        let _ = OPEN.try_with(|open| open.borrow_mut().remove(&self.id));
        source::close(self.number);
    }
}

/// An attempt failed: readers within it never finish.
#[cfg(any(target_family = "wasm", test))]
pub fn forget_readers() {
    let open: Vec<_> = OPEN.with_borrow(|open| open.values().filter_map(Weak::upgrade).collect());
    open.iter().for_each(|slot| slot.forget_readers());
}

/// The value to which updates are applied, while it is not read.
fn current<T: SharedObject>(value: &mut Option<Rc<T>>) -> &mut T {
    match value.as_mut().and_then(Rc::get_mut) {
        Some(value) => value,
        None => source::fail_update(T::NAME, "updates came before a value"),
    }
}

fn decoded<T: SharedObject>(bytes: &[u8]) -> T {
    codec::decode(bytes).unwrap_or_else(|error| source::fail_update(T::NAME, &error))
}

/// The next of `pieces`, each of which is preceded by its length.
fn next<'a, T: SharedObject>(pieces: &mut &'a [u8]) -> &'a [u8] {
    let piece = pieces
        .split_first_chunk()
        .and_then(|(length, rest)| rest.split_at_checked(u32::from_le_bytes(*length) as usize));
    let Some((piece, rest)) = piece else { source::fail_update(T::NAME, "it is cut short") };
    *pieces = rest;
    piece
}

fn apply<T: SharedObject>(value: &mut T, update: &[u8]) {
    let (number, arguments) = match postcard::take_from_bytes::<u32>(update) {
        Ok(parts) => parts,
        Err(error) => source::fail_update(T::NAME, &error.to_string()),
    };
    let Some(name) = T::update_name(number) else {
        source::fail_update(T::NAME, &format!("there is no update number {number}"));
    };
    let applied = source::within_update(T::NAME, name, || value.apply(number, arguments));
    if let Err(error) = applied {
        source::fail_update(&format!("{}::{name}", T::NAME), &error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use serde::Deserialize;

    #[derive(Serialize, Deserialize)]
    struct Log {
        words: Vec<String>,
        #[serde(skip)]
        cached: usize,
    }

    #[shared]
    impl Log {
        #[update]
        fn push(&mut self, word: String, times: usize) {
            self.words.extend(std::iter::repeat_n(word, times));
        }

        #[update]
        fn clear(&mut self) {
            self.words.clear();
        }

        fn len(&self) -> usize {
            self.words.len()
        }
    }

    fn log() -> Shared<Log> {
        Shared::new(Log { words: vec!["first".to_owned()], cached: 7 })
    }

    #[test]
    fn updates_are_seen_by_all_references() {
        let log = log();
        let other = log.clone();
        log.push("second".to_owned(), 2);
        assert_eq!(other.read().words, ["first", "second", "second"]);
        other.clear();
        assert_eq!(log.read().len(), 0);
    }

    #[test]
    fn a_reading_stays_as_it_was() {
        let log = log();
        let reading = log.read();
        log.clear();
        assert_eq!(reading.len(), 1);
        assert_eq!(log.read().len(), 1, "somebody reads still");
        drop(reading);
        assert_eq!(log.read().len(), 0);
    }

    #[test]
    fn a_reader_that_is_never_done_is_forgotten() {
        let log = log();
        std::mem::forget(log.read());
        let kept = log.read();
        forget_readers();
        log.clear();
        assert_eq!((kept.len(), log.read().len()), (1, 0));
    }

    #[test]
    fn fields_that_are_not_serialised_are_not_shared() {
        assert_eq!(log().read().cached, 0);
    }

    #[test]
    fn a_reference_survives_its_encoding() {
        let log = log();
        let bytes = codec::encode(&(1_u8, log.clone()));
        let (_, other): (u8, Shared<Log>) = codec::decode(&bytes).expect("it was just encoded");
        log.clear();
        assert_eq!((bytes.len(), other.read().len()), (17, 0));
        assert!(
            codec::decode::<(u8, Shared<Count>)>(&bytes).is_err_and(|error| error.contains("not a (u8,"))
        );
    }

    #[derive(Serialize, Deserialize)]
    struct Count(u64);

    #[shared]
    impl Count {
        #[update]
        fn count(&mut self) {
            self.0 += 1;
        }
    }

    #[test]
    fn an_object_lives_as_long_as_a_reference() {
        let count = Shared::new(Count(0));
        count.count();
        let bytes = codec::encode(&count);
        drop(count);
        assert!(std::panic::catch_unwind(|| codec::decode::<Shared<Count>>(&bytes)).is_err());
    }
}
