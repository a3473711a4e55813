//! The 0-1 knapsack problem by branch and bound: which items give the most profit within a capacity?
//!
//! `parse` and `generate` return [`Items`]; `cut` prices an inequality that tightens all bounds;
//! `problem` sorts the items and drops those that are decided already; `opening` finds a packing to
//! begin with; `search` proves that it is the best, or finds a better one.
//!
//! A job searches a part of the tree for a while. If that was not enough, it divides the rest
//! into as many parts as there are open nodes between the root of its part and the point where it stopped, and
//! spawns them. So there are few jobs, none is small unless it ends the work, and the unknown
//! sizes of parts do not matter.
//!
//! Jobs do not share the best profit found: each receives the best that is known when it is spawned.
//! When a part finds a better packing, the parts after it are aborted and spawned again with the
//! better bound. So every part is searched with the bound that it would have without spawns, and
//! the result, and with one worker every visited node, is the same. Because of the good opening this
//! is rare.

mod cut;
mod generate;
mod items;
mod opening;
mod parse;
mod problem;
mod search;

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

pub use generate::generate;
pub use items::{Item, Items, NUMBER_MAX, Solution};
pub use parse::parse;
use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use cut::Cut;
use opening::Packing;
use problem::Problem;
use search::{Part, Search};

/// Steps that a job searches before it spawns the rest: half a millisecond of work, less than
/// the time after which an idle worker gets a job, and a thousand times the cost of dividing. In unit
/// tests so few that small instances are divided many times.
const PLAIN_STEPS: u64 = if cfg!(test) { 40 } else { 60_000 };

/// Maximum items that are generated.
const GENERATED_MAX: u64 = 100_000;

/// The optimum and the items that reach it, of the input `items`, or of `generated` items made from
/// `seed`, 1 unless given.
///
/// # Errors
/// When the input is missing or is not a knapsack instance, or too many items are requested.
#[main]
pub fn main(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    let source = Source::new(generated, seed)?;
    let items = source.items()?;
    let opening = Opening::of(&items);
    let plan = Plan { source, cut: opening.cut, floor: opening.solution.profit };
    let whole = Part::whole(&plan.problem());
    let better = best_in(plan, whole, plan.floor);
    Ok(better.unwrap_or(opening.solution).to_string())
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    let items = Source::new(generated, seed)?.items()?;
    Ok(solve_plain(&items).to_string())
}

/// The best choice of `items`, found without spawns.
pub fn solve_plain(items: &Items) -> Solution {
    let opening = Opening::of(items);
    let floor = opening.solution.profit;
    let problem = Problem::new(items, opening.cut).reduced(floor);
    let mut search = Search::new(&problem, Part::whole(&problem), floor);
    search.run(u64::MAX);
    search.best().map_or(opening.solution, |packing| solution(&problem, &packing))
}

/// The best packing in `part` that is worth more than `floor`, if there is any.
#[job]
fn best_in(plan: Plan, part: Part, floor: i64) -> Option<Solution> {
    let problem = plan.problem();
    let mut search = Search::new(&problem, part, floor);
    search.run(PLAIN_STEPS);
    let mut best = search.best().map(|packing| solution(&problem, &packing));
    let mut floor = search.floor();
    let mut parts = search.into_parts();
    drop(problem);

    // The largest part waits longest; the next part in depth-first order is synced first.
    let spawn = |parts: &[Part], floor| -> Vec<Spawned<_>> {
        parts.iter().map(|part| best_in::spawn(plan, part.clone(), floor)).collect()
    };
    let mut waiting = spawn(&parts, floor);
    while let Some(next) = waiting.pop() {
        parts.pop();
        let Some(better) = next.sync() else { continue };
        floor = better.profit;
        best = Some(better);
        waiting.clear();
        waiting = spawn(&parts, floor);
    }
    best
}

/// Where the items come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    /// The input `items`. The digest identifies its content, for the problem kept in the sandbox.
    Input { digest: u64 },
    /// See [`generate()`].
    Generated { count: usize, seed: u64 },
}

impl Source {
    fn new(generated: Option<u64>, seed: Option<u64>) -> Result<Self, BadInput> {
        let Some(count) = generated else {
            return Ok(Self::Input { digest: digest(&sateen::input("items")?) });
        };
        match usize::try_from(count) {
            Ok(items) if count <= GENERATED_MAX => {
                Ok(Self::Generated { count: items, seed: seed.unwrap_or(1) })
            }
            _ => Err(BadInput(format!(
                "{count} items are too many to generate; at most {GENERATED_MAX} are allowed"
            ))),
        }
    }

    fn items(self) -> Result<Cow<'static, Items>, BadInput> {
        match self {
            Self::Input { .. } => Ok(Cow::Borrowed(given()?)),
            Self::Generated { count, seed } => Ok(Cow::Owned(generate(count, seed))),
        }
    }
}

/// The items of the input.
#[prepare]
fn given() -> Result<Items, BadInput> {
    parse(&sateen::input_text("items")?)
}

/// Everything that a job needs to reconstruct the same problem as every other job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Plan {
    source: Source,
    cut: Cut,
    /// The profit of the opening. Items that every better packing must contain, or cannot contain, are left out.
    floor: i64,
}

impl Plan {
    /// The problem: made once in each sandbox, from the input, which every sandbox can read.
    fn problem(self) -> Rc<Problem> {
        thread_local! {
            static LAST: RefCell<Option<(Plan, Rc<Problem>)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some((plan, problem)) if *plan == self => Rc::clone(problem),
            _ => {
                let problem = Rc::new(sateen::per_sandbox(&self, || {
                    // The root job has read the same input, and returned if that failed.
                    let items = self.source.items().expect("the input was read before");
                    Problem::new(&items, self.cut).reduced(self.floor)
                }));
                *last = Some((self, Rc::clone(&problem)));
                problem
            }
        })
    }
}

/// The preparation of a search.
struct Opening {
    cut: Cut,
    solution: Solution,
}

impl Opening {
    fn of(items: &Items) -> Self {
        let cut = Cut::best_for(items);
        let problem = Problem::new(items, cut);
        let packing = opening::open(&problem);
        Self { cut, solution: solution(&problem, &packing) }
    }
}

fn solution(problem: &Problem, packing: &Packing) -> Solution {
    Solution { profit: packing.profit, chosen: problem.chosen(packing.prefix, &packing.turned) }
}

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use problem::broken_step;

    #[test]
    fn parts_that_find_better_packings_change_nothing_but_the_bound() {
        for seed in 0..20 {
            let source = Source::Generated { count: 30, seed };
            let items = source.items().expect("30 items can be generated");
            // Without a good opening, the search finds better packings repeatedly.
            let plan = Plan { source, cut: Cut::best_for(&items), floor: 0 };
            let problem = plan.problem();
            let broken = broken_step(&problem.steps, problem.room, 0);
            let floor = problem.profit + problem.steps[broken].profit_before;
            let whole = Part::whole(&problem);
            let mut search = Search::new(&problem, whole.clone(), floor);
            search.run(u64::MAX);
            let expected = search.best().map(|packing| solution(&problem, &packing));
            let found = best_in(plan, whole, floor);
            assert_eq!(found, expected, "seed {seed}");
            let optimum = found.map_or(floor, |solution| solution.profit);
            assert_eq!(optimum, solve_plain(&items).profit, "seed {seed}");
        }
    }
}
