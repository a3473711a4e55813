//! A good packing to begin with: dynamic programming over the core, cut to the best few states.

use crate::problem::{Problem, broken_step};

/// States kept per stage. More states find better packings, but the opening runs on one worker: with these numbers
/// it takes a few milliseconds.
const STATES_MAX: usize = 512;

/// Items decided: those around the item that the relaxation breaks. The others stay as in the
/// relaxation.
const STAGES_MAX: usize = 256;

/// A packing, as the first `prefix` items of a problem, except that those in `turned` are decided
/// the other way.
pub struct Packing {
    /// Its profit.
    pub profit: i64,
    /// The first items, which are packed unless turned.
    pub prefix: usize,
    /// The items that are turned.
    pub turned: Vec<u32>,
}

/// A packing that is the optimum more often than not.
///
/// It starts from the relaxation's whole items and decides more and more of their neighbours, as
/// Pisinger's `minknap` does (Operations Research 45, 1997), keeping the states with the highest
/// bounds. So it proves nothing; but the search that starts from its profit visits about the same
/// nodes however it is divided.
pub fn open(problem: &Problem) -> Packing {
    let broken = broken_step(&problem.steps, problem.room, 0);
    let start = problem.steps[broken];
    let mut turns = Turns { turns: Vec::new() };
    let mut states = vec![State {
        weight: start.weight_before,
        value: problem.value + start.value_before,
        profit: problem.profit + start.profit_before,
        turn: Turns::NONE,
    }];
    let mut best = states[0];
    // The items `low..high` are decided.
    let (mut low, mut high) = (broken, broken);
    for stage in 0..STAGES_MAX {
        let takes_in = if high == problem.items.len() { false } else { low == 0 || stage % 2 == 0 };
        let nth = if takes_in {
            high += 1;
            high - 1
        } else if low > 0 {
            low -= 1;
            low
        } else {
            break;
        };
        states = merged(&states, &turned(&states, problem, nth, takes_in, &mut turns));
        for state in &states {
            if state.weight <= problem.room && state.profit > best.profit {
                best = *state;
            }
        }
        keep_the_best(&mut states, problem, low, high, best.profit);
    }
    Packing { profit: best.profit, prefix: broken, turned: turns.back_from(best.turn) }
}

/// A state with some items decided.
#[derive(Clone, Copy)]
struct State {
    weight: i64,
    value: i64,
    profit: i64,
    /// The last item that was turned, as a place in [`Turns`].
    turn: u32,
}

/// Which items each state has turned: lists that share their tails.
struct Turns {
    /// The item, and the place of the turn before.
    turns: Vec<(u32, u32)>,
}

impl Turns {
    const NONE: u32 = u32::MAX;

    // Both fit: at most STAGES_MAX × STATES_MAX turns are made, and there are 10⁶ items at most.
    #[allow(clippy::cast_possible_truncation)]
    fn add(&mut self, nth: usize, before: u32) -> u32 {
        self.turns.push((nth as u32, before));
        (self.turns.len() - 1) as u32
    }

    fn back_from(&self, mut turn: u32) -> Vec<u32> {
        let mut items = Vec::new();
        while turn != Self::NONE {
            let (item, before) = self.turns[turn as usize];
            items.push(item);
            turn = before;
        }
        items
    }
}

/// The states with the item `nth` decided the other way: added, or left out.
fn turned(states: &[State], problem: &Problem, nth: usize, takes_in: bool, turns: &mut Turns) -> Vec<State> {
    let item = problem.items[nth];
    let sign = if takes_in { 1 } else { -1 };
    let turn = |state: &State| State {
        weight: state.weight + sign * item.weight,
        value: state.value + sign * item.value,
        profit: state.profit + sign * item.profit,
        turn: turns.add(nth, state.turn),
    };
    states.iter().map(turn).collect()
}

/// Merges both lists by rising weight, without states for which a lighter one is worth as much.
fn merged(a: &[State], b: &[State]) -> Vec<State> {
    let mut merged: Vec<State> = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let a_is_next = match (a.peek(), b.peek()) {
            (Some(a), Some(b)) => (a.weight, b.profit) <= (b.weight, a.profit),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return merged,
        };
        let next = if a_is_next { a.next() } else { b.next() };
        merged.extend(next.filter(|next| merged.last().is_none_or(|last| last.profit < next.profit)));
    }
}

/// Keeps the states with bounds above `floor`, and of those the ones with the highest bounds.
fn keep_the_best(states: &mut Vec<State>, problem: &Problem, low: usize, high: usize, floor: i64) {
    // Items that are packed beyond the decided ones, and items that may be removed before them.
    let end = problem.steps[high.min(problem.worthwhile())];
    let above = (end.value, end.weight);
    let below = match low.checked_sub(1) {
        Some(nth) => (problem.items[nth].value, problem.items[nth].weight),
        None => (i64::from(i32::MAX), 1),
    };
    let bound = |state: &State| {
        let room = problem.room - state.weight;
        let (value, weight) = if room >= 0 { above } else { below };
        i128::from(state.value) + (i128::from(room) * i128::from(value)).div_euclid(i128::from(weight))
    };
    let mut bounds: Vec<i128> = states.iter().map(bound).collect();
    let mut least = i128::from(floor) + 1;
    if bounds.len() > STATES_MAX {
        let (_, nth, _) = bounds.select_nth_unstable_by(STATES_MAX - 1, |a, b| b.cmp(a));
        least = least.max(*nth);
    }
    states.retain(|state| bound(state) >= least);
    states.truncate(2 * STATES_MAX);
}
