//! Hosts without a network: jobs and outcomes are passed between portions, in an order that follows from a
//! seed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use sateen_host::{Notice, Output, Portion, PortionOptions, RunCommand, Snapshot};
use sateen_protocol::message::LogLine;
use sateen_protocol::{Finished, HeldId, JobKey, JobSpec, JobTag, Lineage, Outcome, ROOT_KIND, RuntimeJobId};
use sateen_tests::random::Random;

use crate::lost;
use crate::sharing::Sharing;
pub use crate::task::{Task, load, probe, sample};

/// Time after which a test is considered to hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A message in transit.
enum Mail {
    Inject { to: usize, held: HeldId, spec: JobSpec },
    Complete { to: usize, number: RuntimeJobId, finished: Finished },
    Abort { to: usize, held: HeldId },
    Answer { to: usize, number: RuntimeJobId, key: JobKey },
    Back { to: usize, number: RuntimeJobId },
}

struct Loan {
    thief: usize,
    held: HeldId,
    job: JobTag,
}

struct Host {
    portion: Option<Portion>,
    /// The number of workers that need a job, and have none in transit to them.
    idle: usize,
    threads: usize,
    drained: bool,
}

/// Some hosts, and all messages between them.
pub struct Shuttle {
    task: Task,
    hosts: Vec<Host>,
    notices: Receiver<(usize, Notice)>,
    notify: Sender<(usize, Notice)>,
    /// The holder of a lent job, by its owner and its number there; and the other way round.
    lent: HashMap<(usize, RuntimeJobId), Loan>,
    held: HashMap<(usize, HeldId), (usize, RuntimeJobId)>,
    held_count: u64,
    /// Stolen jobs that have not begun.
    arriving: HashSet<(usize, HeldId)>,
    mail: Vec<Mail>,
    random: Random,
    /// Recorded results, with their depths.
    pub table: HashMap<JobKey, Finished>,
    pub depth_max: u32,
    /// The recorded jobs, and those above them.
    sought: Vec<JobTag>,
    root: Option<(usize, HeldId)>,
    pub result: Option<Finished>,
    pub moved: usize,
    /// The app's log.
    pub lines: Vec<LogLine>,
    pub sharing: Sharing,
    started: Instant,
}

impl Shuttle {
    /// Hosts with these numbers of threads.
    pub fn new(task: Task, threads: &[usize], seed: u64) -> Self {
        let (notify, notices) = channel();
        let mut shuttle = Self {
            task,
            hosts: Vec::new(),
            notices,
            notify,
            lent: HashMap::new(),
            held: HashMap::new(),
            held_count: 0,
            arriving: HashSet::new(),
            mail: Vec::new(),
            random: Random::new(seed),
            table: HashMap::new(),
            depth_max: 0,
            sought: Vec::new(),
            root: None,
            result: None,
            moved: 0,
            lines: Vec::new(),
            sharing: Sharing::default(),
            started: Instant::now(),
        };
        for threads in threads {
            shuttle.add(*threads);
        }
        shuttle
    }

    pub fn add(&mut self, threads: usize) -> usize {
        let (index, sender) = (self.hosts.len(), self.notify.clone());
        let portion = Portion::start(
            &load(&self.task.module),
            PortionOptions {
                function: self.task.function.clone(),
                threads,
                record_every: self.task.record_every,
                keeps_results: false,
                turns: self.task.turns.clone(),
                notify: Arc::new(move |notices| {
                    // The test may be over.
                    notices.for_each(|notice| drop(sender.send((index, notice))));
                }),
                ..PortionOptions::default()
            },
        );
        let portion = Some(portion.expect("it starts"));
        self.sharing.add();
        self.hosts.push(Host { portion, idle: 0, threads, drained: false });
        index
    }

    pub fn portion(&self, host: usize) -> &Portion {
        self.hosts[host].portion.as_ref().expect("the host has not crashed")
    }

    pub fn is_drained(&self, host: usize) -> bool {
        self.hosts[host].drained
    }

    /// Whether a host has a stolen job, and some jobs below it are recorded.
    pub fn has_recorded_part_of_a_loan(&self, host: usize) -> bool {
        self.lent.values().any(|loan| loan.thief == host && self.sought.contains(&loan.job))
    }

    /// Whether a stolen job has not ended.
    pub fn is_lending(&self) -> bool {
        !self.lent.is_empty()
    }

