//! The quadratic assignment problem by branch and bound: which facility goes where, so that what flows
//! between each two costs least in all?
//!
//! `parse` and `generate` give an [`Instance`]; `matching` solves the linear assignment problem;
//! `search` bounds and branches. A job is an assignment of some facilities. It spawns all ways to
//! locate one more and syncs the most promising first.
//!
//! Of equally cheap assignments the first in lexicographic order is the answer, so it is the same bytes
//! whoever finds which one when.

mod generate;
mod instance;
mod matching;
mod parse;
mod search;

use std::cell::RefCell;
use std::rc::Rc;

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

pub use generate::generate;
pub use instance::{Assignment, ENTRY_MAX, Instance, SIZE_MAX};
pub use parse::parse;
use search::{Child, Known, OPEN, Partial, Search};

/// With so few facilities open the search does not spawn. A bound is microseconds of work, so a job may
/// well be one bound.
const PLAIN_OPEN: usize = 4;

/// The cheapest assignment for the input `dat`, or for `generated` facilities made from `seed`, 1 unless
/// given.
///
/// # Errors
/// When the input is missing or is no QAPLIB instance, or too many facilities are asked for.
#[main]
pub fn main(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    let source = Source::new(generated, seed)?;
    let instance = source.instance()?;
    Ok(below(source, vec![OPEN; instance.size], opening(&instance), true).best.to_string())
}

/// The same without spawns: what the spawning version is measured against.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(generated: Option<u64>, seed: Option<u64>) -> Result<String, BadInput> {
    Ok(solve_plain(&*Source::new(generated, seed)?.instance()?).to_string())
}

/// How many bounds were computed, by jobs that know the best assignment when they are spawned and hear
/// of none found since: what sharing it is measured against.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn unshared(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    let source = Source::new(generated, seed)?;
    let instance = source.instance()?;
    Ok(below(source, vec![OPEN; instance.size], opening(&instance), false).nodes)
}

/// The cheapest assignment, found without spawns.
pub fn solve_plain(instance: &Instance) -> Assignment {
    let mut search = Search::new(instance, opening(instance));
    search.run(&mut vec![OPEN; instance.size]);
    search.known
}

/// What is known before the search: each facility where it has the same number.
fn opening(instance: &Instance) -> Assignment {
    Assignment::of(instance, (0..instance.size as u8).collect())
}

/// What a job found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    /// The best of the assignment known to the job and those that its own can become.
    best: Assignment,
    /// Bounds that were computed.
    nodes: u64,
}

/// The best of `best` and all that `partial` can become. If `respawns`, jobs are spawned anew when
/// something better is found before they are synced.
#[job]
fn below(source: Source, partial: Partial, best: Assignment, respawns: bool) -> Found {
    // The root job has read the same input, and has returned if it could not.
    let instance = source.instance().expect("the input was read before");
    let mut search = Search::new(&instance, best);
    if partial.iter().filter(|place| **place == OPEN).count() <= PLAIN_OPEN {
        let mut partial = partial;
        search.run(&mut partial);
        return Found { best: search.known, nodes: search.nodes };
    }
    let mut children = search.children(&partial);
    // The last spawned is synced first.
    children.reverse();
    let spawn = |children: &[Child], best: &Assignment| -> Vec<Spawned<_>> {
        let to = |child: &Child| below::spawn(source, with(&partial, child), best.clone(), respawns);
        children.iter().map(to).collect()
    };
    if !respawns && let Some(first) = children.pop() {
        // The others are to know at least what the most promising one has found.
        for job in spawn(&[first], &search.known) {
            let found = job.sync();
            search.nodes += found.nodes;
            search.known.offer(found.best);
        }
        children.retain(|child| search.is_open(child.0, &with(&partial, child)));
    }
    let mut waiting = spawn(&children, &search.known);
    while let Some(next) = waiting.pop() {
        children.pop();
        let found = next.sync();
        search.nodes += found.nodes;
        if found.best < search.known {
            search.known.offer(found.best);
            if respawns {
                children.retain(|child| search.is_open(child.0, &with(&partial, child)));
                waiting.clear();
                waiting = spawn(&children, &search.known);
            }
        }
    }
    Found { best: search.known, nodes: search.nodes }
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

    /// The instance: made once in each sandbox.
    fn instance(self) -> Result<Rc<Instance>, BadInput> {
        thread_local! {
            static LAST: RefCell<Option<(Source, Rc<Instance>)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some((source, instance)) if *source == self => Ok(Rc::clone(instance)),
            _ => {
                let instance = Rc::new(match self {
                    Self::Input { .. } => parse(&sateen::input_text("dat")?)?,
                    Self::Generated { size, seed } => generate(size, seed),
                });
                *last = Some((self, Rc::clone(&instance)));
                Ok(instance)
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
