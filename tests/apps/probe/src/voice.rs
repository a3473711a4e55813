//! An app's inputs, outputs, log and progress.

use sateen::prelude::*;

/// Logs its number.
#[job]
pub fn speak(n: u64) -> u64 {
    sateen::log!("line {n}");
    n
}

/// `count` jobs that log a line each.
#[main]
pub fn log_from_jobs(count: u64) -> u64 {
    speak::spawn_all(0..count).sync().iter().sum()
}

/// `count` lines from the root.
#[main]
pub fn log_lines(count: u64) -> u64 {
    for n in 0..count {
        sateen::log!("line {n}");
    }
    count
}

/// One line of `length` bytes.
#[main]
pub fn log_long(bytes: usize) -> u64 {
    sateen::log!("{}", "é".repeat(bytes / 2));
    bytes as u64
}

/// A panic whose message would move a terminal's cursor or begin a new line.
#[main]
pub fn panic_control() -> u64 {
    panic!("one\nsateen: forged\r\x1b[2J\x07two");
}

/// Logs text that would move a terminal's cursor or begin a new line.
#[main]
pub fn log_control() -> u64 {
    sateen::log!("one\nsateen: forged\r\x1b[2J\x07two");
    2
}

/// Fails with text that would move a terminal's cursor or begin a new line.
#[main]
pub fn fail_control() -> Result<u64, String> {
    Err("one\nsateen: forged\r\x1b[2J\x07two".to_owned())
}

/// Reports progress from 0 to `total`, and beyond.
#[main]
pub fn report(total: u64) -> u64 {
    for done in 0..=total + 1 {
        sateen::progress(done, total);
        crate::spin(100_000);
    }
    total
}

/// The length of the input `data` and a digest, read by a job.
#[job]
pub fn digest() -> Result<(u64, u64), String> {
    let bytes = sateen::input("data").map_err(|error| error.0)?;
    let digest = bytes.iter().fold(0, |digest, byte| crate::mix(digest ^ u64::from(*byte)));
    Ok((bytes.len() as u64, digest))
}

/// Reads the input in `count` jobs; all must see the same.
#[main]
pub fn read_input(count: u64) -> Result<String, BadInput> {
    let own = sateen::input("data")?;
    let handles: Vec<_> = (0..count).map(|_| digest::spawn()).collect();
    let seen = handles.sync_all();
    let same = seen.iter().all(|one| one == &seen[0]);
    Ok(format!("{} bytes, {:?}, same: {same}", own.len(), seen.first()))
}

/// The input `text`, which must be UTF-8.
#[main]
pub fn read_text() -> Result<String, BadInput> {
    sateen::input_text("text")
}

/// Text that ends without a newline.
#[main]
pub fn text(words: Vec<String>) -> String {
    words.join(" ")
}

/// Every byte, `count` times.
#[main]
pub fn bytes(count: usize) -> Vec<u8> {
    (0..=255).cycle().take(256 * count).collect()
}

/// An empty result.
#[main]
pub fn silence() {}

/// One of each type that a command line can give.
#[main]
pub fn arguments(
    whole: u64,
    signed: i32,
    real: f64,
    flag: bool,
    letter: char,
    word: String,
    rest: Vec<u8>,
) -> String {
    format!("{whole} {signed} {real} {flag} {letter} {word} {rest:?}")
}

/// Parameters with the same names as the macros' own variables.
#[main]
pub fn echo(arguments: String, echo: Vec<String>) -> String {
    format!("{arguments} {}", echo.join(" "))
}

/// A literal text.
#[main]
pub fn literal() -> &'static str {
    "as it stands"
}
