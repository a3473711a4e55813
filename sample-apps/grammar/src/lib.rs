//! Grammar induction: a small finite automaton that accepts and rejects the strings of a sample.
//!
//! `sample` reads strings, `automaton` holds and merges states, `learner` follows one line of merges to
//! its end. The first merges matter most and have the least evidence, so the search also tries others than
//! the likeliest: by iterative deepening, in Satin's manner, for the first merge, for the first two, and
//! so on. Each level is a tree of choices whose leaves are whole lines; a line ends early when it has
//! more states than the best automaton of the earlier levels.

mod automaton;
mod learner;
mod sample;

use automaton::Automaton;
use learner::Learner;
pub use sample::{Labelled, Sample, parse};
use sateen::prelude::*;
use serde::{Deserialize, Serialize};

/// Default number of merges for which alternatives are tried.
const DEPTH: u32 = 2;
const DEPTH_MAX: u32 = 12;
/// Default number of alternatives for each of them.
const BREADTH: u32 = 4;
const BREADTH_MAX: u32 = 1_000;

/// `sateen run grammar.wasm --input train=FILE [--input test=FILE] [DEPTH [BREADTH]]`
///
/// The number of states of the smallest automaton found, and on a second line the share of the strings
/// in `test`, or in `train` if there is no test, that it labels correctly. The likeliest BREADTH merges (4)
/// are tried for each of the first DEPTH merges (2).
///
/// # Errors
/// When an input is missing or not in the Abbadingo format, or an argument is out of range.
#[main]
pub fn main(depth: Option<u32>, breadth: Option<u32>) -> Result<String, BadInput> {
    let request = Request::new(depth, breadth)?;
    let tree = tree()?;
    let best = deepen(&request, |level, most| try_lines(request, Vec::new(), level, most));
    request.answer(tree, &best)
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(depth: Option<u32>, breadth: Option<u32>) -> Result<String, BadInput> {
    let request = Request::new(depth, breadth)?;
    let tree = tree()?;
    let best =
        deepen(&request, |level, most| try_lines_plain(tree, request.breadth, Vec::new(), level, most));
    request.answer(tree, &best)
}

/// The best line of all levels. `try_level` tries a level, with a maximum number of states.
fn deepen(request: &Request, try_level: impl Fn(u32, u32) -> Option<Line>) -> Line {
    // The first level is the likeliest line, with any number of states.
    let mut best = try_level(0, u32::MAX).unwrap_or_default();
    for level in 1..=request.depth {
        sateen::progress(u64::from(level), u64::from(request.depth) + 1);
        let found = try_level(level, best.states - 1);
        best = better(Some(best), found).unwrap_or_default();
    }
    best
}

/// A line that was followed to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Line {
    states: u32,
    /// The first merges, by their rank.
    choices: Vec<u32>,
}

/// The line with fewer states; of two with equally many, the one with likelier choices.
fn better(left: Option<Line>, right: Option<Line>) -> Option<Line> {
    left.into_iter().chain(right).min()
}

/// The best line with at most `most` states that begins with `choices` and then makes `more` choices.
/// The last choice is not the likeliest, as that line belongs to the level before.
#[job]
fn try_lines(request: Request, choices: Vec<u32>, more: u32, most: u32) -> Option<Line> {
    if more == 0 {
        // The root job has read the same input, and returned if that failed.
        let tree = tree().expect("the input was read before");
        return follow(tree, choices, most);
    }
    // The likeliest choice is spawned last, so it is synced first.
    let with = |choice| [choices.as_slice(), &[choice]].concat();
    let ranks = u32::from(more == 1)..request.breadth;
    let handles: Vec<_> =
        ranks.rev().map(|choice| try_lines::spawn(request, with(choice), more - 1, most)).collect();
    handles.sync_all().into_iter().fold(None, better)
}

/// As `try_lines`, without spawns.
fn try_lines_plain(tree: &Automaton, breadth: u32, choices: Vec<u32>, more: u32, most: u32) -> Option<Line> {
    if more == 0 {
        return follow(tree, choices, most);
    }
    let with = |choice| [choices.as_slice(), &[choice]].concat();
    (u32::from(more == 1)..breadth)
        .map(|choice| try_lines_plain(tree, breadth, with(choice), more - 1, most))
        .fold(None, better)
}

fn follow(tree: &Automaton, choices: Vec<u32>, most: u32) -> Option<Line> {
    let states = Learner::new(tree).learn(&choices, most as usize)?;
    Some(Line { states: u32::try_from(states).unwrap_or(u32::MAX), choices })
}

/// The tree of the strings to learn from.
#[prepare]
fn tree() -> Result<Automaton, BadInput> {
    let sample = parse("train", &sateen::input_text("train")?)?;
    Automaton::tree("train", &sample)
}

/// The user's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Request {
    depth: u32,
    breadth: u32,
}

impl Request {
    fn new(depth: Option<u32>, breadth: Option<u32>) -> Result<Self, BadInput> {
        let (depth, breadth) = (depth.unwrap_or(DEPTH), breadth.unwrap_or(BREADTH));
        if depth > DEPTH_MAX {
            return Err(BadInput(format!("the depth is {depth}, but 0 to {DEPTH_MAX} is expected")));
        }
        if !(1..=BREADTH_MAX).contains(&breadth) {
            return Err(BadInput(format!("the breadth is {breadth}, but 1 to {BREADTH_MAX} is expected")));
        }
        Ok(Self { depth, breadth })
    }

    /// The states of the best line, and its accuracy.
    fn answer(&self, tree: &Automaton, best: &Line) -> Result<String, BadInput> {
        let mut learner = Learner::new(tree);
        learner.learn(&best.choices, usize::MAX);
        let input = if sateen::input("test").is_ok() { "test" } else { "train" };
        let sample = parse(input, &sateen::input_text(input)?)?;
        let is_right = |string: &&Labelled| learner.automaton.accepts(&string.symbols) == string.is_accepted;
        let right = sample.strings.iter().filter(is_right).count();
        // In whole numbers: ten thousandths, rounded down, so that 1 means all.
        let share = (right * 10_000).checked_div(sample.strings.len()).unwrap_or(10_000);
        Ok(format!("{}\n{}.{:04}", best.states, share / 10_000, share % 10_000))
    }
}
