//! A share that the system holds: the quota of a cgroup.

use std::fs;
use std::io;
use std::path::Path;

use crate::preferences::Percent;

/// The quota counts for periods of this time, in microseconds: short, so that no pause within it is felt.
const PERIOD_US: u64 = 50_000;

/// Limits the cgroup in this folder to a share of `threads` processors.
///
/// # Errors
/// If the cgroup has no such controller, or is not this user's.
pub fn write(folder: &Path, share: Percent, threads: usize) -> io::Result<()> {
    fs::write(folder.join("cpu.max"), text(share, threads))
}

fn text(share: Percent, threads: usize) -> String {
    if share == Percent::ALL {
        return format!("max {PERIOD_US}");
    }
    let quota_us = PERIOD_US * threads as u64 * u64::from(share.get()) / 100;
    // The system takes no less than a millisecond.
    format!("{} {PERIOD_US}", quota_us.max(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_written_as_the_system_reads_them() {
        assert_eq!(text(Percent::of(25), 2), "25000 50000");
        assert_eq!(text(Percent::of(1), 1), "1000 50000");
        assert_eq!(text(Percent::ALL, 4), "max 50000");
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), Percent::of(50), 4).expect("written");
        assert_eq!(fs::read_to_string(folder.path().join("cpu.max")).expect("there"), "100000 50000");
        assert!(write(Path::new("/nonexistent"), Percent::of(50), 4).is_err());
    }
}
