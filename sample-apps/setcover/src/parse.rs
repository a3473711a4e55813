//! Reads the two common layouts of set cover instances.

use std::str::SplitAsciiWhitespace;

use sateen::BadInput;

use crate::instance::Instance;

const ROWS_MAX: usize = 100_000;
const COLUMNS_MAX: usize = 1_000_000;
/// The greatest cost of a column: no sum that is computed with it overflows.
const COST_MAX: usize = 1_000_000;

/// Reads an instance:
///
/// * OR-Library's layout (Beasley): the numbers of rows and columns, the columns' costs, then for each
///   row the number of columns that cover it, and these columns, from 1; over any lines;
/// * or Steiner triples (Fulkerson, Nemhauser and Trotter 1974): the numbers of columns and rows, then a
///   line of three columns for each row; all costs are 1.
///
/// # Errors
/// When the text is neither; the message names the line.
pub fn parse(text: &str) -> Result<Instance, BadInput> {
    let mut numbers = Numbers::of(text);
    let first = numbers.next("the number of rows", ROWS_MAX.max(COLUMNS_MAX))?;
    let second = numbers.next("the number of columns", COLUMNS_MAX)?;
    let lines: Vec<usize> =
        (text.lines().map(|line| line.split_ascii_whitespace().count())).filter(|words| *words > 0).collect();
    let triples = lines.iter().skip(1).take_while(|words| **words == 3).count();
    // A line of costs would have three numbers only if there were as many columns.
    let has_triples = lines[0] == 2 && triples > 0 && (second != 3 || triples + 1 == lines.len());
    if has_triples && (triples == second || second != 3) {
        read_triples(numbers, first, second)
    } else {
        read_library(numbers, first, second)
    }
}

fn read_library(mut numbers: Numbers, rows: usize, columns: usize) -> Result<Instance, BadInput> {
    if rows > ROWS_MAX {
        return Err(numbers.wrong(&format!("{rows} rows are more than {ROWS_MAX}")));
    }
    let mut costs = Vec::new();
    for column in 1..=columns {
        costs.push(numbers.next(&format!("the cost of column {column} of {columns}"), COST_MAX)? as i64);
    }
    let mut covers = Vec::new();
    for row in 1..=rows {
        let count = numbers.next(&format!("how many columns cover row {row} of {rows}"), columns)?;
        if count == 0 {
            return Err(numbers.wrong(&format!("no column covers row {row}, so there is no cover")));
        }
        let what = format!("a column that covers row {row} of {rows}");
        covers.push((0..count).map(|_| numbers.column(&what, columns)).collect::<Result<_, _>>()?);
    }
    numbers.finish()?;
    Ok(Instance::new(costs, covers))
}

fn read_triples(mut numbers: Numbers, columns: usize, rows: usize) -> Result<Instance, BadInput> {
    let mut covers = Vec::new();
    for row in 1..=rows {
        let what = format!("a column of triple {row} of {rows}");
        covers.push((0..3).map(|_| numbers.column(&what, columns)).collect::<Result<_, _>>()?);
    }
    numbers.finish()?;
    Ok(Instance::new(vec![1; columns], covers))
}

/// The numbers of a text, one after the other.
struct Numbers<'text> {
    lines: std::iter::Enumerate<std::str::Lines<'text>>,
    words: SplitAsciiWhitespace<'text>,
    line: usize,
}

impl<'text> Numbers<'text> {
    fn of(text: &'text str) -> Self {
        Self { lines: text.lines().enumerate(), words: "".split_ascii_whitespace(), line: 1 }
    }

    fn word(&mut self) -> Option<&'text str> {
        loop {
            if let Some(word) = self.words.next() {
                return Some(word);
            }
            let (index, text) = self.lines.next()?;
            self.words = text.split_ascii_whitespace();
            if !text.trim_ascii().is_empty() {
                self.line = index + 1;
            }
        }
    }

    fn next(&mut self, what: &str, max: usize) -> Result<usize, BadInput> {
        let Some(word) = self.word() else {
            return Err(self.wrong(&format!("the file ends where {what} is expected")));
        };
        match word.parse() {
            Ok(number) if number <= max => Ok(number),
            _ => {
                Err(self.wrong(&format!("`{word}` where {what} is expected, a whole number from 0 to {max}")))
            }
        }
    }

    /// A column, which the file counts from 1.
    fn column(&mut self, what: &str, columns: usize) -> Result<u32, BadInput> {
        match self.next(what, columns)? {
            0 => Err(self.wrong(&format!("`0` where {what} is expected; columns are counted from 1"))),
            number => Ok(u32::try_from(number - 1).unwrap_or(u32::MAX)),
        }
    }

    fn finish(&mut self) -> Result<(), BadInput> {
        match self.word() {
            None => Ok(()),
            Some(word) => Err(self.wrong(&format!("`{word}` where the end of the file is expected"))),
        }
    }

    fn wrong(&self, what: &str) -> BadInput {
        BadInput::at_line("scp", self.line, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_are_read() {
        let library = parse("2 3\n5 6\n7\n2 1\n3 1\n2\n").expect("an instance");
        assert_eq!(library, Instance::new(vec![5, 6, 7], vec![vec![0, 2], vec![1]]));
        let triples = parse("4 2\n2 3 4\n1 3 4\r\n\n").expect("an instance");
        assert_eq!(triples, Instance::new(vec![1; 4], vec![vec![1, 2, 3], vec![0, 2, 3]]));
        // Three columns, with their costs on one line.
        let three = parse("1 3\n5 6 7\n1 2\n").expect("an instance");
        assert_eq!(three, Instance::new(vec![5, 6, 7], vec![vec![1]]));
        assert_eq!(parse("0 0"), Ok(Instance::new(vec![], vec![])));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("", "line 1: the file ends where the number of rows is expected"),
            ("x 3", "line 1: `x` where the number of rows is expected"),
            ("2 3\n1 1\n", "line 2: the file ends where the cost of column 3 of 3 is expected"),
            ("2 2\n1 1\n2 1 2\n1 3\n", "line 4: `3` where a column that covers row 2 of 2 is expected"),
            ("2 2\n1 1\n2 1 2\n1 0\n", "line 4: `0` where a column that covers row 2 of 2 is expected; "),
            ("2 2\n1 1\n1 1\n0\n", "line 4: no column covers row 2"),
            ("1 2\n1 -1\n1 1\n", "line 2: `-1` where the cost of column 2 of 2"),
            ("1 1\n1\n1 1\n\n9\n", "line 5: `9` where the end of the file is expected"),
            ("9 12\n2 3 4\n1 x 5\n", "line 3: `x` where a column of triple 2 of 12 is expected"),
            ("9 4\n2 3 4\n1 3 5\n", "line 3: the file ends where a column of triple 3 of 4 is expected"),
            ("9 1\n2 3 10\n", "line 2: `10` where a column of triple 1 of 1 is expected"),
            ("999999 1\n1\n", "line 1: 999999 rows are more than 100000"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.0.starts_with(&format!("input `scp`, {expected}")), "{text:?}: {error}");
        }
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        for whole in ["2 3\n5 6\n17\n2 1\n3 1\n\n2\n", "4 2\n2 3 4\n1 3 4\n"] {
            sateen::testing::damage_input("scp", whole, || parse(&sateen::input_text("scp")?));
        }
    }
}
