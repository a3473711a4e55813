//! Files of bodies in the format of Princeton's course COS 126: their number; the radius of the universe; then a
//! line for each with x, y, two speeds and the mass in metres, seconds and kilograms. Anything else on a
//! body's line, a colour or a picture's name, is ignored, and so is all text after the last body.

use sateen::BadInput;

use crate::bodies::{Bodies, Law};

/// Maximum bodies.
pub const COUNT_MAX: usize = 1_000_000;

/// Maximum of any number, larger than any universe.
const NUMBER_MAX: f64 = 1e60;

/// Reads bodies. They lie in a plane, and a step is 25,000 s, as in that course.
///
/// # Errors
/// When the text is not such a file; the message names the line and what was expected there.
pub fn parse(text: &str) -> Result<Bodies, BadInput> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim_ascii()))
        .filter(|(_, line)| !line.is_empty());
    let mut last = 1;
    let mut next = |what: &str| {
        let end =
            || BadInput::at_line("bodies", last, format_args!("the file ends where {what} is expected"));
        let found = lines.next().ok_or_else(end)?;
        last = found.0;
        Ok(found)
    };
    let (number, line) = next("the number of bodies")?;
    let Some(count) = line.parse().ok().filter(|count| (2..=COUNT_MAX).contains(count)) else {
        return Err(wrong(number, line, &format!("the number of bodies is expected, 2 to {COUNT_MAX}")));
    };
    let (number, line) = next("the radius of the universe")?;
    let Some(radius) = parse_number(line).filter(|radius| *radius > 0.0) else {
        return Err(wrong(number, line, "the radius of the universe is expected, a number above 0"));
    };
    let softening = radius * 1e-3;
    let law = Law { gravity: 6.67e-11, softening2: softening * softening, opening: 0.6, step: 25_000.0 };
    let mut bodies = Bodies { law, masses: Vec::new(), places: Vec::new(), speeds: Vec::new() };
    for nth in 1..=count {
        let (number, line) = next(&format!("body {nth} of {count}"))?;
        let mut numbers = line.split_ascii_whitespace().map(parse_number);
        let mut number_of = || numbers.next().flatten();
        let (x, y, speed_x, speed_y, mass) =
            (number_of(), number_of(), number_of(), number_of(), number_of());
        let (Some(x), Some(y), Some(speed_x), Some(speed_y), Some(mass)) =
            (x, y, speed_x, speed_y, mass.filter(|mass| *mass >= 0.0))
        else {
            let what = format!(
                "body {nth} of {count} is expected: x, y, two speeds, and a mass that is not negative"
            );
            return Err(wrong(number, line, &what));
        };
        bodies.places.push([x, y, 0.0]);
        bodies.speeds.push([speed_x, speed_y, 0.0]);
        bodies.masses.push(mass);
    }
    Ok(bodies)
}

fn parse_number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.abs() <= NUMBER_MAX)
}

fn wrong(number: usize, line: &str, expected: &str) -> BadInput {
    BadInput::at_line("bodies", number, format_args!("`{line}` where {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text).expect_err("the text is wrong").0
    }

    #[test]
    fn bodies_are_read() {
        let bodies =
            parse("2\n1e3\n\n 1 2 3 4 5  255 0 0\n-1 0 0 0 0.5 sun.gif\nby hand\n").expect("it is right");
        assert_eq!(bodies.places, [[1.0, 2.0, 0.0], [-1.0, 0.0, 0.0]]);
        assert_eq!(bodies.speeds, [[3.0, 4.0, 0.0], [0.0; 3]]);
        assert_eq!(bodies.masses, [5.0, 0.5]);
    }

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        assert_eq!(error(""), "input `bodies`, line 1: the file ends where the number of bodies is expected");
        assert_eq!(
            error("1"),
            "input `bodies`, line 1: `1` where the number of bodies is expected, 2 to 1000000"
        );
        assert_eq!(
            error("2\nfar"),
            "input `bodies`, line 2: `far` where the radius of the universe is expected, a number above 0"
        );
        assert_eq!(
            error("2\n1\n1 2 3 4 5"),
            "input `bodies`, line 3: the file ends where body 2 of 2 is expected"
        );
        assert_eq!(
            error("2\n1\n\n1 2 3 4 -5"),
            "input `bodies`, line 4: `1 2 3 4 -5` where body 1 of 2 is expected: x, y, two speeds, and a mass that is not negative"
        );
        assert!(error("2\n1\n1 2 inf 4 5").starts_with("input `bodies`, line 3: "));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let read = || parse(&sateen::input_text("bodies")?);
        let whole = "2\n2.50e+11\n1.4e+11 0.0 0.0 2.9e+04 5.9e+24 earth.gif\n-1 0 0 -2 0.5 255 0 0\n";
        sateen::testing::damage_input("bodies", whole, read);
    }
}
