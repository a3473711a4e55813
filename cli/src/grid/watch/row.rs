//! A line of the view.

use sateen_command_line::wrap::columns;
use sateen_logging::visible;
use unicode_width::UnicodeWidthChar;

/// How a piece of text is highlighted; its meaning never depends on the highlighting alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Dim,
    Strong,
    Good,
    Warn,
    Bad,
}

/// Pieces of text beside one another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub pieces: Vec<(Tone, String)>,
}

impl Row {
    /// A row with one piece. Control characters are escaped, because names come from strangers.
    pub fn of(tone: Tone, text: &str) -> Self {
        Self::default().and(tone, text)
    }

    /// The row with another piece at the end.
    #[must_use]
    pub fn and(mut self, tone: Tone, text: &str) -> Self {
        self.pieces.push((tone, visible(text)));
        self
    }

    /// The row cut to this many columns, with an ellipsis if something is missing.
    #[must_use]
    pub fn cut(mut self, width: usize) -> Self {
        let mut left = width;
        let total: usize = self.pieces.iter().map(|(_, text)| columns(text)).sum();
        if total <= width {
            return self;
        }
        left = left.saturating_sub(1);
        let mut kept = Vec::new();
        for (tone, text) in self.pieces {
            let mut piece = String::new();
            for character in text.chars() {
                let columns = character.width().unwrap_or(0);
                if columns > left {
                    left = 0;
                    break;
                }
                left -= columns;
                piece.push(character);
            }
            kept.push((tone, piece));
            if left == 0 {
                break;
            }
        }
        if width > 0
            && let Some((_, last)) = kept.last_mut()
        {
            last.push('…');
        }
        self.pieces = kept;
        self
    }

    /// Split into rows of at most `width` columns, all except the first indented by `indent`
    /// blanks.
    #[must_use]
    pub fn wrap(self, indent: usize, width: usize) -> Vec<Self> {
        let text = self.text();
        if columns(&text) <= width || width == 0 {
            return vec![self];
        }
        // Wrapping changes only blanks.
        let letters = self.pieces.iter().flat_map(|(tone, text)| text.chars().map(|letter| (*tone, letter)));
        let mut tones = letters.filter(|(_, letter)| !letter.is_whitespace()).map(|(tone, _)| tone);
        let mut tone = Tone::Plain;
        let lines = sateen_command_line::wrap::wrap(&text, indent, width).into_iter().map(|line| {
            let mut row = Self::default();
            for letter in line.chars() {
                if !letter.is_whitespace() {
                    tone = tones.next().unwrap_or(tone);
                }
                match row.pieces.last_mut() {
                    Some((last, piece)) if *last == tone => piece.push(letter),
                    _ => row.pieces.push((tone, letter.to_string())),
                }
            }
            row
        });
        lines.collect()
    }

    /// The row's text without highlighting.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Rows under their headings.
#[derive(Debug, Default)]
pub struct Table {
    /// The headings, and below them the rows.
    pub rows: Vec<Row>,
    /// If some columns do not fit: the number shown, and the number of all.
    pub shown: Option<(usize, usize)>,
}

impl Table {
    /// Says for the title how many columns are shown, if some are not.
    pub fn left_out(&self) -> String {
        self.shown.map_or_else(String::new, |(shown, all)| format!(", {shown} of {all} columns shown"))
    }
}

/// Rows under their headings, each column as wide as its widest cell. If they do not fit into `room` columns, long
/// cells are cut, and then the last columns are left out.
pub fn table(headings: &[&str], cells: &[Vec<String>], room: usize) -> Table {
    let mut cells: Vec<Vec<String>> =
        cells.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
    let widths = |cells: &[Vec<String>]| -> Vec<usize> {
        let width = |column: usize| {
            let widths = cells.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell));
            widths.chain([columns(headings[column])]).max().unwrap_or(0)
        };
        (0..headings.len()).map(width).collect()
    };
    let whole = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(2);
    let mut headings = headings.to_vec();
    let mut widths_now = widths(&cells);
    if whole(&widths_now) > room {
        for cell in cells.iter_mut().flatten() {
            *cell = Row { pieces: vec![(Tone::Plain, std::mem::take(cell))] }.cut(room.div_ceil(2)).text();
        }
        widths_now = widths(&cells);
    }
    let all = headings.len();
    while headings.len() > 1 && whole(&widths_now) > room {
        headings.pop();
        widths_now.pop();
    }
    let shown = (headings.len() < all).then_some((headings.len(), all));
    let widths = widths_now;
    let line = |row: &[String]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - columns(cell)));
        }
        line.trim_end().to_owned()
    };
    let heading: Vec<String> = headings.iter().map(ToString::to_string).collect();
    let mut rows = vec![Row { pieces: vec![(Tone::Dim, line(&heading))] }];
    rows.extend(cells.iter().map(|row| Row { pieces: vec![(Tone::Plain, line(row))] }));
    Table { rows, shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_too_long_are_cut_by_columns() {
        let row = Row::of(Tone::Strong, "run 7").and(Tone::Plain, " 世界 done");
        assert_eq!(row.clone().cut(80), row);
        assert_eq!(row.clone().cut(9).text(), "run 7 世…");
        assert_eq!(row.clone().cut(8).text(), "run 7 …");
        assert!((0..30).all(|width| columns(&row.clone().cut(width).text()) <= width));
    }

    #[test]
    fn hostile_text_steers_nothing() {
        let row = Row::of(Tone::Plain, "\u{1b}]0;owned\u{7}\n\u{202e}x");
        assert_eq!(row.text(), "\\u{1b}]0;owned\\u{7}\\n\\u{202e}x");
        let rows = table(&["NAME"], &[vec!["a\u{1b}[2J\tb".to_owned()]], 80).rows;
        assert!(rows.iter().all(|row| !row.text().contains(char::is_control)), "{rows:?}");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = table(
            &["HOST", "BUSY"],
            &[vec!["ada".into(), "1".into()], vec!["世界世界".into(), "20".into()]],
            80,
        );
        let texts: Vec<String> = rows.rows.iter().map(Row::text).collect();
        assert_eq!(texts, ["HOST      BUSY", "ada       1", "世界世界  20"]);
    }

    #[test]
    fn cells_that_do_not_fit_are_cut_and_columns_left_out() {
        let cells = [vec!["ada".into(), "a long reason that does not fit".into(), "7".into()]];
        let narrow = table(&["HOST", "STATE", "JOBS"], &cells, 20);
        let texts: Vec<String> = narrow.rows.iter().map(Row::text).collect();
        assert_eq!(
            (texts, narrow.shown),
            (vec!["HOST  STATE".to_owned(), "ada   a long re…".to_owned()], Some((2, 3)))
        );
        assert_eq!(narrow.left_out(), ", 2 of 3 columns shown");
        assert!((0..60).all(|room| {
            let table = table(&["HOST", "STATE", "JOBS"], &cells, room);
            table.shown.is_some_and(|(shown, _)| shown == 1)
                || table.rows.iter().all(|row| columns(&row.text()) <= room)
        }));
    }

    #[test]
    fn rows_break_between_words_and_keep_their_tones() {
        let row = Row::of(Tone::Dim, "jobs      ").and(Tone::Plain, "12 spawned, 9 exposed");
        let rows = row.clone().wrap(10, 24);
        let texts: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(texts, ["jobs      12 spawned, 9", "          exposed"]);
        assert_eq!(
            rows[0].pieces,
            [(Tone::Dim, "jobs      ".to_owned()), (Tone::Plain, "12 spawned, 9".to_owned())]
        );
        assert_eq!(row.clone().wrap(10, 80), [row]);
    }
}
