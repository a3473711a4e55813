//! TSPLIB's format for symmetric instances (Reinelt, "TSPLIB 95").
//!
//! Lines `KEYWORD: value`, then sections: `NODE_COORD_SECTION` or `EDGE_WEIGHT_SECTION`; sections for
//! displaying the cities are ignored. Distances are computed by TSPLIB's rules, including its value of π.

use sateen::BadInput;

use crate::lines::Lines;
use crate::tour::{CITIES_MAX, WAY_MAX, Ways};

/// The largest coordinate.
const COORDINATE_MAX: f64 = 1e7;

/// Reads an instance.
///
/// # Errors
/// When `text` is not an instance; the message names the line and what was expected there.
pub fn parse(text: &str) -> Result<Ways, BadInput> {
    let mut reader = Reader { lines: Lines::of("tsp", text), count: None, kind: None, layout: None };
    loop {
        let Some((number, line)) = reader.lines.next() else {
            return Err(reader.lines.end("NODE_COORD_SECTION or EDGE_WEIGHT_SECTION"));
        };
        let (word, value) = line.split_once(':').unwrap_or((line, ""));
        match word.trim_ascii() {
            "NODE_COORD_SECTION" => return reader.coordinates(number),
            "EDGE_WEIGHT_SECTION" => return reader.weights(number),
            "DISPLAY_DATA_SECTION" => reader.pass_display(number)?,
            "EOF" => return Err(wrong(number, "the file ends without a section of coordinates or weights")),
            word => reader.specification(number, word, value.trim_ascii())?,
        }
    }
}

/// How the length of a way is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Explicit,
    Euclidean,
    EuclideanUp,
    PseudoEuclidean,
    Geographic,
}

/// The order of the given ways.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Full,
    /// Row by row; from the row's own city on, or without it.
    Upper {
        with_diagonal: bool,
    },
    /// Row by row; up to the row's own city, or without it.
    Lower {
        with_diagonal: bool,
    },
}

impl Layout {
    /// The given columns of a row.
    fn columns(self, row: usize, count: usize) -> std::ops::Range<usize> {
        match self {
            Self::Full => 0..count,
            Self::Upper { with_diagonal } => row + usize::from(!with_diagonal)..count,
            Self::Lower { with_diagonal } => 0..row + usize::from(with_diagonal),
        }
    }
}

struct Reader<'text> {
    lines: Lines<'text>,
    count: Option<usize>,
    kind: Option<Kind>,
    layout: Option<Layout>,
}

