//! Real processes inside their walls: what is refused, what must still work, and what the report says.
//!
//! What is expected does not depend on the machine, except for two things that kernels may lack or forbid: Landlock and network
//! namespaces. [`Kernel`] asks the kernel for these, and for nothing else.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use sateen_walls::{Wall, is_breach};

/// How an attempt is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// The call fails with this code.
    Error(i32),
    /// The process is killed.
    Killed,
}

use Refused::{Error, Killed};

const PERM: Refused = Error(libc::EPERM);

/// Whether an attempt is not refused to a process without walls, if it may be refused there as well.
const ALSO_WITHOUT: bool = true;
const ONLY_BY_WALLS: bool = false;

/// Every attempt of the intruder, and how it is refused.
#[rustfmt::skip]
const ATTEMPTS: &[(&str, Refused, bool)] = &[
    ("open", PERM, ONLY_BY_WALLS), ("openat", PERM, ONLY_BY_WALLS), ("openat2", PERM, ONLY_BY_WALLS),
    ("create", PERM, ONLY_BY_WALLS), ("proc_self_mem", PERM, ONLY_BY_WALLS),
    ("proc_parent_environ", PERM, ONLY_BY_WALLS), ("stat", PERM, ONLY_BY_WALLS), ("newfstatat", PERM, ONLY_BY_WALLS),
    ("readlink", PERM, ONLY_BY_WALLS), ("chdir", PERM, ONLY_BY_WALLS), ("read_dir", PERM, ONLY_BY_WALLS),
    ("inotify_init1", PERM, ONLY_BY_WALLS),
    ("socket", PERM, ONLY_BY_WALLS), ("socket_unix", PERM, ONLY_BY_WALLS), ("socket_netlink", PERM, ONLY_BY_WALLS),
    ("socketpair", PERM, ONLY_BY_WALLS), ("connect", PERM, ONLY_BY_WALLS), ("bind", PERM, ONLY_BY_WALLS),
    ("listen", PERM, ONLY_BY_WALLS), ("sendto", PERM, ONLY_BY_WALLS),
    #[cfg(target_arch = "x86_64")] ("fork", PERM, ONLY_BY_WALLS),
    ("clone", PERM, ONLY_BY_WALLS), ("clone3", Error(libc::ENOSYS), ONLY_BY_WALLS), ("vfork", PERM, ONLY_BY_WALLS),
    ("clone_thread_in_namespace", PERM, ALSO_WITHOUT), ("spawn", PERM, ONLY_BY_WALLS),
    ("execve", Killed, ONLY_BY_WALLS), ("memfd_execveat", Killed, ONLY_BY_WALLS), ("ptrace", Killed, ONLY_BY_WALLS),
    ("process_vm_readv", Killed, ONLY_BY_WALLS), ("process_vm_writev", Killed, ONLY_BY_WALLS),
    ("kill_parent", PERM, ONLY_BY_WALLS), ("kill_all", PERM, ONLY_BY_WALLS), ("tgkill_parent", PERM, ONLY_BY_WALLS),
    ("tkill_parent", PERM, ONLY_BY_WALLS), ("pidfd_open", PERM, ONLY_BY_WALLS),
    ("signal_by_descriptor", PERM, ONLY_BY_WALLS), ("limit_of_parent", PERM, ONLY_BY_WALLS),
    ("priority_of_parent", PERM, ALSO_WITHOUT), ("policy_of_parent", PERM, ALSO_WITHOUT),
    ("affinity_of_parent", PERM, ONLY_BY_WALLS),
    ("mprotect_exec", PERM, ONLY_BY_WALLS), ("pkey_mprotect_exec", PERM, ONLY_BY_WALLS),
    ("mmap_exec", PERM, ONLY_BY_WALLS), ("memfd_mmap_exec", PERM, ONLY_BY_WALLS),
    ("read_implies_exec", PERM, ONLY_BY_WALLS),
    ("setrlimit", PERM, ONLY_BY_WALLS), ("be_dumpable", PERM, ONLY_BY_WALLS), ("outlive_parent", PERM, ONLY_BY_WALLS),
    ("seccomp", PERM, ONLY_BY_WALLS),
    ("unshare", Killed, ALSO_WITHOUT), ("unshare_network", Killed, ALSO_WITHOUT),
    ("unshare_network_only", Killed, ALSO_WITHOUT), ("setns", Killed, ALSO_WITHOUT), ("mount", Killed, ALSO_WITHOUT),
    ("chroot", Killed, ALSO_WITHOUT), ("io_uring_setup", PERM, ALSO_WITHOUT), ("bpf", Killed, ALSO_WITHOUT),
    ("perf_event_open", Killed, ALSO_WITHOUT), ("userfaultfd", Killed, ALSO_WITHOUT),
    ("kexec_load", Killed, ALSO_WITHOUT), ("init_module", Killed, ALSO_WITHOUT), ("keyctl", Killed, ALSO_WITHOUT),
    ("reboot", Killed, ALSO_WITHOUT), ("notification_pipe", PERM, ALSO_WITHOUT), ("shmget", PERM, ALSO_WITHOUT),
    ("msgget", PERM, ALSO_WITHOUT), ("type_into_terminal", PERM, ALSO_WITHOUT),
    #[cfg(target_arch = "x86_64")] ("x32", PERM, ALSO_WITHOUT),
    #[cfg(target_arch = "x86_64")] ("int_80", Killed, ALSO_WITHOUT),
];

