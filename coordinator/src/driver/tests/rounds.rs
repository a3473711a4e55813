//! Figures of rounds, on a clock that the test moves.

use sateen_protocol::message::{JobNote, NoteKind, WorkerTimes};
use sateen_protocol::{JobTag, Jobs, ROOT_KIND};

use super::*;
use crate::clock::Simulation;
use crate::metrics::{HostsByState, Totals};

/// A driver in the time of a simulation.
struct Paced {
    driver: Driver,
    link: Arc<Link>,
    time: Simulation,
    now_ms: u64,
    _handle: DriverHandle,
    _folder: TempDir,
}

const RUN: RunId = RunId(1);

impl Paced {
    /// One host with two workers takes part in a run.
    fn start() -> Self {
        let time = Simulation::default();
        let now_ms = 2_000_000_000_000;
        time.stand_at(now_ms * 1_000_000);
        time.follow();
        let folder = tempfile::tempdir().expect("a folder");
        let New { driver, handle, .. } = New::begin(folder.path(), 1000, Clock::start()).expect("it opens");
        let link = driver.links.add(IpAddr::from([127, 0, 0, 1]));
        let mut paced = Self { driver, link, time, now_ms, _handle: handle, _folder: folder };
        paced.say(hello("one".to_owned(), "here".to_owned(), 2));
        paced.driver.chronicles.begin(RUN);
        paced.driver.machine.submit(paced.driver.clock.now(), RUN, Default::default(), spec());
        while paced.driver.machine.sizes().slices > 0 {
            paced.driver.time_out();
        }
        paced.say(ToCoordinator::Ready { run: RUN });
        paced
    }

