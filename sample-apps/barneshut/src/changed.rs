//! Encodes the forces on bodies as differences from the step before, which are mostly small.

use serde::{Deserialize, Serialize};

use crate::packed;
use crate::pull::{Units, Vectors};

/// Vectors, encoded relative to earlier ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Changed {
    /// For each vector, the differences of its components in the same unit, a byte each; see [`FAR`] and [`ANEW`].
    By(#[serde(with = "packed")] Vec<u8>),
    /// Vectors whose number differs from before, or that have too many bits.
    All(Vectors),
}

/// The component differs by more than a byte can express: two more bytes follow, the least significant first.
const FAR: i8 = i8::MIN;
/// Instead of a first component: the exponent of another unit follows in a byte, then the components in two bytes each.
const ANEW: i8 = i8::MIN + 1;

impl Changed {
    /// Encodes `now` for receivers that have `before`.
    pub fn since(before: &Vectors, now: &Vectors) -> Self {
        differences(before, now).map_or_else(|| Self::All(now.clone()), Self::By)
    }

    /// Decodes the vectors, given those of `before`; `None` if the encoding is relative to others.
    pub fn after(self, before: &Vectors) -> Option<Vectors> {
        match self {
            Self::All(now) => Some(now),
            Self::By(bytes) => {
                let mut bytes = bytes.into_iter();
                let now = before.0.iter().map(|before| {
                    let before = Units::of(before)?;
                    Some(next(&mut bytes, before)?.vector())
                });
                let now = now.collect::<Option<Vec<_>>>()?;
                bytes.next().is_none().then_some(Vectors(now))
            }
        }
    }
}

fn differences(before: &Vectors, now: &Vectors) -> Option<Vec<u8>> {
    if before.0.len() != now.0.len() {
        return None;
    }
    let mut bytes = Vec::with_capacity(4 * now.0.len());
    for (before, now) in before.0.iter().zip(&now.0) {
        let (before, now) = (Units::of(before)?, Units::of(now)?);
        if before.exponent != now.exponent {
            bytes.extend([ANEW, now.exponent].map(i8::cast_unsigned));
            now.parts.iter().for_each(|part| bytes.extend(part.to_le_bytes()));
            continue;
        }
        for (before, now) in before.parts.iter().zip(&now.parts) {
            let difference = now - before;
            match i8::try_from(difference) {
                Ok(near) if near > ANEW => bytes.push(near.cast_unsigned()),
                _ => {
                    bytes.push(FAR.cast_unsigned());
                    bytes.extend(difference.to_le_bytes());
                }
            }
        }
    }
    Some(bytes)
}

fn next(bytes: &mut impl Iterator<Item = u8>, before: Units) -> Option<Units> {
    let mut units = before;
    for nth in 0..3 {
        match bytes.next()?.cast_signed() {
            ANEW if nth == 0 => {
                let exponent = bytes.next()?.cast_signed();
                let parts = [two(bytes)?, two(bytes)?, two(bytes)?];
                return Some(Units { exponent, parts });
            }
            FAR => units.parts[nth] = units.parts[nth].wrapping_add(two(bytes)?),
            near => units.parts[nth] = units.parts[nth].wrapping_add(i16::from(near)),
        }
    }
    Some(units)
}

fn two(bytes: &mut impl Iterator<Item = u8>) -> Option<i16> {
    Some(i16::from_le_bytes([bytes.next()?, bytes.next()?]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pull::rounded;

    fn vectors(some: &[[f64; 3]]) -> Vectors {
        Vectors(some.iter().map(|vector| rounded(*vector)).collect())
    }

    fn told(before: &Vectors, now: &Vectors) -> usize {
        let changed = Changed::since(before, now);
        let bytes = postcard::to_allocvec(&changed).expect("it can be encoded");
        let arrived: Changed = postcard::from_bytes(&bytes).expect("it was encoded");
        let bits =
            |vectors: &Vectors| vectors.0.iter().flatten().map(|part| part.to_bits()).collect::<Vec<_>>();
        assert_eq!(arrived.after(before).map(|after| bits(&after)), Some(bits(now)));
        bytes.len()
    }

    #[test]
    fn small_changes_take_three_bytes() {
        let before: Vec<_> = (0..1000).map(|nth| [1.0, -0.001 * f64::from(nth), 0.5]).collect();
        let now: Vec<_> = before.iter().map(|[x, y, z]| [x * 1.01, y * 1.01 + 0.002, z * 0.99]).collect();
        let length = told(&vectors(&before), &vectors(&now));
        assert!((3000..3010).contains(&length), "{length}");
    }

    #[test]
    fn any_vectors_arrive_with_the_same_bits() {
        let some = [0.0, 0.1, -0.2, 1.0, 1023.5, -2047.9, 1e-15, -3e20];
        let all: Vec<_> =
            some.iter().flat_map(|a| some.iter().flat_map(move |b| some.map(|c| [*a, *b, c]))).collect();
        let shifted: Vec<_> = all.iter().cycle().skip(7).take(all.len()).copied().collect();
        told(&vectors(&all), &vectors(&shifted));
        // Not rounded, and a different number.
        told(&Vectors(all.clone()), &Vectors(shifted));
        told(&Vectors::default(), &vectors(&all));
    }

    #[test]
    fn invalid_bytes_are_refused() {
        let before = vectors(&[[1.0, 2.0, 3.0]; 2]);
        let changed = |bytes: &[u8]| Changed::By(bytes.to_vec()).after(&before);
        assert_eq!(changed(&[0; 6]), Some(before.clone()));
        for wrong in [&[0; 5][..], &[0; 7], &[0x80, 1], &[0x81, 1, 2, 3]] {
            assert_eq!(changed(wrong), None, "{wrong:?}");
        }
        // Whatever the bytes are, the result is a number.
        for byte in 0..=255 {
            changed(&[byte; 16]);
        }
    }
}
