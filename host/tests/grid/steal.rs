//! Two hosts: one has a root job that gives jobs away, the other steals them all.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use sateen_host::grid::control::{Answer, PeerPath, Request, Status, ask};
use sateen_host::grid::{
    ComfortOptions, CoordinatorAddress, DataFolder, DirectListen, Handle, Loading, Notify, Options,
    PageListen, RunningPortion, Runtime, Stopped, start,
};
use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::{
    BlobHash, Counts, Finished, HeldId, JobKey, JobSpec, Outcome, ROOT_KIND, RunEnd, RunSpec, RuntimeJobId,
};

use super::mini_coordinator::MiniCoordinator;

const JOBS: u64 = 500;
const MODULE: &[u8] = b"not looked at";

/// No guests: a root gives away this many jobs and is done when all have results; any other job is done as
/// soon as it comes.
struct Scripted;

struct ScriptedPortion {
    notify: Notify,
    root: Option<(HeldId, JobSpec)>,
    given: u64,
    lent: BTreeMap<RuntimeJobId, JobSpec>,
    /// Jobs that thieves handed back before they began: they had given the steal up, as on a busy machine.
    back: Vec<(RuntimeJobId, JobSpec)>,
    completed: u64,
}

fn finished(bytes: &[u8]) -> Finished {
    Finished { outcome: Outcome::Done(bytes.into()), work_ns: 1, span_ns: 1 }
}

impl Runtime for Scripted {
    fn threads(&self) -> usize {
        1
    }
    fn start(&self, loading: Loading, notify: Notify) -> Result<Box<dyn RunningPortion>, String> {
        assert_eq!(loading.module, MODULE);
        notify(Notice::Idle(1));
        Ok(Box::new(ScriptedPortion {
            notify,
            root: None,
            given: 0,
            lent: BTreeMap::new(),
            back: Vec::new(),
            completed: 0,
        }))
    }
}

impl ScriptedPortion {
    fn inject(&mut self, held: HeldId, spec: JobSpec) {
        (self.notify)(Notice::Idle(0));
        (self.notify)(Notice::Begun { held, worker: 0, late_ns: 0 });
        if spec.kind == ROOT_KIND {
            self.root = Some((held, spec));
            (self.notify)(Notice::Exposed);
        } else {
            (self.notify)(Notice::Finished { held, finished: finished(&spec.parameters) });
            (self.notify)(Notice::Idle(1));
        }
    }
    fn offer(&mut self) -> Option<(RuntimeJobId, JobSpec)> {
        let (number, spec) = self.back.pop().or_else(|| self.next())?;
        self.lent.insert(number, spec.clone());
        Some((number, spec))
    }
    fn next(&mut self) -> Option<(RuntimeJobId, JobSpec)> {
        let (_, root) = self.root.as_ref()?;
        if self.given == JOBS {
            return None;
        }
        self.given += 1;
        let parameters = self.given.to_be_bytes().to_vec();
        let key = JobKey(*BlobHash::of(&parameters).0.first_chunk().expect("32 bytes"));
        let lineage = root.lineage.child(&root.key);
        let spec = JobSpec { key, kind: 0, parameters: parameters.into(), depth: 1, lineage, ..root.clone() };
        Some((RuntimeJobId(self.given), spec))
    }
    fn want(&mut self, thieves: usize) {
        if thieves > 0 && self.root.is_some() && (self.given < JOBS || !self.back.is_empty()) {
            (self.notify)(Notice::Exposed);
        }
    }
    fn complete(&mut self, number: RuntimeJobId, done: &Finished) {
        assert_eq!(done.outcome.bytes(), number.0.to_be_bytes());
        self.completed += 1;
        if self.completed == JOBS
            && let Some((held, _)) = &self.root
        {
            (self.notify)(Notice::Finished { held: *held, finished: finished(b"all") });
        }
    }
}

