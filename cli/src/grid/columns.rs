//! Text for people: columns, times.

use std::borrow::Cow;
use std::fmt::Write;

use sateen_command_line::wrap;

use crate::exit::visible;
use crate::progress::counted;

/// Rows under their headings, each column as wide as its widest cell.
pub struct Columns {
    rows: Vec<Vec<String>>,
    /// The index of a column whose cells are cut in a table, and the width to which they are cut.
    cut: Option<(usize, usize)>,
}

impl Columns {
    pub fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(ToString::to_string).collect()], cut: None }
    }

    /// Limits the width of the cells of this column in a table.
    pub fn cutting(mut self, column: usize, columns_max: usize) -> Self {
        self.cut = Some((column, columns_max));
        self
    }

    /// Adds a row. Control characters are escaped, because names come from strangers.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| visible(&cell)).collect());
    }

    /// For stdout: as a table, or row by row if the table is wider than the terminal.
    pub fn text(&self) -> String {
        self.within(wrap::width())
    }

    /// The same for a terminal of `width` columns, if it is one.
    pub fn within(&self, width: Option<usize>) -> String {
        let table = self.table();
        match width.filter(|width| table.lines().any(|line| wrap::columns(line) > *width)) {
            Some(width) => self.stacked(width),
            None => table,
        }
    }

    /// For each row, its first cell, and below it the other cells that are not empty, each after its
    /// heading.
    fn stacked(&self, width: usize) -> String {
        let Some((headings, rows)) = self.rows.split_first() else { return String::new() };
        let names = headings.iter().skip(1).map(|name| wrap::columns(name)).max().unwrap_or(0);
        let mut text = String::new();
        for row in rows {
            for (place, (name, cell)) in headings.iter().zip(row).enumerate() {
                let line = match place {
                    0 => format!("{name} {cell}"),
                    _ if cell.is_empty() => continue,
                    _ => format!("  {name:<names$} {cell}"),
                };
                for line in wrap::wrap(&line, names + 3, width) {
                    let _ = writeln!(text, "{line}");
                }
            }
        }
        text
    }

    fn in_table<'a>(&self, (column, cell): (usize, &'a String)) -> Cow<'a, str> {
        match self.cut {
            Some((of, columns_max)) if of == column => cut(cell, columns_max),
            _ => cell.into(),
        }
    }

    fn table(&self) -> String {
        let rows: Vec<Vec<Cow<'_, str>>> = self
            .rows
            .iter()
            .map(|row| row.iter().enumerate().map(|at| self.in_table(at)).collect())
            .collect();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| wrap::columns(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width + 2 - wrap::columns(cell)));
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

/// As much of the text as fits, and a mark if something is missing.
fn cut(text: &str, columns_max: usize) -> Cow<'_, str> {
    if wrap::columns(text) <= columns_max {
        return text.into();
    }
    let mut used = 0;
    let fits = |character: &char| {
        used += wrap::columns(character.encode_utf8(&mut [0; 4]));
        used < columns_max
    };
    let shown: String = text.chars().take_while(fits).collect();
    format!("{shown}…").into()
}

/// A time in at most six characters or so.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.000_000_5 => "0 s".to_owned(),
        s if s < 0.000_999_5 => format!("{:.0} µs", s * 1e6),
        s if s < 0.999_5 => format!("{:.0} ms", s * 1e3),
        s if s < 100.0 => format!("{s:.1} s"),
        s if s.round() < 6000.0 => format!("{:.0} min {:.0} s", (s.round() / 60.0).floor(), s.round() % 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A figure, or a dash if the coordinator, of another version, leaves it out.
pub fn known<T>(figure: Option<T>, text: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| "-".to_owned(), text)
}

/// How many workers compute, of those of hosts of which that is known, in words; `hosts` have their busy workers and all.
pub fn busy_workers(hosts: impl Iterator<Item = (Option<u32>, u32)>, one: &str, several: &str) -> String {
    let (mut busy, mut workers, mut known, mut unknown) = (0, 0, 0, 0);
    for (of_host, all) in hosts {
        match of_host {
            Some(of_host) => {
                known += 1;
                busy += u64::from(of_host);
                workers += u64::from(all);
            }
            None => unknown += 1,
        }
    }
    if known == 0 && unknown > 0 {
        return format!("busy {several} unknown");
    }
    let rest = match unknown {
        0 => String::new(),
        unknown => format!(", those of {} unknown", counted(unknown, "host", "hosts")),
    };
    format!("{busy}/{} busy{rest}", counted(workers, one, several))
}

/// Workers that compute, of all.
pub fn busy_of(busy: Option<u32>, workers: u32) -> String {
    format!("{}/{workers}", known(busy, |busy| busy.to_string()))
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
    fn a_table_that_is_too_wide_is_shown_row_by_row() {
        let mut columns = Columns::new(&["RUN", "APP", "WAITING FOR"]);
        columns.row([
            "7".to_owned(),
            "fib 30".to_owned(),
            "no host is connected; start one with sateen-host".to_owned(),
        ]);
        columns.row(["12".to_owned(), "世界".repeat(12), String::new()]);
        let narrow = columns.within(Some(40));
        assert!(narrow.lines().all(|line| wrap::columns(line) <= 40), "{narrow}");
        assert!(
            narrow.starts_with(
                "RUN 7\n  APP         fib 30\n  WAITING FOR no host is connected;\n              start one"
            ),
            "{narrow}"
        );
        assert!(!narrow.ends_with("WAITING FOR\n"), "{narrow}");
        assert_eq!(columns.within(Some(200)), columns.within(None));
    }

    #[test]
    fn texts_that_are_too_long_are_cut_only_in_tables() {
        assert_eq!(cut(&"x".repeat(48), 48), "x".repeat(48));
        for long in ["x".repeat(49), "世".repeat(48)] {
            let shown = cut(&long, 48);
            assert!(shown.ends_with('…') && wrap::columns(&shown) <= 48, "{shown}");
        }
        let mut columns = Columns::new(&["RUN", "APP"]).cutting(1, 8);
        columns.row(["7".to_owned(), "search abcdef".to_owned()]);
        assert_eq!(columns.within(Some(80)), "RUN  APP\n7    search …\n");
        assert_eq!(columns.within(Some(10)), "RUN 7\n  APP\n     searc\n     h\n     abcde\n     f\n");
    }

    #[test]
    fn times_are_short() {
        assert_eq!([0.0, 4e-7].map(seconds), ["0 s", "0 s"]);
        assert_eq!(seconds(0.000_25), "250 µs");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!(seconds(12.34), "12.3 s");
        assert_eq!(seconds(125.0), "2 min 5 s");
        assert_eq!(seconds(132.6), "2 min 13 s");
        assert_eq!(seconds(179.8), "3 min 0 s");
        assert_eq!(seconds(7200.0), "2.0 h");
        assert_eq!(percent(1.0, 3.0), "33 %");
        assert_eq!(percent(0.0, 0.0), "");
    }
}
