//! The Abbadingo format: labelled strings.
//!
//! The first line has the number of strings and the size of the alphabet; then a line for each string:
//! its label (1 accepted, 0 rejected), its length, and its symbols, from 0.

use std::fmt::Display;
use std::str::SplitAsciiWhitespace;

use sateen::BadInput;

const STRINGS_MAX: usize = 10_000_000;
const ALPHABET_MAX: usize = 1_000;
const SYMBOLS_MAX: usize = 10_000_000;

/// Labelled strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Symbols are below this.
    pub alphabet: usize,
    /// In the order of the file.
    pub strings: Vec<Labelled>,
}

/// A string, and whether it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// Whether it belongs to the language.
    pub is_accepted: bool,
    /// From first to last.
    pub symbols: Vec<u16>,
    /// Its line in the file, from 1.
    pub line: usize,
}

/// Reads the sample in the input `input`.
///
/// # Errors
/// When `text` is not such a file; the message names the line.
pub fn parse(input: &str, text: &str) -> Result<Sample, BadInput> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim_ascii().is_empty());
    let Some((number, head)) = lines.next() else {
        let what = "the number of strings and the size of the alphabet are expected";
        return Err(BadInput::at_line(input, 1, what));
    };
    let mut line = Line { input, number, words: head.split_ascii_whitespace() };
    let count = line.number("the number of strings", STRINGS_MAX)?;
    let alphabet = line.number("the size of the alphabet", ALPHABET_MAX)?;
    line.finish()?;
    let (mut last, mut symbols_left) = (number, SYMBOLS_MAX);
    let mut strings = Vec::new();
    for (number, text) in lines {
        let mut line = Line { input, number, words: text.split_ascii_whitespace() };
        if strings.len() == count {
            return Err(line.wrong(&format!("a string more than the {count} that the first line announces")));
        }
        let label = line.number("a label, 1 (accepted) or 0 (rejected)", 1)?;
        let length = line.number("the string's length", SYMBOLS_MAX)?;
        let Some(left) = symbols_left.checked_sub(length) else {
            return Err(line.wrong(&format!("the strings have more than {SYMBOLS_MAX} symbols")));
        };
        symbols_left = left;
        let symbol = |line: &mut Line, nth: usize| {
            let what = format_args!("symbol {nth} of {length}");
            line.number(what, alphabet.saturating_sub(1)).map(|symbol| symbol as u16)
        };
        let symbols = (1..=length).map(|nth| symbol(&mut line, nth)).collect::<Result<_, _>>()?;
        line.finish()?;
        strings.push(Labelled { is_accepted: label == 1, symbols, line: number });
        last = number;
    }
    if strings.len() < count {
        let found = strings.len();
        let what =
            format!("the file ends after {found} of the {count} strings that the first line announces");
        return Err(BadInput::at_line(input, last, what));
    }
    Ok(Sample { alphabet, strings })
}

struct Line<'a> {
    input: &'a str,
    number: usize,
    words: SplitAsciiWhitespace<'a>,
}

impl Line<'_> {
    /// `what` is formatted only for an error, as each stolen job reads the input anew.
    fn number(&mut self, what: impl Display, max: usize) -> Result<usize, BadInput> {
        let Some(word) = self.words.next() else {
            return Err(self.wrong(&format!("the line ends where {what} is expected")));
        };
        match word.parse() {
            Ok(number) if number <= max => Ok(number),
            _ => {
                Err(self.wrong(&format!("`{word}` where {what} is expected, a whole number from 0 to {max}")))
            }
        }
    }

    fn finish(&mut self) -> Result<(), BadInput> {
        match self.words.next() {
            None => Ok(()),
            Some(word) => Err(self.wrong(&format!("`{word}` where the end of the line is expected"))),
        }
    }

    fn wrong(&self, what: &str) -> BadInput {
        BadInput::at_line(self.input, self.number, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read() {
        let sample = parse("train", "3 2\n1 3 0 1 1 \r\n\n0 0\n0 1 1").expect("a sample");
        let string =
            |is_accepted, symbols: &[u16], line| Labelled { is_accepted, symbols: symbols.to_vec(), line };
        let strings = vec![string(true, &[0, 1, 1], 2), string(false, &[], 4), string(false, &[1], 5)];
        assert_eq!(sample, Sample { alphabet: 2, strings });
    }

    #[test]
    fn errors_name_the_input_and_the_line() {
        for (text, expected) in [
            ("", "line 1: the number of strings and the size of the alphabet are expected"),
            ("2", "line 1: the line ends where the size of the alphabet is expected"),
            (
                "2 two",
                "line 1: `two` where the size of the alphabet is expected, a whole number from 0 to 1000",
            ),
            ("1 2 3", "line 1: `3` where the end of the line is expected"),
            ("1 2\n\n2 1 0", "line 3: `2` where a label, 1 (accepted) or 0 (rejected) is expected"),
            ("1 2\n1 2 0", "line 2: the line ends where symbol 2 of 2 is expected"),
            ("1 2\n1 2 0 2", "line 2: `2` where symbol 2 of 2 is expected, a whole number from 0 to 1"),
            ("1 2\n1 1 0 1", "line 2: `1` where the end of the line is expected"),
            ("2 2\n1 1 0\n\n", "line 2: the file ends after 1 of the 2 strings"),
            ("1 2\n1 1 0\n1 1 1", "line 3: a string more than the 1"),
            ("1 2\n1 99999999 0", "line 2: `99999999` where the string's length is expected"),
        ] {
            let error = parse("train", text).expect_err(text);
            assert!(error.0.starts_with(&format!("input `train`, {expected}")), "{text:?}: {error}");
        }
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let read = || parse("train", &sateen::input_text("train")?);
        sateen::testing::damage_input("train", "3 12\n1 3 0 1 11\n\n0 0\n0 1 1\n", read);
    }
}