    pub fn counts(&self) -> Vec<Snapshot> {
        self.hosts.iter().filter_map(|host| Some(host.portion.as_ref()?.counts())).collect()
    }

    /// Gives the root to a host.
    pub fn begin(&mut self, host: usize) {
        let is_redone = self.root.is_some();
        let app = load(&self.task.module);
        let (key, parameters) =
            app.root_key(&self.task.function, &self.task.arguments, b"").expect("words always encode");
        let spec = JobSpec {
            key,
            kind: ROOT_KIND,
            parameters: parameters.into(),
            depth: 0,
            lineage: Lineage::default(),
            redone: is_redone,
            given_back: false,
            lookup_below: if is_redone { self.depth_max } else { 0 },
            objects: Vec::new(),
        };
        let held = self.new_held();
        self.root = Some((host, held));
        self.portion(host).handle(RunCommand::Inject { held, was_begun: spec.was_begun(), spec });
    }

    fn new_held(&mut self) -> HeldId {
        self.held_count += 1;
        HeldId(self.held_count)
    }

    /// The root's text.
    pub fn finish(&mut self) -> String {
        match self.outcome() {
            Outcome::Done(bytes) => match Output::decode(&bytes) {
                Ok(Output::Text(text)) => text,
                other => panic!("{other:?}"),
            },
            Outcome::Failed(failure) => panic!("{}", String::from_utf8_lossy(&failure)),
        }
    }

    /// The outcome of the root.
    pub fn outcome(&mut self) -> Outcome {
        self.run_until(|shuttle| shuttle.result.is_some());
        self.result.clone().expect("it has come").outcome
    }

    /// Runs everything until `is_enough`.
    #[track_caller]
    pub fn run_until(&mut self, is_enough: impl Fn(&Self) -> bool) {
        while !is_enough(self) {
            assert!(self.started.elapsed() < PATIENCE, "it hangs: {:#?}", self.counts());
            if let Ok((host, notice)) = self.notices.recv_timeout(Duration::from_millis(1)) {
                self.note(host, notice);
            }
            while let Ok((host, notice)) = self.notices.try_recv() {
                self.note(host, notice);
            }
            self.deliver();
            let hosts = &self.hosts;
            self.sharing.deliver(&mut self.random, |host| hosts[host].portion.as_ref());
            self.steal();
        }
    }

    fn note(&mut self, host: usize, notice: Notice) {
        if let Notice::Recorded { key, depth, lineage, finished } = notice {
            assert!(depth > 0 && !lineage.0.is_empty(), "it is below the root");
            self.depth_max = self.depth_max.max(depth);
            self.sought.push(key.tag());
            self.sought.extend(&lineage.0);
            self.table.insert(key, finished);
            return;
        }
        let Some(portion) = &self.hosts[host].portion else { return };
        let Some(notice) = self.sharing.note(host, portion, notice) else { return };
        match notice {
            Notice::Idle(idle) => self.hosts[host].idle = idle,
            Notice::Begun { held, .. } => {
                self.arriving.remove(&(host, held));
            }
            Notice::Finished { held, finished } => {
                if self.root == Some((host, held)) {
                    self.result = Some(finished);
                } else if let Some((owner, number)) = self.held.remove(&(host, held)) {
                    self.lent.remove(&(owner, number));
                    self.mail.push(Mail::Complete { to: owner, number, finished });
                }
            }
            Notice::HandedBack { held } => {
                self.arriving.remove(&(host, held));
                if let Some((to, number)) = self.held.remove(&(host, held)) {
                    self.lent.remove(&(to, number));
                    self.mail.push(Mail::Back { to, number });
                }
            }
            Notice::Abandoned { number } => {
                if let Some(Loan { thief, held, .. }) = self.lent.remove(&(host, number)) {
                    self.held.remove(&(thief, held));
                    self.mail.push(Mail::Abort { to: thief, held });
                }
            }
            Notice::Lookup { number, spec } => {
                assert!(spec.redone && spec.depth > 0);
                self.mail.push(Mail::Answer { to: host, number, key: spec.key });
            }
            Notice::Log(line) => self.lines.push(line),
            Notice::Drained => self.hosts[host].drained = true,
            Notice::Limit(message) | Notice::Unable(message) => panic!("{message}"),
            Notice::Failed(failure) => panic!("{failure:?}"),
            _ => {}
        }
    }

