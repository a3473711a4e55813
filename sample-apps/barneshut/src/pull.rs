//! Pulls on bodies, and their encoding.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bodies::Vector;
use crate::packed;
use crate::tree::greater;

/// The pulls on some bodies, one after another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pulls {
    /// The change of each body's velocity.
    pub changes: Vectors,
    /// The potential of each; empty unless requested, as only energies need them.
    pub potentials: Vec<f64>,
    /// Their cost, in sums of a pull: of all, or of consecutive ranges of bodies.
    pub costs: Vec<u64>,
}

impl Pulls {
    /// Appends the pulls on more bodies.
    pub fn append(&mut self, mut more: Self) {
        self.changes.0.append(&mut more.changes.0);
        self.potentials.append(&mut more.potentials);
        self.costs.append(&mut more.costs);
    }

    /// The number of bodies.
    pub fn count(&self) -> usize {
        self.changes.0.len()
    }
}

/// Vectors that are encoded in five bytes each if they have no more bits: they are decoded to the same bits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vectors(pub Vec<Vector>);

/// Vectors as they are sent.
#[derive(Serialize, Deserialize)]
enum Sent {
    Short(#[serde(with = "packed")] Vec<Short>),
    Whole(#[serde(with = "packed")] Vec<Vector>),
}

impl Serialize for Vectors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let short: Option<Vec<Short>> = self.0.iter().map(short).collect();
        short.map_or_else(|| Sent::Whole(self.0.clone()), Sent::Short).serialize(serializer)
    }
}

impl<'a> Deserialize<'a> for Vectors {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Sent::deserialize(deserializer)? {
            Sent::Short(vectors) => vectors.iter().map(whole).collect(),
            Sent::Whole(vectors) => vectors,
        }))
    }
}

/// A vector whose components are multiples of a common unit, a power of two. 40 bits: an exponent of seven bits, and
/// components of eleven bits each.
type Short = [u8; 5];

const EXPONENT_BITS: u32 = 7;
const PART_BITS: u32 = 11;
/// Maximum units in a component.
const PART_MAX: f64 = 1023.0;
/// Maximum absolute exponent of a unit, as a power of 2.
const UNIT_EXPONENT_MAX: i64 = (1 << (EXPONENT_BITS - 1)) - 1;

/// `None` if the vector has more bits than that.
fn short(vector: &Vector) -> Option<Short> {
    let Units { exponent, parts } = Units::of(vector)?;
    let word = parts.iter().fold(i64::from(exponent), |word, part| {
        word << PART_BITS | i64::from(*part) & ((1 << PART_BITS) - 1)
    });
    word.to_le_bytes().first_chunk().copied()
}

/// A vector that can be sent in five bytes: multiples of two to the power of `exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    pub exponent: i8,
    pub parts: [i16; 3],
}

impl Units {
    /// `None` if the vector has more bits than that.
    pub fn of(vector: &Vector) -> Option<Self> {
        let exponent = unit_exponent(vector)?;
        let unit = power_of_two(exponent);
        let parts = vector.map(|part| (part / unit) as i16);
        let is_all = |(part, units): (&f64, &i16)| {
            f64::from(*units).abs() <= PART_MAX && (f64::from(*units) * unit).to_bits() == part.to_bits()
        };
        // It is from -63 to 63.
        vector.iter().zip(&parts).all(is_all).then_some(Self { exponent: exponent as i8, parts })
    }

    pub fn vector(self) -> Vector {
        let unit = power_of_two(i64::from(self.exponent));
        self.parts.map(|part| f64::from(part) * unit)
    }
}

fn whole([a, b, c, d, e]: &Short) -> Vector {
    let word = i64::from_le_bytes([0, 0, 0, *a, *b, *c, *d, *e]);
    let unit = power_of_two(word >> (i64::BITS - EXPONENT_BITS));
    // Each component is shifted to the top, and down again with its sign.
    [0, 1, 2].map(|place| {
        let top = word << (EXPONENT_BITS + PART_BITS * place);
        (top >> (i64::BITS - PART_BITS)) as f64 * unit
    })
}

/// The exponent of the unit in which the largest component of the vector has ten bits. `None` if it is out of range.
fn unit_exponent(vector: &Vector) -> Option<i64> {
    let largest = vector.iter().fold(0.0, |largest, part| greater(largest, part.abs()));
    if largest == 0.0 {
        return Some(0);
    }
    let exponent = (largest.to_bits() >> 52).cast_signed() - 1022 - (i64::from(PART_BITS) - 1);
    (largest.is_finite() && exponent.abs() <= UNIT_EXPONENT_MAX).then_some(exponent)
}

fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits((exponent + 1023).cast_unsigned() << 52)
}

/// `vector`, with its components rounded to the encoded bits, an error of at most a thousandth of the largest
/// component; unchanged if it is too large or too small.
pub fn rounded(vector: Vector) -> Vector {
    let Some(exponent) = unit_exponent(&vector) else { return vector };
    let to = |unit: f64| vector.map(|part| (part / unit).round_ties_even() * unit + 0.0);
    let unit = power_of_two(exponent);
    let rounded = to(unit);
    // The largest component may have become a bit longer.
    if unit_exponent(&rounded) == Some(exponent) { rounded } else { to(2.0 * unit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(vectors: Vec<Vector>) -> (usize, Vec<Vector>) {
        let bytes = postcard::to_allocvec(&Vectors(vectors)).expect("it can be encoded");
        let back: Vectors = postcard::from_bytes(&bytes).expect("it was encoded");
        (bytes.len(), back.0)
    }

    #[test]
    fn rounded_vectors_take_a_fifth_of_the_bytes() {
        let some = [0.1, -0.2, 0.0, 1.0, 1023.5, -2047.9, 1e-15, -3e20];
        for vector in some.iter().flat_map(|a| some.iter().flat_map(move |b| some.map(|c| [*a, *b, c]))) {
            let vector = rounded(vector);
            assert_eq!(rounded(vector), vector);
            let (length, back) = sent(vec![vector; 100]);
            assert!((500..505).contains(&length), "{vector:?}: {length}");
            assert_eq!(back, [vector; 100]);
        }
    }

    #[test]
    fn rounding_moves_no_component_by_more_than_a_thousandth() {
        for turn in 0..1000 {
            let (sin, cos) = (f64::from(turn).sin(), f64::from(turn).cos());
            let vector = [sin * 1e9, cos * 1e9, sin * cos * 1e8];
            let off = vector.iter().zip(rounded(vector)).map(|(part, rounded)| (part - rounded).abs());
            let largest = vector.iter().fold(0.0, |largest: f64, part| largest.max(part.abs()));
            assert!(off.fold(0.0, f64::max) <= largest / 1000.0, "{vector:?}");
        }
    }

    #[test]
    fn other_vectors_are_encoded_in_full() {
        let beyond = rounded([1e-300, 1.0, -1e300]);
        for vector in [[0.1, 0.0, 0.0], beyond, [1.0, f64::from_bits(1), 0.0], [1.0, -0.0, 0.0]] {
            let (length, back) = sent(vec![vector; 100]);
            assert!((2400..2410).contains(&length), "{length}");
            let same = |back: &Vector| back.map(f64::to_bits) == vector.map(f64::to_bits);
            assert!(back.len() == 100 && back.iter().all(same), "{vector:?}");
        }
    }

    #[test]
    fn any_bytes_are_a_vector() {
        for byte in 0..=255 {
            let _ = whole(&[byte; 5]);
        }
    }
}
