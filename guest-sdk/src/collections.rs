//! Hash maps and sets whose iteration order is the same in every sandbox.
//!
//! The order of std's hash map depends on its hasher, its capacity and its history. A decoded map has another
//! capacity and history than the one that was sent, so a job that is called in place would see another order than
//! a job that runs elsewhere, whatever the hasher. Here the order is that of insertion: it is a part of the value,
//! and is encoded with it.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index};

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHasher;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

type FixedHasher = BuildHasherDefault<FxHasher>;

/// Prefix of the names of types that are written in their own order.
pub(crate) const ENTRIES: &str = concat!(module_path!(), "::Entries<");

/// Maximum entries for which room is reserved before they are read: the encoded length may be any number.
const RESERVED_MAX: usize = 4096;

/// A hash map that iterates in the order of insertion, in every sandbox; [`remove`](Self::remove) puts the last
/// entry in the place of the removed one. It has the methods of std's map and of
/// [`IndexMap`](https://docs.rs/indexmap/2/indexmap/map/struct.IndexMap.html) has.
///
/// ```
/// let mut ages = sateen::HashMap::new();
/// ages.insert("Grace", 85);
/// ages.insert("Ada", 36);
/// *ages.entry("Ada").or_insert(0) += 1;
/// assert_eq!(ages["Ada"], 37);
/// assert_eq!(ages.keys().copied().collect::<Vec<_>>(), ["Grace", "Ada"]);
/// ```
///
/// Maps are equal when they have equal entries, in any order. Their encodings differ if the order does: a job
/// may depend on the order, so maps with different orders are different parameters.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Serialize, V: Serialize",
    deserialize = "K: Deserialize<'de> + Eq + Hash, V: Deserialize<'de>"
))]
pub struct HashMap<K, V>(Entries<IndexMap<K, V, FixedHasher>>);

/// A hash set that iterates in the order of insertion; see [`HashMap`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de> + Eq + Hash"))]
pub struct HashSet<T>(Entries<IndexSet<T, FixedHasher>>);

/// The encoder recognises the map by this name, whatever wraps it.
#[derive(Clone)]
struct Entries<T>(T);

impl<K, V> HashMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Entries(IndexMap::with_hasher(BuildHasherDefault::new())))
    }

    /// With room for `capacity` entries.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Entries(IndexMap::with_capacity_and_hasher(capacity, FixedHasher::default())))
    }

    /// Removes all entries.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, V)> {
        self.0.0.drain(..)
    }

    /// The keys, without their values.
    pub fn into_keys(self) -> impl Iterator<Item = K> {
        self.0.0.into_keys()
    }

    /// The values, without their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.0.0.into_values()
    }
}

impl<K: Eq + Hash, V> HashMap<K, V> {
    /// Removes and returns the value of `key`. The last entry takes its place.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.0.swap_remove(key)
    }

    /// Like `remove`, but returns the key as well.
    pub fn remove_entry<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.0.0.swap_remove_entry(key)
    }
}

impl<T> HashSet<T> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Entries(IndexSet::with_hasher(BuildHasherDefault::new())))
    }

    /// With room for `capacity` elements.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Entries(IndexSet::with_capacity_and_hasher(capacity, FixedHasher::default())))
    }

    /// Removes all elements.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.0.0.drain(..)
    }
}

impl<T: Eq + Hash> HashSet<T> {
    /// Removes `value`, and returns whether the set had it. The last element takes its place.
    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.0.swap_remove(value)
    }

    /// Removes and returns `value`. The last element takes its place.
    pub fn take<Q: Eq + Hash + ?Sized>(&mut self, value: &Q) -> Option<T>
    where
        T: Borrow<Q>,
    {
        self.0.0.swap_take(value)
    }
}

macro_rules! wraps {
    ($name:ident<$($of:ident),+> is $inner:ty, of $item:ty, of references $reference:ty) => {
        impl<$($of),+> Deref for $name<$($of),+> {
            type Target = $inner;

            #[inline]
            fn deref(&self) -> &$inner {
                &self.0.0
            }
        }

        impl<$($of),+> DerefMut for $name<$($of),+> {
            #[inline]
            fn deref_mut(&mut self) -> &mut $inner {
                &mut self.0.0
            }
        }

        impl<$($of),+> Default for $name<$($of),+> {
            fn default() -> Self {
                Self::new()
            }
        }

        impl<$($of),+> IntoIterator for $name<$($of),+> {
            type Item = $item;
            type IntoIter = <$inner as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.0.into_iter()
            }
        }

        impl<'a, $($of),+> IntoIterator for &'a $name<$($of),+> {
            type Item = $reference;
            type IntoIter = <&'a $inner as IntoIterator>::IntoIter;

            fn into_iter(self) -> Self::IntoIter {
                self.0.0.iter()
            }
        }
    };
}

