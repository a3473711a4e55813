//! Puts many bugs into one build: each function that has bugs gets an arm for each of them, and a number selects one.
//!
//! ```text
//! fn f() { BODY }   becomes   fn f() { match crate::planted(7) { 7 => BODY with bug 7, _ => BODY } }
//! ```
//!
//! Building is nearly the whole cost of a bug, so it is done once for all. The argument identifies the function by the
//! first of its bugs: a test that does not reach a bug's function cannot catch the bug, and need not be run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The environment variable that selects the bug, by its number.
pub const VARIABLE: &str = "SATEEN_PLANTED";

/// The environment variable with the file to which the functions that each thread reaches are appended, a line each:
/// the function and the thread's name.
pub const REACHED: &str = "SATEEN_REACHED";

/// Code that a crate with such functions needs.
pub const PICK: &str = r#"
#[doc(hidden)]
#[allow(missing_docs, clippy::disallowed_methods)]
pub fn planted(function: u32) -> u32 {
    use std::sync::{LazyLock, Mutex};
    static PLANTED: LazyLock<u32> =
        LazyLock::new(|| std::env::var("SATEEN_PLANTED").ok().and_then(|text| text.parse().ok()).unwrap_or(0));
    type Reached = Mutex<(std::collections::BTreeSet<(u32, String)>, std::fs::File)>;
    static REACHED: LazyLock<Option<Reached>> = LazyLock::new(|| {
        let path = std::env::var_os("SATEEN_REACHED")?;
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path).ok()?;
        Some(Mutex::new((Default::default(), file)))
    });
    if let Some(reached) = &*REACHED {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let mut reached = reached.lock().expect("nothing panics while it is locked");
        if reached.0.insert((function, thread.clone())) {
            let line = format!("{function} {thread}\n");
            std::io::Write::write_all(&mut reached.1, line.as_bytes()).expect("the file can be written");
        }
    }
    *PLANTED
}
"#;

/// A change of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bug's number.
    pub number: u32,
    /// The bytes that are replaced.
    pub at: Range<usize>,
    /// The replacement.
    pub to: String,
}

/// A source with arms.
#[derive(Debug, Default)]
pub struct Armed {
    /// The source.
    pub source: String,
    /// The function of each bug.
    pub functions: BTreeMap<u32, u32>,
    /// Bugs that are not in a function's body.
    pub outside: BTreeSet<u32>,
}

/// Returns the source with arms for all these edits.
pub fn with_arms(source: &str, edits: &[Edit]) -> Armed {
    let bodies = bodies(source);
    let mut armed = Armed { source: source.to_owned(), ..Armed::default() };
    let mut by_body: BTreeMap<(usize, usize), Vec<&Edit>> = BTreeMap::new();
    for edit in edits {
        let around = |body: &&Range<usize>| body.start < edit.at.start && edit.at.end < body.end;
        // Only in outermost functions, so that no arm is inside another.
        match bodies.iter().filter(around).min_by_key(|body| body.start) {
            Some(body) => by_body.entry((body.start, body.end)).or_default().push(edit),
            None => {
                armed.outside.insert(edit.number);
            }
        }
    }
    for ((start, end), edits) in by_body.into_iter().rev() {
        let mut arms = String::new();
        let function = edits[0].number;
        armed.functions.extend(edits.iter().map(|edit| (edit.number, function)));
        for Edit { number, at, to } in edits {
            let (before, after) = (&source[start..at.start], &source[at.end..end]);
            arms += &format!("/*{number}<*/ {number} => {before}{to}{after} /*>*/\n");
        }
        let body = &source[start..end];
        let switch = format!("{{ match crate::planted({function}) {{\n{arms}_ => {body} }} }}");
        armed.source.replace_range(start..end, &switch);
    }
    armed
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

/// The bodies of functions, braces included, except those that cannot have arms: all arms of a function that returns
/// an `impl Trait` would need the same type, and a constant function cannot read a variable.
fn bodies(source: &str) -> Vec<Range<usize>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    // Open braces, and whether each begins a body that may have arms.
    let mut braces: Vec<(usize, bool)> = Vec::new();
    let mut nesting = 0_i32;
    // For a function whose body has not begun: its nesting in brackets, and its place.
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

/// The end of the comment, string or character that begins here, in which braces are ignored.
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
    fn bodies_are_found_whatever_they_contain() {
        let found: Vec<&str> = bodies(SOURCE).into_iter().map(|body| &SOURCE[body]).collect();
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with("{ // a brace") && found[0].ends_with("[1 + 2, 3]\n}"));
        assert_eq!(found[1..], ["{ 4 }", "{ fn inner() { 4 } }"]);
    }

    #[test]
    fn each_edit_has_an_arm() {
        let edits = [edit(1, "+", "-"), edit(2, "3]", "9]"), edit(3, "4", "5"), edit(4, "6;", "7;")];
        let Armed { source, functions, outside } = with_arms(SOURCE, &edits);
        assert_eq!(outside, BTreeSet::from([4]));
        assert_eq!(functions, BTreeMap::from([(1, 1), (2, 1), (3, 3)]));
        assert_eq!(source.matches("crate::planted(1)").count(), 1);
        for arm in ["[1 - 2, 3]", "[1 + 2, 9]", "3 => { fn inner() { 5 } }", "_ => { fn inner() { 4 } }"] {
            assert_eq!(source.matches(arm).count(), 1, "{arm}");
        }
        let at = |text: &str| arm_at(&source, source.find(text).expect("it is there"));
        assert_eq!((at("1 - 2"), at("9]"), at("{ 5 }")), (Some(1), Some(2), Some(3)));
        assert_eq!((at("1 + 2, 3]"), at("{ 4 }"), at("const SIX")), (None, None, None));
    }
}
