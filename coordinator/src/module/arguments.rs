//! Checks whether an entry point accepts the words of a command line, as far as its manifest shows.

use sateen::{Argument, Arguments, BadInput};

/// Checks `words` against `parameters` as the SDK writes them: `n: u64, name: Option<String>`. From the first
/// type on that the SDK does not define, anything is accepted: the app itself will check.
///
/// # Errors
/// When a word is missing, superfluous, or not of its type; in the same sentences as the app's.
pub fn check(parameters: &str, words: &[String]) -> Result<(), BadInput> {
    let mut arguments = Arguments::new(words.to_vec());
    for parameter in split(parameters) {
        let Some((name, kind)) = parameter.split_once(':') else { return Ok(()) };
        match take(kind.trim(), &mut arguments, name.trim()) {
            Some(taken) => taken?,
            None => return Ok(()),
        }
    }
    arguments.finish(parameters)
}

/// Takes a parameter of the type `kind`; `None` if the type is not known here.
fn take(kind: &str, arguments: &mut Arguments, name: &str) -> Option<Result<(), BadInput>> {
    let within = |outer: &str| kind.strip_prefix(outer)?.trim_start().strip_prefix('<')?.strip_suffix('>');
    let (shape, scalar) = match (within("Option"), within("Vec")) {
        (Some(scalar), _) => (Shape::Option, scalar),
        (_, Some(scalar)) => (Shape::Vec, scalar),
        _ => (Shape::One, kind),
    };
    macro_rules! taken {
        ($($scalar:ty),*) => {
            match scalar.trim() {
                $(stringify!($scalar) => Some(take_as::<$scalar>(shape, arguments, name)),)*
                _ => None,
            }
        };
    }
    taken!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64, bool, char, String)
}

/// The number of words that a parameter takes.
#[derive(Clone, Copy)]
enum Shape {
    One,
    Option,
    Vec,
}

fn take_as<T: Argument>(shape: Shape, arguments: &mut Arguments, name: &str) -> Result<(), BadInput> {
    match shape {
        Shape::One => T::take(arguments, name).map(drop),
        Shape::Option => <Option<T> as Argument>::take(arguments, name).map(drop),
        Shape::Vec => <Vec<T> as Argument>::take(arguments, name).map(drop),
    }
}

/// The parts between commas outside brackets.
fn split(parameters: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let parts = parameters.split(move |letter: char| {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(parameters: &str, words: &[&str]) -> Result<(), String> {
        check(parameters, &words.iter().map(ToString::to_string).collect::<Vec<_>>()).map_err(|bad| bad.0)
    }

    #[test]
    fn words_that_an_app_would_refuse_are_refused_with_the_same_message() {
        let refused = |parameters: &str, words: &[&str]| checked(parameters, words).expect_err("it is wrong");
        assert_eq!(
            refused("n: u64", &["x"]),
            "argument `n` is `x`; expected a whole number from 0 to 18446744073709551615"
        );
        assert_eq!(
            refused("n: u64", &[]),
            "argument `n` is missing; expected a whole number from 0 to 18446744073709551615"
        );
        assert_eq!(
            refused("n: u64", &["1", "2"]),
            "too many arguments: the app takes 1 (n: u64), and argument 2 is `2`"
        );
        assert_eq!(refused("", &["1"]), "too many arguments: the app takes none, and argument 1 is `1`");
        assert!(
            refused("a: Option<i8>, b: Vec<bool>", &["1", "true", "no"]).contains("argument `b` is `no`")
        );
    }

    #[test]
    fn words_that_an_app_might_accept_are_accepted() {
        for (parameters, words) in [
            ("n: u64", &["7"][..]),
            ("", &[]),
            ("generated: Option<u64>, seed: Option<u64>", &[]),
            ("generated: Option<u64>, seed: Option<u64>", &["52", "8"]),
            ("words: Vec<String>", &["a", "b", "c"]),
            ("x: f64, flags: Vec<String>", &["-1e3", "--quick"]),
            // Types defined by the app, and malformed manifests.
            ("at: Place, n: u8", &["here", "there", "everywhere"]),
            ("pair: (u8, u8), n: u8", &[]),
            ("words…", &["1", "2"]),
            ("n: Option<Option<u8>>", &["x"]),
            ("a: u8>, b: <", &["1"]),
        ] {
            assert_eq!(checked(parameters, words), Ok(()), "({parameters}) of {words:?}");
        }
    }
}