impl Reader<'_> {
    fn specification(&mut self, number: usize, word: &str, value: &str) -> Result<(), BadInput> {
        match word {
            "NAME" | "COMMENT" | "NODE_COORD_TYPE" | "DISPLAY_DATA_TYPE" => {}
            "TYPE" if value.split_ascii_whitespace().next() == Some("TSP") => {}
            "TYPE" => {
                return Err(wrong(
                    number,
                    &format!("the type `{value}` where TSP, a symmetric one, is expected"),
                ));
            }
            "DIMENSION" => match value.parse() {
                Ok(count @ 3..=CITIES_MAX) => self.count = Some(count),
                _ => {
                    let what = format!("`{value}` where the number of cities is expected, 3 to {CITIES_MAX}");
                    return Err(wrong(number, &what));
                }
            },
            "EDGE_WEIGHT_TYPE" => {
                self.kind = Some(match value {
                    "EXPLICIT" => Kind::Explicit,
                    "EUC_2D" => Kind::Euclidean,
                    "CEIL_2D" => Kind::EuclideanUp,
                    "ATT" => Kind::PseudoEuclidean,
                    "GEO" => Kind::Geographic,
                    _ => {
                        return Err(wrong(
                            number,
                            &format!(
                                "`{value}` where one of EXPLICIT, EUC_2D, CEIL_2D, ATT, GEO is expected"
                            ),
                        ));
                    }
                });
            }
            "EDGE_WEIGHT_FORMAT" => {
                self.layout = match value {
                    "FUNCTION" => None,
                    "FULL_MATRIX" => Some(Layout::Full),
                    "UPPER_ROW" => Some(Layout::Upper { with_diagonal: false }),
                    "UPPER_DIAG_ROW" => Some(Layout::Upper { with_diagonal: true }),
                    "LOWER_ROW" => Some(Layout::Lower { with_diagonal: false }),
                    "LOWER_DIAG_ROW" => Some(Layout::Lower { with_diagonal: true }),
                    _ => {
                        return Err(wrong(
                            number,
                            &format!(
                                "`{value}` where one of FULL_MATRIX, UPPER_ROW, UPPER_DIAG_ROW, LOWER_ROW, LOWER_DIAG_ROW, FUNCTION is expected"
                            ),
                        ));
                    }
                };
            }
            _ => return Err(wrong(number, &format!("`{word}` where a keyword of TSPLIB is expected"))),
        }
        Ok(())
    }

    /// The header that must precede the section at line `number`.
    fn header(&self, number: usize) -> Result<(usize, Kind), BadInput> {
        let count = self.count.ok_or_else(|| wrong(number, "DIMENSION is expected before this section"))?;
        let kind =
            self.kind.ok_or_else(|| wrong(number, "EDGE_WEIGHT_TYPE is expected before this section"))?;
        Ok((count, kind))
    }

    fn coordinates(mut self, number: usize) -> Result<Ways, BadInput> {
        let (count, kind) = self.header(number)?;
        if kind == Kind::Explicit {
            return Err(wrong(number, "EDGE_WEIGHT_SECTION is expected, since the weights are EXPLICIT"));
        }
        let mut places = vec![None; count];
        for nth in 1..=count {
            let (number, line) = self.lines.expect(&format!("city {nth} of {count}"))?;
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            let coordinate =
                |word: &str| word.parse().ok().filter(|value: &f64| value.abs() <= COORDINATE_MAX);
            let place = match words.as_slice() {
                [city, x, y] => city.parse().ok().zip(coordinate(x).zip(coordinate(y))),
                _ => None,
            };
            let Some((city @ 1.., place)) = place.filter(|(city, _)| *city <= count) else {
                let what = format!(
                    "`{line}` where a city's number, 1 to {count}, and its two coordinates are expected"
                );
                return Err(wrong(number, &what));
            };
            if places[city - 1].replace(place).is_some() {
                return Err(wrong(number, &format!("city {city} a second time")));
            }
        }
        self.expect_end()?;
        // Each of the `count` lines has named a different one of `count` cities.
        let places: Vec<(f64, f64)> = places.into_iter().flatten().collect();
        let length = |from: usize, to: usize| length(kind, places[from], places[to]);
        let longest = (0..count)
            .flat_map(|from| (0..from).map(move |to| (from, to)))
            .find(|(from, to)| length(*from, *to) > WAY_MAX);
        if let Some((from, to)) = longest {
            let what = format!("cities {} and {} are more than {WAY_MAX} apart", to + 1, from + 1);
            return Err(wrong(number, &what));
        }
        Ok(Ways::new(count, length))
    }

    fn weights(mut self, number: usize) -> Result<Ways, BadInput> {
        let (count, kind) = self.header(number)?;
        if kind != Kind::Explicit {
            return Err(wrong(number, "NODE_COORD_SECTION is expected, since the weights are not EXPLICIT"));
        }
        let Some(layout) = self.layout else {
            return Err(wrong(number, "EDGE_WEIGHT_FORMAT is expected before this section"));
        };
        let mut lengths = vec![None; count * count];
        let mut words: Vec<(usize, &str)> = Vec::new();
        for row in 0..count {
            for column in layout.columns(row, count) {
                let (from, to) = (row + 1, column + 1);
                while words.is_empty() {
                    let (number, line) = self.lines.expect(&format!("the way from city {from} to {to}"))?;
                    words = line.split_ascii_whitespace().rev().map(|word| (number, word)).collect();
                }
                let Some((number, word)) = words.pop() else { continue };
                let length = match word.parse::<i64>() {
                    Ok(length @ 0..=WAY_MAX) => length,
                    _ => {
                        let what = format!(
                            "`{word}` where the length of the way from city {from} to {to} is expected, a whole number from 0 to {WAY_MAX}"
                        );
                        return Err(wrong(number, &what));
                    }
                };
                lengths[row * count + column] = Some(length);
                let back = &mut lengths[column * count + row];
                if back.is_some_and(|back| back != length) {
                    let what = format!(
                        "the way from city {from} to {to} is as long as back in a symmetric instance, but here it is {length}"
                    );
                    return Err(wrong(number, &what));
                }
                *back = Some(length);
            }
        }
        if let Some((number, word)) = words.pop() {
            return Err(wrong(number, &format!("`{word}` where the section's end is expected")));
        }
        self.expect_end()?;
        Ok(Ways::new(count, |from, to| lengths[from * count + to].unwrap_or(0)))
    }

    fn pass_display(&mut self, number: usize) -> Result<(), BadInput> {
        let count = self.count.ok_or_else(|| wrong(number, "DIMENSION is expected before this section"))?;
        (1..=count)
            .try_for_each(|nth| self.lines.expect(&format!("the place of city {nth} of {count}")).map(|_| ()))
    }

    /// Checks that only sections for displaying the cities follow.
    fn expect_end(&mut self) -> Result<(), BadInput> {
        while let Some((number, line)) = self.lines.next() {
            match line {
                "EOF" => return Ok(()),
                "DISPLAY_DATA_SECTION" => self.pass_display(number)?,
                _ => return Err(wrong(number, &format!("`{line}` where EOF is expected"))),
            }
        }
        Ok(())
    }
}

