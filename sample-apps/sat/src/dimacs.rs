//! The DIMACS format for formulas.
//!
//! Comment lines begin with `c`. The header is `p cnf VARIABLES CLAUSES`. Then come numbers, clauses
//! ending in 0, over any lines. SATLIB's files end in a line `%`; text after it is not read.

use sateen::BadInput;

use crate::formula::{Formula, Literal};

/// More variables than in any competition; a header alone must not exhaust the memory.
const VARIABLES_MAX: usize = 10_000_000;

/// Reads a formula.
///
/// # Errors
/// When `text` is not a DIMACS file; the message names the line and what is wrong with it.
pub fn parse(text: &[u8]) -> Result<Formula, BadInput> {
    let mut reader = Reader { header: None, clause: Vec::new(), clause_line: 0, clauses: 0 };
    let mut last = 0;
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.starts_with(b"%") {
            break;
        }
        reader.read(index + 1, line)?;
        if !line.is_empty() {
            last = index + 1;
        }
    }
    reader.finish(last)
}

struct Reader {
    header: Option<(Formula, usize)>,
    clause: Vec<Literal>,
    /// The line on which the current clause began.
    clause_line: usize,
    clauses: usize,
}

impl Reader {
    fn read(&mut self, number: usize, line: &[u8]) -> Result<(), BadInput> {
        match line.first() {
            None | Some(b'c') => Ok(()),
            Some(b'p') => self.read_header(number, line),
            Some(_) => {
                let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
                words.into_iter().try_for_each(|word| self.read_number(number, word))
            }
        }
    }

    fn read_header(&mut self, number: usize, line: &[u8]) -> Result<(), BadInput> {
        if self.header.is_some() {
            return Err(wrong(number, "a second header where clauses are expected"));
        }
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let counts = match words.as_slice() {
            ["p", "cnf", variables, clauses] => variables.parse().ok().zip(clauses.parse().ok()),
            _ => None,
        };
        let Some((variables, clauses)) = counts else {
            return Err(wrong(
                number,
                &format!("`{text}` is not a header; `p cnf VARIABLES CLAUSES` is expected"),
            ));
        };
        if variables > VARIABLES_MAX {
            return Err(wrong(number, &format!("{variables} variables are more than {VARIABLES_MAX}")));
        }
        self.header = Some((Formula::new(variables), clauses));
        Ok(())
    }

    fn read_number(&mut self, line: usize, word: &[u8]) -> Result<(), BadInput> {
        let Some((formula, expected)) = &mut self.header else {
            return Err(wrong(line, "a clause before the header `p cnf VARIABLES CLAUSES`"));
        };
        let text = String::from_utf8_lossy(word);
        let Ok(number) = text.parse::<i32>() else {
            return Err(wrong(
                line,
                &format!("`{text}` where a literal, or 0 at a clause's end, is expected"),
            ));
        };
        if number == 0 {
            self.clauses += 1;
            if self.clauses > *expected {
                return Err(wrong(
                    line,
                    &format!("a clause more than the {expected} that the header announces"),
                ));
            }
            formula.add(std::mem::take(&mut self.clause));
            return Ok(());
        }
        if number.unsigned_abs() as usize > formula.variables {
            let variables = formula.variables;
            return Err(wrong(
                line,
                &format!("the literal {number}, but the header announces {variables} variables"),
            ));
        }
        if self.clause.is_empty() {
            self.clause_line = line;
        }
        self.clause.push(Literal::from_dimacs(number));
        Ok(())
    }

    fn finish(self, last: usize) -> Result<Formula, BadInput> {
        let Some((formula, expected)) = self.header else {
            return Err(wrong(last.max(1), "the header `p cnf VARIABLES CLAUSES` is missing"));
        };
        if !self.clause.is_empty() {
            return Err(wrong(self.clause_line, "the clause that begins here does not end in 0"));
        }
        if self.clauses < expected {
            let found = self.clauses;
            return Err(wrong(
                last,
                &format!("the file ends after {found} of the {expected} clauses that the header announces"),
            ));
        }
        Ok(formula)
    }
}

fn wrong(line: usize, what: &str) -> BadInput {
    BadInput::at_line("cnf", line, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<Vec<i64>> {
        let formula = parse(text.as_bytes()).expect("the test's text is right");
        formula
            .clauses()
            .iter()
            .map(|clause| clause.iter().map(|literal| literal.to_dimacs()).collect())
            .collect()
    }

    #[test]
    fn clauses_may_span_and_share_lines() {
        assert_eq!(
            numbers("c hi\np cnf 3 3\n1 -2\n 3 0 -1 0\r\n\n2 3 0\n"),
            [vec![1, -2, 3], vec![-1], vec![2, 3]]
        );
    }

    #[test]
    fn the_end_that_satlib_adds_is_not_read() {
        assert_eq!(numbers("p cnf 1 1\n1 0\n%\n0\n\n"), [[1]]);
    }

    #[test]
    fn empty_clauses_and_no_clauses_are_read() {
        assert_eq!(numbers("p cnf 2 1\n0\n"), [Vec::<i64>::new()]);
        assert_eq!(numbers("p cnf 0 0"), Vec::<Vec<i64>>::new());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("", "line 1: the header"),
            ("c only a comment\n", "line 1: the header"),
            ("1 2 0\n", "line 1: a clause before the header"),
            ("p cnf x 1\n", "line 1: `p cnf x 1` is not a header"),
            ("p cnf 1 1\np cnf 1 1\n", "line 2: a second header"),
            ("p cnf 2 1\n1 3 0\n", "line 2: the literal 3, but the header announces 2 variables"),
            ("p cnf 2 1\n1 two 0\n", "line 2: `two` where a literal, or 0 at"),
            ("p cnf 2 1\n\n1 2\n", "line 3: the clause that begins here does not end in 0"),
            ("p cnf 2 2\n1 2 0\n", "line 2: the file ends after 1 of the 2 clauses"),
            ("p cnf 2 1\n1 0\n2 0\n", "line 3: a clause more than the 1"),
            ("p cnf 99999999999 1\n", "line 1: 99999999999 variables"),
            ("p cnf 2 1\n1 99999999999 0\n", "line 2: `99999999999` where a literal, or 0 at"),
        ] {
            let error = parse(text.as_bytes()).expect_err(text);
            assert!(error.0.starts_with(&format!("input `cnf`, {expected}")), "{text:?}: {error}");
        }
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let read = || parse(&sateen::input("cnf")?);
        sateen::testing::damage_input("cnf", "c hi\np cnf 3 2\n1 -2\n 3 0\n-1 0\n%\n0\n", read);
    }
}
