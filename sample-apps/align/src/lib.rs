//! Smith-Waterman: the best local alignments of several sequences with several others, with affine
//! gaps.
//!
//! `fasta` reads sequences, `scoring` has the matrices and gap costs, `block` computes a part of the
//! matrix of alignments, and `pair` puts parts together. The pairs are a range that is halved down to
//! single pairs; the matrix of a long pair is a wave of blocks.

mod block;
mod fasta;
mod pair;
mod scoring;

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

use block::{Best, Edges, SCORE_MAX, Scores, compute};
use fasta::Sequence;
pub use pair::Alignment;
use pair::{Pass, Place, Ready};
use sateen::prelude::*;
use scoring::{Gaps, Matrix};
use serde::{Deserialize, Serialize};

/// Cells of small pairs that one job aligns without spawning: about 10 µs of work.
const PLAIN_CELLS: usize = if cfg!(test) { 100 } else { 20_000 };

/// `sateen run align.wasm --input queries=FILE --input subjects=FILE [MATRIX [OPEN [EXTEND]]]`
///
/// A table with a line for each pair of a query and a subject: their names, the score of their best
/// local alignment, and the first and last aligned letter of each. The default matrix is BLOSUM62;
/// a gap costs OPEN (10) for its first letter and EXTEND (0.5) for each further letter.
///
/// # Errors
/// When an input is missing or not a FASTA file, or an argument is invalid.
#[main]
pub fn main(
    matrix: Option<String>,
    open: Option<String>,
    extend: Option<String>,
) -> Result<String, BadInput> {
    let settings = Settings::new(matrix, open, extend)?;
    let problem = settings.read()?;
    let alignments = align_pairs(settings.clone(), 0, problem.pairs());
    Ok(problem.table(&settings, &alignments))
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain(
    matrix: Option<String>,
    open: Option<String>,
    extend: Option<String>,
) -> Result<String, BadInput> {
    let settings = Settings::new(matrix, open, extend)?;
    let problem = settings.read()?;
    let alignments: Vec<Alignment> = (0..problem.pairs()).map(|pair| problem.align_plain(pair)).collect();
    Ok(problem.table(&settings, &alignments))
}

/// Aligns the `count` pairs from `first` on.
#[job]
fn align_pairs(settings: Settings, first: usize, count: usize) -> Vec<Alignment> {
    let problem = settings.problem();
    let pairs = first..first + count;
    if count == 1 {
        return vec![problem.align(&settings, first)];
    }
    if pairs.clone().map(|pair| problem.cells(pair)).sum::<usize>() < PLAIN_CELLS {
        return pairs.map(|pair| problem.align_plain(pair)).collect();
    }
    let half = count / 2;
    let upper = align_pairs::spawn(settings.clone(), first + half, count - half);
    let mut alignments = align_pairs(settings, first, half);
    alignments.append(&mut upper.sync());
    alignments
}

/// Computes one block of the matrix of the pair number `pair`.
#[job]
fn align_block(settings: Settings, pair: usize, pass: Pass, place: Place, edges: Edges) -> (Best, Edges) {
    let problem = settings.problem();
    let [query, subject] = problem.sequences(pair);
    let [query, subject] = pass.letters(&query.codes, &subject.codes);
    let mut edges = edges;
    let scores = Scores { floor: pass.floor(), ..problem.scores() };
    let [rows, columns] = [Place::part(place.row, &query), Place::part(place.column, &subject)];
    let best = compute(&scores, rows, columns, &mut edges);
    (best, edges)
}

/// The user's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Settings {
    matrix: String,
    gaps: Gaps,
    /// Of both inputs; identifies its content, for the value kept in the sandbox.
    digest: u64,
}

impl Settings {
    fn new(matrix: Option<String>, open: Option<String>, extend: Option<String>) -> Result<Self, BadInput> {
        let word = |given: Option<String>, usual: &str| given.unwrap_or_else(|| usual.to_owned());
        let gaps = Gaps::parse(&word(open, "10"), &word(extend, "0.5"))?;
        let matrix = Matrix::named(&word(matrix, "BLOSUM62"))?.name.to_owned();
        let queries = digest(FNV_BASIS, &sateen::input("queries")?);
        Ok(Self { matrix, gaps, digest: digest(queries, &sateen::input("subjects")?) })
    }

