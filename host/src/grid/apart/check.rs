//! What a process of guests may say. It runs code of strangers, and is not trusted: what it says about its own run may be
//! a lie, as any host of the grid may lie about a run, but it must not make this host break the protocol towards others,
//! which would cut this host off, nor use up the memory of this host.

use std::collections::{HashMap, HashSet, VecDeque};

use parking_lot::Mutex;
use sateen_module::{Determinism, Inspection};
use sateen_protocol::host::{Notice, RunCommand};
use sateen_protocol::limits::{
    LINEAGE_LENGTH_MAX, OBJECTS_PER_JOB_MAX, REASON_BYTES_MAX, WORKERS_REPORTED_MAX,
};
use sateen_protocol::{BlobHash, Counts, HeldId, JobSpec, KeyMaker, ROOT_KIND, RunSpec, RuntimeJobId};

/// Maximum jobs that a process may look up at once. It asks for no more than 4096, and counts those that are lent.
const AWAY_MAX: usize = 1 << 20;
/// Maximum shared objects that a process may use at once.
const OBJECTS_MAX: usize = 1 << 20;
/// Maximum size of a name or a line, in bytes; longer ones are cut before they are sent.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The limits on what one process may say.
#[derive(Debug)]
pub struct Bounds {
    /// The number of its workers.
    pub threads: usize,
    /// Maximum size of parameters, results, and values and updates of shared objects, in bytes.
    pub output_bytes_max: usize,
}

/// Makes the keys of jobs, which other hosts check.
pub struct JobKeys(Vec<KeyMaker>);

impl JobKeys {
    /// The keys of the jobs of a module, in a run.
    pub fn new(module: BlobHash, inspection: &Inspection, spec: &RunSpec) -> Self {
        let profile = match (inspection.determinism, spec.strict_nan) {
            (Some(Determinism::Integer), _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        };
        let salt = spec.salt();
        let maker = |name: &String| {
            KeyMaker::new(sateen_abi::VERSION, profile, module, &format!("job {name}"), &salt)
        };
        Self(inspection.jobs.iter().map(maker).collect())
    }

    /// Whether a job has the key that it must have. The keys of jobs with shared objects are valid only in their run, and
    /// nobody checks them.
    fn is_named(&self, spec: &JobSpec) -> bool {
        let maker = usize::try_from(spec.kind).ok().and_then(|kind| self.0.get(kind));
        maker.is_some_and(|maker| !spec.objects.is_empty() || maker.key(&spec.parameters) == spec.key)
    }
}

/// Checks the messages of one process.
pub struct Check {
    bounds: Bounds,
    keys: JobKeys,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Jobs that the process holds, with what their keys are made of.
    held: HashMap<HeldId, JobSpec>,
    /// Jobs that it has lent or looks up.
    away: HashSet<RuntimeJobId>,
    /// The offers that it has not answered: how many jobs each may have beyond the first.
    offers: VecDeque<usize>,
    /// The same of the last offer that it has answered.
    answered: usize,
    is_draining: bool,
    objects: usize,
}

/// What to do with a notice.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is passed on.
    Pass,
    /// It is dropped: it may be late.
    Drop,
}

/// The process has broken the rules.
pub type Broken = &'static str;

impl Check {
    /// A process that has said nothing yet.
    pub fn new(bounds: Bounds, keys: JobKeys) -> Self {
        Self { bounds, keys, known: Mutex::default() }
    }

    /// Maximum size of a message, in bytes.
    pub fn message_bytes_max(&self) -> usize {
        self.bounds.output_bytes_max.saturating_add(1 << 20)
    }

    /// A command is sent to the process.
    pub fn note_command(&self, command: &RunCommand) {
        let mut known = self.known.lock();
        match command {
            RunCommand::Inject { held, spec, .. } => drop(known.held.insert(*held, spec.clone())),
            RunCommand::Abort { held } => drop(known.held.remove(held)),
            RunCommand::Offer { more } => known.offers.push_back(*more),
            RunCommand::Complete { number, .. } | RunCommand::Requeue { number, .. } => {
                known.away.remove(number);
            }
            RunCommand::Drain => known.is_draining = true,
            RunCommand::Replica { .. } | RunCommand::Want { .. } | RunCommand::Lookups { .. } => {}
        }
    }

