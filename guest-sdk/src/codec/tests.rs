use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::*;

#[test]
fn what_is_encoded_is_decoded() {
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
    assert_eq!(round_trip(&value, &bytes), Ok(value));
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
fn what_cannot_be_read_back_is_named() {
    let untagged = vec![Untagged::Text("x".to_owned()), Untagged::Number(1)];
    let error = travel(&(7, Holds { before: 1, untagged, after: 2 })).expect_err("nothing says which it is");
    assert!(error.contains("`[1].untagged[0]` of a `(i32, sateen::codec::tests::Holds)`"), "{error}");
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
}

/// Serde hands the serializer on, so that it does not see the map's type.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct Transparent(HashMap<u64, u64>);

#[test]
fn an_order_that_cannot_be_put_right_is_refused() {
    let value = Transparent((0..100).map(|n| (n, n)).collect());
    let error = travel(&value).expect_err("the order is the map's own");
    assert!(error.contains("Transparent") && error.contains("hash map"), "{error}");
}

/// Its two halves do not agree.
#[derive(Debug)]
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