impl RunningPortion for ScriptedPortion {
    fn handle(&mut self, command: RunCommand) {
        match command {
            RunCommand::Inject { held, spec, .. } => self.inject(held, spec),
            RunCommand::Offer { .. } => {
                let job = self.offer();
                (self.notify)(Notice::Offered(job.into_iter().collect()));
            }
            RunCommand::Want { thieves } => self.want(thieves),
            RunCommand::Complete { number, finished, .. } => self.complete(number, &finished),
            RunCommand::Requeue { number, again } => {
                assert!(!again.redone && !again.begun, "nothing is lost, and job {} was", number.0);
                self.back.push((number, self.lent.remove(&number).expect("it was lent")));
                (self.notify)(Notice::Exposed);
            }
            RunCommand::Drain => (self.notify)(Notice::Drained),
            _ => {}
        }
    }
    fn counts(&self) -> Counts {
        Counts::default()
    }
    fn stop(self: Box<Self>) -> FinalCounts {
        FinalCounts::default()
    }
}

pub fn host(folder: &Path, coordinator: &MiniCoordinator, direct: DirectListen) -> Handle {
    host_with(folder, coordinator, direct, None)
}

/// The same; its owner allows this.
pub fn host_with(
    folder: &Path,
    coordinator: &MiniCoordinator,
    direct: DirectListen,
    comfort: Option<ComfortOptions>,
) -> Handle {
    let data = DataFolder::open(folder).expect("free");
    std::fs::create_dir_all(folder.join("blobs")).expect("made");
    std::fs::write(folder.join("blobs").join(BlobHash::of(MODULE).to_string()), MODULE).expect("written");
    let options = Options {
        credentials: sateen_access::Credentials::default(),
        coordinator: CoordinatorAddress::parse(&coordinator.address.to_string()).expect("an address"),
        name: "host".to_owned(),
        site: "here".to_owned(),
        direct,
        folder: data,
        signals: false,
        page: PageListen::Off,
        run_work_max: None,
        comfort,
    };
    start(options, Arc::new(Scripted)).expect("it starts")
}

pub fn status(folder: &Path) -> Status {
    let mut status = None;
    ask(folder, &Request::Status, |answer| {
        if let Answer::Status(answered) = answer {
            status = Some(*answered);
        }
    })
    .expect("it answers");
    status.expect("a status")
}

fn steal_all(direct: DirectListen) -> (usize, Vec<Status>) {
    let spec = RunSpec { record_every_ms: 100, ..RunSpec::new(BlobHash::of(MODULE)) };
    let coordinator = MiniCoordinator::start(spec, 2);
    let folders = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let hosts: Vec<Handle> = folders.iter().map(|folder| host(folder.path(), &coordinator, direct)).collect();
    let end = coordinator.ended.recv_timeout(Duration::from_secs(60)).expect("the run ends");
    assert!(matches!(end, RunEnd::Finished(done) if done.outcome == Outcome::Done(b"all".as_slice().into())));
    let seen: Vec<Status> = folders.iter().map(|folder| status(folder.path())).collect();
    for host in hosts {
        host.leave();
        assert_eq!(host.wait(), Stopped::Left);
    }
    assert_eq!(seen.iter().map(|status| status.steals.count).sum::<u64>(), JOBS);
    for status in &seen {
        if let (Some(median), Some(p99)) = (status.steals.wait_median_s, status.steals.wait_p99_s) {
            eprintln!("{direct:?}: median {median:.6} s, p99 {p99:.6} s");
            assert!(
                (0.0..60.0).contains(&median) && (median..60.0).contains(&p99),
                "in seconds: {median}, {p99}"
            );
        }
    }
    (coordinator.relayed.load(Relaxed), seen)
}

#[test]
fn jobs_are_stolen_over_a_direct_link() {
    let (relayed, seen) = steal_all(DirectListen::Auto);
    assert!(relayed < JOBS as usize / 8, "{relayed} frames went by the relay");
    assert!(seen.iter().all(|status| status.peers.len() == 1 && status.peers[0].path == PeerPath::Direct));
}

#[test]
fn jobs_are_stolen_by_the_relay() {
    let (relayed, seen) = steal_all(DirectListen::Off);
    // A thief of short jobs asks ahead, so several requests may share a frame, and so may their jobs.
    assert!(relayed >= JOBS as usize / 4, "only {relayed} frames went by the relay");
    assert!(seen.iter().all(|status| status.peers.len() == 1 && status.peers[0].path == PeerPath::Relayed));
}
