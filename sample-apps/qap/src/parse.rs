//! QAPLIB's format (Burkard, Çela, Karisch and Rendl): the size, the matrix A, the matrix B, all
//! numbers over any lines.

use std::cell::Cell;

use sateen::BadInput;

use crate::instance::{ENTRY_MAX, Instance, SIZE_MAX};

/// Reads an instance.
///
/// # Errors
/// When `text` is not an instance; the message names the line and what was expected there.
pub fn parse(text: &str) -> Result<Instance, BadInput> {
    let lines = text.lines().enumerate();
    let words =
        lines.flat_map(|(index, line)| line.split_ascii_whitespace().map(move |word| (index + 1, word)));
    let last = Cell::new(1);
    let mut words = words.inspect(|(line, _)| last.set(*line));
    let end = |what: &str| wrong(last.get(), &format!("the file ends where {what} is expected"));

    let (line, word) = words.next().ok_or_else(|| end("the number of facilities"))?;
    let size = match word.parse() {
        Ok(size @ 1..=SIZE_MAX) => size,
        _ => {
            let what = format!("`{word}` where the number of facilities is expected, 1 to {SIZE_MAX}");
            return Err(wrong(line, &what));
        }
    };
    let mut matrix = |name: &str| -> Result<Vec<i64>, BadInput> {
        let mut entries = Vec::with_capacity(size * size);
        for nth in 0..size * size {
            let (row, column) = (nth / size + 1, nth % size + 1);
            let (line, word) = words
                .next()
                .ok_or_else(|| end(&format!("row {row}, column {column} of the matrix {name}")))?;
            match word.parse() {
                Ok(entry @ 0..=ENTRY_MAX) => entries.push(entry),
                _ => {
                    let what = format!(
                        "`{word}` where row {row}, column {column} of the matrix {name} is expected, a whole number from 0 to {ENTRY_MAX}"
                    );
                    return Err(wrong(line, &what));
                }
            }
        }
        Ok(entries)
    };
    let (first, second) = (matrix("A")?, matrix("B")?);
    match words.next() {
        None => Ok(Instance { size, first, second }),
        Some((line, word)) => Err(wrong(line, &format!("`{word}` where the file's end is expected"))),
    }
}

fn wrong(line: usize, what: &str) -> BadInput {
    BadInput::at_line("dat", line, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).expect_err("the text is wrong").0
    }

    #[test]
    fn matrices_are_read_over_any_lines() {
        let expected = Instance { size: 2, first: vec![0, 1, 2, 0], second: vec![0, 3, 4, 5] };
        assert_eq!(parse("2\n\n0 1\n2 0\n\n0 3\n4 5\n").as_ref(), Ok(&expected));
        assert_eq!(parse(" 2 0 1 2\r\n0 0 3 4 5").as_ref(), Ok(&expected));
    }

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        assert_eq!(
            error("\n"),
            "input `dat`, line 1: the file ends where the number of facilities is expected"
        );
        assert_eq!(
            error("\n33"),
            "input `dat`, line 2: `33` where the number of facilities is expected, 1 to 32"
        );
        assert_eq!(
            error("2\n0 1\n2 0\n0 3\n"),
            "input `dat`, line 4: the file ends where row 2, column 1 of the matrix B is expected"
        );
        assert_eq!(
            error("2\n0 1\n2 -1"),
            "input `dat`, line 3: `-1` where row 2, column 2 of the matrix A is expected, a whole number from 0 to 1000000"
        );
        assert_eq!(error("1\n0\n0\n7"), "input `dat`, line 4: `7` where the file's end is expected");
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let read = || parse(&sateen::input_text("dat")?);
        sateen::testing::damage_input("dat", "2\n\n0 1\n2 0\n\n0 3\n4 51\n", read);
    }
}
