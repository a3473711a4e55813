//! Text for people: columns, times.

use std::fmt::Write;

use crate::exit::visible;

/// Rows under their headings, each column as wide as its widest cell.
pub struct Columns {
    rows: Vec<Vec<String>>,
}

impl Columns {
    pub fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(ToString::to_string).collect()] }
    }

    /// Adds a row. Names come from strangers: what would steer a terminal is spelled out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| visible(&cell)).collect());
    }

    pub fn text(&self) -> String {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let _ = write!(line, "{cell:<width$}  ");
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

/// A time in at most six characters or so.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.000_999_5 => format!("{:.0} µs", s * 1e6),
        s if s < 0.999_5 => format!("{:.0} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.1} s"),
        s if s < 6000.0 => format!("{:.0} min {:.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A part of a whole.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.0} %", 100.0 * part / whole) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut columns = Columns::new(&["RUN", "STATE"]);
        columns.row(["7".to_owned(), "running".to_owned()]);
        columns.row(["12345".to_owned(), "do\nne".to_owned()]);
        assert_eq!(columns.text(), "RUN    STATE\n7      running\n12345  do\\nne\n");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(0.000_25), "250 µs");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(seconds(12.34), "12.3 s");
        assert_eq!(seconds(125.0), "2 min 5 s");
        assert_eq!(seconds(7200.0), "2.0 h");
        assert_eq!(percent(1.0, 3.0), "33 %");
        assert_eq!(percent(0.0, 0.0), "");
    }
}
