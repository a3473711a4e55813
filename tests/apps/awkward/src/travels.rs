//! Types that can be encoded.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::marker::PhantomData;
use std::net::IpAddr;
use std::num::{NonZeroU64, Wrapping};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Entry, passes};

/// A type with a field that serde skips, and that has its default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkippedEmpty {
    /// Encoded.
    pub kept: u64,
    /// Skipped.
    #[serde(skip)]
    pub cache: Option<String>,
}

passes!(
    /// A skipped field without a value.
    skipped_empty, pass_skipped_empty: SkippedEmpty = SkippedEmpty { kept: 7, cache: None }
);

/// A type with a field that serde skips, and that its author does not consider part of the value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Memo {
    /// The value.
    pub n: u64,
    /// A cached property.
    #[serde(skip)]
    pub square: Cell<Option<u64>>,
}

impl PartialEq for Memo {
    fn eq(&self, other: &Self) -> bool {
        self.n == other.n
    }
}

passes!(
    /// A skipped field that `PartialEq` leaves out.
    memo, pass_memo: Memo = Memo { n: 7, square: Cell::new(Some(49)) }, |memo| (memo.n * memo.n).to_string()
);

passes!(
    /// Borrowed and owned text.
    borrowed, pass_borrowed: (Cow<'static, str>, Cow<'static, [u16]>) =
        (Cow::Borrowed("borrowed"), Cow::Borrowed(&[1, 2, 300]))
);

passes!(
    /// Hash maps that are only read by key.
    std_maps, pass_std_maps: HashMap<String, HashMap<u16, f32>> =
        (0..20).map(|n| (n.to_string(), (0..n).map(|k| (k * 77, 0.5)).collect())).collect(),
    |maps| maps.values().map(HashMap::len).sum::<usize>().to_string()
);

passes!(
    /// Hash sets that are only read by key.
    std_sets, pass_std_sets: HashSet<BTreeSet<u64>> = (0..20).map(|n| (n..2 * n).collect()).collect(),
    |sets| sets.len().to_string()
);

passes!(
    /// The SDK's hash maps, iterated in order.
    maps, pass_maps: sateen::HashMap<String, sateen::HashSet<u64>> = {
        let mut maps: sateen::HashMap<String, sateen::HashSet<u64>> =
            (0..40).rev().map(|n| (n.to_string(), (0..n).map(|k| k * 7919 % 101).collect())).collect();
        maps.remove("30");
        maps.reserve(1000);
        maps
    }
);

/// Hides its content's type from the encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transparent<T>(pub T);

passes!(
    /// The SDK's hash map in a wrapper.
    wrapped_map, pass_wrapped_map: Transparent<sateen::HashMap<u64, u64>> =
        Transparent((0..40).map(|n| (n * 7919 % 101, n)).collect())
);

passes!(
    /// Ordered maps and sets, one in a wrapper.
    ordered, pass_ordered: (Transparent<BTreeMap<i64, String>>, BTreeSet<Vec<u8>>) =
        (Transparent((-200..200).map(|n| (n * 100, n.to_string())).collect()), (0..9).map(|n| vec![n; 3]).collect())
);

passes!(
    /// Every odd float, by its bits.
    floats, pass_floats: Vec<f64> = vec![f64::NAN, -f64::NAN, f64::from_bits(0x7ff8_0000_dead_beef), -0.0, 0.0, f64::INFINITY, f64::MIN_POSITIVE / 2.0],
    |floats| floats.iter().map(|float| format!("{:x} ", float.to_bits())).collect()
);

passes!(
    /// Wide integers.
    wide_integers, pass_wide_integers: (u128, i128, u64, i64, usize, isize) =
        (u128::MAX, i128::MIN, u64::MAX, i64::MIN, 0xffff_ffff, -0x7fff_ffff)
);

/// No fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Empty {}

/// Nothing at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unit;

passes!(
    /// Types without bytes.
    empty, pass_empty: (Empty, Unit, (), [u8; 0], PhantomData<f64>, Vec<()>) =
        (Empty {}, Unit, (), [], PhantomData, vec![(); 5])
);

/// Arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Term {
    /// A number.
    Number(i64),
    /// A sum.
    Sum(Box<Term>, Box<Term>),
    /// A call.
    Call {
        /// The function.
        function: String,
        /// The arguments.
        arguments: Vec<Term>,
    },
}

fn term(depth: u32) -> Term {
    match depth {
        0 => Term::Number(-1),
        n if n % 2 == 0 => Term::Sum(Box::new(term(n - 1)), Box::new(Term::Number(n.into()))),
        n => Term::Call { function: "f".to_owned(), arguments: vec![term(n - 1); 2] },
    }
}

passes!(
    /// A recursive enum.
    recursive, pass_recursive: Term = term(9)
);

passes!(
    /// Options within options.
    options, pass_options: Vec<Option<Option<Option<u8>>>> = vec![None, Some(None), Some(Some(None)), Some(Some(Some(0)))]
);

passes!(
    /// Characters and texts of all lengths.
    texts, pass_texts: (Vec<char>, Vec<String>) =
        (vec!['\0', 'é', '\u{10ffff}'], vec![String::new(), "\u{1f9f5}".repeat(5000), "line\nline\r\u{feff}".to_owned()])
);

type Twelve = (u8, u16, u32, u64, i8, i16, i32, i64, bool, char, f32, f64);