    fn say(&mut self, message: ToCoordinator) {
        let permit = (Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a permit"), None);
        let messages = vec![message];
        self.driver.take_in(FromLink::Messages { link: self.link.id, messages, permit });
    }

    fn count(&mut self, executed: u64) {
        let jobs = Jobs { executed, ..Jobs::default() };
        let counts = Counts { jobs, workers: 2, busy: 2, work_ns: 1, ..Counts::default() };
        self.report(1, counts, Vec::new());
    }

    /// The host reports.
    fn report(&mut self, series: u64, counts: Counts, workers: Vec<WorkerTimes>) {
        self.say(report(RUN, series, counts, Vec::new(), workers));
    }

    fn rate(&self) -> Option<f64> {
        self.driver.add_runs(Totals::default()).jobs_per_s
    }

    /// Half a second passes, and the driver does its periodic work. Returns the jobs per second.
    fn round(&mut self) -> Option<f64> {
        self.now_ms += 500;
        self.time.stand_at(self.now_ms * 1_000_000);
        self.driver.save_standings();
        self.rate()
    }
}

/// Until it was given up, a host whose process was stopped was working by all lists, beside a chart in which nobody was. One
/// whose link was broken had busy workers.
#[tokio::test]
async fn workers_of_a_host_that_is_silent_or_away_are_not_busy() {
    let mut paced = Paced::start();
    let seen = async |driver: &mut Driver| {
        let (reply, hosts) = oneshot::channel();
        driver.request(Request::Hosts(reply));
        let (reply, run) = oneshot::channel();
        driver.request(Request::Run(RUN, reply));
        let (reply, totals) = oneshot::channel();
        driver.request(Request::Totals(reply));
        let hosts = hosts.await.expect("an answer");
        let run = run.await.expect("an answer").expect("it runs");
        let totals = totals.await.expect("an answer");
        let busy = (hosts[0].busy, run.figures.by_host[0].busy, totals.busy);
        (busy, hosts[0].silence.map(|silence| silence.as_millis()), totals.workers, totals.hosts)
    };
    let known = |busy: u32| (Some(busy), Some(busy), u64::from(busy));
    let of = |working, silent, away| HostsByState { working, silent, away, ..HostsByState::default() };
    paced.count(1);
    paced.round();
    paced.count(2);
    assert_eq!(seen(&mut paced.driver).await, (known(2), None, 2, of(1, 0, 0)));
    paced.round();
    paced.round();
    assert_eq!(seen(&mut paced.driver).await, (known(2), None, 2, of(1, 0, 0)));
    paced.round();
    assert_eq!(seen(&mut paced.driver).await, ((None, None, 0), Some(1_500), 2, of(0, 1, 0)));
    paced.count(3);
    assert_eq!(seen(&mut paced.driver).await, (known(2), None, 2, of(1, 0, 0)));
    paced.driver.take_in(FromLink::Closed { link: paced.link.id, reason: String::new() });
    assert_eq!(seen(&mut paced.driver).await, ((None, None, 0), None, 0, of(0, 0, 1)));
}

#[tokio::test]
async fn no_jobs_are_executed_when_the_last_run_is_over() {
    let mut paced = Paced::start();
    assert_eq!(paced.rate(), None, "not known yet");
    let rates: Vec<_> = (1..=20)
        .map(|round| {
            paced.count(100 * round);
            paced.round()
        })
        .collect();
    assert_eq!(rates.last(), Some(&Some(200.0)), "{rates:?}");
    paced.driver.machine.cancel(paced.driver.clock.now(), RUN).expect("it is not over");
    paced.driver.drain();
    assert_eq!(paced.rate(), Some(0.0), "at once");
    paced.say(ToCoordinator::Stopped { run: RUN });
    let rates: Vec<_> = (0..6).map(|_| paced.round()).collect();
    assert_eq!(rates, [Some(0.0); 6]);
}

/// A host may count before its workers do.
#[tokio::test]
async fn a_host_has_its_workers_from_the_start() {
    let mut paced = Paced::start();
    let seen = |paced: &Paced| {
        let view = paced.driver.machine.run(RUN).expect("it is not over");
        let rows: Vec<u32> = view.by_host().map(|(_, _, counts)| counts.workers).collect();
        (rows, view.workers(), view.at_work().workers)
    };
    paced.count(100);
    assert_eq!(seen(&paced), (vec![2], 2, 2));
    // It begins anew, as after a pause.
    let counts = Counts { steal_requests: 1, ..Counts::default() };
    paced.report(2, counts, Vec::new());
    assert_eq!(seen(&paced), (vec![2], 2, 2));
}

/// Between two samples, a run was said to wait since it was first looked at: looking wrote that down.
#[tokio::test]
async fn why_a_run_waits_is_noted_when_it_begins_to_and_not_when_it_is_looked_at() {
    let mut paced = Paced::start();
    let idle = |paced: &Paced| {
        let chronicle = paced.driver.chronicles.get(RUN).expect("it has one");
        locked(&chronicle).idle().to_vec()
    };
    let looked_at = |paced: &Paced| {
        let live = paced.driver.live(RUN, &waits::Reasons::default());
        live.and_then(|live| live.waits).map(|waits| waits.reason).unwrap_or_default()
    };
    paced.round();
    let before = idle(&paced);
    assert_eq!(looked_at(&paced), "");
    assert!(before.iter().all(|idle| idle.to_ms.is_some()), "it does not wait");
    paced.say(ToCoordinator::Leaving);
    while paced.driver.machine.sizes().slices > 0 {
        paced.driver.time_out();
    }
    assert!(looked_at(&paced).starts_with("no host is connected"));
    assert_eq!(idle(&paced), before, "a look changes nothing");
    // No sample is due.
    paced.driver.next_part();
    let now_ms = paced.driver.chronicles.get(RUN).map(|chronicle| locked(&chronicle).now_ms());
    paced.round();
    let last = idle(&paced).pop().expect("it waits");
    assert_eq!((last.text.as_str(), Some(last.from_ms), last.to_ms), ("no host is connected", now_ms, None));
}

/// A row said how many workers of a host compute that could not say so.
#[tokio::test]
async fn a_host_that_is_awaited_is_away_in_its_run() {
    let mut paced = Paced::start();
    paced.count(100);
    let rows = |paced: &mut Paced| {
        let (reply, mut answer) = oneshot::channel();
        paced.driver.request(Request::Run(RUN, reply));
        let live = answer.try_recv().expect("the grid is small").expect("the run is not over");
        live.figures.by_host
    };
    let seen = |paced: &mut Paced| {
        let rows = rows(paced);
        rows.iter().map(|row| (row.is_there, row.is_away)).collect::<Vec<_>>()
    };
    let host = rows(&mut paced)[0].host;
    assert_eq!(seen(&mut paced), [(true, false)]);
    let reason = "its link broke".to_owned();
    paced.driver.take_in(FromLink::Closed { link: paced.link.id, reason });
    assert_eq!(seen(&mut paced), [(true, true)]);
    paced.driver.machine.cancel(paced.driver.clock.now(), RUN).expect("it is not over");
    paced.driver.drain();
    assert_eq!(seen(&mut paced), [(true, false)], "the run is over");

    let mut paced = Paced::start();
    paced.count(100);
    paced.say(ToCoordinator::Leaving);
    while paced.driver.machine.sizes().slices > 0 {
        paced.driver.time_out();
    }
    assert_eq!(seen(&mut paced), [(false, false)]);
    // As after a restart of the coordinator.
    let saved = SavedHost { name: Arc::default(), since_ms: 1 };
    paced.driver.hosts = Hosts::restore(Vec::new(), vec![(host, saved)], BTreeSet::new());
    assert_eq!(seen(&mut paced), [(true, true)]);
}

/// The host with the root job is stopped: the run seemed to run until the host was given up.
#[tokio::test]
async fn a_run_whose_root_host_does_not_answer_says_so_and_since_when() {
    let mut paced = Paced::start();
    while paced.driver.machine.run(RUN).and_then(|view| view.root_host()).is_none() {
        paced.round();
        paced.driver.time_out();
    }
    let report = |paced: &mut Paced| {
        let counts = Counts { workers: 2, busy: 1, work_ns: 1, ..Counts::default() };
        let workers = vec![WorkerTimes { work_ms: 400, ..WorkerTimes::default() }];
        paced.report(1, counts, workers);
    };
    let waits = |paced: &Paced| {
        let live = paced.driver.live(RUN, &waits::Reasons::default()).expect("it is not over");
        live.waits.map(|waits| waits.why).unwrap_or_default()
    };
    for _ in 0..4 {
        report(&mut paced);
        paced.round();
        assert_eq!(waits(&paced), "");
    }
    let told: Vec<String> = (0..6)
        .map(|_| {
            paced.round();
            waits(&paced)
        })
        .collect();
    let expected = |for_s| format!("host one, which has the root job, has not answered for {for_s} s");
    assert_eq!(told[..2], ["", ""]);
    assert_eq!((&told[3], &told[5]), (&expected(2), &expected(3)), "{told:?}");
    report(&mut paced);
    assert_eq!(waits(&paced), "", "at once");
    paced.round();
    let chronicle = paced.driver.chronicles.get(RUN).expect("it has one");
    let idle =
        locked(&chronicle).idle().iter().rfind(|idle| idle.host.is_none()).cloned().expect("it waited");
    assert_eq!(idle.text, "host one, which has the root job, does not answer");
    let lasted_ms = idle.to_ms.expect("it is over") - idle.from_ms;
    assert!((3_000..=3_750).contains(&lasted_ms), "{lasted_ms}");
}

/// A host stole a job just after it had reported that it did nothing, and its process was stopped: the others waited for it, and
/// the run for nothing.
#[tokio::test]
async fn a_run_waits_for_a_host_with_its_jobs_that_does_not_answer_whatever_it_reported_last() {
    let mut paced = Paced::start();
    while paced.driver.machine.run(RUN).and_then(|view| view.root_host()).is_none() {
        paced.round();
        paced.driver.time_out();
    }
    let root_link = Arc::clone(&paced.link);
    let link = paced.driver.links.add(IpAddr::from([127, 0, 0, 2]));
    paced.link = Arc::clone(&link);
    paced.say(hello("two".to_owned(), "here".to_owned(), 2));
    paced.say(ToCoordinator::Ready { run: RUN });
    let report = |paced: &mut Paced, link: &Arc<Link>, notes: Vec<JobNote>| {
        paced.link = Arc::clone(link);
        let counts = Counts { workers: 2, ..Counts::default() };
        let workers = vec![WorkerTimes { steal_ms: 400, ..WorkerTimes::default() }];
        paced.say(report(RUN, 1, counts, notes, workers));
    };
    let waits = |paced: &Paced| {
        let live = paced.driver.live(RUN, &waits::Reasons::default()).expect("it is not over");
        live.waits.map(|waits| waits.why).unwrap_or_default()
    };
    let note = |job, kind, depth| JobNote {
        job,
        parent: None,
        kind,
        depth,
        what: NoteKind::Begun { victim: None, redone: false, worker: 0 },
        ago_ms: 0,
        parameters: None,
        shares: false,
    };
    let root = sateen_protocol::root_job(&spec()).key.tag();
    report(&mut paced, &root_link, Vec::new());
    report(&mut paced, &link, Vec::new());
    for _ in 0..4 {
        paced.round();
        report(&mut paced, &root_link, Vec::new());
        report(&mut paced, &link, Vec::new());
    }
    assert_eq!(waits(&paced), "host one has the root job and has not begun it");
    report(&mut paced, &root_link, vec![note(root, ROOT_KIND, 0)]);
    report(&mut paced, &link, vec![note(JobTag(7), 1, 1)]);
    assert_eq!(waits(&paced), "");
    for _ in 0..4 {
        paced.round();
        report(&mut paced, &root_link, Vec::new());
    }
    assert_eq!(waits(&paced), "host two, which has jobs that are under way, has not answered for 2 s");
    report(&mut paced, &link, Vec::new());
    paced.round();
    assert_eq!(waits(&paced), "");
}

/// A host that had computed for a moment was said to have found nothing to do, as its first report is from before.
#[tokio::test]
async fn what_a_host_does_is_not_known_until_it_has_reported_it() {
    let mut paced = Paced::start();
    let seen = async |paced: &mut Paced| {
        let (reply, run) = oneshot::channel();
        paced.driver.request(Request::Run(RUN, reply));
        let (reply, hosts) = oneshot::channel();
        paced.driver.request(Request::Hosts(reply));
        let run = run.await.expect("it runs").expect("it is not over");
        let hosts = hosts.await.expect("it runs");
        let rows: Vec<_> = run.figures.by_host.iter().map(|row| row.busy).collect();
        (rows, hosts.iter().map(|host| host.busy).collect::<Vec<_>>())
    };
    let report = |paced: &mut Paced| paced.report(1, Counts::default(), Vec::new());
    let both = |busy: Option<u32>| (vec![busy], vec![busy]);
    report(&mut paced);
    assert_eq!(seen(&mut paced).await, both(None));
    paced.round();
    report(&mut paced);
    assert_eq!(seen(&mut paced).await, both(Some(0)));
    paced.say(ToCoordinator::Ready { run: RUN });
    assert_eq!(seen(&mut paced).await, both(None));
    paced.count(100);
    assert_eq!(seen(&mut paced).await, both(Some(2)));
    // Before a restart it was there.
    let host = paced.driver.machine.host_ids().next().expect("it is there");
    paced.driver.hosts.unheard.returned(host, paced.driver.clock.now());
    assert_eq!(seen(&mut paced).await, both(None));
    paced.count(200);
    assert_eq!(seen(&mut paced).await, both(Some(2)));
}
