//! The driver with a slow disk, and after a stall.

mod rounds;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::mpsc as threads;
use std::time::Duration;

use futures_util::future::join_all;
use sateen_protocol::message::{JobNote, NoteKind, ToCoordinator, ToHost, WorkerTimes};
use sateen_protocol::{Counts, Finished, JobTag, Outcome, RunState};
use tempfile::TempDir;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::measure::{New, hello, spec};
use super::*;
use crate::chronicle::EventKind;
use crate::clock::Clock;
use crate::figures::Counted;
use crate::links::Link;

/// What a host reports of a run, without progress.
fn report(
    run: RunId,
    series: u64,
    counts: Counts,
    notes: Vec<JobNote>,
    workers: Vec<WorkerTimes>,
) -> ToCoordinator {
    let (counts, progress, ahead_ns, notes_dropped) = (Box::new(counts), None, None, 0);
    ToCoordinator::Counts { run, series, counts, progress, ahead_ns, notes, notes_dropped, workers }
}

/// Longer than any test waits.
const PATIENCE: Duration = Duration::from_secs(30);

struct Bed {
    handle: DriverHandle,
    store: Arc<Store>,
    links: Arc<Links>,
    to_driver: mpsc::UnboundedSender<FromLink>,
    stop: watch::Sender<bool>,
    _folder: TempDir,
}

impl Bed {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let New { driver, handle, to_driver } =
            New::begin(folder.path(), 1000, Clock::start()).expect("it opens");
        let (links, store) = (Arc::clone(&driver.links), Arc::clone(&driver.store));
        let (stop, stopping) = watch::channel(false);
        tokio::spawn(driver.run(stopping));
        Self { handle, store, links, to_driver, stop, _folder: folder }
    }

    fn say(&self, link: &Link, message: ToCoordinator) {
        let permit = (Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a permit"), None);
        let said = FromLink::Messages { link: link.id, messages: vec![message], permit };
        self.to_driver.send(said).expect("the driver runs");
    }

    fn join(&self, name: &str) -> Arc<Link> {
        let link = self.links.add(IpAddr::from([127, 0, 0, 1]));
        self.say(&link, hello(name.to_owned(), String::new(), 1));
        link
    }

    async fn submit(&self) -> RunId {
        let ask = |reply| Request::Submit {
            app_name: "app".to_owned(),
            spec: Box::new(spec()),
            submitter: Peer::of([127, 0, 0, 1].into()),
            owner: None,
            reply,
        };
        self.handle.ask(ask).await.expect("it runs").expect("it is saved")
    }

    /// The disk is blocked until the sender is used, or dropped.
    async fn block_disk(&self) -> threads::Sender<()> {
        let (release, released) = threads::channel();
        let (store, (began, begun)) = (Arc::clone(&self.store), oneshot::channel());
        tokio::spawn(async move {
            let wait = move |_: &mut rusqlite::Connection| {
                let _ = began.send(());
                let _ = released.recv();
                Ok(())
            };
            store.write(wait).await
        });
        begun.await.expect("it waits");
        release
    }
}

/// Messages sent on a link, until `wanted` is among them.
async fn until<T>(link: &Link, mut wanted: impl FnMut(&ToHost) -> Option<T>) -> (T, Vec<ToHost>) {
    let mut messages = Vec::new();
    let found = timeout(PATIENCE, async {
        loop {
            let from = messages.len();
            link.queue().take(usize::MAX, &mut messages);
            if let Some(found) = messages[from..].iter().find_map(&mut wanted) {
                return found;
            }
            link.queue().more().await;
        }
    });
    (found.await.expect("it comes"), messages)
}

