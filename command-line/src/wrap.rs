//! Text that fits a terminal.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use rustix::termios;
use unicode_width::UnicodeWidthChar;

/// Text is never wrapped to fewer columns than this, however narrow the terminal.
const WIDTH_MIN: usize = 20;

/// Narrower lines are not indented.
const INDENTED_MIN: usize = 8;

/// Width in columns of the terminal on stdout; `None` for a pipe or a file, whose readers want whole lines.
pub fn width() -> Option<usize> {
    width_of(&std::io::stdout())
}

/// The same for stderr.
pub fn width_of_stderr() -> Option<usize> {
    width_of(&std::io::stderr())
}

fn width_of(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = stream.is_terminal().then(|| termios::tcgetwinsize(stream).ok()).flatten()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col).max(WIDTH_MIN))
}

/// Number of columns that a text takes in a terminal.
pub fn columns(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// Wraps a line into lines of at most `width` columns, all except the first indented by `indent` spaces. A word that is
/// longer than a line is cut anywhere.
pub fn wrap(line: &str, indent: usize, width: usize) -> Vec<String> {
    let indent = if width < INDENTED_MIN { 0 } else { indent.min(width / 2) };
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in line.split_inclusive(' ') {
        let bare = columns(word.trim_end());
        if used > indent && used + bare > width {
            lines.push(std::mem::take(&mut current));
            current = " ".repeat(indent);
            used = indent;
        }
        for character in word.chars() {
            let wide = character.width().unwrap_or(0);
            if used + wide > width {
                // A space that does not fit ends the line.
                if character == ' ' {
                    continue;
                }
                lines.push(std::mem::take(&mut current));
                current = " ".repeat(indent);
                used = indent;
            }
            current.push(character);
            used += wide;
        }
    }
    lines.push(current);
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let line = "state        running, for 2.5 s, and 世界 more";
        assert_eq!(wrap(line, 13, 80), [line]);
        assert_eq!(wrap(line, 13, 30), ["state        running, for 2.5", "             s, and 世界 more"]);
        assert_eq!(wrap("", 4, 40), [""]);
    }

    #[test]
    fn words_that_are_too_long_are_cut() {
        assert_eq!(wrap("app  abcdefghij", 5, 10), ["app  abcde", "     fghij"]);
        let hostile = "世".repeat(100);
        for width in 2..40 {
            let lines = wrap(&hostile, 30, width);
            assert!(lines.iter().all(|line| columns(line) <= width), "{width}: {lines:?}");
            assert_eq!(lines.concat().replace(' ', ""), hostile);
        }
    }
}
