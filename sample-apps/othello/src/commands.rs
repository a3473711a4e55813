//! The words of the command line.

use sateen::BadInput;

use crate::board::Position;

/// The deepest count or search: deeper ones would take far too long.
const DEPTH_MAX: u32 = 60;

/// A task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Count the games of this number of moves.
    Perft(u32),
    /// Find the exact score.
    Solve(Position),
    /// Find the value and the best move, looking this number of moves ahead.
    Search(Position, u32),
}

/// A task with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    pub task: Task,
    /// Whether jobs that have become useless are aborted.
    pub aborts: bool,
    /// Whether to report the number of visited positions.
    pub stats: bool,
}

const USAGE: &str = "perft DEPTH, solve SQUARES SIDE, solve NUMBER, or search DEPTH [SQUARES SIDE], then [--no-abort] [--stats]";

/// Reads the words; the input `positions` too, if a line of it is asked for.
pub fn parse(words: &[String]) -> Result<Command, BadInput> {
    let (mut aborts, mut stats) = (true, false);
    let mut rest = Vec::new();
    for word in words {
        match word.as_str() {
            "--no-abort" => aborts = false,
            "--stats" => stats = true,
            // A position may begin with empty squares.
            word if word.starts_with("--")
                && word.contains(|c: char| c.is_lowercase() && !matches!(c, 'x' | 'o')) =>
            {
                return Err(BadInput(format!("there is no flag `{word}`, only --no-abort and --stats")));
            }
            word => rest.push(word),
        }
    }
    let position = |squares, side| Position::parse(squares, side).map_err(BadInput);
    let task = match rest.as_slice() {
        ["perft", depth] => Task::Perft(self::depth(depth)?),
        ["solve", number] => Task::Solve(position_of_line(number)?),
        ["solve", squares, side] => Task::Solve(position(squares, side)?),
        ["search", depth] => Task::Search(Position::START, self::depth(depth)?.max(1)),
        ["search", depth, squares, side] => {
            Task::Search(position(squares, side)?, self::depth(depth)?.max(1))
        }
        words => {
            return Err(BadInput(format!("`{}` where one of these is expected: {USAGE}", words.join(" "))));
        }
    };
    Ok(Command { task, aborts, stats })
}

fn depth(word: &str) -> Result<u32, BadInput> {
    word.parse().ok().filter(|depth| *depth <= DEPTH_MAX).ok_or_else(|| {
        BadInput(format!("`{word}` where a depth is expected, a whole number from 0 to {DEPTH_MAX}"))
    })
}

/// The position of a line of the input `positions`: 64 squares, a blank, the side to move. Text after
/// a semicolon is ignored; files of known scores have the scores there.
fn position_of_line(number: &str) -> Result<Position, BadInput> {
    let Some(number) = number.parse::<usize>().ok().filter(|number| *number > 0) else {
        return Err(BadInput(format!(
            "`{number}` where a position is expected: the number of a line of the input `positions`, or 64 squares and a side"
        )));
    };
    let text = sateen::input_text("positions")?;
    let Some(line) = text.lines().nth(number - 1) else {
        let what = format!("the file ends where line {number} is expected");
        return Err(BadInput::at_line("positions", text.lines().count().max(1), what));
    };
    let said = line.split(';').next().unwrap_or_default();
    let mut words = said.split_ascii_whitespace();
    let (Some(squares), Some(side), None) = (words.next(), words.next(), words.next()) else {
        let what = format!("`{said}` where 64 squares and the side to move are expected");
        return Err(BadInput::at_line("positions", number, what));
    };
    Position::parse(squares, side).map_err(|why| BadInput::at_line("positions", number, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        parse(&words).expect_err("the words are wrong").0
    }

    #[test]
    fn errors_name_what_is_expected() {
        assert!(error("play").starts_with("`play` where one of these is expected: perft DEPTH, "));
        assert_eq!(error("perft x"), "`x` where a depth is expected, a whole number from 0 to 60");
        assert_eq!(error("search 4 --depth 3"), "there is no flag `--depth`, only --no-abort and --stats");
        assert_eq!(error("solve X-O X"), "a position of 3 squares where 64 are expected");
        let squares = "-".repeat(63);
        assert_eq!(error(&format!("solve {squares}? X")), "`?` on H8 where X, O or - is expected");
        assert_eq!(
            error(&format!("solve {squares}X white")),
            "`white` where the side to move is expected, X or O"
        );
        sateen::testing::set_input("positions", format!("{squares}X X; A1:+2\nXO O\n{squares} X\nX"));
        assert_eq!(
            error("solve 2"),
            "input `positions`, line 2: a position of 2 squares where 64 are expected"
        );
        assert_eq!(
            error("solve 3"),
            "input `positions`, line 3: a position of 63 squares where 64 are expected"
        );
        assert_eq!(
            error("solve 4"),
            "input `positions`, line 4: `X` where 64 squares and the side to move are expected"
        );
        assert_eq!(error("solve 5"), "input `positions`, line 4: the file ends where line 5 is expected");
        assert!(error("solve 0").starts_with("`0` where a position is expected"));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let whole = format!("{}OX X; A1:+2\n{}XO O\n", "-".repeat(62), "-".repeat(62));
        sateen::testing::damage_input("positions", whole, || position_of_line("2"));
    }
}
