//! The parameters that a `#[main]` takes from the command line.

use std::collections::VecDeque;

use crate::BadInput;

/// The words of the command line that have not been taken yet.
pub struct Arguments {
    words: VecDeque<String>,
    given: usize,
}

impl Arguments {
    /// All of `words`; they are taken from the front.
    pub fn new(words: Vec<String>) -> Self {
        Self { given: words.len(), words: words.into() }
    }

    /// Checks that no words are left over; `usage` names the parameters.
    ///
    /// # Errors
    /// If words are left over.
    pub fn finish(&self, usage: &str) -> Result<(), BadInput> {
        match self.words.front() {
            None => Ok(()),
            Some(word) => {
                let taken = self.given - self.words.len();
                let takes = if taken == 0 { "none".to_owned() } else { format!("{taken} ({usage})") };
                Err(BadInput(format!(
                    "too many arguments: the app takes {takes}, and argument {} is `{word}`",
                    taken + 1
                )))
            }
        }
    }
}

/// A type that a `#[main]` can take as a parameter.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from the command line",
    note = "a #[main] takes numbers, bool, char, String, a trailing Option<T> and a last Vec<T>; implement `sateen::Argument` for others"
)]
pub trait Argument: Sized {
    /// Takes the parameter `name` off the front of `arguments`.
    ///
    /// # Errors
    /// If the parameter is missing or is not of this type; the message names it.
    fn take(arguments: &mut Arguments, name: &str) -> Result<Self, BadInput>;
}

macro_rules! scalars {
    ($($type:ty: $expected:expr),* $(,)?) => {$(
        impl Argument for $type {
            fn take(arguments: &mut Arguments, name: &str) -> Result<Self, BadInput> {
                let word = arguments.words.pop_front().ok_or_else(|| {
                    BadInput(format!("argument `{name}` is missing; expected {}", $expected))
                })?;
                word.parse().map_err(|_| {
                    BadInput(format!("argument `{name}` is `{word}`; expected {}", $expected))
                })
            }
        }
    )*};
}

scalars! {
    u8: "a whole number from 0 to 255",
    u16: "a whole number from 0 to 65535",
    u32: "a whole number from 0 to 4294967295",
    u64: "a whole number from 0 to 18446744073709551615",
    u128: "a whole number from 0 to 340282366920938463463374607431768211455",
    usize: if cfg!(target_pointer_width = "32") {
        "a whole number from 0 to 4294967295"
    } else {
        "a whole number from 0 to 18446744073709551615"
    },
    i8: "a whole number from -128 to 127",
    i16: "a whole number from -32768 to 32767",
    i32: "a whole number from -2147483648 to 2147483647",
    i64: "a whole number from -9223372036854775808 to 9223372036854775807",
    i128: "a whole number from -170141183460469231731687303715884105728 to 170141183460469231731687303715884105727",
    isize: if cfg!(target_pointer_width = "32") {
        "a whole number from -2147483648 to 2147483647"
    } else {
        "a whole number from -9223372036854775808 to 9223372036854775807"
    },
    f32: "a number",
    f64: "a number",
    bool: "true or false",
    char: "one character",
    String: "a text",
}

impl<T: Argument> Argument for Option<T> {
    fn take(arguments: &mut Arguments, name: &str) -> Result<Self, BadInput> {
        if arguments.words.is_empty() {
            return Ok(None);
        }
        T::take(arguments, name).map(Some)
    }
}

impl<T: Argument> Argument for Vec<T> {
    fn take(arguments: &mut Arguments, name: &str) -> Result<Self, BadInput> {
        let mut all = Self::new();
        while !arguments.words.is_empty() {
            all.push(T::take(arguments, name)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Arguments {
        Arguments::new(words.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn words_become_parameters_in_order() {
        let mut arguments = words(&["7", "seven", "-7"]);
        assert_eq!(u64::take(&mut arguments, "n"), Ok(7));
        assert_eq!(String::take(&mut arguments, "word"), Ok("seven".to_owned()));
        assert_eq!(<Option<i8> as Argument>::take(&mut arguments, "low"), Ok(Some(-7)));
        assert_eq!(<Option<i8> as Argument>::take(&mut arguments, "more"), Ok(None));
        assert_eq!(arguments.finish(""), Ok(()));
    }

    #[test]
    fn errors_name_the_parameter_and_what_is_expected() {
        let missing = u64::take(&mut words(&[]), "n").unwrap_err();
        assert_eq!(
            missing.0,
            "argument `n` is missing; expected a whole number from 0 to 18446744073709551615"
        );
        let wrong = u8::take(&mut words(&["-1"]), "n").unwrap_err();
        assert_eq!(wrong.0, "argument `n` is `-1`; expected a whole number from 0 to 255");
        let huge = u64::take(&mut words(&["99999999999999999999999"]), "n").unwrap_err();
        assert!(huge.0.ends_with(&format!("expected a whole number from 0 to {}", u64::MAX)), "{huge:?}");
        for (wrong, least, most) in [
            (u128::take(&mut words(&["x"]), "n").unwrap_err(), u128::MIN.to_string(), u128::MAX.to_string()),
            (
                usize::take(&mut words(&["x"]), "n").unwrap_err(),
                usize::MIN.to_string(),
                usize::MAX.to_string(),
            ),
            (i32::take(&mut words(&["x"]), "n").unwrap_err(), i32::MIN.to_string(), i32::MAX.to_string()),
            (i64::take(&mut words(&["x"]), "n").unwrap_err(), i64::MIN.to_string(), i64::MAX.to_string()),
            (i128::take(&mut words(&["x"]), "n").unwrap_err(), i128::MIN.to_string(), i128::MAX.to_string()),
            (
                isize::take(&mut words(&["x"]), "n").unwrap_err(),
                isize::MIN.to_string(),
                isize::MAX.to_string(),
            ),
        ] {
            assert!(
                wrong.0.ends_with(&format!("expected a whole number from {least} to {most}")),
                "{wrong:?}"
            );
        }
        let mut arguments = words(&["1", "2", "3"]);
        let many = arguments.finish("").unwrap_err();
        assert_eq!(many.0, "too many arguments: the app takes none, and argument 1 is `1`");
        assert_eq!(u64::take(&mut arguments, "n"), Ok(1));
        let many = arguments.finish("n: u64").unwrap_err();
        assert_eq!(many.0, "too many arguments: the app takes 1 (n: u64), and argument 2 is `2`");
    }
}
