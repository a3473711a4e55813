//! Hostile text.

use std::fmt::{self, Write};

/// `text` with all characters escaped that would control a terminal, begin a line, or change the direction of
/// the following text.
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

/// Bytes of an app as a terminal may show them: newlines and tabs stay; all other characters that [`visible`]
/// escapes are escaped, and so are bytes that are not text.
pub fn visible_lines(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_hidden(character) && !matches!(character, '\n' | '\t') {
                shown.extend(character.escape_default());
            } else {
                shown.push(character);
            }
        }
        for byte in chunk.invalid() {
            // A string takes all that is written to it.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Writes a field's value, in quotes if its end would not be clear otherwise.
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

/// A line of JSON with all invisible characters escaped that JSON allows: they occur only in its strings.
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
        || matches!(character, '\u{061c}' | '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
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
        let hostile = b"a\tb\r\n\x1b]0;x\x07\xc2\x9b2J\xe2\x80\xae\xff\xc3\xbc\n";
        assert_eq!(visible_lines(hostile), "a\tb\\r\n\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}\\xffü\n");
        assert_eq!(written("h2"), "h2");
        assert_eq!(written(""), "\"\"");
        assert_eq!(written("a b=\"c\""), r#""a b=\"c\"""#);
        assert_eq!(written("x\nERROR forged"), r#""x\nERROR forged""#);
    }
}
