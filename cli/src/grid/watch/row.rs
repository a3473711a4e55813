//! A line of the view.

use sateen_log::visible;
use unicode_width::UnicodeWidthChar;

/// How a piece of text stands out; what it says never depends on that alone.
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
    /// Names come from strangers: what would steer a terminal is spelled out.
    pub fn of(tone: Tone, text: &str) -> Self {
        Self::default().and(tone, text)
    }

    /// With another piece behind.
    #[must_use]
    pub fn and(mut self, tone: Tone, text: &str) -> Self {
        self.pieces.push((tone, visible(text)));
        self
    }

    /// Cut to so many columns, with an ellipsis where something is missing.
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

    /// Its text alone.
    #[cfg(test)]
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// So many columns a terminal takes for it.
pub fn columns(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// Rows under their headings, each column as wide as its widest cell.
pub fn table(headings: &[&str], cells: &[Vec<String>]) -> Vec<Row> {
    let cells: Vec<Vec<String>> =
        cells.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
    let width = |column: usize| {
        let widths = cells.iter().filter_map(|row| row.get(column)).map(|cell| columns(cell));
        widths.chain([columns(headings[column])]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
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
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_by_columns() {
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
        let rows = table(&["NAME"], &[vec!["a\u{1b}[2J\tb".to_owned()]]);
        assert!(rows.iter().all(|row| !row.text().contains(char::is_control)), "{rows:?}");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows =
            table(&["HOST", "BUSY"], &[vec!["ada".into(), "1".into()], vec!["世界世界".into(), "20".into()]]);
        let texts: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(texts, ["HOST      BUSY", "ada       1", "世界世界  20"]);
    }
}
