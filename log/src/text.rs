//! Hostile text.

use std::fmt::{self, Write};

/// `text` with all spelled out that would steer a terminal, begin a line, or turn the direction of what
/// follows.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            visible.extend(character.escape_default());
        } else {
            visible.push(character);
        }
    }
    visible
}

/// Writes a field's value, in quotes if its end could not be told otherwise.
///
/// # Errors
/// The writer's.
pub fn write_value(writer: &mut impl Write, value: &str) -> fmt::Result {
    let is_plain = !value.is_empty() && !value.contains([' ', '"', '=', '\\']) && !value.contains(is_hidden);
    if is_plain {
        return writer.write_str(value);
    }
    writer.write_char('"')?;
    for character in value.chars() {
        match character {
            '"' | '\\' => write!(writer, "\\{character}")?,
            _ if is_hidden(character) => write!(writer, "{}", character.escape_default())?,
            _ => writer.write_char(character)?,
        }
    }
    writer.write_char('"')
}

/// A line of JSON with all escaped that is hidden and that JSON lets stand: outside of its strings there is none.
pub fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character != '\n' && is_hidden(character) {
            // A string takes all that is written to it. None of these is beyond four digits.
            let _ = write!(escaped, "\\u{:04x}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || ('\u{202a}'..='\u{202e}').contains(&character)
        || ('\u{2066}'..='\u{2069}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> String {
        let mut text = String::new();
        write_value(&mut text, value).expect("a string");
        text
    }

    #[test]
    fn hostile_text_is_spelled_out() {
        assert_eq!(visible("a\n\u{1b}[31mb\u{202e}"), "a\\n\\u{1b}[31mb\\u{202e}");
        assert_eq!(visible("größe µs"), "größe µs");
        assert_eq!(written("h2"), "h2");
        assert_eq!(written(""), "\"\"");
        assert_eq!(written("a b=\"c\""), r#""a b=\"c\"""#);
        assert_eq!(written("x\nERROR forged"), r#""x\nERROR forged""#);
    }
}
