use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::lost::{ByBoth, ByText, ByValue, Three};
use super::*;

/// Decodes a sent value of a type with `PartialEq` and `Debug`.
fn travel<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> Result<T, String> {
    super::travel(value, |sent, read, again| (&&&&Three(sent, read, again)).lost())
}

#[test]
fn an_encoded_value_is_decoded() {
    let value = (7u64, String::from("seven"), vec![Some(-7i32), None]);
    assert_eq!(decode(&encode(&value)), Ok(value));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Point,
    Circle(f64),
    Line(i128, u128),
    Tree { left: Box<Option<Shape>>, name: char, unit: () },
}

#[test]
fn all_of_serde_is_written_as_postcard_writes_it() {
    let tree = Shape::Tree { left: Box::new(Some(Shape::Circle(-0.5))), name: 'é', unit: () };
    let value = (
        (vec![Shape::Point, Shape::Line(i128::MIN, u128::MAX), tree], "text".to_owned(), [1_u8, 2]),
        (u8::MAX, u16::MAX, u32::MAX, u64::MAX, i8::MIN, i16::MIN, i32::MIN, i64::MIN, true),
        (BTreeMap::from([(1, "one".to_owned())]), BTreeSet::from([2_i8]), 1.5_f32, std::time::Duration::MAX),
    );
    let bytes = encode(&value);
    assert_eq!(bytes, postcard::to_allocvec(&value).expect("it can be encoded"));
    assert_eq!(travel(&value), Ok(value));
}

