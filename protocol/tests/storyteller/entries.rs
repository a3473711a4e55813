//! Short texts for results and table entries.

use sateen_protocol::{Entry, EntryState, Finished, MainOutcome, Outcome, RootOutcome};

use crate::names::Names;

/// Processor time that a job of a story takes for each job of its tree.
const WORK_NS: u64 = 1_000_000_000;
/// Maximum entries that are shown; further ones are only counted.
const SHOWN_MAX: usize = 8;

/// The result of a job with `value` jobs in its tree; `padding` bytes make it large.
pub fn finished(value: u64, padding: usize) -> Finished {
    let text = format!("{value}{}", " ".repeat(padding));
    let mut bytes = vec![0];
    let mut length = text.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(text.bytes());
    let work_ns = value * WORK_NS;
    Finished { outcome: Outcome::Done(bytes.into()), work_ns, span_ns: work_ns }
}

/// Reads the value from a result made by `finished`.
pub fn value(finished: &Finished) -> Option<u64> {
    match RootOutcome::of(finished) {
        RootOutcome::Main(MainOutcome::Text(text)) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A text such as `= 3`, or one that says why there is no value.
pub fn result(finished: &Finished) -> String {
    let large = if finished.outcome.bytes().len() > 1024 { " (large)" } else { "" };
    match value(finished) {
        Some(value) => format!("= {value}{large}"),
        None => "= ?".to_owned(),
    }
}

/// A text such as `r.1 = 3, r.2 runs at B`.
pub fn list(names: &Names, entries: &[Entry]) -> String {
    let mut shown: Vec<String> = entries
        .iter()
        .take(SHOWN_MAX)
        .map(|entry| {
            let job = names.job(&entry.key);
            match &entry.state {
                EntryState::Done(finished) => format!("{job} {}", result(finished)),
                EntryState::DoneAt { host, .. } => format!("{job} is at {}", names.host(*host)),
                EntryState::Running(host) => format!("{job} runs at {}", names.host(*host)),
            }
        })
        .collect();
    if entries.len() > SHOWN_MAX {
        shown.push(format!("{} more", entries.len() - SHOWN_MAX));
    }
    shown.join(", ")
}
