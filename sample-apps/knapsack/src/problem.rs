//! An instance made ready for the search: items in order of efficiency, with running sums.

use crate::cut::{Cut, by_efficiency};
use crate::items::{Item, Items};

/// The items that are yet to be decided, the most valuable for their weight first.
///
/// All that the search asks is in the sums over the first k items: taking them in this order until
/// one does not fit is the linear relaxation's solution, and leaving one of them out is the same as
/// having its weight as further room and its value as debt.
pub struct Problem {
    /// By falling value a weight.
    pub items: Vec<Candidate>,
    /// `sums[k]`: of the first k items, for each k up to the number of items.
    pub sums: Vec<Sums>,
    /// The first items, as many as have a value above nothing: the relaxation packs no others.
    pub worthwhile: usize,
    /// The room that the decided items leave.
    pub room: i64,
    /// The allowance of the cut and the values of the items that are packed for sure.
    pub value: i64,
    /// The profits of the items that are packed for sure.
    pub profit: i64,
    /// Positions of the items that are packed for sure.
    packed: Vec<usize>,
}

/// An item that is yet to be decided.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// What it takes of the room.
    pub weight: i64,
    /// Its profit less the price of the cut; what bounds are made of.
    pub value: i64,
    /// What it is worth.
    pub profit: i64,
    /// Where it is in the file.
    position: usize,
}

/// Sums over the first items, and what is known of the others.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    /// Of their weights.
    pub weight: i64,
    /// Of their values.
    pub value: i64,
    /// Of their profits.
    pub profit: i64,
    /// The weight of the lightest of the *other* items, which is `i64::MAX` when there are none.
    pub lightest_after: i64,
}

impl Problem {
    /// All items that fit on their own; those without weight are packed.
    pub fn new(items: &Items, cut: Cut) -> Self {
        let candidate = |(position, &item): (usize, &Item)| Candidate {
            weight: item.weight,
            value: cut.value(item),
            profit: item.profit,
            position,
        };
        let fitting = (items.items.iter().enumerate()).filter(|(_, item)| item.weight <= items.capacity);
        let (weightless, mut candidates): (Vec<_>, Vec<_>) =
            fitting.map(candidate).partition(|item| item.weight == 0);
        // Positions last, so that the order, and with it the search, is one and the same everywhere.
        candidates.sort_unstable_by(|a, b| {
            let efficiency = by_efficiency((a.value, a.weight), (b.value, b.weight));
            efficiency.then(a.position.cmp(&b.position))
        });
        let value = weightless.iter().map(|item| item.value).sum::<i64>() + cut.allowance();
        let profit = weightless.iter().map(|item| item.profit).sum();
        let packed = weightless.iter().map(|item| item.position).collect();
        Self::over(candidates, items.capacity, value, profit, packed)
    }

    /// Without the items that a packing worth more than `floor` must hold, or cannot hold.
    pub fn reduced(self, floor: i64) -> Self {
        let broken = self.broken(self.room, 0);
        let bound_whole = self.value + self.sums[broken].value;
        let rest = self.room - self.sums[broken].weight;
        let (value, weight) = self.efficiency(broken);
        let mut kept = Vec::new();
        let (mut room, mut base, mut profit, mut packed) = (self.room, self.value, self.profit, self.packed);
        for (nth, item) in self.items.into_iter().enumerate() {
            // The bound with this item's decision turned round, its weight filled or freed at the
            // efficiency of the item that the relaxation breaks.
            let taken_in = nth < broken;
            let (turned, room_turned) = if taken_in {
                (bound_whole - item.value, rest + item.weight)
            } else {
                (bound_whole + item.value, rest - item.weight)
            };
            let filled = i128::from(room_turned) * i128::from(value);
            if i128::from(turned - floor - 1) * i128::from(weight) + filled >= 0 {
                kept.push(item);
            } else if taken_in {
                room -= item.weight;
                base += item.value;
                profit += item.profit;
                packed.push(item.position);
            }
        }
        Self::over(kept, room, base, profit, packed)
    }

    /// The item that the relaxation breaks when `room` is filled in order: the first that does not
    /// fit whole, or [`worthwhile`](Self::worthwhile) when all that are worth it do. The search goes
    /// up from `from`, which must not be beyond it.
    #[inline]
    pub fn broken(&self, room: i64, from: usize) -> usize {
        let mut broken = from;
        while broken < self.worthwhile && self.sums[broken + 1].weight <= room {
            broken += 1;
        }
        broken
    }

    /// Value and weight of an item that fills the room left before item `broken`.
    #[inline]
    pub fn efficiency(&self, broken: usize) -> (i64, i64) {
        if broken < self.worthwhile {
            let item = &self.items[broken];
            (item.value, item.weight)
        } else {
            (0, 1)
        }
    }

    /// Positions in the file, ascending, of all that is packed when the first `prefix` items are,
    /// except that those in `turned` are decided the other way.
    pub fn chosen(&self, prefix: usize, turned: &[u32]) -> Vec<usize> {
        let mut is_packed: Vec<bool> = (0..self.items.len()).map(|nth| nth < prefix).collect();
        for &nth in turned {
            is_packed[nth as usize] ^= true;
        }
        let undecided = self.items.iter().zip(is_packed).filter(|(_, is_packed)| *is_packed);
        let mut chosen: Vec<usize> =
            undecided.map(|(item, _)| item.position).chain(self.packed.iter().copied()).collect();
        chosen.sort_unstable();
        chosen
    }

    fn over(items: Vec<Candidate>, room: i64, value: i64, profit: i64, packed: Vec<usize>) -> Self {
        let mut sum = Sums { weight: 0, value: 0, profit: 0, lightest_after: i64::MAX };
        let mut sums = vec![sum];
        let mut lightest = i64::MAX;
        for item in &items {
            sum.weight += item.weight;
            sum.value += item.value;
            sum.profit += item.profit;
            sums.push(sum);
        }
        for (sum, item) in sums.iter_mut().rev().skip(1).zip(items.iter().rev()) {
            lightest = item.weight.min(lightest);
            sum.lightest_after = lightest;
        }
        let worthwhile = items.partition_point(|item| item.value > 0);
        Self { items, sums, worthwhile, room, value, profit, packed }
    }
}
