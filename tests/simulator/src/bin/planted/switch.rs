//! Many bugs in one build: each function that has bugs gets an arm for each of them, and a number picks one.
//!
//! ```text
//! fn f() { BODY }   becomes   fn f() { match crate::planted() { 7 => BODY with bug 7, _ => BODY } }
//! ```
//!
//! Building is nearly all that a bug costs, so it is done once for all.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The variable that picks the bug, by its number.
pub const VARIABLE: &str = "SATEEN_PLANTED";

/// What the crate needs that has such functions.
pub const PICK: &str = r#"
#[doc(hidden)]
#[allow(missing_docs, clippy::disallowed_methods)]
pub fn planted() -> u32 {
    static PLANTED: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *PLANTED.get_or_init(|| std::env::var("SATEEN_PLANTED").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
}
"#;

/// A change of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bug's number.
    pub number: u32,
    /// The bytes that are replaced.
    pub at: Range<usize>,
    /// By what.
    pub to: String,
}

/// The source with arms for all these edits, and the numbers of those that are not in a function's body.
pub fn with_arms(source: &str, edits: &[Edit]) -> (String, BTreeSet<u32>) {
    let bodies = bodies(source);
    let mut outside = BTreeSet::new();
    let mut by_body: BTreeMap<(usize, usize), Vec<&Edit>> = BTreeMap::new();
    for edit in edits {
        let around = |body: &&Range<usize>| body.start < edit.at.start && edit.at.end < body.end;
        // The outermost, so that no arm is inside another.
        match bodies.iter().filter(around).min_by_key(|body| body.start) {
            Some(body) => by_body.entry((body.start, body.end)).or_default().push(edit),
            None => {
                outside.insert(edit.number);
            }
        }
    }
    let mut result = source.to_owned();
    for ((start, end), edits) in by_body.into_iter().rev() {
        let mut arms = String::new();
        for Edit { number, at, to } in edits {
            let (before, after) = (&source[start..at.start], &source[at.end..end]);
            arms += &format!("/*{number}<*/ {number} => {before}{to}{after} /*>*/\n");
        }
        let body = &source[start..end];
        result.replace_range(start..end, &format!("{{ match crate::planted() {{\n{arms}_ => {body} }} }}"));
    }
    (result, outside)
}

/// The bug in whose arm this byte of [`with_arms`]'s result is.
pub fn arm_at(source: &str, byte: usize) -> Option<u32> {
    let before = source.get(..byte)?;
    let opened = before.rfind("<*/")?;
    if before[opened..].contains("/*>*/") {
        return None;
    }
    let number = &before[before[..opened].rfind("/*")? + 2..opened];
    number.parse().ok()
}

