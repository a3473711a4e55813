//! The place of an attribute. A macro sees only its own item, and a function within an `impl` block cannot have a type
//! beside it: the compiler's error about that names generated code. So this module reads the source up to the
//! attribute, if there is a file.

use proc_macro2::Span;
use syn::{Error, ItemFn, Result};

/// The kind of block around an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Impl,
    Trait,
    Other,
}

/// Refuses a function that carries the attribute `#[what]` within an `impl` block or a trait.
pub fn refuse_within_impl(function: &ItemFn, what: &str) -> Result<()> {
    let span = Span::call_site().unwrap();
    // Such a function is usually indented; if it is not, the source is not read.
    if span.column() <= 1 {
        return Ok(());
    }
    let source = span.local_file().and_then(|file| std::fs::read_to_string(file).ok());
    let block = source.and_then(|source| innermost(before(&source, span.line(), span.column())?));
    let place = match block {
        Some(Block::Impl) => "an `impl` block",
        Some(Block::Trait) => "a trait",
        Some(Block::Other) | None => return Ok(()),
    };
    Err(Error::new_spanned(
        &function.sig.ident,
        format!(
            "a #[{what}] cannot stand in {place}: other machines find it by its name alone; make it a free function"
        ),
    ))
}

/// The text before a line and column, both from 1.
fn before(source: &str, line: usize, column: usize) -> Option<&str> {
    let start: usize = source.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = source.get(start..)?;
    let within = rest.char_indices().nth(column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at);
    source.get(..start + within)
}

/// The innermost block that is open at the end of `source`; `None` if there is none, or the source cannot be parsed.
fn innermost(source: &str) -> Option<Block> {
    let mut open = Vec::new();
    // The first words before the next brace.
    let mut head = String::new();
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = after_opaque(rest) {
            // Two words with a comment between them are two.
            head.push(' ');
            rest = after?;
            continue;
        }
        match letter {
            '{' => open.push(block_of(&head)),
            '}' => {
                open.pop()?;
            }
            _ => {}
        }
        if matches!(letter, '{' | '}' | ';') {
            head.clear();
        } else {
            head.push(letter);
        }
        rest = &rest[letter.len_utf8()..];
    }
    open.last().copied()
}

/// The kind of block that these words begin, without attributes.
fn block_of(head: &str) -> Block {
    let mut rest = head.trim_start();
    while let Some(attribute) = rest.strip_prefix("#[").or_else(|| rest.strip_prefix("#![")) {
        let mut depth = 1;
        let end = attribute.find(|letter| {
            depth += i32::from(letter == '[') - i32::from(letter == ']');
            depth == 0
        });
        rest = end.map_or("", |end| attribute[end + 1..].trim_start());
    }
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = rest.split(|letter| !is_word(letter)).filter(|word| !word.is_empty());
    let word = words
        .find(|word| !["unsafe", "pub", "crate", "auto", "default", "in", "super", "self"].contains(word));
    match word {
        Some("impl") => Block::Impl,
        Some("trait") => Block::Trait,
        _ => Block::Other,
    }
}

/// If a comment, a string or a character begins here, the text after it; nothing if it does not end.
fn after_opaque(rest: &str) -> Option<Option<&str>> {
    if rest.starts_with("//") {
        return Some(Some(rest.find('\n').map_or("", |end| &rest[end..])));
    }
    if rest.starts_with("/*") {
        return Some(after_comment(rest));
    }
    let bare = rest.strip_prefix('b').or_else(|| rest.strip_prefix('c')).unwrap_or(rest);
    if let Some(raw) = bare.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if let Some(text) = raw[hashes..].strip_prefix('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            return Some(text.find(&end).map(|at| &text[at + end.len()..]));
        }
    }
    if let Some(text) = bare.strip_prefix('"') {
        return Some(after_quote(text, '"'));
    }
    let quoted = rest.strip_prefix("b'").or_else(|| rest.strip_prefix('\''))?;
    let mut letters = quoted.chars();
    let first = letters.next()?;
    // A lifetime has no second quote.
    let is_character = first == '\\' || letters.next() == Some('\'');
    is_character.then(|| after_quote(quoted, '\''))
}

fn after_quote(text: &str, quote: char) -> Option<&str> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return Some(&text[at + 1..]),
            _ => {}
        }
    }
    None
}

/// Comments may be within one another.
fn after_comment(rest: &str) -> Option<&str> {
    let mut depth = 0;
    let mut at = 0;
    while let Some(two) = rest.as_bytes().get(at..at + 2) {
        depth += i32::from(two == b"/*") - i32::from(two == b"*/");
        at += if two == b"/*" || two == b"*/" { 2 } else { 1 };
        if depth == 0 {
            return rest.get(at..);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impls_and_traits_are_distinguished_from_other_blocks() {
        for (source, block) in [
            ("", None),
            ("struct A { a: u8 }\n", None),
            ("impl A {\n", Some(Block::Impl)),
            ("impl A { fn f() {} ", Some(Block::Impl)),
            ("impl A { fn f() { ", Some(Block::Other)),
            ("#[cfg(a = \"[\")] unsafe impl<T: B<{ 1 }>> C for A<T> ", None),
            ("#[a(b[0])]\nunsafe impl Send for A {", Some(Block::Impl)),
            ("pub(crate) trait T: U {", Some(Block::Trait)),
            ("mod implementation {", Some(Block::Other)),
            ("fn f() -> impl Iterator {", Some(Block::Other)),
            ("impl A {} mod b {", Some(Block::Other)),
            ("const A: &str = \"impl A {\"; ", None),
            ("const A: &str = r#\"impl \" A {\"#; /* impl { /* { */ */ // impl {\n", None),
            (
                "const A: char = '{'; const B: char = '\\''; fn f<'a>(a: &'a str) {} impl A {",
                Some(Block::Impl),
            ),
            ("}", None),
            ("impl A { \"", None),
        ] {
            assert_eq!(innermost(source), block, "{source}");
        }
    }

    #[test]
    fn lines_and_columns_are_counted_from_one() {
        let source = "ab\n  ü#[job]\n";
        assert_eq!(before(source, 1, 1), Some(""));
        assert_eq!(before(source, 2, 4), Some("ab\n  ü"));
        assert_eq!(before(source, 9, 1), Some(source));
        assert_eq!(before(source, 0, 1), None);
    }
}
