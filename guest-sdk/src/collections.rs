//! Hash maps and sets whose iteration order is the same in every sandbox.

use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;

/// Hashes alike in every sandbox; the standard library's default has other keys in each.
pub type FixedHasher = BuildHasherDefault<FxHasher>;

/// The standard library's hash map with a [fixed hasher](FixedHasher): maps to which the same was done
/// iterate in the same order in every sandbox. Made with `HashMap::default()`.
///
/// ```
/// let mut ages = sateen::HashMap::default();
/// ages.insert("Ada", 36);
/// assert_eq!(ages["Ada"], 36);
/// ```
pub type HashMap<K, V> = std::collections::HashMap<K, V, FixedHasher>;

/// As [`HashMap`], of elements.
pub type HashSet<T> = std::collections::HashSet<T, FixedHasher>;
