//! A rectangle of the matrix of alignments (Smith and Waterman 1981; Gotoh 1982).
//!
//! A cell (i, j) has the best score H of an alignment that ends with letter i of the query and letter j
//! of the subject, the best E of those that end in a gap of the query, and the best F of those that end
//! in a gap of the subject. A block needs the scores next to its upper and left edges, and returns those along
//! its lower and right edges: so blocks can be computed anywhere, in linear space.
//!
//! Four rows are computed at once, each one column behind the row above it, so that every value that a row needs
//! from the others was computed in the step before: as many additions at once as a vector has lanes.

use serde::{Deserialize, Serialize};
use wide::i32x4;

/// Rows that are computed at once.
const LANES: usize = 4;

/// A score below that of any alignment, far enough from overflow.
pub const NEVER: i32 = -(1 << 30);

/// The greatest score, and the greatest cost of gaps along both whole sequences.
pub const SCORE_MAX: i64 = 1 << 29;

/// The scores next to a block's edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edges {
    /// H of the cell beyond the upper left corner.
    pub corner: i32,
    /// Column by column: H of the row above, then of the lowest row.
    pub row_h: Vec<i32>,
    /// F, likewise.
    pub row_f: Vec<i32>,
    /// Row by row: H of the column to the left, then of the last column.
    pub column_h: Vec<i32>,
    /// E, likewise.
    pub column_e: Vec<i32>,
}

/// The best cell: of those with the greatest score, the first row's; of these, the first column's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Best {
    pub score: i32,
    /// Letters of the query and of the subject up to and with this cell.
    pub row: u32,
    pub column: u32,
}

impl Best {
    /// No cell, which is worse than any.
    pub const NONE: Self = Self { score: NEVER, row: 0, column: 0 };

    /// The better of two.
    pub fn or(self, other: Self) -> Self {
        let rank = |best: Self| (best.score, std::cmp::Reverse((best.row, best.column)));
        if rank(other) > rank(self) { other } else { self }
    }
}

/// Scores for the cells of a block.
#[derive(Debug, Clone, Copy)]
pub struct Scores<'a> {
    /// By letter of the query, then of the subject, in rows of `size`.
    pub table: &'a [i32],
    pub size: usize,
    pub open: i32,
    pub extend: i32,
    /// 0 if an alignment may begin at any cell, [`NEVER`] if only at the first.
    pub floor: i32,
}

/// Computes the block of all rows of `query` and all columns of `subject`. Replaces the scores in `edges` above
/// and to the left of it by those along its lower and right sides. Returns its best cell.
pub fn compute(scores: &Scores, query: &[u8], subject: &[u8], edges: &mut Edges) -> Best {
    let mut best = Best::NONE;
    let mut corner = edges.corner;
    for (nth, rows) in query.chunks(LANES).enumerate() {
        let from = nth * LANES;
        let below = edges.column_h[from + rows.len() - 1];
        let found = if rows.len() == LANES && subject.len() >= LANES {
            strip(scores, rows, subject, edges, from, corner)
        } else {
            remainder(scores, rows, subject, edges, from, corner)
        };
        best = best.or(found);
        corner = below;
    }
    best
}

type Lanes = i32x4;

#[inline(always)]
fn each(lanes: impl Fn(usize) -> i32) -> Lanes {
    Lanes::new(std::array::from_fn(lanes))
}

/// A strip's state between two steps. Lane k belongs to row k.
#[derive(Clone, Copy)]
struct State {
    h: Lanes,
    e: Lanes,
    f: Lanes,
    /// H of the cell above and to the left of the next cell.
    diagonal: Lanes,
    best: Lanes,
    /// The step at which the best was found.
    met: Lanes,
}

/// The scores of the cells just above a strip, column by column; then of those in its lowest row.
struct Row<'a> {
    h: &'a mut [i32],
    f: &'a mut [i32],
}