passes!(
    /// As many elements as `PartialEq` supports, and more.
    tuples, pass_tuples: (Twelve, Sixteen) = (
        (1, 2, 3, 4, -1, -2, -3, -4, true, 'x', 0.5, 0.25),
        Sixteen((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    )
);

type Bytes = (u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8, u8);

/// A tuple that is not `PartialEq`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sixteen(Bytes);

impl std::fmt::Debug for Sixteen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.0.0, self.0.15)
    }
}

/// More elements than serde supports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Long(#[serde(with = "long")] pub [u32; 40]);

/// An array as a sequence.
mod long {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(array: &[u32; 40], serializer: S) -> Result<S::Ok, S::Error> {
        array.as_slice().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u32; 40], D::Error> {
        let elements = Vec::<u32>::deserialize(deserializer)?;
        elements.try_into().map_err(|_| D::Error::custom("40 elements are expected"))
    }
}

passes!(
    /// Arrays of many elements.
    arrays, pass_arrays: (Long, [[u16; 8]; 8]) = (Long(std::array::from_fn(|n| n as u32 * 99)), [[7; 8]; 8])
);

/// Counted references, each of which is decoded separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counted(#[serde(with = "counted")] pub Rc<String>, #[serde(with = "counted")] pub Rc<String>);

/// Encodes the referenced value.
mod counted {
    use std::rc::Rc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(text: &Rc<String>, serializer: S) -> Result<S::Ok, S::Error> {
        text.as_str().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rc<String>, D::Error> {
        String::deserialize(deserializer).map(Rc::new)
    }
}

passes!(
    /// Counted references.
    references, pass_references: Counted = {
        let text = Rc::new("shared".to_owned());
        Counted(text.clone(), text)
    }
);

type Standard = (Duration, IpAddr, Range<u32>, NonZeroU64, Wrapping<u8>, Reverse<i8>, Option<NonZeroU64>);

passes!(
    /// Times, addresses, ranges, and numbers with conditions.
    standard, pass_standard: Standard = (
        Duration::new(5, 999_999_999),
        IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x7f00, 1]),
        3..9,
        NonZeroU64::MIN,
        Wrapping(255),
        Reverse(-1),
        None,
    )
);

passes!(
    /// Failures as values.
    results, pass_results: Vec<Result<u8, String>> = vec![Ok(1), Err("no".to_owned())]
);

passes!(
    /// Interior mutability, and sequences other than vectors.
    cells, pass_cells: (Cell<u8>, RefCell<VecDeque<u8>>, BTreeSet<char>) = {
        let mut ring = VecDeque::from([1, 2, 3]);
        ring.rotate_left(1);
        ring.push_front(9);
        (Cell::new(7), RefCell::new(ring), BTreeSet::from(['z', 'a']))
    }
);

passes!(
    /// A heap, whose layout is not its content.
    heap, pass_heap: BinaryHeap<u32> = [5, 1, 8, 2, 9, 3].into_iter().collect(),
    |heap| format!("{:?}", heap.clone().into_sorted_vec())
);

/// An enum with other names in text formats, and with fields that may be missing there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Renamed {
    /// Nothing.
    NotThere,
    /// A number.
    TheNumber(u64),
    /// Fields.
    ThePair {
        /// One.
        #[serde(rename = "first", alias = "1st", default)]
        one: u8,
        /// Other.
        other: String,
    },
}

passes!(
    /// Renamed variants and fields.
    renamed, pass_renamed: Vec<Renamed> = vec![
        Renamed::NotThere,
        Renamed::TheNumber(7),
        Renamed::ThePair { one: 1, other: "x".to_owned() },
    ]
);

/// A type that is encoded through another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct Fraction {
    /// Above.
    pub numerator: u32,
    /// Below.
    pub denominator: u32,
}

impl From<(u32, u32)> for Fraction {
    fn from((numerator, denominator): (u32, u32)) -> Self {
        Self { numerator, denominator }
    }
}

impl From<Fraction> for (u32, u32) {
    fn from(fraction: Fraction) -> Self {
        (fraction.numerator, fraction.denominator)
    }
}

passes!(
    /// A type that is encoded as another.
    other_type, pass_other_type: Fraction = Fraction { numerator: 22, denominator: 7 }
);

/// All of these: their names, and their native functions.
pub const ALL: &[(&str, Entry)] = &[
    ("skipped_empty", skipped_empty),
    ("memo", memo),
    ("borrowed", borrowed),
    ("std_maps", std_maps),
    ("std_sets", std_sets),
    ("maps", maps),
    ("wrapped_map", wrapped_map),
    ("ordered", ordered),
    ("floats", floats),
    ("wide_integers", wide_integers),
    ("empty", empty),
    ("recursive", recursive),
    ("options", options),
    ("texts", texts),
    ("tuples", tuples),
    ("arrays", arrays),
    ("references", references),
    ("standard", standard),
    ("results", results),
    ("cells", cells),
    ("heap", heap),
    ("renamed", renamed),
    ("other_type", other_type),
];

/// All of these, one after another.
#[sateen::main]
pub fn everything(depth: u32, steps: u64) -> String {
    let each = ALL.iter().map(|(name, entry)| format!("{name}: {}\n", entry(depth, steps)));
    each.collect::<String>().trim_end().to_owned()
}
