//! The best local alignment of two sequences: its score, its end and its start.
//!
//! A first pass finds the best score and the first cell that has it. A second pass goes backwards from
//! there, with alignments that begin at that cell only; where it reaches the same score, the alignment
//! begins. Both passes keep only a row and a column of scores.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::block::{Best, Edges, NEVER, Scores, compute};

/// The rows and columns of the blocks into which the matrix of a long pair is divided: about half a
/// millisecond of work, for which two edges of 8 KiB are sent each way.
pub const BLOCK: usize = if cfg!(test) { 16 } else { 1024 };

/// Pairs with fewer cells than this are not divided.
const DIVIDED_MIN: usize = BLOCK * BLOCK * 8;

/// The best local alignment of a pair. Letters are counted from 1. If `score` is 0, nothing scores more than 0,
/// and all places are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Alignment {
    /// In the units of the gap costs.
    pub score: i32,
    /// The first and the last aligned letter of the query.
    pub query: (u32, u32),
    /// The first and the last aligned letter of the subject.
    pub subject: (u32, u32),
}

/// One of the two passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pass {
    /// Over the whole matrix, from the first letters on.
    Forward,
    /// Backwards from a letter of the query and a letter of the subject.
    Backward(u32, u32),
}

impl Pass {
    /// The letters of the query and of the subject in the order of this pass.
    pub fn letters<'a>(self, query: &'a [u8], subject: &'a [u8]) -> [Cow<'a, [u8]>; 2] {
        match self {
            Self::Forward => [query.into(), subject.into()],
            Self::Backward(row, column) => [(query, row), (subject, column)].map(|(letters, end)| {
                letters[..end as usize].iter().rev().copied().collect::<Vec<_>>().into()
            }),
        }
    }

    /// The least score of a cell.
    pub fn floor(self) -> i32 {
        if self == Self::Forward { 0 } else { NEVER }
    }
}

/// A block that can be computed: its place, and the scores next to it.
pub type Ready = (Place, Edges);

/// A block's place in the matrix of a pass, counted in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub row: usize,
    pub column: usize,
}

impl Place {
    /// The part of `letters` that belongs to the block number `nth`.
    pub fn part(nth: usize, letters: &[u8]) -> &[u8] {
        &letters[nth * BLOCK..letters.len().min((nth + 1) * BLOCK)]
    }
}

/// Computes blocks that do not depend on one another, and returns their best cells, counted from the
/// blocks' own corners, and their edges, in order.
pub type ComputeBlocks<'a> = &'a dyn Fn(Pass, Vec<Ready>) -> Vec<(Best, Edges)>;

/// Aligns `query` and `subject`. With `blocks`, long ones are computed block by block; the result is
/// the same.
pub fn align(scores: Scores, query: &[u8], subject: &[u8], blocks: Option<ComputeBlocks>) -> Alignment {
    let best_of = |pass: Pass, goal: i32| {
        let [query, subject] = pass.letters(query, subject);
        match blocks {
            Some(blocks) if query.len() * subject.len() >= DIVIDED_MIN => {
                in_blocks(scores, pass, query.len(), subject.len(), goal, blocks)
            }
            _ => whole(scores, pass, &query, &subject, goal),
        }
    };
    let end = best_of(Pass::Forward, i32::MAX);
    if end.score <= 0 {
        return Alignment::default();
    }
    let start = best_of(Pass::Backward(end.row, end.column), end.score);
    debug_assert_eq!(start.score, end.score);
    Alignment {
        score: end.score,
        query: (end.row + 1 - start.row, end.row),
        subject: (end.column + 1 - start.column, end.column),
    }
}

/// Rows that [`whole`] computes between two checks of the best score.
const ROWS_AT_ONCE: usize = 64;

/// The best cell of a pass, computed in one go, down to the rows that have the score `goal`.
fn whole(scores: Scores, pass: Pass, query: &[u8], subject: &[u8], goal: i32) -> Best {
    let scores = Scores { floor: pass.floor(), ..scores };
    let mut edges = Edges {
        corner: 0,
        row_h: border(&scores, 0, subject.len()),
        row_f: vec![NEVER; subject.len()],
        column_h: Vec::new(),
        column_e: Vec::new(),
    };
    let mut best = Best::NONE;
    for (nth, rows) in query.chunks(ROWS_AT_ONCE).enumerate() {
        let from = nth * ROWS_AT_ONCE;
        edges.column_h = border(&scores, from, rows.len());
        edges.column_e = vec![NEVER; rows.len()];
        edges.corner = if from == 0 { 0 } else { border(&scores, from - 1, 1)[0] };
        best = best.or(moved(compute(&scores, rows, subject, &mut edges), from, 0));
        if best.score >= goal {
            break;
        }
    }
    best
}

/// The scores of the cells before the first row or column: of gaps of the lengths from `from` + 1 on.
fn border(scores: &Scores, from: usize, count: usize) -> Vec<i32> {
    let gap = |length: usize| {
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        scores.floor.max((-scores.open).saturating_sub(length.saturating_mul(scores.extend)))
    };
    (from..from + count).map(gap).collect()
}

fn moved(best: Best, rows: usize, columns: usize) -> Best {
    use crate::block::number;
    if best == Best::NONE {
        return best;
    }
    Best { row: best.row + number(rows), column: best.column + number(columns), ..best }
}