wraps!(HashMap<K, V> is IndexMap<K, V, FixedHasher>, of (K, V), of references (&'a K, &'a V));
wraps!(HashSet<T> is IndexSet<T, FixedHasher>, of T, of references &'a T);

impl<'a, K, V> IntoIterator for &'a mut HashMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = indexmap::map::IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.0.iter_mut()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for HashMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for HashSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl<K: Eq + Hash, V: PartialEq> PartialEq for HashMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.0.0 == other.0.0
    }
}

impl<K: Eq + Hash, V: Eq> Eq for HashMap<K, V> {}

impl<T: Eq + Hash> PartialEq for HashSet<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.0 == other.0.0
    }
}

impl<T: Eq + Hash> Eq for HashSet<T> {}

impl<K: Eq + Hash, V> FromIterator<(K, V)> for HashMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(Entries(entries.into_iter().collect()))
    }
}

impl<K: Eq + Hash, V, const N: usize> From<[(K, V); N]> for HashMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Eq + Hash, V> Extend<(K, V)> for HashMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.0.0.extend(entries);
    }
}

impl<K: Borrow<Q>, V, Q: Eq + Hash + ?Sized> Index<&Q> for HashMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        &self.0.0[key]
    }
}

impl<T: Eq + Hash> FromIterator<T> for HashSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self(Entries(elements.into_iter().collect()))
    }
}

impl<T: Eq + Hash, const N: usize> From<[T; N]> for HashSet<T> {
    fn from(elements: [T; N]) -> Self {
        elements.into_iter().collect()
    }
}

impl<T: Eq + Hash> Extend<T> for HashSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.0.0.extend(elements);
    }
}

impl<K: Serialize, V: Serialize> Serialize for Entries<IndexMap<K, V, FixedHasher>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(&self.0)
    }
}

impl<T: Serialize> Serialize for Entries<IndexSet<T, FixedHasher>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl<'de, K: Deserialize<'de> + Eq + Hash, V: Deserialize<'de>> Deserialize<'de>
    for Entries<IndexMap<K, V, FixedHasher>>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader::<HashMap<K, V>>(PhantomData)).map(|HashMap(entries)| entries)
    }
}

impl<'de, T: Deserialize<'de> + Eq + Hash> Deserialize<'de> for Entries<IndexSet<T, FixedHasher>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Reader::<HashSet<T>>(PhantomData)).map(|HashSet(entries)| entries)
    }
}

/// Decodes a value of type `T`.
struct Reader<T>(PhantomData<T>);

impl<'de, K: Deserialize<'de> + Eq + Hash, V: Deserialize<'de>> Visitor<'de> for Reader<HashMap<K, V>> {
    type Value = HashMap<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = HashMap::with_capacity(entries.size_hint().unwrap_or(0).min(RESERVED_MAX));
        while let Some((key, value)) = entries.next_entry()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}

impl<'de, T: Deserialize<'de> + Eq + Hash> Visitor<'de> for Reader<HashSet<T>> {
    type Value = HashSet<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a set")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut set = HashSet::with_capacity(elements.size_hint().unwrap_or(0).min(RESERVED_MAX));
        while let Some(element) = elements.next_element()? {
            set.insert(element);
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode, encode};

    /// A map's order is the same whatever is done to it, and whenever it is encoded and decoded.
    #[test]
    fn a_map_that_was_sent_behaves_as_if_it_had_not_been() {
        let mut random = crate::SplitMix64(17);
        let mut here = HashMap::new();
        let mut set = HashSet::new();
        let (mut there, mut other) = (here.clone(), set.clone());
        for step in 0..4000_u64 {
            let key = random.next() % 97;
            if random.next().is_multiple_of(3) {
                assert_eq!(here.remove(&key), there.remove(&key));
                assert_eq!(set.remove(&key), other.remove(&key));
            } else {
                *here.entry(key).or_insert(0) += step;
                *there.entry(key).or_insert(0) += step;
                assert_eq!(set.insert(key), other.insert(key));
            }
            if step % 5 == 0 {
                there = decode(&encode(&there)).expect("it travels");
                other = decode(&encode(&other)).expect("it travels");
            }
            assert!(here.iter().eq(&there) && set.iter().eq(&other), "after {step} steps");
        }
        assert!(here.len() > 40, "{here:?}");
    }

    #[test]
    fn a_length_of_anything_reserves_little() {
        let bytes = encode(&u32::MAX);
        assert!(decode::<HashMap<u64, u64>>(&bytes).is_err());
        assert!(decode::<HashSet<u64>>(&bytes).is_err());
    }
}