    /// Reads the inputs.
    fn read(&self) -> Result<Rc<Problem>, BadInput> {
        thread_local! {
            static LAST: RefCell<Option<(Settings, Rc<Problem>)>> = const { RefCell::new(None) };
        }
        let kept = LAST.with_borrow(|last| {
            last.as_ref().filter(|(settings, _)| settings == self).map(|(_, problem)| Rc::clone(problem))
        });
        if let Some(problem) = kept {
            return Ok(problem);
        }
        let problem = Rc::new(sateen::per_sandbox(self, || Problem::new(self))?);
        LAST.set(Some((self.clone(), Rc::clone(&problem))));
        Ok(problem)
    }

    /// The problem, read once in each sandbox from inputs that all of them have.
    fn problem(&self) -> Rc<Problem> {
        // The root job has read the same inputs, and returned if that failed.
        self.read().expect("the inputs were read before")
    }
}

/// All sequences, and the scores of their letters.
struct Problem {
    queries: Vec<Sequence>,
    subjects: Vec<Sequence>,
    table: Vec<i32>,
    size: usize,
    gaps: Gaps,
}

impl Problem {
    fn new(settings: &Settings) -> Result<Self, BadInput> {
        let matrix = Matrix::named(&settings.matrix)?;
        let read = |input: &str| fasta::parse(input, &sateen::input(input)?, &matrix);
        let (queries, subjects) = (read("queries")?, read("subjects")?);
        let table = matrix.table(settings.gaps.scale);
        let longest = |sequences: &[Sequence]| {
            sequences.iter().map(|sequence| sequence.codes.len()).max().unwrap_or_default() as i64
        };
        let dearest = table.iter().map(|score| score.abs()).max().unwrap_or_default().max(settings.gaps.open);
        let letters = longest(&queries) + longest(&subjects);
        if letters * i64::from(dearest) > SCORE_MAX {
            return Err(BadInput(format!(
                "the longest query and the longest subject have {letters} letters, too many for these \
                 scores; {} is the most",
                SCORE_MAX / i64::from(dearest)
            )));
        }
        Ok(Self { queries, subjects, table, size: matrix.size(), gaps: settings.gaps })
    }

    fn pairs(&self) -> usize {
        self.queries.len() * self.subjects.len()
    }

    /// The query and the subject of a pair.
    fn sequences(&self, pair: usize) -> [&Sequence; 2] {
        let subjects = self.subjects.len();
        [&self.queries[pair / subjects], &self.subjects[pair % subjects]]
    }

    fn cells(&self, pair: usize) -> usize {
        self.sequences(pair).iter().map(|sequence| sequence.codes.len()).product()
    }

    fn scores(&self) -> Scores<'_> {
        let Gaps { open, extend, .. } = self.gaps;
        Scores { table: &self.table, size: self.size, open, extend, floor: 0 }
    }

    fn align_plain(&self, pair: usize) -> Alignment {
        let [query, subject] = self.sequences(pair);
        pair::align(self.scores(), &query.codes, &subject.codes, None)
    }

    /// Aligns a pair; spawns a job for each block if it is long.
    fn align(&self, settings: &Settings, pair: usize) -> Alignment {
        let blocks = |pass: Pass, mut ready: Vec<Ready>| {
            // The first job is spawned last: it is on top of the stack when it is synced, and its call is cheapest.
            ready.reverse();
            let spawn = |(place, edges)| align_block::spawn(settings.clone(), pair, pass, place, edges);
            let mut done = ready.into_iter().map(spawn).collect::<Vec<_>>().sync_all();
            done.reverse();
            done
        };
        let [query, subject] = self.sequences(pair);
        pair::align(self.scores(), &query.codes, &subject.codes, Some(&blocks))
    }

    fn table(&self, settings: &Settings, alignments: &[Alignment]) -> String {
        let mut text = "query\tsubject\tscore\tquery_from\tquery_to\tsubject_from\tsubject_to".to_owned();
        for (pair, alignment) in alignments.iter().enumerate() {
            let [query, subject] = self.sequences(pair).map(|sequence| &sequence.name);
            let score = settings.gaps.points(alignment.score);
            let ((query_from, query_to), (subject_from, subject_to)) = (alignment.query, alignment.subject);
            let _ = write!(
                text,
                "\n{query}\t{subject}\t{score}\t{query_from}\t{query_to}\t{subject_from}\t{subject_to}"
            );
        }
        text
    }
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits, continued from `basis`.
fn digest(basis: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(basis, |digest, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
