//! An instance prepared for the search: items in order of efficiency, with running sums.

use crate::cut::{Cut, by_efficiency};
use crate::items::{Item, Items};

/// The items that are still to be decided, the most valuable for their weight first.
///
/// The sums over the first items answer all questions of the search: taking them in this order until one
/// does not fit is the linear relaxation's solution, and leaving one of them out is the same as having
/// its weight as additional room and its value as debt.
pub struct Problem {
    /// By falling value per weight.
    pub items: Vec<Candidate>,
    /// One for each item with a positive value, the *worthwhile* items: the
    /// relaxation packs no others. A last step, of an item without value that never fits, ends them.
    pub steps: Vec<Step>,
    /// The room that the decided items leave.
    pub room: i64,
    /// The allowance of the cut and the values of the items that are packed for sure.
    pub value: i64,
    /// The profits of the items that are packed for sure.
    pub profit: i64,
    /// Positions of the items that are packed for sure.
    packed: Vec<usize>,
}

/// An item that is still to be decided.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Its weight.
    pub weight: i64,
    /// Its profit less the price of the cut; bounds are computed from values.
    pub value: i64,
    /// Its profit.
    pub profit: i64,
    /// Its position in the file.
    position: usize,
}

/// A worthwhile item as used by the search, in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Step {
    /// The item's weight.
    pub weight: i64,
    /// The item's value.
    pub value: i64,
    /// The weights of the items before this one, added up.
    pub weight_before: i64,
    /// Their values.
    pub value_before: i64,
    /// Their profits.
    pub profit_before: i64,
    /// The room needed for those and this one.
    pub weight_through: i64,
    /// The weight of the lightest item after this one; `i64::MAX` if there is none.
    pub lightest_after: i64,
}

impl Problem {
    /// A problem of all items that fit on their own; those without weight are packed.
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
        // Positions break ties, so that the order, and with it the search, is the same everywhere.
        candidates.sort_unstable_by(|a, b| {
            let efficiency = by_efficiency((a.value, a.weight), (b.value, b.weight));
            efficiency.then(a.position.cmp(&b.position))
        });
        let value = weightless.iter().map(|item| item.value).sum::<i64>() + cut.allowance();
        let profit = weightless.iter().map(|item| item.profit).sum();
        let packed = weightless.iter().map(|item| item.position).collect();
        Self::over(candidates, items.capacity, value, profit, packed)
    }

    /// Removes the items that a packing worth more than `floor` must contain, or cannot contain.
    pub fn reduced(self, floor: i64) -> Self {
        let broken = broken_step(&self.steps, self.room, 0);
        let Step { weight, value, weight_before, value_before, .. } = self.steps[broken];
        let bound_whole = self.value + value_before;
        let rest = self.room - weight_before;
        let mut kept = Vec::new();
        let (mut room, mut base, mut profit, mut packed) = (self.room, self.value, self.profit, self.packed);
        for (nth, item) in self.items.into_iter().enumerate() {
            // The bound with this item's decision reversed, its weight filled or freed at the
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

    /// The number of worthwhile items.
    #[inline(always)]
    pub fn worthwhile(&self) -> usize {
        self.steps.len() - 1
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
        let worthwhile = items.partition_point(|item| item.value > 0);
        let mut lightest = items[worthwhile..].iter().map(|item| item.weight).min().unwrap_or(i64::MAX);
        let mut steps: Vec<Step> = Vec::with_capacity(worthwhile + 1);
        let mut step = Step {
            weight: 1,
            value: 0,
            weight_before: 0,
            value_before: 0,
            profit_before: 0,
            weight_through: 0,
            lightest_after: lightest,
        };
        for &Candidate { weight, value, profit, .. } in &items[..worthwhile] {
            step.weight_through = step.weight_before + weight;
            steps.push(Step { weight, value, ..step });
            step.weight_before += weight;
            step.value_before += value;
            step.profit_before += profit;
        }
        for step in steps.iter_mut().rev() {
            step.lightest_after = lightest;
            lightest = lightest.min(step.weight);
        }
        steps.push(Step { weight_through: i64::MAX, ..step });
        Self { items, steps, room, value, profit, packed }
    }
}

/// The step at which the relaxation ends when `room` is filled in order: the first step whose item
/// does not fit whole. The search goes up from `from`, which must not be beyond it.
#[inline(always)]
pub fn broken_step(steps: &[Step], room: i64, from: usize) -> usize {
    let mut broken = from;
    // Nearly always one of the first two: a turn of a loop costs more than a test.
    loop {
        if steps[broken].weight_through > room {
            return broken;
        }
        if steps[broken + 1].weight_through > room {
            return broken + 1;
        }
        broken += 2;
    }
}