fn length(kind: Kind, from: (f64, f64), to: (f64, f64)) -> i64 {
    let square = (from.0 - to.0) * (from.0 - to.0) + (from.1 - to.1) * (from.1 - to.1);
    match kind {
        Kind::Explicit => 0,
        Kind::Euclidean => (square.sqrt() + 0.5) as i64,
        Kind::EuclideanUp => square.sqrt().ceil() as i64,
        Kind::PseudoEuclidean => (square / 10.0).sqrt().ceil() as i64,
        Kind::Geographic => geographic(from, to),
    }
}

/// In kilometres, between places in degrees and minutes (`DDD.MM`).
fn geographic(from: (f64, f64), to: (f64, f64)) -> i64 {
    #[allow(clippy::approx_constant)]
    const PI: f64 = 3.141592; // TSPLIB's.
    const RADIUS: f64 = 6378.388;
    let radians = |angle: f64| {
        let degrees = angle.trunc();
        PI * (degrees + 5.0 * (angle - degrees) / 3.0) / 180.0
    };
    let (north, east) = (radians(from.0), radians(from.1));
    let (other_north, other_east) = (radians(to.0), radians(to.1));
    let q1 = libm::cos(east - other_east);
    let q2 = libm::cos(north - other_north);
    let q3 = libm::cos(north + other_north);
    (RADIUS * libm::acos(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)) + 1.0) as i64
}

fn wrong(number: usize, what: &str) -> BadInput {
    BadInput::at_line("tsp", number, what)
}

#[cfg(test)]
mod tests {
    use sateen::testing::damage_input;

    use super::*;

    fn error(text: &str) -> String {
        parse(text).expect_err("the text is wrong").0
    }

    fn explicit(format: &str, weights: &str) -> String {
        format!(
            "NAME: x\nTYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {format}\n\
             EDGE_WEIGHT_SECTION\n{weights}\nEOF\n"
        )
    }

    #[test]
    fn all_layouts_are_read() {
        let expected =
            parse(&explicit("FULL_MATRIX", "0 1 2 3 1 0 4 5 2 4 0 6\n3 5 6 0")).expect("it is right");
        assert_eq!((expected.length(0, 3), expected.length(3, 2), expected.length(1, 2)), (3, 6, 4));
        let others = [
            ("UPPER_ROW", "1 2 3 4\n5\n6"),
            ("UPPER_DIAG_ROW", "0 1 2 3 0 4 5 0 6 0"),
            ("LOWER_ROW", "1 2 4 3 5 6"),
            ("LOWER_DIAG_ROW", "0\n1 0 2 4 0 3 5 6 0"),
        ];
        for (format, weights) in others {
            assert_eq!(parse(&explicit(format, weights)).as_ref(), Ok(&expected), "{format}");
        }
    }

