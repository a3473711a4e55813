//! Named inputs: blobs submitted with the run, the same for every job.

use crate::BadInput;
use crate::prepared::note_input;

/// The whole of the input `name`, given as `--input NAME=FILE`.
///
/// Every job may read it. Parse it in a function marked [`#[prepare]`](macro@crate::prepare), which each host calls once.
///
/// # Errors
/// If the run has no such input. If a `#[main]` returns this error, it asks the user for the input.
pub fn input(name: &str) -> Result<Vec<u8>, BadInput> {
    note_input(name);
    source::read(name).ok_or_else(|| {
        BadInput(format!("the app needs the input `{name}`; give it with --input {name}=FILE"))
    })
}

/// The input `name` as text.
///
/// # Errors
/// If the run has no such input, or the input is not UTF-8.
pub fn input_text(name: &str) -> Result<String, BadInput> {
    String::from_utf8(input(name)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        BadInput::at_line(
            name,
            line,
            format_args!("text in UTF-8 is expected, and byte {at} of the file is not"),
        )
    })
}

#[cfg(not(target_family = "wasm"))]
use crate::testing as source;
#[cfg(target_family = "wasm")]
use crate::wasm::inputs as source;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_missing_input_says_how_to_give_it() {
        let error = input("absent").unwrap_err();
        assert_eq!(error.0, "the app needs the input `absent`; give it with --input absent=FILE");
    }

    #[test]
    fn an_input_is_read_whole() {
        testing::set_input("cnf", "p cnf 0 0\n");
        assert_eq!(input_text("cnf").as_deref(), Ok("p cnf 0 0\n"));
        testing::set_input("raw", *b"one\ntwo \xff\n");
        assert_eq!(
            input_text("raw").unwrap_err().0,
            "input `raw`, line 2: text in UTF-8 is expected, and byte 8 of the file is not"
        );
    }
}
