//! Golden bytes: compares the encoding of every variant of every message with `messages.txt`. `SATEEN_BLESS=1 cargo
//! test -p sateen-protocol --test golden` writes the file anew.
//!
//! Hosts and coordinators of one version of the protocol must send the same bytes in every release: when a line
//! changes, the version must change with it.

// A test reads and writes files; the rules of this crate's clippy.toml are for its machines.
#![allow(clippy::disallowed_methods)]

mod frames;
mod messages;
mod samples;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sateen_protocol::codec::PROTOCOL_VERSION;

/// The name of an encoded value, and its bytes in hexadecimal digits.
pub type Line = (String, String);

/// The digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of `digits`.
pub fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[test]
fn bytes_are_the_same_in_every_release() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/messages.txt");
    let encoded: Vec<Line> = [frames::lines(), messages::lines(), values::lines()].concat();
    let names: BTreeMap<&str, &str> =
        encoded.iter().map(|(name, digits)| (name.as_str(), digits.as_str())).collect();
    assert_eq!(names.len(), encoded.len(), "two samples have the same name");
    if std::env::var_os("SATEEN_BLESS").is_some() {
        fs::write(&path, file_of(PROTOCOL_VERSION, &encoded)).expect("the golden bytes can be written");
        return;
    }
    let file = fs::read_to_string(&path).expect("the golden bytes can be read");
    if let Err(complaint) = compare(&file, PROTOCOL_VERSION, &names) {
        panic!("{complaint}");
    }
}

fn file_of(version: u8, encoded: &[Line]) -> String {
    let lines = encoded.iter().map(|(name, digits)| format!("{name} {digits}\n"));
    format!("version {version}\n{}", lines.collect::<String>())
}

/// Compares today's encoding with the file. The error says how to resolve the differences.
fn compare(file: &str, version: u8, encoded: &BTreeMap<&str, &str>) -> Result<(), String> {
    let mut lines = file.lines();
    let pinned_version = lines.next().and_then(|line| line.strip_prefix("version ")).unwrap_or_default();
    let pinned: BTreeMap<&str, &str> = lines.filter_map(|line| line.rsplit_once(' ')).collect();
    let mut different: Vec<String> = Vec::new();
    for (name, digits) in &pinned {
        match encoded.get(name) {
            Some(today) if today == digits => {}
            Some(today) => different.push(format!("{name}\n  was {digits}\n  is  {today}")),
            None => different.push(format!("{name}\n  is gone")),
        }
    }
    let new = encoded.keys().filter(|name| !pinned.contains_key(*name));
    different.extend(new.map(|name| format!("{name}\n  is new")));
    let is_other_version = pinned_version != version.to_string();
    if different.is_empty() && !is_other_version {
        return Ok(());
    }
    let what_to_do = if is_other_version {
        format!("the golden bytes are of version {pinned_version}, the protocol is {version}")
    } else {
        format!("the bytes have changed: bump the protocol's version ({version}, in protocol/src/codec.rs)")
    };
    Err(format!(
        "{what_to_do}; then SATEEN_BLESS=1 cargo test -p sateen-protocol --test golden\n{}",
        different.join("\n")
    ))
}

#[test]
fn changed_bytes_require_another_version() {
    let file = "version 4\nSteal 00\nJob 01\n";
    let of = |pairs: &[(&'static str, &'static str)]| pairs.iter().copied().collect::<BTreeMap<_, _>>();
    assert_eq!(compare(file, 4, &of(&[("Steal", "00"), ("Job", "01")])), Ok(()));
    for changed in [
        of(&[("Steal", "07"), ("Job", "01")]),
        of(&[("Steal", "00")]),
        of(&[("Steal", "00"), ("Job", "01"), ("New", "02")]),
    ] {
        let complaint = compare(file, 4, &changed).expect_err("it changed");
        assert!(complaint.contains("bump the protocol's version"), "{complaint}");
        let bumped = compare(file, 5, &changed).expect_err("the file is old");
        assert!(bumped.starts_with("the golden bytes are of version 4, the protocol is 5"), "{bumped}");
    }
}
