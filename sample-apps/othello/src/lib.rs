//! Othello: counts games, solves endgames, searches ahead.
//!
//! `board` moves discs; `evaluate` estimates positions; `search` answers whether a position has at least a given
//! value, using `table`, which remembers facts; the shared object `facts` sends the deeper ones to all hosts.
//! A job is such a question. It tries the most promising move first;
//! if that does not refute the opponent, all other moves are spawned at once (Feldmann's young brothers
//! wait), and the first refutation makes the rest useless.
//!
//! An answer is yes or no and depends only on its question, although tables differ from worker to
//! worker. So value and move are the same on any number of hosts; the number of visited positions is not.

mod board;
mod commands;
mod evaluate;
mod facts;
mod search;
mod table;

use std::cell::RefCell;

pub use board::Position;
use board::{each, name};
use commands::{Command, Task};
use facts::Facts;
use sateen::prelude::*;
use search::{Opening, Question, Search, value_by_asking};
use serde::{Deserialize, Serialize};
use table::Table;

/// Maximum moves of a count that does not spawn: some dozen microseconds of work.
const PLAIN_PERFT: u32 = 5;

/// Maximum depth of questions that are answered without spawning, when leaves are estimated:
/// some dozen microseconds of work.
const PLAIN_DEPTH: u32 = 4;

/// The same when games are played to the end.
const PLAIN_EMPTIES: u32 = 8;

/// The depth of the search for a first guess at a score.
const GUESS_DEPTH: u32 = 6;

/// Counts, solves or searches; the README explains the words.
///
/// # Errors
/// When the words or the positions are wrong; the message says what was expected.
#[main]
pub fn main(words: Vec<String>) -> Result<String, BadInput> {
    let Command { task, aborts, stats } = commands::parse(&words)?;
    let options = Options { aborts, counts: stats };
    let facts = Shared::new(Facts::new());
    let answer = |question| answer(question, options, facts.clone());
    let report = perform(task, |depth| perft(Position::START, depth), answer);
    Ok(if stats { report.with_stats() } else { report.text })
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(words: Vec<String>) -> Result<String, BadInput> {
    let Command { task, stats, .. } = commands::parse(&words)?;
    let report = perform(
        task,
        |depth| perft_plain(Position::START, depth),
        |question| in_search(|search| search.is_worth(question)),
    );
    Ok(if stats { report.with_stats() } else { report.text })
}

/// The outcome of a task.
struct Report {
    text: String,
    nodes: u64,
}

impl Report {
    fn with_stats(self) -> String {
        let Self { text, nodes } = self;
        format!("{text}\n{nodes} positions")
    }
}

fn perform(task: Task, perft: impl Fn(u32) -> u64, answer: impl Fn(Question) -> Answer) -> Report {
    let mut nodes = 0;
    let mut is_worth = |position, depth, beta| {
        let answer = answer(Question { position, depth, beta });
        nodes += answer.nodes;
        answer.is_yes
    };
    let text = match task {
        Task::Perft(depth) => {
            let count = perft(depth);
            return Report { text: count.to_string(), nodes: count };
        }
        Task::Solve(position) => {
            let depth = position.empties();
            let mut guess = 0;
            if depth > GUESS_DEPTH {
                guess = value_by_asking(0, 1, |beta| is_worth(position, GUESS_DEPTH, beta));
            }
            // The difference of 64 discs is even.
            let value = value_by_asking(guess, 200, |beta| is_worth(position, depth, beta));
            format!("{:+}", value / 100)
        }
        Task::Search(position, depth) => {
            let mut value = 0;
            for ahead in 1..=depth {
                value = value_by_asking(value, 1, |beta| is_worth(position, ahead, beta));
                sateen::progress(u64::from(ahead), u64::from(depth) + 1);
            }
            // Of equally good moves, the one on the first square.
            let is_best = |square: &u32| !is_worth(position.after(*square), depth - 1, 1 - value);
            let best = each(position.moves()).find(is_best);
            sateen::progress(u64::from(depth) + 1, u64::from(depth) + 1);
            let sign = if value < 0 { '-' } else { '+' };
            let (discs, rest) = (value.abs() / 100, value.abs() % 100);
            format!("{sign}{discs}.{rest:02}\n{}", best.map_or("pass".to_owned(), name))
        }
    };
    Report { text, nodes }
}

/// How jobs answer questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Options {
    /// Whether jobs that have become useless are aborted.
    aborts: bool,
    /// Whether positions are counted. Counts depend on the contents of tables, so answers without counts are
    /// the same everywhere, and answers with counts are not.
    counts: bool,
}

