//! The system's errors, for people.

use std::fmt::Display;
use std::io::{self, ErrorKind};

/// What happened and, if known, what to do; without the system's error number.
pub fn explained(error: &io::Error) -> String {
    if error.get_ref().is_some() {
        // The error already has a longer explanation.
        let text = without_number(&error.to_string());
        return match error.kind() {
            ErrorKind::StorageFull => format!("disk full: free some space ({text})"),
            _ => text,
        };
    }
    let known = match error.kind() {
        ErrorKind::StorageFull => "disk full: free some space",
        ErrorKind::QuotaExceeded => "disk quota used up: free some space, or ask for a larger quota",
        ErrorKind::FileTooLarge => "file too large for this disk or for the user's limit (`ulimit -f`)",
        ErrorKind::ReadOnlyFilesystem => "the disk is read-only",
        ErrorKind::NotFound => "no such file or folder",
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::IsADirectory => "it is a folder",
        ErrorKind::NotADirectory => "a part of the path is not a folder",
        ErrorKind::AddrInUse => "another program uses this address",
        ErrorKind::AddrNotAvailable => "this machine does not have that address",
        ErrorKind::ConnectionRefused => "connection refused",
        _ => return unknown(error),
    };
    known.to_owned()
}

/// Errors without a kind of their own.
fn unknown(error: &io::Error) -> String {
    const TOO_MANY_FILES: [i32; 2] = [23, 24];
    match error.raw_os_error() {
        Some(code) if cfg!(unix) && TOO_MANY_FILES.contains(&code) => {
            "too many open files: raise the limit with `ulimit -n`".to_owned()
        }
        _ => without_number(&error.to_string()),
    }
}

/// Rust adds it to the system's message.
fn without_number(text: &str) -> String {
    match text.split_once(" (os error ") {
        Some((before, after)) => {
            let after = after.split_once(')').map_or("", |(_, after)| after);
            format!("{before}{after}")
        }
        None => text.to_owned(),
    }
}

/// The same for a file or folder that cannot be written, with its name.
pub fn refused(what: &impl Display, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::StorageFull => format!("disk full: {what} cannot be written; free some space"),
        _ => format!("{what} cannot be written: {}", explained(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_systems_numbers_are_not_shown() {
        for code in 1..134 {
            let error = io::Error::from_raw_os_error(code);
            for text in [explained(&error), refused(&"/data", &error)] {
                assert!(!text.contains("os error") && !text.contains("code:") && !text.is_empty(), "{text}");
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_named_with_what_to_do() {
        let full = std::fs::write("/dev/full", "x").expect_err("full");
        assert_eq!(refused(&"/data", &full), "disk full: /data cannot be written; free some space");
        assert_eq!(explained(&full), "disk full: free some space");
        let files = io::Error::from_raw_os_error(24);
        assert!(explained(&files).contains("ulimit -n"));
        let named = io::Error::new(full.kind(), "put /tmp/x: No space (os error 28) at all");
        assert_eq!(explained(&named), "disk full: free some space (put /tmp/x: No space at all)");
        let said = io::Error::new(ErrorKind::PermissionDenied, "others may write the cache");
        assert_eq!(explained(&said), "others may write the cache");
    }
}
