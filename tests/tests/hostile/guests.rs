//! A process of guests may be taken over by what it runs. Whatever it then says to its host, it is the end of that
//! process and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use sateen_host::grid::{Apart, Cancel, Loading, RunningPortion, Runtime};
use sateen_host::{Compiler, Notice, Priority, RunCommand};
use sateen_protocol::{BlobHash, RunId, RunSpec};
use sateen_tests::cluster::binary;
use sateen_tests::wat::{app, bytes};

/// Maximum wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// A host whose guests' processes break the rules in this way.
struct Host {
    runtime: Apart,
    /// As that of a host's driver: what guests send is read there.
    event_loop: tokio::runtime::Handle,
    _is_used: tokio::sync::oneshot::Sender<()>,
    _folder: tempfile::TempDir,
    cache: PathBuf,
}

impl Host {
    fn new(way: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join(way);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hostile-guests"), &program).expect("a link");
        let mut compiler = Compiler::of_this_program(None, Priority::Normal).expect("it has a path");
        compiler.program = binary("sateen-host");
        let runtime = Apart::with_program(2, compiler, program).expect("this system has what it needs");
        let cache = folder.path().join("cache");
        let tokio =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
        let handle = tokio.handle().clone();
        let (is_used, is_over) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || tokio.block_on(is_over).is_ok());
        Self { runtime, event_loop: handle, _is_used: is_used, _folder: folder, cache }
    }

    /// Starts a run, and returns its portion and its notices.
    fn start(&self, cancel: &Cancel) -> Result<(Box<dyn RunningPortion>, Receiver<Notice>), String> {
        let module = bytes(&app(""));
        let (sender, notices) = mpsc::channel();
        let loading = Loading {
            run: RunId(1),
            spec: RunSpec::new(BlobHash::of(&module)),
            module,
            inputs: BTreeMap::new(),
            cache: Some(self.cache.clone()),
            cancel: cancel.clone(),
            event_loop: self.event_loop.clone(),
        };
        let notify = Arc::new(move |notice| {
            let _ = sender.send(notice);
        });
        self.runtime.start(loading, notify).map(|portion| (portion, notices))
    }
}

/// The reason why its process ended, after these notices.
#[track_caller]
fn crash(notices: &Receiver<Notice>) -> (Vec<Notice>, String) {
    let mut before = Vec::new();
    loop {
        match notices.recv_timeout(PATIENCE).expect("it ends") {
            Notice::Crashed(why) => return (before, why),
            notice => before.push(notice),
        }
    }
}

#[test]
fn a_process_that_breaks_the_rules_while_it_starts_is_killed_and_the_module_refused() {
    for (way, what) in [
        ("garbage", "cannot be read"),
        ("huge-length", "cannot be read"),
        ("huge-frame", "too long"),
        ("large-without-memory", "kind"),
        ("early", "before it was started"),
        ("hangs-up", "closed its channel"),
        ("ends", "ended by itself"),
    ] {
        // Several times: a fourth process was sometimes started before the third had counted. A process that hangs up is
        // given seconds to end.
        let times = if way == "hangs-up" { 1 } else { 5 };
        for _ in 0..times {
            let host = Host::new(way);
            let since = Instant::now();
            let why = host.start(&Cancel::default()).err().unwrap_or_else(|| panic!("{way}: it starts"));
            assert!(why.contains(what) && why.contains("3 times"), "{way}: {why}");
            assert!(since.elapsed() < PATIENCE, "{way} took {:?}", since.elapsed());
        }
    }
}

#[test]
fn a_process_that_says_nothing_ends_when_its_run_is_not_wanted_any_more() {
    let host = Host::new("silent");
    let cancel = Cancel::default();
    std::thread::scope(|scope| {
        let start = scope.spawn(|| host.start(&cancel).err());
        std::thread::sleep(Duration::from_millis(300));
        assert!(!start.is_finished());
        cancel.cancel();
        let why = start.join().expect("it returns").expect("it has not started");
        assert!(why.contains("not wanted"), "{why}");
    });
}

#[test]
fn a_process_that_breaks_the_rules_later_is_a_crash_of_its_portion() {
    for (way, what) in [
        ("twice", "started twice"),
        ("lends-unasked", "never made"),
        ("spares-unasked", "without being asked"),
        ("speaks-for-the-host", "only the host"),
        ("gives-back-turns", "did not have"),
        ("computes", "not its turn"),
    ] {
        let host = Host::new(way);
        let (portion, notices) = host.start(&Cancel::default()).unwrap_or_else(|why| panic!("{way}: {why}"));
        let (before, why) = crash(&notices);
        assert!(why.contains(what) && before.is_empty(), "{way}: {why}, {before:?}");
        let last = portion.stop();
        assert_eq!(last.counts.busy, 0);
    }
}

#[test]
fn what_a_process_says_of_jobs_that_it_does_not_have_is_dropped() {
    let host = Host::new("wrong-ids");
    let (portion, notices) = host.start(&Cancel::default()).expect("it starts");
    let first = notices.recv_timeout(PATIENCE).expect("a notice");
    assert_eq!(first, Notice::Idle(1), "those before it are dropped");
    // It does not answer, and is killed soon.
    let since = Instant::now();
    portion.stop();
    assert!(since.elapsed() < PATIENCE, "{:?}", since.elapsed());
}

#[test]
fn a_process_that_reads_nothing_blocks_no_other() {
    let host = Host::new("deaf");
    let (mut portion, notices) = host.start(&Cancel::default()).expect("it starts");
    let since = Instant::now();
    for thieves in 0..200_000 {
        portion.handle(RunCommand::Want { thieves });
        portion.flush();
    }
    assert!(since.elapsed() < PATIENCE, "{:?}", since.elapsed());
    let (_, why) = crash(&notices);
    assert!(why.contains("did not read"), "{why}");
}

#[test]
fn a_process_that_never_stops_talking_waits_for_its_host() {
    let host = Host::new("floods");
    let (portion, notices) = host.start(&Cancel::default()).expect("it starts");
    std::thread::sleep(Duration::from_millis(500));
    let count = notices.try_iter().count();
    // Those of the frames that were read last come on top.
    assert!((1..10_000).contains(&count), "{count}");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(notices.try_iter().count(), 0, "nothing is taken from it before its host has taken those");
    portion.notice_taken(&Notice::Exposed);
    portion.stop();
}
