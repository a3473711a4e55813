//! Types that cannot be encoded without loss.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::travels::Transparent;
use crate::{Refused, passes};

/// A type with a field that serde skips, and that has a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// Encoded.
    pub kept: u64,
    /// Skipped.
    #[serde(skip)]
    pub cache: u64,
}

passes!(
    /// A skipped field with a value.
    skipped, pass_skipped: Skipped = Skipped { kept: 7, cache: 49 }
);

/// A type with a field that serde sometimes leaves out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Sometimes left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// It follows.
    pub n: u64,
}

passes!(
    /// A field that is not written.
    left_out, pass_left_out: LeftOut = LeftOut { name: None, n: 7 }
);

/// An enum without a tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Untagged {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// Has such a one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HasUntagged {
    /// Before.
    pub n: u64,
    /// The values.
    pub values: Vec<Untagged>,
}

passes!(
    /// An untagged enum.
    untagged, pass_untagged: HasUntagged = HasUntagged { n: 1, values: vec![Untagged::Number(2), Untagged::Text("x".to_owned())] }
);

/// An enum whose tag is among its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Tagged {
    /// A circle.
    Circle {
        /// Of this radius.
        radius: f64,
    },
    /// A square.
    Square {
        /// Of this side.
        side: f64,
    },
}

passes!(
    /// An internally tagged enum.
    tagged, pass_tagged: Tagged = Tagged::Circle { radius: 0.5 }
);

/// An enum whose tag is a field that the reader needs by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "is")]
pub enum Adjacent {
    /// Nothing.
    Nothing,
    /// A number.
    Number(u64),
}

passes!(
    /// An adjacently tagged enum.
    adjacent, pass_adjacent: Vec<Adjacent> = vec![Adjacent::Nothing, Adjacent::Number(7)]
);

/// A type with flattened fields of another type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Flattened {
    /// Its own.
    pub n: u64,
    /// The others.
    #[serde(flatten)]
    pub more: BTreeMap<String, u64>,
}

/// Has such a one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HasFlattened {
    /// Flattened.
    pub flat: Flattened,
}

passes!(
    /// A flattened field.
    flattened, pass_flattened: HasFlattened = HasFlattened { flat: Flattened { n: 1, more: BTreeMap::new() } }
);

passes!(
    /// Anything.
    json, pass_json: (u8, serde_json::Value) = (1, serde_json::json!({ "n": [1, 2, null] }))
);

/// A number that is encoded with less precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shortened {
    /// As a float of 32 bits.
    #[serde(with = "short")]
    pub width: f64,
}

/// Encodes a float with half of its bits.
mod short {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        (*value as f32).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        f32::deserialize(deserializer).map(f64::from)
    }
}

passes!(
    /// A number that loses its last digits.
    shortened, pass_shortened: Shortened = Shortened { width: 0.1 }
);

/// As `Shortened`, but longer, and without `PartialEq`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LongShortened {
    /// Makes it long.
    pub bytes: Vec<u8>,
    /// As a float of 32 bits.
    #[serde(with = "short")]
    pub width: f64,
}

passes!(
    /// Some kilobytes that lose precision.
    long, pass_long: LongShortened = LongShortened { bytes: vec![7; 10_000], width: 0.1 }
);

passes!(
    /// A wrapper that hides a hash map, whose order is new each time.
    wrapped, pass_wrapped: Transparent<HashMap<u64, u64>> = Transparent((0..50).map(|n| (n, n)).collect())
);

/// All of these: their names, their native functions, and the words in the error.
pub const ALL: &[Refused] = &[
    ("skipped", skipped, &["pass_skipped", "awkward::refused::Skipped", "cache: 49"]),
    ("left_out", left_out, &["awkward::refused::LeftOut", "`name` of `LeftOut`", "skip_serializing_if"]),
    ("adjacent", adjacent, &["pass_adjacent", "`[0][0].kind`", "awkward::refused::Adjacent", "`tag`"]),
    (
        "untagged",
        untagged,
        &["pass_untagged", "`[0].values[0]`", "awkward::refused::HasUntagged", "untagged"],
    ),
    ("tagged", tagged, &["pass_tagged", "awkward::refused::Tagged", "`tag`"]),
    ("flattened", flattened, &["awkward::refused::HasFlattened", "`[0].flat`", "flatten"]),
    ("json", json, &["pass_json", "`[0][1]", "serde_json::", "Value"]),
    ("shortened", shortened, &["pass_shortened", "awkward::refused::Shortened", "width: 0.1"]),
    ("long", long, &["pass_long", "awkward::refused::LongShortened", "width: 0.1"]),
    ("wrapped", wrapped, &["pass_wrapped", "Transparent<std::collections::hash::map::HashMap", "order"]),
];