    /// Maximum jobs beyond the first in the offer that it has answered last.
    pub fn more_of_answer(&self) -> usize {
        self.known.lock().answered
    }

    /// Whether its guests come to rest, for which they need no turns.
    pub fn is_draining(&self) -> bool {
        self.known.lock().is_draining
    }

    /// Counts as they may be.
    pub fn counts(&self, counts: Counts) -> Counts {
        let workers = u32::try_from(self.bounds.threads).unwrap_or(u32::MAX);
        Counts { workers, busy: counts.busy.min(workers), ..counts }
    }

    /// Looks at a notice of the process; an error if it has broken the rules.
    pub fn notice(&self, notice: &Notice) -> Result<Verdict, Broken> {
        let mut known = self.known.lock();
        let pass = |may_pass: bool| Ok(if may_pass { Verdict::Pass } else { Verdict::Drop });
        match notice {
            Notice::Idle(idle) if *idle > self.bounds.threads => Err("more workers are idle than it has"),
            Notice::Offered(jobs) => {
                let more = known.offers.pop_front().ok_or("it answered an offer that was never made")?;
                known.answered = more;
                is_short(jobs.len(), more.saturating_add(1))?;
                for (number, spec) in jobs {
                    self.is_lent(&mut known, *number, spec)?;
                }
                Ok(Verdict::Pass)
            }
            Notice::Lookup { number, spec } => {
                self.leaves(&mut known, *number, spec)?;
                Ok(Verdict::Pass)
            }
            Notice::Abandoned { number } => pass(known.away.remove(number)),
            Notice::Begun { held, worker, .. } => {
                if usize::try_from(*worker).is_ok_and(|worker| worker >= self.bounds.threads) {
                    return Err("a job was begun by a worker that it does not have");
                }
                pass(known.held.contains_key(held))
            }
            Notice::Finished { held, finished } => {
                is_short(finished.outcome.bytes().len(), self.bounds.output_bytes_max)?;
                pass(known.held.remove(held).is_some())
            }
            Notice::HandedBack { held } => match known.held.remove(held) {
                Some(spec) if spec.kind == ROOT_KIND => Err("it hands the root job back"),
                spec => pass(spec.is_some()),
            },
            Notice::Misnamed { held } => match known.held.remove(held) {
                // The host that has lent the job would be cut off.
                Some(spec) if spec.kind == ROOT_KIND || self.keys.is_named(&spec) => {
                    Err("it says that a job has another key than it has")
                }
                spec => pass(spec.is_some()),
            },
            Notice::Recorded { lineage, finished, .. } => {
                is_short(finished.outcome.bytes().len(), self.bounds.output_bytes_max)?;
                is_short(lineage.0.len(), LINEAGE_LENGTH_MAX)?;
                Ok(Verdict::Pass)
            }
            Notice::Shared { initial, .. } => {
                known.objects += 1;
                is_short(known.objects, OBJECTS_MAX)?;
                is_short(initial.len(), self.bounds.output_bytes_max)?;
                Ok(Verdict::Pass)
            }
            Notice::Opened { .. } => {
                known.objects += 1;
                is_short(known.objects, OBJECTS_MAX)?;
                Ok(Verdict::Pass)
            }
            Notice::Closed { .. } => {
                known.objects = known.objects.saturating_sub(1);
                Ok(Verdict::Pass)
            }
            Notice::Updated { bytes, .. } => {
                is_short(bytes.len(), self.bounds.output_bytes_max)?;
                Ok(Verdict::Pass)
            }
            Notice::Based { new, .. } => {
                is_short(new.base.len(), self.bounds.output_bytes_max)?;
                Ok(Verdict::Pass)
            }
            Notice::Refetch { held, .. } => pass(known.held.contains_key(held)),
            Notice::Log(line) => {
                is_short(line.function.len().max(line.text.len()), TEXT_BYTES_MAX)?;
                Ok(Verdict::Pass)
            }
            Notice::Limit(reason) | Notice::Unable(reason) => {
                is_short(reason.len(), REASON_BYTES_MAX)?;
                Ok(Verdict::Pass)
            }
            Notice::Activity { workers, .. } => {
                is_short(workers.len(), WORKERS_REPORTED_MAX.max(self.bounds.threads))?;
                Ok(Verdict::Pass)
            }
            Notice::Drained => pass(known.is_draining),
            Notice::Crashed(_) | Notice::Counts(_) => Err("it says what only the host may say"),
            Notice::Idle(_) | Notice::Exposed | Notice::Progress(..) | Notice::Failed(_) => Ok(Verdict::Pass),
        }
    }

