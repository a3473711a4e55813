//! The quadratic assignment problem by branch and bound: which facility goes where, so that what flows
//! between each two costs least in all?
//!
//! `parse` and `generate` give an [`Instance`]; `bound` bounds partial assignments, for which `matching` solves
//! linear assignment problems; `search` branches. A job is an assignment of some facilities. It spawns all ways to
//! locate one more and syncs the most promising first. `incumbent` is the best assignment so far, a shared
//! object: what one job finds makes all others give up more.
//!
//! Of equally cheap assignments the first in lexicographic order is the answer, so it is the same bytes
//! whoever finds which one when.

mod bound;
mod generate;
mod incumbent;
mod instance;
mod matching;
mod opening;
mod parse;
mod search;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use bound::Problem;
use sateen::Job;
use sateen::prelude::*;
use serde::{Deserialize, Serialize};

pub use generate::generate;
use incumbent::Incumbent;
pub use instance::{Assignment, ENTRY_MAX, Instance, SIZE_MAX};
pub use parse::parse;
use search::{Child, Known, OPEN, Partial, Search};

/// With so few facilities open the search does not spawn: what is left of it is some bounds, of microseconds each.
const PLAIN_OPEN: usize = 9;

/// The cheapest assignment for the input `dat`, or for `generated` facilities made from `seed`, 1 unless
/// given.
///
/// # Errors
/// When the input is missing or is no QAPLIB instance, or too many facilities are asked for.
#[main]
pub fn main(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    Ok(search(Source::new(generated, seed)?, Opening::Improved)?.best.to_string())
}

/// The same without spawns: what the spawning version is measured against.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    Ok(solve(&*Source::new(generated, seed)?.problem()?).to_string())
}

/// How many bounds are computed with the best assignment shared. This search and those that it is set against begin
/// with a poor assignment, so that there is something to share.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn nodes(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    Ok(search(Source::new(generated, seed)?, Opening::SameNumbers)?.nodes)
}

/// How many bounds are computed by jobs that know the best assignment when they are spawned, all at once, and
/// hear of none found since: what sharing it is measured against.
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

/// The same where the most promising job is done before the others are spawned, which so know what it has
/// found: less is searched, and less at once.
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

/// How good the assignment is that a search begins with.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// Each facility where it has the same number.
    SameNumbers,
    /// The best that can be had in a moment.
    Improved,
}

impl Opening {
    fn assignment(self, instance: &Instance) -> Assignment {
        let improved = || opening::improved(instance);
        let found = matches!(self, Self::Improved).then(improved).flatten();
        found.unwrap_or_else(|| opening::same_numbers(instance))
    }
}

/// What a job found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    /// The best assignment that the job knows of.
    best: Assignment,
    /// Bounds that were computed.
    nodes: u64,
}

/// The best of all that `partial` can become, and of those that were known until it was found.
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

/// Spawns jobs for all ways to locate one more facility and takes together what they find.
///
/// What is returned is at least as good as whatever has closed the search anywhere: then nothing is lost
/// when the only host that knew of an assignment is, and the update that told others with it.
fn divide<K: Known, J: Job<Output = Found>>(
    source: Source,
    mut partial: Partial,
    known: K,
    in_turn: bool,
    spawn: impl Fn(Partial, &K) -> Spawned<J>,
) -> Found {
    // The root job has read the same input, and has returned if it could not.
    let problem = source.problem().expect("the input was read before");
    let mut search = Search::new(&problem, known);
    if partial.iter().filter(|place| **place == OPEN).count() <= PLAIN_OPEN {
        search.run(&mut partial);
        return Found { best: search.known.assignment(), nodes: search.nodes };
    }
    let mut children = VecDeque::from(search.children(&partial));
    if in_turn && let Some(first) = children.pop_front() {
        // The others are to know at least what the most promising one has found.
        let found = spawn(with(&partial, &first), &search.known).sync();
        search.nodes += found.nodes;
        search.known.offer(found.best);
        children.retain(|child| search.is_open(child.0, &with(&partial, child)));
    }
    // The most promising one goes first here, and others take the next: thieves begin with the oldest.
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
    /// The input `dat`. The digest tells one content from another, for what is kept of it.
    Input { digest: u64 },
    /// See [`generate()`].
    Generated { size: usize, seed: u64 },
}

impl Source {
    fn new(generated: Option<u64>, seed: Option<u64>) -> Result<Self, BadInput> {
        let Some(size) = generated else {
            return Ok(Self::Input { digest: digest(&sateen::input("dat")?) });
        };
        match usize::try_from(size) {
            Ok(size @ 1..=SIZE_MAX) => Ok(Self::Generated { size, seed: seed.unwrap_or(1) }),
            _ => Err(BadInput(format!("{size} facilities cannot be generated, but 1 to {SIZE_MAX} can"))),
        }
    }

    /// The problem: made once in each sandbox.
    fn problem(self) -> Result<Rc<Problem>, BadInput> {
        thread_local! {
            static LAST: RefCell<Option<(Source, Rc<Problem>)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some((source, problem)) if *source == self => Ok(Rc::clone(problem)),
            _ => {
                let problem = sateen::per_sandbox(&self, || {
                    Ok::<_, BadInput>(Problem::new(match self {
                        Self::Input { .. } => parse(&sateen::input_text("dat")?)?,
                        Self::Generated { size, seed } => generate(size, seed),
                    }))
                });
                let problem = Rc::new(problem?);
                *last = Some((self, Rc::clone(&problem)));
                Ok(problem)
            }
        })
    }
}

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