    #[test]
    fn distances_are_tsplibs() {
        let with = |kind: &str| {
            let text = format!(
                "DIMENSION : 3\nEDGE_WEIGHT_TYPE : {kind}\nNODE_COORD_SECTION\n1 0 0\n2 3 1\n3 10 0\n"
            );
            let ways = parse(&text).expect("it is right");
            [ways.length(0, 1), ways.length(0, 2), ways.length(1, 2)]
        };
        assert_eq!(with("EUC_2D"), [3, 10, 7]);
        assert_eq!(with("CEIL_2D"), [4, 10, 8]);
        assert_eq!(with("ATT"), [1, 4, 3]);
    }

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        assert_eq!(
            error(""),
            "input `tsp`, line 1: the file ends where NODE_COORD_SECTION or EDGE_WEIGHT_SECTION is expected"
        );
        assert_eq!(
            error("\nTYPE: ATSP"),
            "input `tsp`, line 2: the type `ATSP` where TSP, a symmetric one, is expected"
        );
        assert_eq!(
            error("DIMENSION: 100"),
            "input `tsp`, line 1: `100` where the number of cities is expected, 3 to 64"
        );
        assert_eq!(error("SPEED: 3"), "input `tsp`, line 1: `SPEED` where a keyword of TSPLIB is expected");
        assert_eq!(
            error("NODE_COORD_SECTION"),
            "input `tsp`, line 1: DIMENSION is expected before this section"
        );
        assert!(error("EDGE_WEIGHT_TYPE: XRAY1").contains("one of EXPLICIT, EUC_2D"));
        let coordinates = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n";
        assert_eq!(error(coordinates), "input `tsp`, line 4: the file ends where city 2 of 3 is expected");
        assert_eq!(error(&format!("{coordinates}1 2 3")), "input `tsp`, line 5: city 1 a second time");
        assert_eq!(
            error(&format!("{coordinates}2 x 3")),
            "input `tsp`, line 5: `2 x 3` where a city's number, 1 to 3, and its two coordinates are expected"
        );
        assert_eq!(
            error(&format!("{coordinates}2 1 3\n3 1 2\n4 1 1")),
            "input `tsp`, line 7: `4 1 1` where EOF is expected"
        );
        assert_eq!(
            error(&explicit("UPPER_ROW", "1 2 3 4 5 -6")),
            "input `tsp`, line 7: `-6` where the length of the way from city 3 to 4 is expected, a whole number from 0 to 10000000"
        );
        assert_eq!(
            error(&explicit("UPPER_ROW", "1 2 3 4 5 6 7")),
            "input `tsp`, line 7: `7` where the section's end is expected"
        );
        assert_eq!(
            error(&explicit("UPPER_ROW", "1 2 3 4 5")),
            "input `tsp`, line 8: `EOF` where the length of the way from city 3 to 4 is expected, a whole number from 0 to 10000000"
        );
        assert_eq!(
            error(&explicit("FULL_MATRIX", "0 1 2 3\n9 0 4 5\n2 4 0 6\n3 5 6 0")),
            "input `tsp`, line 8: the way from city 2 to 1 is as long as back in a symmetric instance, but here it is 9"
        );
        assert!(error(&explicit("SPIRAL", "")).contains("one of FULL_MATRIX"));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let read = || parse(&sateen::input_text("tsp")?);
        damage_input("tsp", explicit("LOWER_DIAG_ROW", "0\n1 0\n2 4 0\n3 5 6 0"), read);
        let coordinates = "NAME : x\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : GEO\nDISPLAY_DATA_SECTION\n1 1 1\n2 2 2\n\
                           3 3 3\nNODE_COORD_SECTION\n1 16.47 96.10\n2 -20.09 92.54\n3 2e1 93\nEOF\n";
        damage_input("tsp", coordinates, read);
    }
}