    /// Looks at a job that the process spares; an error if it has broken the rules.
    pub fn spared(&self, number: RuntimeJobId, spec: &JobSpec) -> Result<(), Broken> {
        self.is_lent(&mut self.known.lock(), number, spec)
    }

    /// A job leaves the process, to be run elsewhere.
    fn is_lent(&self, known: &mut Known, number: RuntimeJobId, spec: &JobSpec) -> Result<(), Broken> {
        self.leaves(known, number, spec)?;
        if self.keys.is_named(spec) { Ok(()) } else { Err("it lends a job under another key") }
    }

    /// A job leaves the process, to be run or looked up elsewhere.
    fn leaves(&self, known: &mut Known, number: RuntimeJobId, spec: &JobSpec) -> Result<(), Broken> {
        is_short(spec.parameters.len(), self.bounds.output_bytes_max)?;
        is_short(spec.lineage.0.len(), LINEAGE_LENGTH_MAX)?;
        is_short(spec.objects.len(), OBJECTS_PER_JOB_MAX)?;
        if spec.kind == ROOT_KIND {
            return Err("it lends the root job");
        }
        if !known.away.insert(number) {
            return Err("two of its jobs have one number");
        }
        is_short(known.away.len(), AWAY_MAX)
    }
}

fn is_short(length: usize, most: usize) -> Result<(), Broken> {
    if length <= most { Ok(()) } else { Err("a message has more than is allowed") }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{Bytes, Finished, JobKey, Lineage, Outcome};

    use super::*;

    fn keys() -> JobKeys {
        let maker = KeyMaker::new(sateen_abi::VERSION, 0, BlobHash([7; 32]), "job fib", &[]);
        JobKeys(vec![maker])
    }

    fn check() -> Check {
        let bounds = Bounds { threads: 2, output_bytes_max: 100 };
        Check::new(bounds, keys())
    }

    fn job(number: u8) -> JobSpec {
        let parameters = vec![number];
        JobSpec::new(keys().0[0].key(&parameters), 0, parameters)
    }

    fn finished(bytes: usize) -> Finished {
        Finished { outcome: Outcome::Done(vec![0; bytes].into()), work_ns: 1, span_ns: 1 }
    }

    fn lends(check: &Check, number: u64, spec: JobSpec) -> Result<Verdict, Broken> {
        check.note_command(&RunCommand::Offer { more: 0 });
        check.notice(&Notice::Offered(vec![(RuntimeJobId(number), spec)]))
    }

    #[test]
    fn jobs_are_lent_when_asked_for_and_under_their_own_names() {
        let check = check();
        assert!(check.notice(&Notice::Offered(Vec::new())).is_err(), "nobody has asked");
        check.note_command(&RunCommand::Offer { more: 1 });
        let jobs = |numbers: &[u8]| -> Vec<_> {
            numbers.iter().map(|number| (RuntimeJobId((*number).into()), job(*number))).collect()
        };
        assert!(check.notice(&Notice::Offered(jobs(&[21, 22, 23]))).is_err(), "more than it may");
        check.note_command(&RunCommand::Offer { more: 1 });
        assert_eq!(check.notice(&Notice::Offered(jobs(&[31, 32]))), Ok(Verdict::Pass));
        assert_eq!(lends(&check, 1, job(1)), Ok(Verdict::Pass));
        assert!(lends(&check, 1, job(2)).is_err(), "the number is used");
        check.note_command(&RunCommand::Complete {
            number: RuntimeJobId(1),
            finished: finished(1),
            is_found_again: false,
        });
        assert_eq!(lends(&check, 1, job(2)), Ok(Verdict::Pass));
        assert!(lends(&check, 2, JobSpec { key: job(4).key, ..job(3) }).is_err(), "another's key");
        assert!(lends(&check, 3, JobSpec { kind: 1, ..job(3) }).is_err(), "no such job");
        assert!(lends(&check, 4, JobSpec { kind: ROOT_KIND, ..job(3) }).is_err(), "the root");
        let long = Lineage(vec![job(1).key.tag(); LINEAGE_LENGTH_MAX + 1]);
        assert!(lends(&check, 5, JobSpec { lineage: long, ..job(3) }).is_err(), "too many ancestors");
        let large: Bytes = vec![0; 101].into();
        assert!(lends(&check, 6, JobSpec { parameters: large, ..job(3) }).is_err(), "too large");
        let abandoned = Notice::Abandoned { number: RuntimeJobId(1) };
        assert_eq!(check.notice(&abandoned), Ok(Verdict::Pass));
        assert_eq!(check.notice(&abandoned), Ok(Verdict::Drop), "it may be late");
    }

    #[test]
    fn held_jobs_end_once_and_others_are_not_blamed() {
        let check = check();
        let inject = |held: u64, spec: JobSpec| {
            check.note_command(&RunCommand::Inject { held: HeldId(held), spec, was_begun: false });
        };
        let ends = |held: u64, bytes: usize| {
            check.notice(&Notice::Finished { held: HeldId(held), finished: finished(bytes) })
        };
        inject(1, job(1));
        assert_eq!(
            check.notice(&Notice::Begun { held: HeldId(1), worker: 1, late_ns: 0 }),
            Ok(Verdict::Pass)
        );
        assert!(check.notice(&Notice::Begun { held: HeldId(1), worker: 2, late_ns: 0 }).is_err());
        assert!(ends(1, 101).is_err());
        assert_eq!(
            (ends(1, 100), ends(1, 1), ends(9, 1)),
            (Ok(Verdict::Pass), Ok(Verdict::Drop), Ok(Verdict::Drop))
        );
        inject(2, job(2));
        assert!(check.notice(&Notice::Misnamed { held: HeldId(2) }).is_err(), "it has the right name");
        inject(3, JobSpec { key: JobKey([9; 32]), ..job(3) });
        assert_eq!(check.notice(&Notice::Misnamed { held: HeldId(3) }), Ok(Verdict::Pass));
        inject(4, JobSpec { kind: ROOT_KIND, ..job(4) });
        assert!(check.notice(&Notice::HandedBack { held: HeldId(4) }).is_err(), "it is the root");
        inject(5, job(5));
        assert_eq!(check.notice(&Notice::HandedBack { held: HeldId(5) }), Ok(Verdict::Pass));
    }

    #[test]
    fn only_the_host_may_say_some_things() {
        let check = check();
        assert!(check.notice(&Notice::Crashed(String::new())).is_err());
        assert!(check.notice(&Notice::Counts(Box::default())).is_err());
        assert!(check.notice(&Notice::Idle(3)).is_err() && check.notice(&Notice::Idle(2)).is_ok());
        assert_eq!(check.notice(&Notice::Drained), Ok(Verdict::Drop));
        check.note_command(&RunCommand::Drain);
        assert_eq!(check.notice(&Notice::Drained), Ok(Verdict::Pass));
        let counts = check.counts(Counts { busy: 99, workers: 99, ..Counts::default() });
        assert_eq!((counts.busy, counts.workers), (2, 2));
    }
}
