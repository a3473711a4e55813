//! Starting processes of guests, and how they ended.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::channel::Channel;
use super::child::GUESTS_COMMAND;
use crate::guest::processor::of_other;
use crate::memory::resident_bytes;

/// How long a process that has closed its channel may take to end.
const END_MAX: Duration = Duration::from_secs(2);

type Order = (OwnedFd, Sender<io::Result<Child>>);

/// Starts processes, on a thread that lives as long as the host: the system ends a process with the thread that started
/// it.
#[derive(Debug)]
pub struct Spawner {
    orders: Mutex<Sender<Order>>,
}

impl Spawner {
    /// Starts processes of this program, a `sateen-host`.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start(program: PathBuf) -> io::Result<Self> {
        let (orders, receiver) = mpsc::channel::<Order>();
        std::thread::Builder::new().name("sateen-spawn".to_owned()).spawn(move || {
            for (socket, answer) in receiver {
                let mut command = Command::new(&program);
                command.arg(GUESTS_COMMAND).env_clear().current_dir("/").process_group(0);
                command.stdin(socket).stdout(Stdio::null()).stderr(Stdio::null());
                let _ = answer.send(command.spawn());
            }
        })?;
        Ok(Self { orders: Mutex::new(orders) })
    }

    /// A new process, and the channel to it.
    ///
    /// # Errors
    /// If the system cannot start it.
    pub fn spawn(&self) -> io::Result<(Channel, Process)> {
        let (channel, socket) = Channel::pair()?;
        let (answer, spawned) = mpsc::channel();
        let gone = || io::Error::other("the thread that starts processes is gone");
        self.orders.lock().send((socket, answer)).map_err(|_| gone())?;
        let child = spawned.recv().map_err(|_| gone())??;
        Ok((channel, Process::new(child)))
    }
}

/// A process of guests. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    id: u32,
    child: Mutex<Child>,
    /// Why the host has killed it.
    verdict: Mutex<Option<String>>,
    processor: Mutex<Duration>,
    /// Resident memory before it had any guest, in bytes, if the system reports it.
    base_bytes: OnceLock<u64>,
    /// The processes that the system had killed for lack of memory when this one was started.
    killed_for_memory: u64,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// For people.
    pub why: String,
    /// Whether its module, or the engine with that module, may be to blame; otherwise, somebody has killed it.
    pub is_fault: bool,
}

impl Process {
    fn new(child: Child) -> Self {
        let id = child.id();
        Self {
            id,
            child: Mutex::new(child),
            verdict: Mutex::default(),
            processor: Mutex::default(),
            base_bytes: OnceLock::new(),
            killed_for_memory: killed_for_memory(),
        }
    }

    /// Its number in the system.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its processor time so far.
    pub fn processor_time(&self) -> Duration {
        let mut last = self.processor.lock();
        // It is no longer reported when it has ended.
        *last = (*last).max(of_other(self.id));
        *last
    }

    /// It has no guest yet: what it has now is not theirs.
    pub fn note_base(&self) {
        if let Some(bytes) = resident_bytes(&self.id.to_string()) {
            let _ = self.base_bytes.set(bytes as u64);
        }
    }

    /// Resident memory of its guests, in bytes, if the system reports it.
    pub fn guests_bytes(&self) -> Option<u64> {
        let resident = resident_bytes(&self.id.to_string())? as u64;
        Some(resident.saturating_sub(*self.base_bytes.get()?))
    }

    /// Kills it, for this reason; only the first reason counts.
    pub fn condemn(&self, why: impl Into<String>) {
        self.verdict.lock().get_or_insert_with(|| why.into());
        self.kill();
    }

    /// Kills it, unless it has ended.
    pub fn kill(&self) {
        let _ = self.child.lock().kill();
    }

    /// Waits for its end, which has come or will come soon.
    pub fn end(&self) -> Ended {
        let since = Instant::now();
        let status = loop {
            self.processor_time();
            let mut child = self.child.lock();
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if since.elapsed() >= END_MAX => {
                    self.verdict.lock().get_or_insert_with(|| "it closed its channel".to_owned());
                    let _ = child.kill();
                    break child.wait().ok();
                }
                Ok(None) => {}
                Err(_) => break None,
            }
            drop(child);
            std::thread::sleep(Duration::from_millis(1));
        };
        match (self.verdict.lock().clone(), status) {
            (Some(why), _) => Ended { why, is_fault: true },
            (None, Some(status)) => ended(status, killed_for_memory() > self.killed_for_memory),
            (None, None) => Ended { why: "it ended".to_owned(), is_fault: false },
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn ended(status: ExitStatus, is_short_of_memory: bool) -> Ended {
    let name = match status.signal() {
        Some(libc::SIGKILL) if is_short_of_memory => {
            return Ended { why: "the system killed it for lack of memory".to_owned(), is_fault: true };
        }
        Some(libc::SIGKILL) => {
            return Ended { why: "somebody killed it".to_owned(), is_fault: false };
        }
        Some(libc::SIGSEGV) => "SIGSEGV".to_owned(),
        Some(libc::SIGBUS) => "SIGBUS".to_owned(),
        Some(libc::SIGILL) => "SIGILL".to_owned(),
        Some(libc::SIGABRT) => "SIGABRT".to_owned(),
        Some(libc::SIGSYS) => "SIGSYS, a call to the system that guests may not make".to_owned(),
        Some(number) => format!("signal {number}"),
        None => return Ended { why: format!("it ended by itself ({status})"), is_fault: true },
    };
    Ended { why: format!("it ended by {name}"), is_fault: true }
}

/// The number of processes that the system has killed for lack of memory since it started; 0 if it does not say.
fn killed_for_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(program: &str, words: &[&str]) -> Process {
        Process::new(Command::new(program).args(words).spawn().expect("it starts"))
    }

    #[test]
    fn it_is_known_how_a_process_ended() {
        let by_itself = process("false", &[]).end();
        assert!(by_itself.is_fault && by_itself.why.contains("exit status: 1"), "{by_itself:?}");
        let killed = process("sleep", &["100"]);
        assert_eq!(killed.guests_bytes(), None, "nobody has said that it has none");
        killed.note_base();
        assert!(killed.guests_bytes().is_none_or(|bytes| bytes < 1 << 20));
        killed.kill();
        assert_eq!(killed.end(), Ended { why: "somebody killed it".to_owned(), is_fault: false });
        let condemned = process("sleep", &["100"]);
        condemned.condemn("it lied");
        condemned.condemn("later");
        assert_eq!(condemned.end(), Ended { why: "it lied".to_owned(), is_fault: true });
        let crashed = process("sh", &["-c", "kill -SEGV $$"]).end();
        assert!(crashed.is_fault && crashed.why.contains("SIGSEGV"), "{crashed:?}");
        assert!(ended(ExitStatus::from_raw(libc::SIGKILL), true).is_fault);
    }
}