/// The best cell of a pass, block by block: all blocks of an
/// antidiagonal at once. Blocks below the first in which the score `goal` is reached are left out.
fn in_blocks(
    scores: Scores,
    pass: Pass,
    rows: usize,
    columns: usize,
    goal: i32,
    blocks: ComputeBlocks,
) -> Best {
    let scores = Scores { floor: pass.floor(), ..scores };
    let [high, wide] = [rows, columns].map(|letters| letters.div_ceil(BLOCK));
    let part = |nth: usize, letters: usize| nth * BLOCK..letters.min((nth + 1) * BLOCK);
    let mut row_h = border(&scores, 0, columns);
    let mut row_f = vec![NEVER; columns];
    let mut column_h = border(&scores, 0, rows);
    let mut column_e = vec![NEVER; rows];
    // By column less row: H of the cell at the lower right corner of the last block on that diagonal.
    let mut corners: Vec<i32> = (0..high + wide)
        .map(|nth| match nth.abs_diff(high) * BLOCK {
            0 => 0,
            before => border(&scores, before - 1, 1)[0],
        })
        .collect();
    let mut best = Best::NONE;
    let mut lowest = high;
    for wave in 0..high + wide - 1 {
        let places: Vec<Place> = (wave.saturating_sub(wide - 1)..lowest.min(wave + 1))
            .map(|row| Place { row, column: wave - row })
            .collect();
        let ready = places.iter().map(|place| {
            let (rows, columns) = (part(place.row, rows), part(place.column, columns));
            let edges = Edges {
                corner: corners[high + place.column - place.row],
                row_h: row_h[columns.clone()].to_vec(),
                row_f: row_f[columns].to_vec(),
                column_h: column_h[rows.clone()].to_vec(),
                column_e: column_e[rows].to_vec(),
            };
            (*place, edges)
        });
        for (place, (found, edges)) in places.iter().zip(blocks(pass, ready.collect())) {
            let (rows, columns) = (part(place.row, rows), part(place.column, columns));
            best = best.or(moved(found, rows.start, columns.start));
            if best.score >= goal {
                lowest = lowest.min((best.row as usize - 1) / BLOCK + 1);
            }
            corners[high + place.column - place.row] = edges.row_h[columns.len() - 1];
            row_h[columns.clone()].copy_from_slice(&edges.row_h);
            row_f[columns].copy_from_slice(&edges.row_f);
            column_h[rows.clone()].copy_from_slice(&edges.column_h);
            column_e[rows].copy_from_slice(&edges.column_e);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::Matrix;

    /// Gotoh's original method, with whole matrices: the greatest score and all cells that have it.
    fn slowly(scores: &Scores, query: &[u8], subject: &[u8]) -> (i32, Vec<(u32, u32)>) {
        let width = subject.len() + 1;
        let mut h = vec![0; width * (query.len() + 1)];
        let (mut e, mut f) = (vec![NEVER; h.len()], vec![NEVER; h.len()]);
        for i in 1..=query.len() {
            for j in 1..width {
                let at = i * width + j;
                let pair = usize::from(query[i - 1]) * scores.size + usize::from(subject[j - 1]);
                e[at] = (e[at - 1] - scores.extend).max(h[at - 1] - scores.open);
                f[at] = (f[at - width] - scores.extend).max(h[at - width] - scores.open);
                h[at] = 0.max(h[at - width - 1] + scores.table[pair]).max(e[at]).max(f[at]);
            }
        }
        let best = *h.iter().max().expect("a cell");
        let cells = (0..h.len()).filter(|at| h[*at] == best);
        (best, cells.map(|at| ((at / width) as u32, (at % width) as u32)).collect())
    }

    #[test]
    fn whole_and_in_blocks_agree_with_whole_matrices() {
        let matrix = Matrix::named("DNA").expect("it is known");
        let mut state = 9_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let table = matrix.table(1);
        let mut divided = 0;
        for round in 0..150 {
            let scores = Scores {
                table: &table,
                size: matrix.size(),
                open: 3 + random(10) as i32,
                extend: 1 + random(3) as i32,
                floor: 0,
            };
            let mut letters = |most: u64| {
                let count = 1 + random(most);
                (0..count).map(|_| random(4) as u8).collect::<Vec<_>>()
            };
            let (query, mut subject) = (letters(120), letters(120));
            if round % 2 == 0 {
                // A relative: a part of the query with some letters removed and some changed.
                subject
                    .extend(query.iter().enumerate().filter(|(nth, _)| nth % 19 != 7).map(|(_, code)| *code));
            }
            let blocks = |pass: Pass, ready: Vec<Ready>| {
                let [query, subject] = pass.letters(&query, &subject);
                let scores = Scores { floor: pass.floor(), ..scores };
                let one = |(place, mut edges): Ready| {
                    let [rows, columns] =
                        [Place::part(place.row, &query), Place::part(place.column, &subject)];
                    (compute(&scores, rows, columns, &mut edges), edges)
                };
                ready.into_iter().map(one).collect()
            };
            let found = align(scores, &query, &subject, None);
            assert_eq!(found, align(scores, &query, &subject, Some(&blocks)), "round {round}");
            divided += usize::from(query.len() * subject.len() >= DIVIDED_MIN);
            let (best, ends) = slowly(&scores, &query, &subject);
            assert_eq!(found.score, best, "round {round}");
            if best == 0 {
                continue;
            }
            assert_eq!((found.query.1, found.subject.1), ends[0], "round {round}");
            // Between its ends, and with no letter fewer, it has the right score.
            let [q, s] = [(&query, found.query), (&subject, found.subject)]
                .map(|(letters, (from, to))| &letters[from as usize - 1..to as usize]);
            assert_eq!(slowly(&scores, q, s).0, best, "round {round}");
            assert!(slowly(&scores, &q[1..], s).0 < best && slowly(&scores, q, &s[1..]).0 < best);
        }
        assert!(divided > 30, "{divided} pairs were divided");
    }
}