/// What a process of guests needs; some are started with more words, or driven from outside.
const NEEDS: &[&str] = &[
    "threads",
    "allocations",
    "growth",
    "loaded_code",
    "sleep",
    "timers",
    "pipes",
    "events",
    "signals",
    "traps",
    "files_in_memory",
    "priority",
    "panic",
    "randomness",
    "own_state",
];

/// What this kernel has of what is not everywhere.
struct Kernel {
    has_landlock: bool,
    /// Whether this user may make network namespaces.
    has_networks: bool,
}

impl Kernel {
    fn ask() -> Self {
        // SAFETY: with this flag, the call only returns the version of its interface.
        let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, 1) };
        let may = |what| run(&[what, "without"]).said("went through");
        Self {
            has_landlock: version >= 1,
            has_networks: may("unshare_network") || may("unshare_network_only"),
        }
    }

    /// Whether a process with one thread has this wall.
    fn has(&self, wall: Wall) -> bool {
        match wall {
            Wall::NoFiles => self.has_landlock,
            Wall::OwnNetwork => self.has_networks,
            _ => true,
        }
    }
}

/// A process of the intruder that has ended.
struct Ended {
    lines: Vec<String>,
    status: ExitStatus,
    errors: String,
}

impl Ended {
    fn said(&self, line: &str) -> bool {
        self.lines.iter().any(|said| said == line)
    }

    fn has_wall(&self, wall: Wall) -> bool {
        self.said(&format!("wall {}: up", wall.name()))
    }

    /// How its attempt was refused, if it was.
    fn refused(&self) -> Option<Refused> {
        // The processor's fault is what a kernel without calls of 32-bit programs answers.
        if is_breach(self.status) || self.status.signal() == Some(libc::SIGSEGV) {
            return Some(Killed);
        }
        let code = self.lines.iter().find_map(|line| line.strip_prefix("error "))?;
        Some(Error(code.parse().expect("a number")))
    }
}

fn intruder(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sateen-walls-intruder"));
    command.args(words).arg(format!("parent={}", std::process::id()));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(words: &[&str]) -> Ended {
    ended(intruder(words).spawn().expect("it can be started"))
}

fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it ends");
    let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    Ended { lines, status: output.status, errors: String::from_utf8_lossy(&output.stderr).into_owned() }
}

