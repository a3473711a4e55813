//! The quadratic assignment problem by branch and bound: at which location should each facility be, so that
//! the flows between them cost least?
//!
//! `parse` and `generate` return an [`Instance`]; `bound` bounds partial assignments, for which `matching` solves
//! linear assignment problems; `search` branches. A job is an assignment of some facilities. It spawns all ways to
//! locate one more and syncs the most promising first. `incumbent` is the best assignment so far, a shared
//! object: an assignment found by one job lets all others prune more.
//!
//! Of equally cheap assignments, the first in lexicographic order is the answer, so its bytes are the same
//! whichever host finds which assignment when.

mod bound;
mod generate;
mod incumbent;
mod instance;
mod matching;
mod opening;
mod parse;
mod search;

use std::cell::Cell;
use std::collections::VecDeque;

use bound::Problem;
use sateen::Job;
use sateen::prelude::*;
use serde::{Deserialize, Serialize};

pub use generate::generate;
use incumbent::Incumbent;
pub use instance::{Assignment, ENTRY_MAX, Instance, SIZE_MAX};
pub use parse::parse;
use search::{Child, Known, OPEN, Partial, Search};

/// With at most this many open facilities, the search does not spawn: only some bounds are left, of microseconds each.
const PLAIN_OPEN: usize = 9;

/// The cheapest assignment for the input `dat`, or for `generated` facilities made from `seed`, 1 by
/// default.
///
/// # Errors
/// When the input is missing or is not a QAPLIB instance, or too many facilities are requested.
#[main]
pub fn main(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    Ok(search(Source::new(generated, seed)?, Opening::Improved)?.best.to_string())
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    Ok(solve(Source::new(generated, seed)?.problem()?).to_string())
}

/// The number of bounds computed with the best assignment shared. This search and the two below begin
/// with a poor assignment, so that there is something to share.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn nodes(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    Ok(search(Source::new(generated, seed)?, Opening::SameNumbers)?.nodes)
}

/// The number of bounds computed by jobs that are all spawned at once and know only the best assignment of that
/// moment: the baseline for sharing.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn unshared(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    let source = Source::new(generated, seed)?;
    let problem = source.problem()?;
    let poor = Opening::SameNumbers.assignment(&problem.instance);
    Ok(below_alone(source, vec![OPEN; problem.instance.size], poor, false).nodes)
}

/// The same, with the most promising job done before the others are spawned, so that they know its
/// result: less is searched, with less parallelism.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn in_turn(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    let source = Source::new(generated, seed)?;
    let problem = source.problem()?;
    let poor = Opening::SameNumbers.assignment(&problem.instance);
    Ok(below_alone(source, vec![OPEN; problem.instance.size], poor, true).nodes)
}

/// The whole search, with spawns and a shared assignment.
fn search(source: Source, opening: Opening) -> Result<Found, BadInput> {
    let problem = source.problem()?;
    let incumbent = Shared::new(Incumbent::new(opening.assignment(&problem.instance)));
    Ok(below(source, vec![OPEN; problem.instance.size], incumbent))
}

/// The cheapest assignment, found without spawns.
pub fn solve_plain(instance: &Instance) -> Assignment {
    solve(&Problem::new(instance.clone()))
}

fn solve(problem: &Problem) -> Assignment {
    let mut search = Search::new(problem, Opening::Improved.assignment(&problem.instance));
    search.run(&mut vec![OPEN; problem.instance.size]);
    search.known
}

/// The assignment that a search begins with.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// Facility i at location i.
    SameNumbers,
    /// The best assignment that is quickly found.
    Improved,
}

impl Opening {
    fn assignment(self, instance: &Instance) -> Assignment {
        let improved = || opening::improved(instance);
        let found = matches!(self, Self::Improved).then(improved).flatten();
        found.unwrap_or_else(|| opening::same_numbers(instance))
    }
}

/// A job's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    /// The best assignment that the job knows of.
    best: Assignment,
    /// The number of bounds computed.
    nodes: u64,
}