/// Computes the rows `rows`, as many as there are lanes, which are those from `from` on.
#[inline(never)]
fn strip(scores: &Scores, rows: &[u8], subject: &[u8], edges: &mut Edges, from: usize, corner: i32) -> Best {
    let columns = subject.len();
    // By letter of the subject: the score of each row's letter with it.
    let profile: Vec<Lanes> = (0..scores.size)
        .map(|letter| each(|lane| scores.table[usize::from(rows[lane]) * scores.size + letter]))
        .collect();
    let left = &edges.column_h[from..from + LANES];
    let mut state = State {
        h: each(|lane| left[lane]),
        e: each(|lane| edges.column_e[from + lane]),
        f: Lanes::splat(NEVER),
        diagonal: each(|lane| if lane == 0 { corner } else { left[lane - 1] }),
        best: Lanes::splat(NEVER),
        met: Lanes::ZERO,
    };
    let mut row = Row { h: &mut edges.row_h[..columns], f: &mut edges.row_f[..columns] };
    // At first not all rows have begun, and at last not all continue: idle rows keep their values.
    for step in 0..LANES - 1 {
        partly(scores, &mut state, &profile, subject, &mut row, step);
    }
    wholly(scores, &mut state, &profile, subject, &mut row);
    for step in columns..columns + LANES - 1 {
        partly(scores, &mut state, &profile, subject, &mut row, step);
    }
    edges.column_h[from..from + LANES].copy_from_slice(&state.h.to_array());
    edges.column_e[from..from + LANES].copy_from_slice(&state.e.to_array());

    let (best, met) = (state.best.to_array(), state.met.to_array());
    let cell = |lane: usize| Best {
        score: best[lane],
        row: number(from + lane + 1),
        column: met[lane].cast_unsigned() - number(lane) + 1,
    };
    (0..LANES).map(cell).fold(Best::NONE, Best::or)
}

/// A step of a strip in which not all its rows take part.
fn partly(scores: &Scores, state: &mut State, profile: &[Lanes], subject: &[u8], row: &mut Row, step: usize) {
    let columns = subject.len();
    let takes_part = |lane: usize| lane <= step && step - lane < columns;
    let pairs =
        each(
            |lane| {
                if takes_part(lane) { profile[usize::from(subject[step - lane])].to_array()[lane] } else { 0 }
            },
        );
    let above = |row: &[i32]| row.get(step).copied().unwrap_or(NEVER);
    let before = *state;
    let after = advance(&Costs::of(scores), before, pairs, above(row.h), above(row.f), step);
    let mask = each(|lane| if takes_part(lane) { -1 } else { 0 });
    let kept = |after: Lanes, before: Lanes| mask.select(after, before);
    *state = State {
        h: kept(after.h, before.h),
        e: kept(after.e, before.e),
        f: kept(after.f, before.f),
        diagonal: kept(after.diagonal, before.diagonal),
        best: kept(after.best, before.best),
        met: kept(after.met, before.met),
    };
    if takes_part(LANES - 1) {
        row.h[step + 1 - LANES] = state.h.to_array()[LANES - 1];
        row.f[step + 1 - LANES] = state.f.to_array()[LANES - 1];
    }
}

/// The steps of a strip in which all its rows take part.
#[inline(always)]
fn wholly(scores: &Scores, state: &mut State, profile: &[Lanes], subject: &[u8], row: &mut Row) {
    let costs = Costs::of(scores);
    let at = |letter: u8| profile[usize::from(letter)];
    // Lane k needs the profile of k columns before: the upper two lanes lag by two columns, and the
    // odd lanes by one more.
    let twos = |now: Lanes, late: Lanes| {
        let ([a, b, ..], [.., c, d]) = (now.to_array(), late.to_array());
        Lanes::new([a, b, c, d])
    };
    let ones = |now: Lanes, late: Lanes| {
        let ([a, _, c, _], [_, b, _, d]) = (now.to_array(), late.to_array());
        Lanes::new([a, b, c, d])
    };
    let mut late = [at(subject[LANES - 2]), at(subject[LANES - 3])];
    let mut late_twos = twos(at(subject[LANES - 2]), at(subject[LANES - 4]));
    let mut now = *state;
    for (step, letter) in subject.iter().enumerate().skip(LANES - 1) {
        let letter = at(*letter);
        let with_twos = twos(letter, late[1]);
        let pairs = ones(with_twos, late_twos);
        (late, late_twos) = ([letter, late[0]], with_twos);
        now = advance(&costs, now, pairs, row.h[step], row.f[step], step);
        row.h[step + 1 - LANES] = now.h.to_array()[LANES - 1];
        row.f[step + 1 - LANES] = now.f.to_array()[LANES - 1];
    }
    *state = now;
}