#[test]
fn hash_maps_and_sets_are_written_in_the_order_of_their_keys() {
    let map: HashMap<String, HashSet<u16>> =
        (0..50).map(|n| (n.to_string(), (0..n).map(|k| k * 301).collect())).collect();
    let sorted: BTreeMap<Vec<u8>, (String, Vec<Vec<u8>>)> = (map.iter())
        .map(|(key, set)| {
            let mut set: Vec<Vec<u8>> = set.iter().map(encode).collect();
            set.sort();
            (encode(key), (key.clone(), set))
        })
        .collect();
    let mut expected = encode(&map.len());
    for (key, (_, set)) in sorted {
        expected.extend(key);
        expected.extend(encode(&set.len()));
        expected.extend(set.concat());
    }
    assert_eq!(encode(&map), expected);
    assert_eq!(encode(&Box::new(&map)), expected);
    assert_eq!(travel(&map), Ok(map));
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Skips {
    always: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sometimes: Option<u8>,
    then: u8,
}

#[test]
fn a_field_that_is_left_out_is_named() {
    let skips = |sometimes| Skips { always: 1, sometimes, then: 2 };
    assert!(travel(&skips(Some(3))).is_ok());
    let error = travel(&skips(None)).expect_err("the field is left out");
    assert!(error.contains("`sometimes` of `Skips`") && error.contains("skip_serializing_if"), "{error}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(u64),
    Text(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Holds {
    before: u64,
    untagged: Vec<Untagged>,
    after: u64,
}

#[test]
fn values_that_cannot_be_read_back_are_named() {
    let untagged = vec![Untagged::Text("x".to_owned()), Untagged::Number(1)];
    let error = travel(&(7, Holds { before: 1, untagged, after: 2 })).expect_err("nothing says which it is");
    assert!(error.contains("`[1].untagged[0]` of a `(i32, sateen::codec::tests::Holds)`"), "{error}");
}

#[test]
fn a_type_that_asks_what_comes_next_is_named() {
    let error = travel(&(7_u32, Untagged::Number(1))).expect_err("nothing says which it is");
    assert!(
        error.contains("`[1]` of a `(u32, ") && error.contains("a `sateen::codec::tests::Untagged`"),
        "{error}"
    );
    let error = travel(&Untagged::Number(1)).expect_err("nothing says which it is");
    assert!(
        error.contains("a `sateen::codec::tests::Untagged` asks") && !error.contains("PostCard"),
        "{error}"
    );
}

/// Written, and not read.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unread {
    a: u8,
    #[serde(skip_deserializing)]
    b: u8,
    c: u8,
}

#[test]
fn a_field_that_is_written_and_not_read_is_named_or_said_to_be_before() {
    let error = travel(&(1_u32, Unread { a: 1, b: 2, c: 3 })).expect_err("b is not read");
    assert!(
        error.contains("`[1].b`, or a part before it, of a ") && error.contains("1 byte unread"),
        "{error}"
    );
    // What is read instead of it is the same.
    let error = travel(&(1_u32, Unread { a: 1, b: 0, c: 3 })).expect_err("b is not read");
    assert!(error.contains("`[1].c`, or a part before it, of a "), "{error}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flattened {
    #[serde(flatten)]
    inner: BTreeMap<String, u8>,
}

#[test]
fn a_flattened_field_is_refused() {
    let error = travel(&Flattened { inner: BTreeMap::new() }).expect_err("its length is not known");
    assert!(error.contains("flatten"), "{error}");
    let error = travel(&(1, Flattened { inner: BTreeMap::new() })).expect_err("its length is not known");
    assert!(error.contains("part `[1]`, a `sateen::codec::tests::Flattened`,"), "{error}");
}

/// Serde passes the serializer on, so that it does not see the map's type.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Transparent(HashMap<u64, u64>);

#[test]
fn an_order_that_cannot_be_put_right_is_refused() {
    let value = Transparent((0..100).map(|n| (n, n)).collect());
    let error = travel(&value).expect_err("the order is the map's own");
    assert!(error.contains("Transparent") && error.contains("hash map"), "{error}");
}

/// Its two halves do not agree.
#[derive(Debug, PartialEq)]
struct Halves(u32);

impl Serialize for Halves {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.0 / 2).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Halves {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(Self)
    }
}

#[test]
fn a_value_that_changes_on_the_way_is_named() {
    assert!(travel(&Halves(0)).is_ok());
    let error = travel(&vec![(1, Halves(0)), (2, Halves(9))]).expect_err("9 becomes 4, and then 2");
    assert!(error.contains("`[1][1]`") && error.contains("not the same"), "{error}");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Skipped {
    kept: u8,
    #[serde(skip)]
    cache: u64,
}

#[test]
fn a_skipped_field_that_is_not_empty_is_named() {
    assert!(travel(&vec![Skipped { kept: 1, cache: 0 }]).is_ok());
    let error = travel(&vec![(7, Skipped { kept: 1, cache: 5 })]).expect_err("5 becomes 0");
    assert!(error.contains("`cache: 5` of `Skipped` of a `alloc::vec::Vec<(i32, "), "{error}");
}

/// Its variants have one number when they are written, and another when they are read.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum SkipsVariant {
    #[serde(skip)]
    #[allow(dead_code)]
    Never,
    First,
    Last,
}

/// The part after it was named.
#[test]
fn an_enum_with_a_skipped_variant_is_named() {
    let error = travel(&(SkipsVariant::Last, 7_u32)).expect_err("nothing has its number");
    assert!(
        error.contains("`[0]` of a `(sateen::codec::tests::SkipsVariant, u32)` cannot be read"),
        "{error}"
    );
    assert!(error.contains("`Deserialize` of `sateen::codec::tests::SkipsVariant` refuses"), "{error}");
    let error = travel(&(7_u32, SkipsVariant::Last)).expect_err("nothing has its number");
    assert!(error.contains("`[1]` of a `(u32, "), "{error}");
    let error = travel(&SkipsVariant::Last).expect_err("nothing has its number");
    assert!(error.contains("a `sateen::codec::tests::SkipsVariant` cannot be read"), "{error}");
    let error = travel(&(SkipsVariant::First, 7_u32)).expect_err("it becomes the last");
    assert!(
        error.contains("`[0]` of a `(sateen::codec::tests::SkipsVariant, u32)` is not the same"),
        "{error}"
    );
}

/// Compared by value only.
#[derive(PartialEq, Serialize, Deserialize)]
struct Unshown(#[serde(with = "short")] f64);

/// Shown only.
#[derive(Debug, Serialize, Deserialize)]
struct Shown {
    #[serde(with = "short")]
    width: f64,
    names: HashMap<u32, u32>,
}

mod short {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        (*value as f32).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        f32::deserialize(deserializer).map(f64::from)
    }
}

/// As `#[job]` does it: with the traits that the type has.
macro_rules! travel_as {
    ($ty:ty, $value:expr) => {
        super::travel::<$ty>(&$value, |sent, read, again| (&&&&Three(sent, read, again)).lost())
    };
}

#[test]
fn a_loss_in_the_first_encoding_is_found_by_the_traits_of_the_type() {
    let names: HashMap<u32, u32> = (0..50).map(|n| (n, n * n)).collect();
    assert!(travel_as!(Unshown, Unshown(0.5)).is_ok());
    assert!(travel_as!(Unshown, Unshown(0.1)).is_err_and(|error| error.contains("Unshown` is not the same")));
    assert!(travel_as!(Shown, Shown { width: 0.5, names: names.clone() }).is_ok());
    let error = travel_as!(Shown, Shown { width: 0.1, names }).err().unwrap_or_default();
    assert!(error.contains("`width: 0.1` of `Shown` of a "), "{error}");
}

#[test]
fn values_that_differ_from_themselves_are_compared_by_their_bytes() {
    let value = (f64::NAN, -f64::NAN, -0.0_f64);
    let bits = |(a, b, c): (f64, f64, f64)| [a, b, c].map(f64::to_bits);
    assert_eq!(travel(&value).map(bits), Ok(bits(value)));
    let error = travel(&(f64::NAN, Skipped { kept: 1, cache: 5 })).expect_err("5 becomes 0");
    assert!(error.contains("`cache: 5`"), "{error}");
    /// As a pointer does.
    #[derive(Serialize, Deserialize)]
    struct Never;
    impl PartialEq for Never {
        fn eq(&self, _other: &Self) -> bool {
            false
        }
    }
    assert!(travel_as!(Never, Never).is_ok());
}

/// A map that keeps the order of insertion, of a type that is not known.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Wrapped<T>(T);

#[test]
fn an_order_that_means_something_is_kept_or_missed() {
    let backwards = || (0..20_u64).rev().map(|n| (n * 50, n));
    let map: crate::HashMap<u64, u64> = backwards().collect();
    let read = travel(&map).expect("it travels");
    assert!(read.iter().eq(&map), "{read:?}");
    let wrapped = travel(&Wrapped(map.clone())).expect("it is known whatever wraps it");
    assert!(wrapped.0.iter().eq(&map), "{wrapped:?}");
    let set: crate::HashSet<u64> = map.values().copied().collect();
    assert!(travel(&Wrapped(set.clone())).is_ok_and(|read| read.0.iter().eq(&set)));
    assert!(travel(&Wrapped(backwards().collect::<BTreeMap<_, _>>())).is_ok(), "it has but one order");

    #[derive(Debug, PartialEq, Default)]
    struct Pairs(Vec<(u64, u64)>);
    impl Serialize for Pairs {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().copied())
        }
    }
    impl<'de> Deserialize<'de> for Pairs {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            crate::HashMap::deserialize(deserializer).map(|map| Self(map.into_iter().collect()))
        }
    }
    assert!(travel(&Pairs(vec![(1, 1), (2, 2)])).is_ok());
    let error = travel(&Pairs(vec![(2, 2), (1, 1)])).expect_err("its entries are put in order");
    assert!(error.contains("in another order"), "{error}");
}

#[test]
fn many_bytes_at_once_are_not_moved_for_the_few_after_them() {
    let bytes = encode(&(1u8, "x".repeat(1 << 20), (u64::MAX, "a few more")));
    let left = bytes.capacity() - bytes.len();
    assert!(left < 2 * Buffer::ROOM, "{left} of {}", bytes.capacity());
}

#[test]
fn bytes_too_many_or_too_few_are_refused() {
    assert!(decode::<u64>(&[1, 2]).is_err());
    assert!(decode::<(u64, u64)>(&[1]).is_err());
    assert!(decode::<String>(&[200, 1, b'a']).is_err());
}