/// The best of all completions of `partial`, and of the assignments known until it was found.
#[job]
fn below(source: Source, partial: Partial, incumbent: Shared<Incumbent>) -> Found {
    divide(source, partial, incumbent, false, |partial, incumbent| {
        below::spawn(source, partial, incumbent.clone())
    })
}

/// The same, knowing only `best`. With `in_turn`, the most promising is done before the others are spawned.
#[job]
fn below_alone(source: Source, partial: Partial, best: Assignment, in_turn: bool) -> Found {
    divide(source, partial, best, in_turn, |partial, best| {
        below_alone::spawn(source, partial, best.clone(), in_turn)
    })
}

/// Spawns jobs for all ways to locate one more facility and combines their results.
///
/// The result is at least as good as any assignment that has pruned a branch: so nothing is lost
/// if the only host that knew an assignment is lost together with the update that announced it.
fn divide<K: Known, J: Job<Output = Found>>(
    source: Source,
    mut partial: Partial,
    known: K,
    in_turn: bool,
    spawn: impl Fn(Partial, &K) -> Spawned<J>,
) -> Found {
    // The root job has read the same input, and returned if that failed.
    let problem = source.problem().expect("the input was read before");
    let mut search = Search::new(problem, known);
    if partial.iter().filter(|place| **place == OPEN).count() <= PLAIN_OPEN {
        search.run(&mut partial);
        return Found { best: search.known.assignment(), nodes: search.nodes };
    }
    let mut children = VecDeque::from(search.children(&partial));
    if in_turn && let Some(first) = children.pop_front() {
        // The others should know at least the result of the most promising job.
        let found = spawn(with(&partial, &first), &search.known).sync();
        search.nodes += found.nodes;
        search.known.offer(found.best);
        children.retain(|child| search.is_open(child.0, &with(&partial, child)));
    }
    // The most promising job runs here first, and thieves take the next ones: they begin with the oldest.
    let waiting: Vec<_> =
        children.into_iter().map(|child| (child, spawn(with(&partial, &child), &search.known))).collect();
    for ((bound, facility, location), job) in waiting {
        let place = usize::from(facility);
        partial[place] = location;
        // Jobs that have become hopeless are dropped, which aborts them.
        if search.is_open(bound, &partial) {
            let found = job.sync();
            search.nodes += found.nodes;
            search.known.offer(found.best);
        }
        partial[place] = OPEN;
    }
    Found { best: search.known.assignment(), nodes: search.nodes }
}

/// `partial` with one more facility located.
fn with(partial: &[u8], (_, facility, location): &Child) -> Partial {
    let mut partial = partial.to_vec();
    partial[usize::from(*facility)] = *location;
    partial
}

/// Where the matrices come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    /// The input `dat`.
    Input,
    /// See [`generate()`].
    Generated { size: usize, seed: u64 },
}

impl Source {
    fn new(generated: Option<u64>, seed: Option<u64>) -> Result<Self, BadInput> {
        let Some(size) = generated else {
            return Ok(Self::Input);
        };
        match usize::try_from(size) {
            Ok(size @ 1..=SIZE_MAX) => Ok(Self::Generated { size, seed: seed.unwrap_or(1) }),
            _ => Err(BadInput(format!("{size} facilities cannot be generated, but 1 to {SIZE_MAX} can"))),
        }
    }

    /// The problem. That of the input is prepared on each host; a generated one is made once in each sandbox.
    fn problem(self) -> Result<&'static Problem, BadInput> {
        thread_local! {
            static LAST: Cell<Option<(usize, u64, &'static Problem)>> = const { Cell::new(None) };
        }
        let Self::Generated { size, seed } = self else { return given() };
        let known = LAST.get().filter(|(known, from, _)| (*known, *from) == (size, seed));
        let (.., problem) = known.unwrap_or_else(|| {
            let problem = sateen::per_sandbox(&self, || Problem::new(generate(size, seed)));
            (size, seed, Box::leak(Box::new(problem)))
        });
        LAST.set(Some((size, seed, problem)));
        Ok(problem)
    }
}

/// The problem of the input.
#[prepare]
fn given() -> Result<Problem, BadInput> {
    Ok(Problem::new(parse(&sateen::input_text("dat")?)?))
}