/// Reads what a child says until it waits.
fn lines_until_waiting(child: &mut Child) -> Vec<String> {
    let mut lines = Vec::new();
    let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
    while lines.last().is_none_or(|line| line != "waits") {
        let mut line = String::new();
        assert!(out.read_line(&mut line).expect("it can be read") > 0, "it has ended: {lines:?}");
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[test]
fn every_attempt_is_refused_within_the_walls() {
    let mut wrong = Vec::new();
    for (name, expected, _) in ATTEMPTS {
        let ended = run(&[name]);
        assert!(ended.has_wall(Wall::FilteredCalls), "{name}: {:?} {}", ended.lines, ended.errors);
        if ended.refused() != Some(*expected) {
            wrong.push(format!(
                "{name}: {:?}, not {expected:?}: {:?} {:?}",
                ended.refused(),
                ended.lines,
                ended.status
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Otherwise, the attempts would show nothing about the walls.
#[test]
fn without_walls_the_attempts_are_not_refused() {
    let mut wrong = Vec::new();
    for (name, refused, _) in ATTEMPTS.iter().filter(|(_, _, elsewhere)| *elsewhere == ONLY_BY_WALLS) {
        let ended = run(&[name, "without"]);
        let is_refused = ended.refused() == Some(*refused) || ended.refused() == Some(PERM);
        if is_refused || !ended.status.success() || ended.lines.iter().any(|line| line.starts_with("wall")) {
            wrong.push(format!("{name}: {:?} {:?} {}", ended.lines, ended.status, ended.errors));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_guests_need_works_within_the_walls() {
    let mut wrong = Vec::new();
    let limits = [vec!["memory_limit", "memory=67108864"], vec!["descriptor_limit", "descriptors=32"]];
    for words in NEEDS.iter().map(|name| vec![*name]).chain(limits) {
        let ended = run(&words);
        assert!(ended.has_wall(Wall::FilteredCalls), "{words:?}: {:?} {}", ended.lines, ended.errors);
        if !ended.said("works") || !ended.status.success() {
            wrong.push(format!("{words:?}: {:?} {:?} {}", ended.lines, ended.status, ended.errors));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_report_says_what_this_kernel_can() {
    let kernel = Kernel::ask();
    let ended = run(&["randomness"]);
    for wall in Wall::ALL {
        assert_eq!(ended.has_wall(wall), kernel.has(wall), "{}: {:?}", wall.name(), ended.lines);
    }
    assert_eq!(ended.lines.iter().filter(|line| line.starts_with("wall ")).count(), Wall::ALL.len());
}

#[test]
fn the_walls_are_seen_from_outside() {
    let mut child = intruder(&["wait"]).stdin(Stdio::piped()).spawn().expect("it can be started");
    let lines = lines_until_waiting(&mut child);
    let read = |name: &str| {
        fs::read_to_string(format!("/proc/{}/{name}", child.id())).expect("everybody may read it")
    };
    let status = read("status");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("no {name} in {status}")).trim().to_owned()
    };
    assert_eq!((field("NoNewPrivs"), field("Seccomp")), ("1".to_owned(), "2".to_owned()));
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!(read("oom_score_adj").trim(), "1000");
    let limits = read("limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("it is listed");
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"]);
    // Only the superuser may look at what belongs to a process that cannot be dumped.
    match fs::read_link(format!("/proc/{}/ns/net", child.id())) {
        Ok(network) => {
            let is_own = network != fs::read_link("/proc/self/ns/net").expect("it is this process's");
            assert_eq!(is_own, lines.contains(&format!("wall {}: up", Wall::OwnNetwork.name())), "{lines:?}");
        }
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
    drop(child.stdin.take());
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_supervisor_talks_to_its_child_and_can_stop_it() {
    let (mut own, other) = UnixStream::pair().expect("sockets can be made");
    let child =
        intruder(&["channel"]).stdin(std::os::fd::OwnedFd::from(other)).spawn().expect("it can be started");
    own.write_all(b"ping").expect("it is there");
    let mut answer = String::new();
    own.read_to_string(&mut answer).expect("it answers");
    let ended = ended(child);
    assert_eq!(answer, "pong", "{:?} {}", ended.lines, ended.errors);
    assert!(ended.said("works"), "{:?} {}", ended.lines, ended.errors);

    let child = intruder(&["sleep"]).spawn().expect("it can be started");
    let id = libc::pid_t::try_from(child.id()).expect("ids are small");
    std::thread::sleep(Duration::from_millis(100));
    for signal in [libc::SIGSTOP, libc::SIGCONT] {
        // SAFETY: the child was not waited for, so the id is its own.
        assert_eq!(unsafe { libc::kill(id, signal) }, 0);
        std::thread::sleep(Duration::from_millis(50));
    }
    let ended = self::ended(child);
    assert!(ended.said("works"), "its sleep continues: {:?} {}", ended.lines, ended.errors);
}

#[test]
fn the_child_does_not_outlive_its_parent() {
    let mut parent = intruder(&["parent"]).spawn().expect("it can be started");
    let mut line = String::new();
    BufReader::new(parent.stdout.take().expect("it is piped")).read_line(&mut line).expect("it can be read");
    let id = line.trim().strip_prefix("child ").unwrap_or_else(|| panic!("it says `{line}`")).to_owned();
    let state = || {
        // A zombie has ended, though nobody has waited for it.
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let state = status.lines().find_map(|line| line.strip_prefix("State:"))?.trim().to_owned();
        (!state.starts_with(['Z', 'X'])).then_some(state)
    };
    assert!(state().is_some(), "the child runs");
    parent.kill().expect("it runs");
    parent.wait().expect("it ends");
    let started = Instant::now();
    while let Some(state) = state() {
        assert!(started.elapsed() < Duration::from_secs(30), "the child is still there: {state}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The parent may have ended before the child asked for the signal.
#[test]
fn a_child_of_another_parent_is_killed_at_once() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sateen-walls-intruder"));
    let output = command.args(["randomness", "parent=1073741824"]).output().expect("it can be started");
    assert_eq!(output.status.signal(), Some(libc::SIGKILL), "{output:?}");
    assert!(!is_breach(output.status));
    assert_eq!(output.stdout, b"");
}

/// Threads that were there before are filtered as well, and the report says what does not hold for them.
#[test]
fn threads_that_were_started_before_are_reported() {
    for (name, expected) in [("open", PERM), ("mprotect_exec", PERM), ("clone", PERM), ("ptrace", Killed)] {
        let ended = run(&[name, "threads"]);
        assert_eq!(ended.refused(), Some(expected), "{name}: {:?}", ended.lines);
        assert!(!ended.has_wall(Wall::OwnNetwork), "{:?}", ended.lines);
        let network = format!("wall {}: another thread", Wall::OwnNetwork.name());
        assert!(ended.lines.iter().any(|line| line.starts_with(&network)), "{:?}", ended.lines);
    }
}
