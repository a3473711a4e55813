//! The travelling salesman's problem by branch and bound: which tour through all cities is the shortest?
//!
//! `parse` and `generate` make the [`Ways`] between cities; `problem` prices the cities so that shortest
//! trees bound tours well; `search` extends paths from the first city. A job is a path. It spawns
//! every city that may come next and syncs the most promising first. `incumbent` is the best tour so far,
//! a shared object: a tour found by one job lets all others prune more.
//!
//! Of equally long tours, the first in lexicographic order is the answer, so its bytes are the same
//! whichever host finds which tour when.

mod generate;
mod given;
mod incumbent;
mod lines;
mod opening;
mod parse;
mod problem;
mod search;
mod tour;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use sateen::Job;
use sateen::prelude::*;
use serde::{Deserialize, Serialize};

pub use generate::generate;
pub use given::parse_tour;
use incumbent::Incumbent;
pub use parse::parse;
use problem::Problem;
use search::{Known, Search};
pub use tour::{CITIES_MAX, Tour, WAY_MAX, Ways};

/// Paths that leave at most this many cities are searched without spawning. Each possible next city costs a
/// shortest tree, so even hopeless paths are microseconds of work.
const PLAIN_CITIES: usize = 7;

/// The shortest tour of the input `tsp`, or of `generated` cities made from `seed`, 1 by default. The search
/// begins with the tour of the input `tour`, if it exists and is good.
///
/// # Errors
/// When the input is missing or is not a TSPLIB instance, the tour is invalid, or too many cities are requested.
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
    let ways = Source::new(generated, seed)?.ways()?;
    Ok(solve_plain(&ways, given(&ways)?).to_string())
}

/// The number of paths extended with the best tour shared. This search and the two below begin with a
/// poor tour, so that there is something to share.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn nodes(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    Ok(search(Source::new(generated, seed)?, Opening::Nearest)?.nodes)
}

/// The number of paths extended by jobs that are all spawned at once and know only the best tour of that
/// moment: the baseline for sharing.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn unshared(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    let source = Source::new(generated, seed)?;
    Ok(below_alone(source, vec![0], source.map()?.opening(Opening::Nearest)?, false).nodes)
}

/// The same, with the most promising job done before the others are spawned, so that they know its
/// result: less is searched, with less parallelism.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn in_turn(generated: Option<u64>, seed: Option<u64>) -> Result<u64, BadInput> {
    let source = Source::new(generated, seed)?;
    Ok(below_alone(source, vec![0], source.map()?.opening(Opening::Nearest)?, true).nodes)
}

/// The whole search, with spawns and a shared tour.
fn search(source: Source, opening: Opening) -> Result<Found, BadInput> {
    let map = source.map()?;
    let incumbent = Shared::new(Incumbent::new(map.opening(opening)?, map.problem.prices.clone()));
    Ok(below(source, vec![0], incumbent))
}

/// The shortest tour, found without spawns. A tour may be known in advance.
pub fn solve_plain(ways: &Ways, given: Option<Tour>) -> Tour {
    let problem = Problem::new(ways);
    let known = Opening::Improved.tour(ways, given);
    let mut search = Search { problem: &problem, ways, known, nodes: 0 };
    search.run(&mut vec![0]);
    search.known
}

/// A job's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Found {
    /// The best tour that the job knows of.
    best: Tour,
    /// The number of paths extended.
    nodes: u64,
}

/// The best of all tours that begin with `path`, and of the tours known until it was found.
#[job]
fn below(source: Source, path: Vec<u8>, incumbent: Shared<Incumbent>) -> Found {
    divide(source, path, incumbent, false, |path, incumbent| below::spawn(source, path, incumbent.clone()))
}

/// The same, knowing only `best`. With `in_turn`, the most promising is done before the others are spawned.
#[job]
fn below_alone(source: Source, path: Vec<u8>, best: Tour, in_turn: bool) -> Found {
    divide(source, path, best, in_turn, |path, best| below_alone::spawn(source, path, best.clone(), in_turn))
}

