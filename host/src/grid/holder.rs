//! The process that uses a data folder, seen by another one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::process::Pid;

/// The process that uses a data folder. It is this process even if another one gets its number later.
#[derive(Debug)]
pub struct Holder {
    /// As its lock says.
    number: Option<i32>,
    process: Option<OwnedFd>,
}

impl Holder {
    /// Of this folder. Nothing is known of it if nobody uses the folder, or the system cannot tell when a process ends.
    pub fn of(folder: &Path) -> Self {
        let number = named(folder);
        Self { number, process: number.and_then(open) }
    }

    /// Whether the process has certainly ended: its lock is free as soon as the system has freed its memory.
    pub fn has_ended(&self) -> bool {
        let is_gone = self.number.and_then(Pid::from_raw).is_some_and(|number| {
            matches!(rustix::process::test_kill_process(number), Err(rustix::io::Errno::SRCH))
        });
        is_gone || self.process.as_ref().is_some_and(|process| has_ended(process, Duration::ZERO))
    }

    /// Whether the folder names another process by now.
    pub fn has_successor(&self, folder: &Path) -> bool {
        named(folder).is_some_and(|number| Some(number) != self.number)
    }

    /// Waits until the process has ended, at most this long. The lock of its folder is free before: a process with much
    /// memory takes some hundredths of a second to end. Returns whether it has ended, as far as is known.
    pub fn await_end(&self, patience: Duration) -> bool {
        self.process.as_ref().is_none_or(|process| has_ended(process, patience))
    }
}

/// The process that the folder's lock names.
fn named(folder: &Path) -> Option<i32> {
    fs::read_to_string(folder.join("lock")).ok()?.trim().parse().ok()
}

#[cfg(target_os = "linux")]
fn open(process: i32) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn open(_process: i32) -> Option<OwnedFd> {
    None
}

fn has_ended(process: &OwnedFd, patience: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, poll};
    let patience = patience.try_into().ok();
    // It can be read when the process has ended, even if nobody has asked for its exit code yet.
    poll(&mut [PollFd::new(process, PollFlags::IN)], patience.as_ref()).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_has_ended_when_it_is_gone_and_not_before() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Holder::of(folder.path()).await_end(Duration::ZERO), "nobody uses it");
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        fs::write(folder.path().join("lock"), child.id().to_string()).expect("written");
        let holder = Holder::of(folder.path());
        assert!(!holder.await_end(Duration::from_millis(20)) && !holder.has_ended());
        assert!(!holder.has_successor(folder.path()));
        child.kill().expect("it runs");
        // Before its parent has asked for its exit code.
        assert!(holder.await_end(Duration::from_secs(60)));
        #[cfg(target_os = "linux")]
        assert!(holder.has_ended());
        child.wait().expect("it ends");
        assert!(holder.has_ended());
        fs::write(folder.path().join("lock"), std::process::id().to_string()).expect("written");
        assert!(holder.has_successor(folder.path()) && !Holder::of(folder.path()).has_ended());
        fs::write(folder.path().join("lock"), child.id().to_string()).expect("written");
        assert!(Holder::of(folder.path()).await_end(Duration::ZERO), "the number is of no process");
    }
}
