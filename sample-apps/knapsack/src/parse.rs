//! Reads the two common layouts of knapsack instances.

use std::str::SplitAsciiWhitespace;

use sateen::BadInput;

use crate::items::{Item, Items, NUMBER_MAX};

/// The largest capacity: no sum of weights that is compared with it overflows.
const CAPACITY_MAX: i64 = 1_000_000_000_000_000_000;

/// Maximum items: their profits and weights add up to 10¹⁵ at most.
const ITEMS_MAX: i64 = 1_000_000;

/// Reads an instance in either layout, recognised by the first line that is not blank:
///
/// * `n capacity`, then n lines `profit weight`; then perhaps n digits 0 or 1, an optimal solution,
///   which is ignored (Pisinger's generator writes it);
/// * `n` alone, then n lines `number profit weight`, then `capacity` (Jooken, Leyman and De
///   Causmaecker's).
///
/// # Errors
/// When the text is neither; the message names the line.
pub fn parse(text: &str) -> Result<Items, BadInput> {
    let mut lines = Lines::of(text);
    let Some(mut first) = lines.next() else {
        return Err(lines.end("the number of items"));
    };
    let count = first.number("the number of items", ITEMS_MAX)?;
    if first.is_at_end() {
        let items = read_items(&mut lines, count, true)?;
        let mut last = lines.expect("the capacity")?;
        let capacity = last.number("the capacity", CAPACITY_MAX)?;
        last.finish()?;
        expect_no_more(lines)?;
        Ok(Items { capacity, items })
    } else {
        let capacity = first.number("the capacity", CAPACITY_MAX)?;
        first.finish()?;
        let items = read_items(&mut lines, count, false)?;
        expect_solution_or_end(lines, count)?;
        Ok(Items { capacity, items })
    }
}

fn read_items(lines: &mut Lines, count: i64, are_numbered: bool) -> Result<Vec<Item>, BadInput> {
    let mut items = Vec::new();
    for nth in 1..=count {
        let mut line = lines.expect(&format!("item {nth} of {count}"))?;
        if are_numbered {
            line.number("the item's number", NUMBER_MAX)?;
        }
        let profit = line.number("the item's profit", NUMBER_MAX)?;
        let weight = line.number("the item's weight", NUMBER_MAX)?;
        line.finish()?;
        items.push(Item { profit, weight });
    }
    Ok(items)
}

fn expect_no_more(mut lines: Lines) -> Result<(), BadInput> {
    lines.next().map_or(Ok(()), |line| Err(line.error("nothing may follow the capacity")))
}

fn expect_solution_or_end(mut lines: Lines, count: i64) -> Result<(), BadInput> {
    let mut digits = 0;
    for mut line in lines.by_ref() {
        while !line.is_at_end() {
            line.number("0 or 1 (what follows the items is an optimal solution)", 1)?;
            digits += 1;
        }
        if digits > count {
            return Err(line.error(&format!("more than {count} digits follow the {count} items")));
        }
    }
    if digits != 0 && digits != count {
        return Err(lines.end(&format!("digit {} of {count} of a solution", digits + 1)));
    }
    Ok(())
}

/// The lines that are not blank.
struct Lines<'text> {
    lines: std::iter::Enumerate<std::str::Lines<'text>>,
    /// The number of the last line read.
    last: usize,
}

impl<'text> Lines<'text> {
    fn of(text: &'text str) -> Self {
        Self { lines: text.lines().enumerate(), last: 1 }
    }

    fn expect(&mut self, what: &str) -> Result<Line<'text>, BadInput> {
        self.next().ok_or_else(|| self.end(what))
    }

    fn end(&self, what: &str) -> BadInput {
        BadInput::at_line("items", self.last, format_args!("the file ends where {what} is expected"))
    }
}

impl<'text> Iterator for Lines<'text> {
    type Item = Line<'text>;

    fn next(&mut self) -> Option<Line<'text>> {
        let (index, text) = self.lines.find(|(_, text)| !text.trim_ascii().is_empty())?;
        self.last = index + 1;
        Some(Line { number: self.last, words: text.split_ascii_whitespace() })
    }
}

struct Line<'text> {
    /// The line's number in the file, from 1.
    number: usize,
    words: SplitAsciiWhitespace<'text>,
}

impl Line<'_> {
    fn number(&mut self, what: &str, max: i64) -> Result<i64, BadInput> {
        let Some(word) = self.words.next() else {
            return Err(self.error(&format!("{what} is missing")));
        };
        match word.parse() {
            Ok(number) if (0..=max).contains(&number) => Ok(number),
            _ => {
                Err(self.error(&format!("`{word}` where {what} is expected, a whole number from 0 to {max}")))
            }
        }
    }

    fn is_at_end(&self) -> bool {
        self.words.clone().next().is_none()
    }

    fn finish(&mut self) -> Result<(), BadInput> {
        self.words
            .next()
            .map_or(Ok(()), |word| Err(self.error(&format!("`{word}` is too much on this line"))))
    }

    fn error(&self, message: &str) -> BadInput {
        BadInput::at_line("items", self.number, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_items() -> Items {
        Items { capacity: 5, items: vec![Item { profit: 7, weight: 3 }, Item { profit: 8, weight: 4 }] }
    }

    fn error(text: &str) -> String {
        parse(text).expect_err("the text is wrong").0
    }

    #[test]
    fn both_layouts_are_read() {
        assert_eq!(parse("2 5\n7 3\n8 4\n"), Ok(two_items()));
        assert_eq!(parse("2\r\n1 7 3\r\n2 8 4\r\n5\r\n"), Ok(two_items()));
    }

    #[test]
    fn blank_lines_and_a_solution_are_ignored() {
        assert_eq!(parse("\n 2  5 \r\n\r\n7\t3\r\n8 4\r\n0 1\t\r\n\r\n"), Ok(two_items()));
        assert_eq!(parse("0 5"), Ok(Items { capacity: 5, items: vec![] }));
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            error(" \n"),
            "input `items`, line 1: the file ends where the number of items is expected"
        );
        assert_eq!(
            error("x 5"),
            "input `items`, line 1: `x` where the number of items is expected, a whole number from 0 to 1000000"
        );
        assert_eq!(error("2 5 1"), "input `items`, line 1: `1` is too much on this line");
        assert_eq!(error("2 5\n7 3\n"), "input `items`, line 2: the file ends where item 2 of 2 is expected");
        assert_eq!(error("2 5\n7 3\n\n8"), "input `items`, line 4: the item's weight is missing");
        assert_eq!(
            error("1 5\n-7 3"),
            "input `items`, line 2: `-7` where the item's profit is expected, a whole number from 0 to 1000000000"
        );
        assert_eq!(
            error("2\n1 7 3\n2 8 4"),
            "input `items`, line 3: the file ends where the capacity is expected"
        );
        assert_eq!(error("1\n1 7 3\n5\n6"), "input `items`, line 4: nothing may follow the capacity");
        assert_eq!(
            error("2 5\n7 3\n8 4\n1"),
            "input `items`, line 4: the file ends where digit 2 of 2 of a solution is expected"
        );
        assert_eq!(
            error("2 5\n7 3\n8 4\n1 0 1"),
            "input `items`, line 4: more than 2 digits follow the 2 items"
        );
        assert!(error("2 5\n7 3\n8 4\n9 9").starts_with("input `items`, line 4: `9` where 0 or 1"));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        for whole in ["2 51\n7 3\n\n8 4\n0 1\n", "2\n1 7 3\n2 8 4\n51\n"] {
            sateen::testing::damage_input("items", whole, || parse(&sateen::input_text("items")?));
        }
    }
}
