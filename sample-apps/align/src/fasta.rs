//! The FASTA format: a line `>NAME DESCRIPTION`, then the letters over any number of lines.

use sateen::BadInput;

use crate::scoring::Matrix;

/// Maximum letters of a sequence, and of all sequences of a file together.
const LETTERS_MAX: usize = 100_000_000;

/// A named sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The first word after `>`.
    pub name: String,
    /// The letters, as the matrix numbers them.
    pub codes: Vec<u8>,
}

/// Reads the sequences of the input `input`, whose letters must all be in `matrix`. Small letters are
/// read as capital ones.
///
/// # Errors
/// When `text` is not a FASTA file, or a letter is not in the matrix; the message names the line.
pub fn parse(input: &str, text: &[u8], matrix: &Matrix) -> Result<Vec<Sequence>, BadInput> {
    let wrong = |line: usize, what: &str| BadInput::at_line(input, line, what);
    let mut sequences: Vec<Sequence> = Vec::new();
    let (mut letters, mut header, mut last) = (0, 0, 1);
    let empty = |sequence: &Sequence, line| {
        if sequence.codes.is_empty() {
            return Err(wrong(line, &format!("the sequence `{}` has no letters", sequence.name)));
        }
        Ok(())
    };
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        last = number;
        if let Some(title) = line.strip_prefix(b">") {
            if let Some(sequence) = sequences.last() {
                empty(sequence, header)?;
            }
            header = number;
            let title = String::from_utf8_lossy(title);
            let Some(name) = title.split_ascii_whitespace().next() else {
                return Err(wrong(number, "a name is expected after `>`"));
            };
            sequences.push(Sequence { name: name.to_owned(), codes: Vec::new() });
            continue;
        }
        let Some(sequence) = sequences.last_mut() else {
            return Err(wrong(number, "`>` and a sequence's name are expected before its letters"));
        };
        letters += line.len();
        if letters > LETTERS_MAX {
            return Err(wrong(number, &format!("the file has more than {LETTERS_MAX} letters")));
        }
        for byte in line {
            let Some(code) = matrix.code(*byte) else {
                let letter = char::from(*byte).escape_default();
                let (name, known) = (matrix.name, matrix.letters());
                return Err(wrong(
                    number,
                    &format!("`{letter}` is not a letter of {name}, which has {known}"),
                ));
            };
            sequence.codes.push(code);
        }
    }
    match sequences.last() {
        None => Err(wrong(last, "`>` and a sequence's name are expected; there is no sequence")),
        Some(sequence) => empty(sequence, header).map(|()| sequences),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dna(text: &str) -> Result<Vec<Sequence>, BadInput> {
        parse("queries", text.as_bytes(), &Matrix::named("EDNAFULL").expect("it is known"))
    }

    #[test]
    fn names_are_first_words_and_letters_run_over_lines() {
        let sequences = dna("\n>one of two\r\nAC\r\n\r\ngt\r\n> two\nA").expect("FASTA");
        let matrix = Matrix::named("EDNAFULL").expect("it is known");
        let codes = |letters: &str| letters.bytes().map(|byte| matrix.code(byte).expect("a base")).collect();
        assert_eq!(
            sequences,
            [
                Sequence { name: "one".to_owned(), codes: codes("ACGT") },
                Sequence { name: "two".to_owned(), codes: codes("A") },
            ]
        );
    }

    #[test]
    fn errors_name_the_input_and_the_line() {
        for (text, expected) in [
            ("", "line 1: `>` and a sequence's name are expected; there is no sequence"),
            ("\n\nACGT\n", "line 3: `>` and a sequence's name are expected before its letters"),
            (">a\nACGT\n>\nA", "line 3: a name is expected after `>`"),
            (">a\n>b\nA", "line 1: the sequence `a` has no letters"),
            (">a\nA\n>b\n\n", "line 3: the sequence `b` has no letters"),
            (">a\nAC\nA-C\n", "line 3: `-` is not a letter of EDNAFULL, which has ATGCSWRYKMBVHDNU"),
            (">a\nA\u{7}\n", "line 2: `\\u{7}` is not a letter"),
        ] {
            let error = dna(text).expect_err(text);
            assert!(error.0.starts_with(&format!("input `queries`, {expected}")), "{text:?}: {error}");
        }
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let matrix = Matrix::named("EDNAFULL").expect("it is known");
        let read = || parse("queries", &sateen::input("queries")?, &matrix);
        sateen::testing::damage_input("queries", ">one of two\r\nACGT\n\nga\n>two\nA\n", read);
    }
}