fn done() -> Finished {
    Finished { outcome: Outcome::Done(vec![0, 0].into()), work_ns: 1, span_ns: 1 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_follows_from_a_change_waits_for_a_slow_disk() {
    let bed = Bed::start();
    let one = bed.join("one");
    let run = bed.submit().await;
    until(&one, |message| matches!(message, ToHost::StartRun { .. }).then_some(())).await;
    bed.say(&one, ToCoordinator::Ready { run });
    let (number, _) = until(&one, |message| match message {
        ToHost::Assign { number, .. } => Some(*number),
        _ => None,
    })
    .await;

    let release = bed.block_disk().await;
    bed.say(&one, ToCoordinator::RootFinished { run, number, finished: done() });
    // Another run is submitted, which has to wait for the disk as well.
    let submitted = bed.submit();
    tokio::pin!(submitted);
    assert!(timeout(Duration::from_millis(50), &mut submitted).await.is_err());
    // Hosts join and are pinged, and pages are answered.
    let two = bed.join("two");
    until(&two, |message| matches!(message, ToHost::Welcome { .. }).then_some(())).await;
    let (_, told) = until(&one, |message| matches!(message, ToHost::Ping { .. }).then_some(())).await;
    let is_held = |message: &ToHost| {
        !matches!(message, ToHost::Acknowledged { .. } | ToHost::StopRun { .. } | ToHost::Assign { .. })
    };
    assert!(told.iter().all(is_held), "the end is not on the disk: {told:?}");
    let live = timeout(PATIENCE, bed.handle.ask(|reply| Request::Run(run, reply))).await;
    let live = live.expect("in time").expect("it runs").expect("to others the run is not over");
    assert_eq!(live.state, RunState::Running);
    let hosts = timeout(PATIENCE, bed.handle.ask(Request::Hosts)).await.expect("in time").expect("it runs");
    assert_eq!(hosts.len(), 2);

    drop(release);
    let (_, told) = until(&one, |message| matches!(message, ToHost::Acknowledged { .. }).then_some(())).await;
    let stopped = told.iter().position(|message| matches!(message, ToHost::StopRun { .. }));
    let acknowledged = told.iter().position(|message| matches!(message, ToHost::Acknowledged { .. }));
    assert!(stopped.is_some() && stopped < acknowledged, "in the order of the machine: {told:?}");
    let other = timeout(PATIENCE, submitted).await.expect("it is saved");
    assert_ne!(other, run);
    let live = bed.handle.ask(|reply| Request::Run(run, reply)).await.expect("it runs");
    let live = live.expect("its figures are not final");
    let so_far = (live.is_over, live.state, live.figures.counted);
    assert_eq!(so_far, (true, RunState::Done, Counted::SoFar), "the run is over, and on the disk");
    bed.say(&one, ToCoordinator::Stopped { run });
    let saved = timeout(PATIENCE, async {
        while bed.handle.ask(|reply| Request::Run(run, reply)).await.expect("it runs").is_some() {
            tokio::task::yield_now().await;
        }
    });
    saved.await.expect("the figures are final, and on the disk");
    bed.stop.send_replace(true);
}

/// There are more hosts than fit into one part, and more requests than take turns at once, one of which does not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_about_many_hosts_are_complete() {
    const HOSTS: usize = 600;
    let bed = Bed::start();
    let run = bed.submit().await;
    for number in 0..HOSTS {
        let link = bed.join(&format!("host-{number}"));
        if number == 0 {
            until(&link, |message| matches!(message, ToHost::StartRun { .. }).then_some(())).await;
        }
        bed.say(&link, ToCoordinator::Ready { run });
        let counts = Counts { workers: 1, busy: 1, work_ns: 1, ..Counts::default() };
        bed.say(&link, report(run, 1, counts, Vec::new(), Vec::new()));
    }
    let live = timeout(PATIENCE, async {
        loop {
            let live = bed.handle.ask(|reply| Request::Run(run, reply)).await.expect("it runs");
            let live = live.expect("it is not over");
            if live.figures.by_host.len() >= HOSTS {
                return live;
            }
            tokio::task::yield_now().await;
        }
    });
    let live = live.await.expect("all have counted");
    let names: BTreeSet<&str> = live.figures.by_host.iter().map(|host| host.name.as_str()).collect();
    assert_eq!((names.len(), live.figures.hosts as usize), (HOSTS, HOSTS));

    drop(timeout(Duration::ZERO, bed.handle.ask(Request::Hosts)).await);
    let asked = join_all((0..8).map(|_| bed.handle.ask(Request::Hosts)));
    for hosts in timeout(PATIENCE, asked).await.expect("in time") {
        let hosts = hosts.expect("it runs");
        let ids: BTreeSet<HostId> = hosts.iter().map(|host| host.view.id).collect();
        assert_eq!((hosts.len(), ids.len()), (HOSTS, HOSTS));
        // They have reported once, which is some time ago on a slow machine.
        assert!(hosts.iter().all(|host| host.busy == host.silence.is_none().then_some(1)));
    }
    let totals = bed.handle.ask(Request::Totals).await.expect("it runs");
    let hosts = HOSTS as u64;
    let at_work = totals.hosts.working + totals.hosts.silent;
    assert_eq!((totals.hosts.all(), at_work, totals.workers), (hosts, hosts, hosts));
    assert_eq!(totals.busy, totals.hosts.working);
    bed.stop.send_replace(true);
}

/// A cancellation is acknowledged when it is saved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_answered_when_it_is_saved() {
    let bed = Bed::start();
    let run = bed.submit().await;
    let release = bed.block_disk().await;
    let cancelled = bed.handle.ask(|reply| Request::Change { run, action: RunAction::Cancel, reply });
    tokio::pin!(cancelled);
    assert!(timeout(Duration::from_millis(50), &mut cancelled).await.is_err());
    // A second one is refused since the run is over, as the machine is ahead of the disk.
    let again = bed.handle.ask(|reply| Request::Change { run, action: RunAction::Cancel, reply }).await;
    assert!(matches!(again, Ok(Err(ChangeError::Over { why: None, .. }))), "{again:?}");
    drop(release);
    let answer = timeout(PATIENCE, cancelled).await.expect("in time").expect("it runs");
    assert!(answer.is_ok());
    bed.stop.send_replace(true);
}

