//! A file's lines, and errors when it ends too soon.

use sateen::BadInput;

/// The lines that are not blank, without blanks around them.
pub struct Lines<'text> {
    /// The input's name.
    input: &'static str,
    lines: std::iter::Enumerate<std::str::Lines<'text>>,
    /// The number of the last line read.
    last: usize,
}

impl<'text> Lines<'text> {
    pub fn of(input: &'static str, text: &'text str) -> Self {
        Self { input, lines: text.lines().enumerate(), last: 1 }
    }

    /// The next line; `what` names the expected contents.
    pub fn expect(&mut self, what: &str) -> Result<(usize, &'text str), BadInput> {
        self.next().ok_or_else(|| self.end(what))
    }

    /// An error: the text ends too soon.
    pub fn end(&self, what: &str) -> BadInput {
        BadInput::at_line(self.input, self.last, format_args!("the file ends where {what} is expected"))
    }
}

impl<'text> Iterator for Lines<'text> {
    /// The line's number in the file, from 1, and the line.
    type Item = (usize, &'text str);

    fn next(&mut self) -> Option<Self::Item> {
        let found = (self.lines.by_ref())
            .map(|(index, line)| (index + 1, line.trim_ascii()))
            .find(|(_, line)| !line.is_empty())?;
        self.last = found.0;
        Some(found)
    }
}
