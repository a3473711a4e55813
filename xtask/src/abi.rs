//! Writes the ABI's constants, from the crate `abi`, into the SDKs for C and AssemblyScript.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use sateen_abi::{Fault, answer, kind, outcome, stack, word};

use crate::shell::root;

/// Marks around the constants in a file; the text between them is generated.
const BEGIN: &str = "[constants: `cargo xtask abi` writes what follows]";
const END: &str = "[end of constants]";

/// A constant, and its type in AssemblyScript: an address or a number.
struct Constant {
    name: &'static str,
    value: u32,
    is_place: bool,
}

const fn number(name: &'static str, value: u32) -> Constant {
    Constant { name, value, is_place: false }
}

const fn place(name: &'static str, value: usize) -> Constant {
    Constant { name, value: value as u32, is_place: true }
}

/// The constants that these SDKs use, in groups.
const CONSTANTS: [(&str, &[Constant]); 8] = [
    (
        "Faults, for `fail`.",
        &[number("FAULT_CHILD", Fault::Child as u32), number("FAULT_ENCODING", Fault::Encoding as u32)],
    ),
    (
        "The upper half of an answer of `sync`.",
        &[
            number("SYNC_DONE", answer::DONE),
            number("SYNC_RECLAIMED", answer::RECLAIMED),
            number("SYNC_FAILED", answer::FAILED),
            number("SYNC_RECLAIMED_RECORD", answer::RECLAIMED_RECORD),
        ],
    ),
    (
        "Places of the control words, and the length of those that every guest has.",
        &[
            place("WORD_LIMIT", word::LIMIT),
            place("WORD_FLOOR", word::FLOOR),
            place("WORD_DEPTH", word::DEPTH),
            place("WORD_LOOKUP_BELOW", word::LOOKUP_BELOW),
            place("WORD_BYTES_MIN", word::BYTES_MIN),
        ],
    ),
    (
        "Special values of `limit` and `floor`.",
        &[
            number("LIMIT_ALARM", word::ALARM),
            number("LIMIT_CLOSED", word::CLOSED),
            number("FLOOR_OLDEST", word::OLDEST),
            number("FLOOR_ALL", word::ALL),
        ],
    ),
    (
        "Places of a job kind's words, and the length of the part that the host knows.",
        &[
            place("KIND_COARSE", kind::COARSE),
            place("KIND_NUMBER", kind::NUMBER),
            place("KIND_SPAWNED", kind::SPAWNED),
            place("KIND_DROPPED", kind::DROPPED),
            place("KIND_BYTES", kind::BYTES),
        ],
    ),
    (
        "Places of the words that show the stack of latent jobs.",
        &[place("STACK_TOP", stack::TOP), place("STACK_KEPT", stack::KEPT)],
    ),
    (
        "Marks in the first word of a latent job's record, all of them, and the length of its header.",
        &[
            number("HOLE", stack::HOLE),
            number("EXPOSED", stack::EXPOSED),
            number("MARKS", stack::MARKS),
            place("HEADER", stack::HEADER),
        ],
    ),
    (
        "An entry point's outcome.",
        &[
            number("OUTCOME_TEXT", outcome::TEXT),
            number("OUTCOME_BYTES", outcome::BYTES),
            number("OUTCOME_FAILED", outcome::FAILED),
            number("OUTCOME_BAD_INPUT", outcome::BAD_INPUT),
        ],
    ),
];

/// Writes a group of constants in a language.
type Written = fn(about: &str, constants: &[Constant]) -> String;

/// The files, and how each writes constants.
const FILES: [(&str, Written); 2] =
    [("guest-sdk/c/sateen.h", in_c), ("guest-sdk/assemblyscript/sateen.ts", in_assemblyscript)];

fn in_c(about: &str, constants: &[Constant]) -> String {
    let mut text = format!("/* {about} */\n");
    for Constant { name, value, .. } in constants {
        // An enumerator of C is an int.
        let _ = writeln!(text, "#define SATEEN_{name} {value}u");
    }
    text
}

fn in_assemblyscript(about: &str, constants: &[Constant]) -> String {
    let mut text = format!("// {about}\n");
    for Constant { name, value, is_place } in constants {
        let _ = writeln!(text, "const {name}: {} = {value};", if *is_place { "usize" } else { "u32" });
    }
    text
}

/// The file's text with up-to-date constants.
fn with_constants(text: &str, written: Written) -> Result<String> {
    let (before, rest) = text.split_once(BEGIN).context("the mark before the constants is missing")?;
    let (head, rest) = rest.split_once('\n').context("nothing follows the mark")?;
    let (old, after) = rest.split_once(END).context("the mark after the constants is missing")?;
    // The mark's line begins with the comment sign.
    let comment = old.rsplit('\n').next().unwrap_or_default();
    let constants: String = CONSTANTS.iter().map(|(about, constants)| written(about, constants)).collect();
    Ok(format!("{before}{BEGIN}{head}\n{constants}{comment}{END}{after}"))
}

/// Writes the constants into the SDKs.
pub fn write() -> Result<()> {
    for (path, written) in FILES {
        let file = root().join(path);
        let text = fs::read_to_string(&file).context(path)?;
        fs::write(&file, with_constants(&text, written).context(path)?).context(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_languages_have_the_constants_of_the_abi() {
        for (path, written) in FILES {
            let text = fs::read_to_string(root().join(path)).expect("a file");
            let is = with_constants(&text, written).expect("marks");
            assert!(is == text, "{path}: its constants are outdated; run `cargo xtask abi`");
        }
    }
}