/// The machine's slices are not done only once per batch of messages: a host that sends very much would
/// otherwise keep runs from being given to hosts.
#[tokio::test]
async fn slices_continue_however_much_hosts_send() {
    let folder = tempfile::tempdir().expect("a folder");
    let New { mut driver, .. } = New::begin(folder.path(), 1000, Clock::start()).expect("it opens");
    let say = |driver: &mut Driver, link: &Link, message| {
        let permit = (Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a permit"), None);
        driver.take_in(FromLink::Messages { link: link.id, messages: vec![message], permit });
    };
    let links: Vec<Arc<Link>> = (0..600)
        .map(|host| {
            let link = driver.links.add(IpAddr::from([127, 0, 0, 1]));
            say(&mut driver, &link, hello(format!("host-{host}"), String::new(), 1));
            link
        })
        .collect();
    while driver.machine.sizes().slices > 0 {
        driver.time_out();
    }
    for link in &links[..300] {
        say(&mut driver, link, ToCoordinator::Leaving);
    }
    let waiting = driver.machine.sizes().slices;
    assert!(waiting >= 300, "{waiting}");
    let turns = std::iter::from_fn(|| (driver.machine.sizes().slices > 0).then(|| driver.time_out()));
    let turns = turns.count();
    assert!(turns <= waiting / 3, "{turns} turns for {waiting} slices");
}

/// The machine names any host; what it says is known here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_says_whose_pause_ends_first_and_that_it_is_suspended() {
    let bed = Bed::start();
    let run = bed.submit().await;
    let why = async |run| {
        let live = bed.handle.ask(|reply| Request::Run(run, reply)).await.expect("it runs");
        live.and_then(|live| live.waits).map(|waits| waits.why).unwrap_or_default()
    };
    assert!(why(run).await.starts_with("no host is connected"));
    let chronicle = bed.handle.chronicles.get(run).expect("it has one");
    let last = locked(&chronicle).idle().last().cloned().expect("it waits");
    assert_eq!(
        (last.text.as_str(), last.to_ms),
        ("no host is connected", None),
        "from then on, at the latest"
    );
    for (name, until) in [("one", "18:09:41"), ("two", "17:39:02"), ("three", "19:00:00")] {
        let link = bed.join(name);
        let reason = Some(format!("paused by its user until 2026-11-27T{until}Z"));
        bed.say(&link, ToCoordinator::Paused { reason });
    }
    let expected = "all hosts are paused (two says: paused by its user until 2026-11-27T17:39:02Z)";
    let found = timeout(PATIENCE, async { while why(run).await != expected {} });
    found.await.expect("all hosts are known");
    // A host may have been given the first run before it was paused, and would have to answer.
    let run = bed.submit().await;
    let suspend = |reply| Request::Change { run, action: RunAction::Suspend, reply };
    bed.handle.ask(suspend).await.expect("it runs").expect("it is suspended");
    assert_eq!(why(run).await, "the run is suspended until it is resumed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_record_a_pause_and_its_end() {
    let bed = Bed::start();
    let run = bed.submit().await;
    let one = bed.join("one");
    let welcome = |message: &ToHost| match message {
        ToHost::Welcome { host, secret, incarnation, grid, .. } => {
            Some((*host, *secret, *grid)).zip(Some(*incarnation))
        }
        _ => None,
    };
    let (_, told) = until(&one, |message| matches!(message, ToHost::StartRun { .. }).then_some(())).await;
    let (was, incarnation) = told.iter().find_map(welcome).expect("it is welcome");
    bed.say(&one, ToCoordinator::Ready { run });
    let begun = JobNote {
        job: JobTag(1),
        parent: None,
        kind: 0,
        depth: 0,
        what: NoteKind::Begun { victim: None, redone: false, worker: 0 },
        ago_ms: 0,
        parameters: None,
        shares: false,
    };
    bed.say(&one, report(run, 1, Counts::default(), vec![begun], Vec::new()));
    let paused = Some("its user works".to_owned());
    bed.say(&one, ToCoordinator::Paused { reason: paused.clone() });
    bed.say(&one, ToCoordinator::Leaving);
    let again = bed.links.add(IpAddr::from([127, 0, 0, 1]));
    let ToCoordinator::Hello { report, roots, .. } = hello("one".to_owned(), String::new(), 1) else {
        panic!("a hello is made");
    };
    bed.say(&again, ToCoordinator::Hello { report, was: Some(was), incarnation, roots, paused });
    until(&again, |message| welcome(message)).await;
    let kinds = || -> Vec<EventKind> {
        let chronicle = bed.handle.chronicles.get(run).expect("it is kept");
        let kinds = locked(&chronicle).events().into_iter().map(|event| event.kind);
        // The host gets the root job sooner or later.
        kinds.filter(|kind| *kind != EventKind::Started).collect()
    };
    assert_eq!(kinds(), [EventKind::Submitted, EventKind::HostJoined, EventKind::HostPaused]);
    bed.say(&again, ToCoordinator::Paused { reason: None });
    let is_back = timeout(PATIENCE, async {
        while kinds().last() != Some(&EventKind::HostResumed) {
            tokio::task::yield_now().await;
        }
    });
    is_back.await.expect("it is notified");
    assert_eq!(kinds().len(), 4);
}