/// Spawns jobs for all cities that may come after `path` and combines their results.
///
/// The result is at least as good as any tour that has pruned a path: so nothing is lost if the
/// only host that knew a tour is lost together with the update that announced it.
fn divide<K: Known, J: Job<Output = Found>>(
    source: Source,
    mut path: Vec<u8>,
    known: K,
    in_turn: bool,
    spawn: impl Fn(Vec<u8>, &K) -> Spawned<J>,
) -> Found {
    // The root job has read the same input, and returned if that failed.
    let map = source.map_with(|| known.prices()).expect("the input was read before");
    let mut search = Search { problem: &map.problem, ways: &map.ways, known, nodes: 0 };
    if path.len() + PLAIN_CITIES >= map.problem.count {
        search.run(&mut path);
        return Found { best: search.known.tour(), nodes: search.nodes };
    }
    let mut children = VecDeque::from(search.children(&path));
    let to = |city: u8| [path.as_slice(), &[city]].concat();
    if in_turn && let Some((_, city)) = children.pop_front() {
        // The others should know at least the result of the most promising job.
        let found = spawn(to(city), &search.known).sync();
        search.nodes += found.nodes;
        search.known.offer(found.best);
        children.retain(|(bound, city)| search.is_open(*bound, &to(*city)));
    }
    // The most promising job runs here first, and thieves take the next ones: they begin with the oldest.
    let waiting: Vec<_> =
        children.into_iter().map(|(bound, city)| (bound, to(city), spawn(to(city), &search.known))).collect();
    for (bound, path, job) in waiting {
        // Jobs that have become hopeless are dropped, which aborts them.
        if search.is_open(bound, &path) {
            let found = job.sync();
            search.nodes += found.nodes;
            search.known.offer(found.best);
        }
    }
    Found { best: search.known.tour(), nodes: search.nodes }
}

/// Where the cities come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    /// The input `tsp`. The digest identifies its content, for the value kept in the sandbox.
    Input { digest: u64 },
    /// See [`generate()`].
    Generated { count: usize, seed: u64 },
}

impl Source {
    fn new(generated: Option<u64>, seed: Option<u64>) -> Result<Self, BadInput> {
        let Some(count) = generated else {
            return Ok(Self::Input { digest: digest(&sateen::input("tsp")?) });
        };
        match usize::try_from(count) {
            Ok(count @ 3..=CITIES_MAX) => Ok(Self::Generated { count, seed: seed.unwrap_or(1) }),
            _ => Err(BadInput(format!("{count} cities cannot be generated, but 3 to {CITIES_MAX} can"))),
        }
    }

    fn ways(self) -> Result<Cow<'static, Ways>, BadInput> {
        match self {
            Self::Input { .. } => Ok(Cow::Borrowed(given_ways()?)),
            Self::Generated { count, seed } => Ok(Cow::Owned(generate(count, seed))),
        }
    }

    /// The cities, with prices and a problem.
    fn map(self) -> Result<Rc<Map>, BadInput> {
        self.map_with(|| None)
    }

    /// The same: computed once in each sandbox, with prices that another host has found, if there are any.
    fn map_with(self, prices: impl FnOnce() -> Option<Vec<i64>>) -> Result<Rc<Map>, BadInput> {
        thread_local! {
            static LAST: RefCell<Option<(Source, Rc<Map>)>> = const { RefCell::new(None) };
        }
        LAST.with_borrow_mut(|last| match last {
            Some((source, map)) if *source == self => Ok(Rc::clone(map)),
            _ => {
                let map = sateen::per_sandbox(&self, || {
                    let ways = self.ways()?;
                    let problem =
                        prices().map_or_else(|| Problem::new(&ways), |prices| Problem::of(&ways, prices));
                    Ok::<_, BadInput>(Map { problem, ways })
                });
                let map = Rc::new(map?);
                *last = Some((self, Rc::clone(&map)));
                Ok(map)
            }
        })
    }
}

/// The ways of the input.
#[prepare]
fn given_ways() -> Result<Ways, BadInput> {
    parse(&sateen::input_text("tsp")?)
}

/// The cities, with prices and a problem.
struct Map {
    ways: Cow<'static, Ways>,
    problem: Problem,
}

impl Map {
    /// The tour to begin with.
    fn opening(&self, opening: Opening) -> Result<Tour, BadInput> {
        Ok(opening.tour(&self.ways, given(&self.ways)?))
    }
}

/// The tour that a search begins with.
#[derive(Debug, Clone, Copy)]
enum Opening {
    /// The tour that always goes to the nearest city.
    Nearest,
    /// The best tour that is quickly found.
    Improved,
}

impl Opening {
    /// That tour, or the given tour if it is better. A given tour is not improved.
    fn tour(self, ways: &Ways, given: Option<Tour>) -> Tour {
        let nearest = opening::nearest(ways, 0);
        let own = match self {
            Self::Improved if given.is_none() => opening::improved(ways).unwrap_or(nearest),
            _ => nearest,
        };
        given.filter(|given| *given < own).unwrap_or(own)
    }
}

/// The tour of the input `tour`, if there is one.
fn given(ways: &Ways) -> Result<Option<Tour>, BadInput> {
    if sateen::input("tour").is_err() {
        return Ok(None);
    }
    let order = parse_tour(&sateen::input_text("tour")?, ways.count())?;
    Ok(Some(Tour::of(ways, order)))
}

/// FNV-1a, 64 bits.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, &byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
