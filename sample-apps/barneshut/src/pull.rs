//! What pulls at bodies, and how it travels.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bodies::Vector;

/// What pulls at some bodies, one after another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pulls {
    /// How the speed of each changes.
    pub changes: Vectors,
    /// The potential of each; none unless they were asked for, as only energies need them.
    pub potentials: Vec<f64>,
}

impl Pulls {
    /// Those of more bodies, after these.
    pub fn append(&mut self, mut more: Self) {
        self.changes.0.append(&mut more.changes.0);
        self.potentials.append(&mut more.potentials);
    }

    /// Of how many bodies they are.
    pub fn count(&self) -> usize {
        self.changes.0.len()
    }
}

/// Vectors that are sent in single precision where that is all they have: what arrives has the same bits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vectors(pub Vec<Vector>);

/// Vectors as they are sent.
#[derive(Serialize, Deserialize)]
enum Sent {
    Single(Vec<[f32; 3]>),
    Double(Vec<Vector>),
}

impl Serialize for Vectors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let single: Option<Vec<[f32; 3]>> = self.0.iter().map(single).collect();
        single.map_or_else(|| Sent::Double(self.0.clone()), Sent::Single).serialize(serializer)
    }
}

impl<'a> Deserialize<'a> for Vectors {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Sent::deserialize(deserializer)? {
            Sent::Single(vectors) => vectors.into_iter().map(|vector| vector.map(f64::from)).collect(),
            Sent::Double(vectors) => vectors,
        }))
    }
}

/// The same vector in single precision, if that has the same bits in double precision again.
fn single(vector: &Vector) -> Option<[f32; 3]> {
    let single = vector.map(|part| part as f32);
    let is_same =
        single.iter().zip(vector).all(|(single, part)| f64::from(*single).to_bits() == part.to_bits());
    is_same.then_some(single)
}

/// `vector` with the precision of single floats, but for what is too large or too small for these.
pub fn rounded(vector: Vector) -> Vector {
    vector.map(|part| {
        let single = part as f32;
        if single.is_normal() || part == 0.0 { f64::from(single) } else { part }
    })
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
    fn what_single_precision_holds_takes_half_as_much() {
        let tenths = vec![rounded([0.1, -0.2, 0.0]); 100];
        let (length, back) = sent(tenths.clone());
        assert!((1200..1210).contains(&length), "{length}");
        assert_eq!(back, tenths);
    }

    #[test]
    fn what_it_does_not_hold_is_sent_whole() {
        for vector in [[0.1, 0.0, 0.0], rounded([1e-300, 1.0, -1e300]), [1.0, f64::from_bits(1), -0.0]] {
            let (length, back) = sent(vec![vector; 100]);
            assert!((2400..2410).contains(&length), "{length}");
            assert_eq!(back, [vector; 100]);
        }
    }
}