    /// Delivers some of the mail, in any order.
    fn deliver(&mut self) {
        for _ in 0..self.random.below(2 * self.mail.len() + 2) {
            if self.mail.is_empty() {
                return;
            }
            let at = self.random.below(self.mail.len());
            match self.mail.swap_remove(at) {
                Mail::Inject { to, held, spec } => {
                    if let Some(portion) = &self.hosts[to].portion {
                        portion.handle(RunCommand::Inject { held, was_begun: spec.was_begun(), spec });
                    }
                }
                Mail::Complete { to, number, finished } => {
                    if let Some(portion) = &self.hosts[to].portion {
                        portion.handle(RunCommand::Complete { number, finished, is_found_again: true });
                    }
                }
                Mail::Abort { to, held } => {
                    let on_its_way = self.mail.iter().position(
                        |mail| matches!(mail, Mail::Inject { to: t, held: h, .. } if (*t, *h) == (to, held)),
                    );
                    match (on_its_way, &self.hosts[to].portion) {
                        (Some(at), _) => drop(self.mail.swap_remove(at)),
                        (None, Some(portion)) => {
                            portion.handle(RunCommand::Abort { held });
                        }
                        (None, None) => {}
                    }
                    if self.arriving.remove(&(to, held)) {
                        let host = &mut self.hosts[to];
                        host.idle = (host.idle + 1).min(host.threads);
                    }
                }
                Mail::Back { to, number } => {
                    if let Some(portion) = &self.hosts[to].portion {
                        portion.handle(RunCommand::Requeue { number, again: lost(self.depth_max) });
                    }
                }
                Mail::Answer { to, number, key } => {
                    let Some(portion) = &self.hosts[to].portion else { continue };
                    portion.handle(match self.table.get(&key) {
                        Some(finished) => {
                            RunCommand::Complete { number, finished: finished.clone(), is_found_again: true }
                        }
                        None => RunCommand::Requeue { number, again: lost(self.depth_max) },
                    });
                }
            }
        }
    }

    /// Each idle host asks a random other host.
    fn steal(&mut self) {
        let idle: usize = self.hosts.iter().map(|host| host.idle).sum();
        for thief in 0..self.hosts.len() {
            if self.hosts[thief].portion.is_none() || self.hosts[thief].idle == 0 {
                continue;
            }
            let victim = self.random.below(self.hosts.len());
            if victim != thief && self.hosts[victim].portion.is_some() {
                self.move_some(victim, thief);
            }
        }
        for host in self.hosts.iter().filter(|host| host.idle == 0) {
            if let Some(portion) = &host.portion {
                portion.handle(RunCommand::Want { thieves: idle });
            }
        }
    }

    /// Moves a job, if there is one, and perhaps some that are like it.
    fn move_some(&mut self, victim: usize, thief: usize) {
        let more = self.random.below(4);
        let jobs = self.portion(victim).offer(more);
        assert!(jobs.len() <= 1 + more, "{} jobs", jobs.len());
        for (number, spec) in jobs {
            let held = self.new_held();
            self.lent.insert((victim, number), Loan { thief, held, job: spec.key.tag() });
            self.held.insert((thief, held), (victim, number));
            self.arriving.insert((thief, held));
            self.hosts[thief].idle = self.hosts[thief].idle.saturating_sub(1);
            self.moved += 1;
            self.mail.push(Mail::Inject { to: thief, held, spec });
        }
    }

    /// A host crashes, with all its jobs. Others do them again; if it had the root, `successor` takes it over.
    pub fn crash(&mut self, host: usize, successor: usize) {
        self.hosts[host].portion = None;
        self.hosts[host].idle = 0;
        self.arriving.retain(|(thief, _)| *thief != host);
        self.sharing.crash(host);
        for portion in self.hosts.iter().filter_map(|host| host.portion.as_ref()) {
            portion.handle(RunCommand::Lookups { jobs: self.sought.clone() });
        }
        for ((owner, number), loan) in std::mem::take(&mut self.lent) {
            let (thief, held) = (loan.thief, loan.held);
            if owner == host {
                self.held.remove(&(thief, held));
                self.mail.push(Mail::Abort { to: thief, held });
            } else if thief == host {
                self.held.remove(&(thief, held));
                self.portion(owner).handle(RunCommand::Requeue { number, again: lost(self.depth_max) });
            } else {
                self.lent.insert((owner, number), loan);
            }
        }
        if self.root.is_some_and(|(root, _)| root == host) {
            self.begin(successor);
        }
    }
}
