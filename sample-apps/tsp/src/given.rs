//! A tour that is known in advance, in TSPLIB's format for tours.

use sateen::BadInput;

use crate::lines::Lines;

/// Reads a tour through `count` cities: their numbers from 0, each once.
///
/// # Errors
/// When `text` is not a tour; the message names the line and what was expected there.
pub fn parse_tour(text: &str, count: usize) -> Result<Vec<u8>, BadInput> {
    let mut lines = Lines::of("tour", text);
    loop {
        let (number, line) = lines.expect("TOUR_SECTION")?;
        let (word, value) = line.split_once(':').unwrap_or((line, ""));
        match (word.trim_ascii(), value.trim_ascii()) {
            ("NAME" | "COMMENT", _) | ("TYPE", "TOUR") => {}
            ("DIMENSION", value) if value.parse() == Ok(count) => {}
            ("DIMENSION", value) => {
                let what = format!("`{value}` where {count}, the number of cities, is expected");
                return Err(wrong(number, &what));
            }
            ("TOUR_SECTION", _) => break,
            _ => {
                let what = format!(
                    "`{line}` where NAME, COMMENT, TYPE: TOUR, DIMENSION or TOUR_SECTION is expected"
                );
                return Err(wrong(number, &what));
            }
        }
    }
    let mut order: Vec<u8> = Vec::with_capacity(count);
    let mut last = 1;
    let words =
        lines.flat_map(|(number, line)| line.split_ascii_whitespace().map(move |word| (number, word)));
    for (number, word) in words {
        last = number;
        if word == "-1" || word == "EOF" {
            break;
        }
        let city = word.parse().ok().filter(|city| (1..=count).contains(city));
        let Some(city) = city else {
            return Err(wrong(number, &format!("`{word}` where a city's number, 1 to {count}, is expected")));
        };
        let city = (city - 1) as u8;
        if order.contains(&city) {
            return Err(wrong(number, &format!("city {word} a second time")));
        }
        order.push(city);
    }
    if order.len() < count {
        return Err(wrong(last, &format!("the tour ends after {} of {count} cities", order.len())));
    }
    Ok(order)
}

fn wrong(number: usize, what: &str) -> BadInput {
    BadInput::at_line("tour", number, what)
}

#[cfg(test)]
mod tests {
    use sateen::testing::damage_input;

    use super::*;

    fn error(text: &str) -> String {
        parse_tour(text, 4).expect_err("the text is wrong").0
    }

    #[test]
    fn a_tour_is_read() {
        let text = "NAME : x.opt.tour\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1\n3 4\n\n2\n-1\nEOF\n";
        assert_eq!(parse_tour(text, 4), Ok(vec![0, 2, 3, 1]));
        assert_eq!(parse_tour("TOUR_SECTION\n4 3 2 1", 4), Ok(vec![3, 2, 1, 0]));
    }

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        assert_eq!(error(""), "input `tour`, line 1: the file ends where TOUR_SECTION is expected");
        assert_eq!(
            error("NAME: x\nTYPE: TSP"),
            "input `tour`, line 2: `TYPE: TSP` where NAME, COMMENT, TYPE: TOUR, DIMENSION or TOUR_SECTION is expected"
        );
        assert_eq!(
            error("DIMENSION: 5"),
            "input `tour`, line 1: `5` where 4, the number of cities, is expected"
        );
        assert_eq!(
            error("TOUR_SECTION\n1 2\n5"),
            "input `tour`, line 3: `5` where a city's number, 1 to 4, is expected"
        );
        assert_eq!(error("TOUR_SECTION\n1 2\n2"), "input `tour`, line 3: city 2 a second time");
        assert_eq!(
            error("TOUR_SECTION\n1 2\n3\n-1"),
            "input `tour`, line 4: the tour ends after 3 of 4 cities"
        );
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let text = "NAME : x\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n1\n3\n4\n2\n-1\nEOF\n";
        damage_input("tour", text, || parse_tour(&sateen::input_text("tour")?, 4));
    }
}