/// The costs, in each lane.
struct Costs {
    open: Lanes,
    extend: Lanes,
    floor: Lanes,
}

impl Costs {
    #[inline(always)]
    fn of(scores: &Scores) -> Self {
        let [open, extend, floor] = [scores.open, scores.extend, scores.floor].map(Lanes::splat);
        Self { open, extend, floor }
    }
}

/// One step of a strip: each row's next cell, whose letters score `pairs`. `above_h` and `above_f` are
/// the scores of the cell above the first row's cell.
#[inline(always)]
fn advance(costs: &Costs, before: State, pairs: Lanes, above_h: i32, above_f: i32, step: usize) -> State {
    let down = |above: i32, lanes: Lanes| {
        let [a, b, c, _] = lanes.to_array();
        Lanes::new([above, a, b, c])
    };
    let (up_h, up_f) = (down(above_h, before.h), down(above_f, before.f));
    let e = (before.e - costs.extend).max(before.h - costs.open);
    let f = (up_f - costs.extend).max(up_h - costs.open);
    let h = (before.diagonal + pairs).max(costs.floor).max(e.max(f));
    let step = Lanes::splat(number(step).cast_signed());
    State {
        h,
        e,
        f,
        diagonal: up_h,
        met: h.simd_gt(before.best).select(step, before.met),
        best: h.max(before.best),
    }
}

/// Computes `rows`, which are those from `from` on, cell by cell.
fn remainder(
    scores: &Scores,
    rows: &[u8],
    subject: &[u8],
    edges: &mut Edges,
    from: usize,
    mut corner: i32,
) -> Best {
    let mut best = Best::NONE;
    for (row, letter) in (from..).zip(rows) {
        let pairs = &scores.table[usize::from(*letter) * scores.size..][..scores.size];
        let (mut h, mut e) = (edges.column_h[row], edges.column_e[row]);
        let mut diagonal = std::mem::replace(&mut corner, h);
        for (column, letter) in subject.iter().enumerate() {
            let up = edges.row_h[column];
            e = (e - scores.extend).max(h - scores.open);
            let f = (edges.row_f[column] - scores.extend).max(up - scores.open);
            h = (diagonal + pairs[usize::from(*letter)]).max(scores.floor).max(e).max(f);
            diagonal = up;
            (edges.row_h[column], edges.row_f[column]) = (h, f);
            best = best.or(Best { score: h, row: number(row + 1), column: number(column + 1) });
        }
        (edges.column_h[row], edges.column_e[row]) = (h, e);
    }
    best
}

/// A place in a sequence: files have 100 million letters at most.
#[allow(clippy::cast_possible_truncation)]
pub fn number(nth: usize) -> u32 {
    nth as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_and_single_cells_agree() {
        let mut state = 5_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for round in 0..300 {
            let (height, width) = (8 + random(40) as usize, 8 + random(60) as usize);
            let size = 4;
            let table: Vec<i32> = (0..size * size).map(|_| random(12) as i32 - 6).collect();
            let floor = if round % 2 == 0 { 0 } else { NEVER };
            let scores = Scores { table: &table, size, open: random(9) as i32 + 2, extend: 2, floor };
            let mut letters = |count: usize| (0..count).map(|_| random(4) as u8).collect::<Vec<u8>>();
            let (query, subject) = (letters(height), letters(width));
            let mut edge = |count: usize| (0..count).map(|_| random(40) as i32 - 20).collect::<Vec<i32>>();
            let mut edges = Edges {
                corner: 3,
                row_h: edge(width),
                row_f: edge(width),
                column_h: edge(height),
                column_e: edge(height),
            };
            let mut expected = edges.clone();
            let found = compute(&scores, &query, &subject, &mut edges);
            let corner = expected.corner;
            let best = remainder(&scores, &query, &subject, &mut expected, 0, corner);
            assert_eq!((found, &edges), (best, &expected), "round {round}: {height} × {width}");
        }
    }
}