/// An answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Answer {
    is_yes: bool,
    /// Visited positions, if they are counted.
    nodes: u64,
}

impl Answer {
    fn counted(self, options: Options) -> Self {
        Self { nodes: if options.counts { self.nodes } else { 0 }, ..self }
    }
}

/// Does a position have at least a given value?
#[job]
fn answer(question: Question, options: Options, facts: Shared<Facts>) -> Answer {
    let is_endgame = question.depth >= question.position.empties();
    let plain = if is_endgame { PLAIN_EMPTIES } else { PLAIN_DEPTH };
    if question.depth <= plain {
        return in_search(|search| search.is_worth(question)).counted(options);
    }
    if let Some(is_yes) = facts::known(&facts, question, plain) {
        return Answer { is_yes, nodes: 1 }.counted(options);
    }
    let (opening, mut nodes) = with_search(|search| search.open(question));
    let moves = match opening {
        Opening::Answered(is_yes) => return Answer { is_yes, nodes }.counted(options),
        Opening::Pass(passed) => {
            let passed = answer(passed, options, facts);
            return Answer { is_yes: !passed.is_yes, nodes: nodes + passed.nodes }.counted(options);
        }
        Opening::Moves(moves) => moves,
    };
    let mut squares = moves.squares();
    let mut refutation = None;
    if let Some(square) = squares.next() {
        let reply = answer(question.after(square), options, facts.clone());
        nodes += reply.nodes;
        if !reply.is_yes {
            refutation = Some(square);
        }
    }
    if refutation.is_none() {
        let squares: Vec<u32> = squares.collect();
        let mut brothers = JobSet::new();
        for square in &squares {
            answer::spawn_in(&mut brothers, question.after(*square), options, facts.clone());
        }
        let (found, visited) = first_refutation(brothers, options.aborts);
        refutation = found.map(|nth| squares[nth]);
        nodes += visited;
    }
    with_search(|search| search.close(question, refutation));
    facts::tell(&facts, question, refutation, plain);
    Answer { is_yes: refutation.is_some(), nodes }.counted(options)
}

// ANCHOR: first
/// The first of the sibling moves that refutes, and the number of visited positions.
fn first_refutation(mut brothers: JobSet<answer>, aborts: bool) -> (Option<usize>, u64) {
    let (mut refutation, mut nodes) = (None, 0);
    while let Some((nth, reply)) = brothers.next() {
        nodes += reply.nodes;
        if !reply.is_yes && refutation.is_none() {
            refutation = Some(nth);
            if aborts {
                break; // The others are dropped with their set, which aborts them.
            }
        }
    }
    (refutation, nodes)
}
// ANCHOR_END: first

/// Runs `work` with a search over this sandbox's table; also returns the number of visited positions.
fn with_search<T>(work: impl FnOnce(&mut Search) -> T) -> (T, u64) {
    thread_local! {
        static TABLE: RefCell<Option<Table>> = const { RefCell::new(None) };
    }
    TABLE.with_borrow_mut(|table| {
        let table = table.get_or_insert_with(|| sateen::per_sandbox(&(), Table::new));
        let mut search = Search { table, nodes: 0 };
        let done = work(&mut search);
        (done, search.nodes)
    })
}

/// The answer of a search that does not spawn.
fn in_search(work: impl FnOnce(&mut Search) -> bool) -> Answer {
    let (is_yes, nodes) = with_search(work);
    Answer { is_yes, nodes }
}

/// The number of games of `depth` moves from a position. Passing is a move; a game that ends earlier
/// counts once.
#[job]
fn perft(position: Position, depth: u32) -> u64 {
    let moves = position.moves();
    if depth <= PLAIN_PERFT || moves == 0 {
        return perft_plain(position, depth);
    }
    let mut squares = each(moves);
    let first = squares.next();
    let others: Vec<_> = squares.map(|square| perft::spawn(position.after(square), depth - 1)).collect();
    let count = first.map_or(0, |square| perft(position.after(square), depth - 1));
    count + others.into_iter().rev().map(Spawned::sync).sum::<u64>()
}

fn perft_plain(position: Position, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let mut moves = position.moves();
    if moves == 0 {
        let passed = position.passed();
        return if passed.moves() == 0 { 1 } else { perft_plain(passed, depth - 1) };
    }
    if depth == 1 {
        return u64::from(moves.count_ones());
    }
    let mut count = 0;
    while moves != 0 {
        count += perft_plain(position.after(moves.trailing_zeros()), depth - 1);
        moves &= moves - 1;
    }
    count
}
