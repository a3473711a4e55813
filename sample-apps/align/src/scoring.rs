//! Scores of matches, mismatches and gaps.

use sateen::BadInput;
use serde::{Deserialize, Serialize};

/// The matrices, as tables with a head line: BLOSUM62 (Henikoff and Henikoff, PNAS 89, 1992), and the
/// one for nucleotides that EMBOSS and BLAST call by two names.
const MATRICES: [(&str, &str); 2] =
    [("BLOSUM62", include_str!("../matrices/BLOSUM62")), ("EDNAFULL", include_str!("../matrices/EDNAFULL"))];

/// Maximum decimals of gap costs.
const DECIMALS_MAX: usize = 2;

/// The greatest cost of a gap's letter.
const COST_MAX: i32 = 1_000;

/// The score of each pair of letters.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// Its name for users.
    pub name: &'static str,
    letters: Vec<u8>,
    /// By the codes of both letters: row by row.
    scores: Vec<i32>,
}

impl Matrix {
    /// The matrix called `name`; `DNA` is another name of EDNAFULL.
    ///
    /// # Errors
    /// When there is no such matrix.
    pub fn named(name: &str) -> Result<Self, BadInput> {
        let upper = name.to_ascii_uppercase();
        let sought = if upper == "DNA" { "EDNAFULL" } else { upper.as_str() };
        let Some((name, table)) = MATRICES.into_iter().find(|(known, _)| *known == sought) else {
            return Err(BadInput(format!(
                "there is no matrix `{name}`; BLOSUM62 (proteins) or EDNAFULL (DNA) is expected"
            )));
        };
        let (head, rows) = table.split_once('\n').unwrap_or((table, ""));
        let letters: Vec<u8> = head.bytes().filter(u8::is_ascii_graphic).collect();
        let scores = rows.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        let matrix = Self { name, letters, scores };
        debug_assert_eq!(matrix.scores.len(), matrix.size() * matrix.size());
        Ok(matrix)
    }

    /// Its number of letters.
    pub fn size(&self) -> usize {
        self.letters.len()
    }

    /// All its letters.
    pub fn letters(&self) -> String {
        String::from_utf8_lossy(&self.letters).into_owned()
    }

    /// The number of a letter.
    pub fn code(&self, letter: u8) -> Option<u8> {
        let upper = letter.to_ascii_uppercase();
        self.letters.iter().position(|known| *known == upper).and_then(|code| u8::try_from(code).ok())
    }

    /// The scores of all pairs of letters, row by row, in units of 1/`scale` point.
    pub fn table(&self, scale: i32) -> Vec<i32> {
        self.scores.iter().map(|score| score * scale).collect()
    }

    /// The score of the letters with two codes.
    #[cfg(test)]
    pub fn score(&self, left: u8, right: u8) -> i32 {
        self.scores[usize::from(left) * self.size() + usize::from(right)]
    }
}

/// The costs of gaps, in units of 1/`scale` point: with decimals, scores are still
/// whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// The first letter of a gap.
    pub open: i32,
    /// Each further one.
    pub extend: i32,
    /// 1, 10 or 100.
    pub scale: i32,
}

impl Gaps {
    /// The costs as a user writes them, such as `10` and `0.5`.
    ///
    /// # Errors
    /// When one is not a number from 0 to 1000 with at most two decimals, or extending costs more than opening.
    pub fn parse(open: &str, extend: &str) -> Result<Self, BadInput> {
        let decimals = decimals(open).max(decimals(extend));
        let read = |what: &str, word: &str| {
            scaled(word, decimals).ok_or_else(|| {
                BadInput(format!(
                    "to {what} a gap costs `{word}`, but a number from 0 to {COST_MAX} with at most \
                     {DECIMALS_MAX} decimals is expected"
                ))
            })
        };
        let gaps = Self {
            open: read("open", open)?,
            extend: read("extend", extend)?,
            scale: 10_i32.pow(decimals.min(DECIMALS_MAX) as u32),
        };
        if gaps.extend > gaps.open {
            return Err(BadInput(format!(
                "to extend a gap costs {extend}, more than the {open} that it costs to open one"
            )));
        }
        Ok(gaps)
    }

    /// A score in points.
    pub fn points(self, score: i32) -> String {
        let (whole, rest) = (score / self.scale, score % self.scale);
        if rest == 0 {
            return whole.to_string();
        }
        let digits = self.scale.ilog10() as usize;
        let text = format!("{whole}.{rest:0digits$}");
        text.trim_end_matches('0').to_owned()
    }
}

fn decimals(word: &str) -> usize {
    word.split_once('.').map_or(0, |(_, digits)| digits.len())
}

/// The number in `word`, times 10 to the power of `decimals`.
fn scaled(word: &str, decimals: usize) -> Option<i32> {
    let (whole, digits) = word.split_once('.').unwrap_or((word, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(digits) || decimals > DECIMALS_MAX {
        return None;
    }
    let whole: i32 = whole.parse().ok().filter(|whole| *whole < COST_MAX)?;
    let padded = format!("{whole}{digits:0<decimals$}");
    padded.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_symmetric_and_match_the_published_ones() {
        for (name, size) in [("BLOSUM62", 24), ("EDNAFULL", 16)] {
            let matrix = Matrix::named(name).expect("it is known");
            assert_eq!((matrix.size(), matrix.scores.len()), (size, size * size));
            for left in 0..size as u8 {
                for right in 0..size as u8 {
                    assert_eq!(matrix.score(left, right), matrix.score(right, left));
                }
            }
        }
        let score = |name: &str, left, right| {
            let matrix = Matrix::named(name).expect("it is known");
            matrix.score(matrix.code(left).expect("a letter"), matrix.code(right).expect("a letter"))
        };
        assert_eq!(score("BLOSUM62", b'W', b'W'), 11);
        assert_eq!(score("blosum62", b'i', b'L'), 2);
        assert_eq!(
            (score("dna", b'A', b'a'), score("DNA", b'A', b'C'), score("DNA", b'N', b'G')),
            (5, -4, -2)
        );
        assert!(Matrix::named("PAM250").is_err_and(|error| error.0.contains("BLOSUM62")));
    }

    #[test]
    fn gap_costs_may_have_decimals() {
        let gaps = |open, extend| Gaps::parse(open, extend);
        assert_eq!(gaps("10", "1"), Ok(Gaps { open: 10, extend: 1, scale: 1 }));
        assert_eq!(gaps("10", "0.5"), Ok(Gaps { open: 100, extend: 5, scale: 10 }));
        assert_eq!(gaps("7.25", "0.5"), Ok(Gaps { open: 725, extend: 50, scale: 100 }));
        let points = |score| gaps("7.25", "0.5").expect("costs").points(score);
        assert_eq!([points(29_300), points(29_350), points(5)], ["293", "293.5", "0.05"]);
        for (open, extend) in [("x", "1"), ("1", "-1"), ("1", ""), ("1.001", "1"), ("5000", "1"), (".", "1")]
        {
            assert!(
                gaps(open, extend).is_err_and(|error| error.0.contains("from 0 to 1000")),
                "{open} {extend}"
            );
        }
        assert!(gaps("1", "1.5").is_err_and(|error| error.0.contains("more than the 1")));
    }
}
