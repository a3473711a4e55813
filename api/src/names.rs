//! Names that users give: which are allowed, for the coordinator and for the commands that ask it.

use std::fmt::Write;

/// Maximum length of an app's name, in bytes.
pub const APP_NAME_BYTES_MAX: usize = 64;
/// Maximum length of an input's name, in bytes.
pub const INPUT_NAME_BYTES_MAX: usize = 256;
/// Minimum digits of a hash: a shorter prefix could easily match another app.
const PREFIX_DIGITS_MIN: usize = 6;
/// Digits of a whole hash.
pub const HASH_DIGITS: usize = 64;
/// Maximum characters of a text that [`quoted`] repeats.
const QUOTED_CHARACTERS_MAX: usize = 128;

/// `text` between backticks, for a sentence that repeats what a user wrote: invisible characters are escaped, and a long
/// text is cut.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("`");
    let mut characters = text.chars();
    for character in characters.by_ref().take(QUOTED_CHARACTERS_MAX) {
        if is_visible(character) {
            quoted.push(character);
        } else {
            // A string takes all that is written to it.
            let _ = write!(quoted, "{}", character.escape_default());
        }
    }
    if characters.next().is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
}

/// Whether a character has a shape of its own: it does not control a terminal, change the direction of text, or look like a
/// space that it is not.
fn is_visible(character: char) -> bool {
    // Rust escapes invisible characters, and some others because of the quotes around its literals.
    matches!(character, '\'' | '"' | '\\') || {
        // Behind another, as Rust escapes accents that stand alone.
        let pair = format!("x{character}");
        pair.escape_debug().eq(pair.chars())
    }
}

/// Whether `name` could stand for the hash of an app.
pub fn looks_like_hash(name: &str) -> bool {
    (PREFIX_DIGITS_MIN..=HASH_DIGITS).contains(&name.len())
        && name.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Checks the name under which an app is to be published.
///
/// # Errors
/// A sentence that says what is wrong with it, and which names are allowed.
pub fn check_app_name(name: &str) -> Result<(), String> {
    if looks_like_hash(name) {
        return Err(format!(
            "the name {} looks like the beginning of an app's hash and could be taken for one; names of \
             {PREFIX_DIGITS_MIN} to {HASH_DIGITS} hexadecimal digits are not allowed, so choose another with --name",
            quoted(name)
        ));
    }
    if name.to_ascii_lowercase().ends_with(".wasm") {
        return Err(format!(
            "the name {} looks like that of a file, so submitting a file that is missing would run the app instead; \
             choose another with --name",
            quoted(name)
        ));
    }
    let is_fine = (1..=APP_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && name.bytes().any(|byte| byte.is_ascii_alphanumeric())
        // Commands would take it for a flag.
        && !name.starts_with('-');
    if is_fine {
        return Ok(());
    }
    Err(format!(
        "an app's name must have 1 to {APP_NAME_BYTES_MAX} letters, digits, `-`, `_` and `.`, and must not begin with `-`, \
         and {} is not such a name; choose another with --name",
        quoted(name)
    ))
}

/// Checks the name of a run's input.
///
/// # Errors
/// A sentence that says which names are allowed.
pub fn check_input_name(name: &str) -> Result<(), String> {
    if (1..=INPUT_NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(is_visible) {
        return Ok(());
    }
    Err(format!(
        "the name of an input must have 1 to {INPUT_NAME_BYTES_MAX} bytes without control characters or other invisible \
         characters, and {} is not such a name",
        quoted(name)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_texts_are_visible_and_short() {
        assert_eq!(quoted("größe µs 世界 \"a\\b'"), "`größe µs 世界 \"a\\b'`");
        assert_eq!(quoted("e\u{301}"), "`e\u{301}`", "an accent is visible");
        assert_eq!(
            quoted("a\n\u{1b}[2J\u{9b}1m\u{202e}b\u{200b}"),
            "`a\\n\\u{1b}[2J\\u{9b}1m\\u{202e}b\\u{200b}`"
        );
        assert_eq!(quoted(&"x".repeat(QUOTED_CHARACTERS_MAX)).len(), QUOTED_CHARACTERS_MAX + 2);
        assert!(quoted(&"x".repeat(1000)).ends_with("x…`"));
    }

    #[test]
    fn an_apps_name_is_not_a_flag_a_hash_or_a_file() {
        for fine in ["fib", "n-queens_2.1", "_fib", "a-", ".x", &"x".repeat(APP_NAME_BYTES_MAX)] {
            assert_eq!(check_app_name(fine), Ok(()), "{fine}");
        }
        for wrong in [
            "",
            "-",
            "-rf",
            "--help",
            "..",
            "a b",
            "a/b",
            "a\u{1b}",
            "é",
            &"x".repeat(APP_NAME_BYTES_MAX + 1),
        ] {
            let why = check_app_name(wrong).expect_err(wrong);
            assert!(why.contains("must not begin with `-`") && why.contains("--name"), "{why}");
        }
        assert!(check_app_name("cafe01").is_err_and(|why| why.contains("hash")));
        assert!(check_app_name("fib.WASM").is_err_and(|why| why.contains("a file")));
    }

    #[test]
    fn an_inputs_name_is_visible() {
        for fine in
            ["cnf", "my input", "größe", "世界", "a\"b\\c'", "--help", &"x".repeat(INPUT_NAME_BYTES_MAX)]
        {
            assert_eq!(check_input_name(fine), Ok(()), "{fine}");
        }
        for wrong in [
            "",
            "\n",
            "a\u{1b}[31m",
            "\u{9b}",
            "\u{202e}a",
            "a\u{200b}",
            &"x".repeat(INPUT_NAME_BYTES_MAX + 1),
        ] {
            let why = check_input_name(wrong).expect_err(wrong);
            assert!(why.contains("1 to 256 bytes without control characters"), "{why}");
            assert!(!why.chars().any(char::is_control), "{why}");
        }
    }
}