/// The bodies of functions, braces included, but for those that cannot have arms: all arms of a function that returns
/// an `impl Trait` would have to be of one type, and a constant function reads no variable.
fn bodies(source: &str) -> Vec<Range<usize>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    // Open braces, and whether each begins a body that may have arms.
    let mut braces: Vec<(usize, bool)> = Vec::new();
    let mut nesting = 0_i32;
    // Of a function whose body has not begun: how deep in brackets it is, and where it is.
    let mut signature: Option<(i32, usize)> = None;
    let mut at = 0;
    while at < bytes.len() {
        if let Some(end) = opaque(source, at) {
            at = end;
            continue;
        }
        match bytes[at] {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let end = word_end(bytes, at);
                let names =
                    bytes.get(end + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
                if &source[at..end] == "fn" && bytes[end] == b' ' && names {
                    signature = Some((nesting, at));
                }
                at = end;
                continue;
            }
            b'(' | b'[' => nesting += 1,
            b')' | b']' => nesting -= 1,
            b';' if signature.is_some_and(|(depth, _)| depth == nesting) => signature = None,
            b'{' => {
                let begun = signature.take_if(|(depth, _)| *depth == nesting);
                braces.push((at, begun.is_some_and(|(_, from)| may_have_arms(source, from, at))));
            }
            b'}' => {
                if let Some((start, true)) = braces.pop() {
                    found.push(start..at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

fn may_have_arms(source: &str, signature: usize, body: usize) -> bool {
    let is_constant = source[..signature].trim_end().ends_with("const");
    let result = source[signature..body].split_once("->").map_or("", |(_, result)| result);
    !is_constant && !result.contains("impl ")
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    bytes[at..].iter().position(|byte| !is_letter(byte)).map_or(bytes.len(), |length| at + length)
}

/// The end of the comment, string or character that begins here, in which braces mean nothing.
fn opaque(source: &str, at: usize) -> Option<usize> {
    let rest = source.get(at..)?;
    let follows_word = source[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let until = |end: &str, from: usize| {
        rest[from..].find(end).map_or(source.len(), |place| at + from + place + end.len())
    };
    if rest.starts_with("//") {
        return Some(until("\n", 2));
    }
    if rest.starts_with("/*") {
        return Some(until("*/", 2));
    }
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r')).filter(|_| !follows_word);
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let from = rest.len() - raw.len() + hashes + 1;
            return Some(until(&format!("\"{}", "#".repeat(hashes)), from));
        }
    }
    if rest.starts_with('"') {
        return Some(at + quoted(rest));
    }
    let letter = rest.strip_prefix('\'')?.chars().next()?;
    let is_character = letter == '\\' || rest[1 + letter.len_utf8()..].starts_with('\'');
    Some(if is_character { at + character(rest) } else { at + 1 })
}

/// The length of the string that begins here.
fn quoted(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |length| length + 2)
}

/// The length of the character that begins here.
fn character(text: &str) -> usize {
    let letter = text.chars().nth(1);
    let from = letter.map_or(1, |letter| if letter == '\\' { 3 } else { 1 + letter.len_utf8() });
    text.get(from..).and_then(|rest| rest.find('\'')).map_or(text.len(), |place| from + place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r##"
fn first<'a>(text: &'a str) -> [u8; 2] { // a brace: {
    let odd = ('{', 'ä', '\'', b'"', "\"{", r#"{"{"#);
    [1 + 2, 3]
}
trait Shape { fn area(&self) -> u32; }
fn outer(go: impl Fn(u8) -> u8) { fn inner() { 4 } }
fn some() -> Option<impl Iterator<Item = u8>> { None }
const fn seven() -> u8 { 7 }
const SIX: u8 = 6;
"##;

    fn edit(number: u32, from: &str, to: &str) -> Edit {
        let start = SOURCE.find(from).expect("it is there");
        Edit { number, at: start..start + from.len(), to: to.to_owned() }
    }

    #[test]
    fn bodies_are_found_whatever_is_in_them() {
        let found: Vec<&str> = bodies(SOURCE).into_iter().map(|body| &SOURCE[body]).collect();
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with("{ // a brace") && found[0].ends_with("[1 + 2, 3]\n}"));
        assert_eq!(found[1..], ["{ 4 }", "{ fn inner() { 4 } }"]);
    }

    #[test]
    fn each_edit_has_an_arm() {
        let edits = [edit(1, "+", "-"), edit(2, "3]", "9]"), edit(3, "4", "5"), edit(4, "6;", "7;")];
        let (source, outside) = with_arms(SOURCE, &edits);
        assert_eq!(outside, BTreeSet::from([4]));
        for arm in ["[1 - 2, 3]", "[1 + 2, 9]", "3 => { fn inner() { 5 } }", "_ => { fn inner() { 4 } }"] {
            assert_eq!(source.matches(arm).count(), 1, "{arm}");
        }
        let at = |text: &str| arm_at(&source, source.find(text).expect("it is there"));
        assert_eq!((at("1 - 2"), at("9]"), at("{ 5 }")), (Some(1), Some(2), Some(3)));
        assert_eq!((at("1 + 2, 3]"), at("{ 4 }"), at("const SIX")), (None, None, None));
    }
}
