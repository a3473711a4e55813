//! Parameters and results of every size and alignment.

use std::collections::BTreeMap;

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

/// More bytes than a record holds in place.
pub type Wide = [[u64; 16]; 4];

const _: () = assert!(size_of::<Wide>() > 256);
const _: () = assert!(align_of::<u128>() == 16);

/// Sums a megabyte that was moved into it.
#[job]
pub fn weigh(bytes: Vec<u8>) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte)).sum()
}

/// `count` jobs, each with a megabyte.
#[main]
pub fn megabytes(count: u64) -> u64 {
    let filled = |n: u64| vec![crate::mix(n) as u8; 1 << 20];
    weigh::spawn_all((0..count).map(filled)).sync().iter().sum()
}

/// Returns a megabyte.
#[job]
pub fn fill(n: u64) -> Vec<u8> {
    vec![crate::mix(n) as u8; 1 << 20]
}

/// `count` results of a megabyte each.
#[main]
pub fn megabyte_results(count: u64) -> u64 {
    fill::spawn_all(0..count).sync().into_iter().map(weigh).sum()
}

/// Parameters that do not fit a record, between two that do.
#[job]
pub fn widen(before: u8, wide: Wide, after: u8) -> Wide {
    wide.map(|row| row.map(|word| crate::mix(word ^ u64::from(before) ^ u64::from(after))))
}

/// Recurses with wide parameters, out of order.
#[main]
pub fn wide(count: u64) -> u64 {
    let rows = |n: u64| std::array::from_fn(|row| std::array::from_fn(|word| n + (row * 16 + word) as u64));
    let handles: Vec<_> = (0..count).map(|n| widen::spawn(n as u8, rows(n), !(n as u8))).collect();
    handles.into_iter().flat_map(Spawned::sync).flatten().fold(0, |sum, word| crate::mix(sum ^ word))
}

/// As many bytes as a record holds in place, more than most.
#[job]
pub fn medium(words: [u64; 20]) -> u64 {
    words.iter().sum()
}

/// No parameters and no result.
#[job]
pub fn nothing() {}

/// A type without bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit;

/// A type without bytes in and out.
#[job]
pub fn unit(unit: Unit) -> Unit {
    unit
}

/// Jobs without parameters and results, synced in both orders.
#[main]
pub fn empty(count: u64) -> u64 {
    let units: Vec<_> = (0..count).map(|_| unit::spawn(Unit)).collect();
    let nothings: Vec<_> = (0..count).map(|_| nothing::spawn()).collect();
    let units = units.into_iter().map(Spawned::sync).filter(|given| *given == Unit).count();
    (units + nothings.sync_all().len()) as u64
}

/// A parameter aligned to sixteen bytes, after one of a single byte.
#[job]
pub fn aligned(small: u8, large: u128) -> u128 {
    large.wrapping_mul(u128::from(small) + 3)
}

/// Aligned and unaligned records side by side.
#[main]
pub fn alignment(count: u64) -> u128 {
    let mut handles = Vec::new();
    for n in 0..count {
        let small = crate::shapes::leaf::spawn(n);
        handles.push((aligned::spawn(n as u8, u128::from(n) << 70 | 5), small));
    }
    let add = |sum: u128, (large, small): (Spawned<aligned>, Spawned<crate::shapes::leaf>)| {
        sum.wrapping_add(large.sync()).wrapping_add(u128::from(small.sync()))
    };
    handles.into_iter().fold(0, add)
}

/// A value of every kind that serde can write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Shape {
    /// No fields.
    Empty,
    /// A name and a float.
    Circle(String, f64),
    /// Nested.
    Group {
        /// By name.
        members: BTreeMap<String, Shape>,
        /// In order.
        order: Vec<Option<i128>>,
        /// A letter.
        tag: char,
    },
}

/// Wraps a shape into a group.
#[job]
pub fn wrap(shape: Shape, depth: u32) -> Shape {
    let members = if depth == 0 {
        [("only".to_owned(), shape)].into()
    } else {
        let left = wrap::spawn(shape.clone(), depth - 1);
        let right = wrap(shape, depth - 1);
        [("left".to_owned(), left.sync()), ("right".to_owned(), right)].into()
    };
    Shape::Group { members, order: vec![None, Some(i128::MIN), Some(i128::from(depth))], tag: 'ß' }
}

/// A deep shape, as text.
#[main]
pub fn shapes(depth: u32) -> String {
    let circle = Shape::Circle("a \u{1f9f5} of yarn".to_owned(), -0.5);
    format!("{:?} {:?}", wrap(circle, depth), wrap(Shape::Empty, 0))
}
