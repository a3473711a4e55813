//! Large items of a run: results and parameters of jobs, replicas of shared objects.
//!
//! Their contents are derived from the item that they belong to, so that a chunk in a wrong place is detected.

use std::collections::BTreeMap;

use sateen_protocol::Random;

use super::NodeIndex;

/// The large items of a kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sizes {
    /// Maximum number; preferably of nodes near the root, which are stolen.
    pub count: usize,
    /// The smallest, in bytes.
    pub bytes_min: usize,
    /// The largest, in bytes.
    pub bytes_max: usize,
}

/// The large items of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bulk {
    /// Results of jobs.
    pub results: Sizes,
    /// Parameters of jobs.
    pub parameters: Sizes,
    /// Each shared object, in bytes.
    pub object_bytes: usize,
}

impl Sizes {
    /// Draws sizes among `nodes` nodes, by their indexes; equally many of each order of magnitude.
    pub fn draw(&self, nodes: usize, random: &mut Random) -> BTreeMap<NodeIndex, usize> {
        if self.count >= nodes {
            return (0..nodes).map(|index| (index as NodeIndex, self.size(random))).collect();
        }
        let drawn = (0..self.count).map(|_| {
            let index = random.below(nodes);
            ((index * index / nodes) as NodeIndex, self.size(random))
        });
        drawn.collect()
    }

    fn size(&self, random: &mut Random) -> usize {
        let ratio = self.bytes_max as f64 / self.bytes_min.max(1) as f64;
        let part = random.below(1_000) as f64 / 1_000.0;
        (self.bytes_min as f64 * ratio.powf(part)) as usize
    }
}

/// `start`, filled up to `bytes` bytes with contents derived from `word`.
pub fn filled(start: &[u8], word: u64, bytes: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes.max(start.len()));
    all.extend_from_slice(start);
    let mut place = 0;
    while all.len() < bytes {
        let more = (bytes - all.len()).min(8);
        all.extend_from_slice(&(word ^ place).to_le_bytes()[..more]);
        place += 1;
    }
    all
}

/// Whether `rest` has the contents derived from `word`.
pub fn is_filled(rest: &[u8], word: u64) -> bool {
    (rest.chunks(8).zip(0..)).all(|(part, place)| *part == (word ^ place).to_le_bytes()[..part.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_in_a_wrong_place_is_detected() {
        let mut bytes = filled(&[9], 7, 1 + 8 * 5 + 3);
        assert_eq!((bytes.len(), bytes[0]), (44, 9));
        assert!(is_filled(&bytes[1..], 7) && !is_filled(&bytes[1..], 8));
        bytes[1..].rotate_left(8);
        assert!(!is_filled(&bytes[1..], 7));
    }

    #[test]
    fn sizes_stay_within_their_bounds() {
        let sizes = Sizes { count: 20, bytes_min: 100, bytes_max: 10_000 };
        let drawn = sizes.draw(1000, &mut Random::new(3));
        assert!(drawn.values().all(|bytes| (100..=10_000).contains(bytes)), "{drawn:?}");
        assert!(drawn.values().any(|bytes| *bytes < 1_000) && drawn.values().any(|bytes| *bytes > 1_000));
        let equal = Sizes { count: usize::MAX, bytes_min: 6, bytes_max: 6 };
        assert_eq!(equal.draw(3, &mut Random::new(3)), BTreeMap::from([(0, 6), (1, 6), (2, 6)]));
    }
}
