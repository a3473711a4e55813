//! What slows a run down: one sentence, with the figures behind it.
//!
//! It is derived from what workers did: the first of these causes that explains enough of the time not spent computing.

mod averages;
mod course;
mod disturbances;
mod elsewhere;
mod figures;
mod straggler;
mod waiting;

use std::sync::Mutex;

use super::Chronicle;
use super::names::Names;
use super::timeline::Totals;
use super::tree::TreeHost;
use super::waits::RESTARTED;
use super::worked::Worked;
use crate::limits::CRITICAL_PATH_MAX;
use crate::locked;
use averages::{Averages, least, lost_with_hosts};
use course::Stage;
use disturbances::{Sampled, Weighed};
use elsewhere::elsewhere;
use figures::{counted, number, percent};
use waiting::Waiting;

pub use course::Course;

/// Minimum age of a run: before, there are too few figures.
const TIME_S_MIN: f64 = 2.0;
/// Share of the workers' time spent computing from which on nothing worth mentioning slows the run down.
const COMPUTED_ENOUGH: f64 = 0.85;
/// Minimum share of the workers' time spent waiting for results of other hosts.
const WAITED_FOR_OTHERS_MIN: f64 = 0.25;
/// Minimum processor time per time in which workers computed: below this, other programs had the processors.
const PROCESSOR_ENOUGH: f64 = 0.75;
/// Minimum share of the workers' time in which other runs had their turn.
const SHARED_MIN: f64 = 0.25;
/// Minimum share of the work that is not part of the result.
const LOST_MIN: f64 = 0.25;
/// Minimum share of jobs whose parameters are too long for the coordinator.
const LONG_PARAMETERS_MIN: f64 = 0.5;
/// Minimum share of the workers' time that is worth a mention beside a larger cause.
const REST_MIN: f64 = 0.1;
/// Minimum share of the workers' time that failures cost, from which on a run whose workers compute is slowed down by them.
const LOST_TO_FAILURES_MIN: f64 = 0.1;
/// Minimum share of the time of which nothing is known.
const UNKNOWN_MIN: f64 = 0.5;

/// What slows a run down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldUp {
    /// Its kind.
    pub kind: HoldUpKind,
    /// A sentence with the figures behind it.
    pub text: String,
}

/// Kinds of causes that slow a run down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldUpKind {
    /// Its workers compute.
    Nothing,
    /// It waits, or waited, for hosts, its turn, or a user.
    Waiting,
    /// The hosts' processors are busy with other programs.
    Starved,
    /// Its hosts also compute for other runs.
    Sharing,
    /// Much of its work was lost with hosts, or its workers did nothing while hosts did not answer, were lost, or the
    /// coordinator was away.
    Recovery,
    /// One job, or a few, still run while all others are done.
    Straggler,
    /// Sending jobs' parameters takes time.
    Parameters,
    /// There are fewer jobs than workers.
    Parallelism,
}

/// What is known of a run's time.
#[derive(Debug, Clone, Default)]
struct Evidence {
    /// How far the run is.
    stage: Stage,
    /// From its submission on, in seconds.
    passed_s: f64,
    /// From its start on, in seconds.
    elapsed_s: Option<f64>,
    /// Why and for how long nothing happened.
    waiting: Waiting,
    /// The length of a stretch, in seconds, and what workers did in each.
    bucket_s: f64,
    totals: Vec<Totals>,
    /// For how long workers waited while other runs of their hosts had their turn, in seconds.
    others_s: f64,
    /// Hosts paused during the run.
    has_pauses: bool,
    /// Processor time in guests, and for how long workers computed, in seconds.
    work_s: f64,
    computed_s: f64,
    /// The share of it that is not part of the result, if jobs were lost with hosts; known when it is done.
    lost_with_hosts: Option<f64>,
    /// Of the hosts whose workers computed for long enough, the one that got the smallest share of its processors: its name,
    /// and the share. None if there are fewer than two such hosts.
    least: Option<(String, f64)>,
    /// Jobs that workers began, and of these, jobs with long parameters.
    begun: (u64, u64),
    /// The job that the end waits for.
    last_job: Option<LastJob>,
    /// How many workers the run had, and when hosts were lost, say.
    sampled: Sampled,
}

/// The job that the end of a run waits for, or waited for.
#[derive(Debug, Clone, Default)]
struct LastJob {
    /// What it is.
    what: String,
    /// Where it ran last.
    host: String,
    /// For how long it has run, in seconds.
    ran_s: f64,
    /// It has ended, or its host is gone.
    has_ended: bool,
}

/// What was found of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// What slows it down; none where too little is known.
    pub hold_up: Option<HoldUp>,
    /// How many workers computed on average from its start on; none if it has not started.
    pub mean_busy: Option<f64>,
    /// What its workers did.
    pub worked: Worked,
}

/// What slows the run down, and how many of its workers computed. The chronicle is locked only briefly at a time, as the
/// driver writes to it.
pub fn findings(chronicle: &Mutex<Chronicle>, course: Course<'_>, names: &Names) -> Findings {
    let worked = Worked::of(chronicle);
    let evidence = locked(chronicle).evidence(course, names);
    let Worked { bucket_ms, totals } = worked;
    let evidence = Evidence { bucket_s: f64::from(bucket_ms) / 1e3, totals, ..evidence };
    let (hold_up, averages) = (evidence.verdict(), evidence.averages());
    let worked = Worked { bucket_ms, totals: evidence.totals };
    Findings { hold_up, mean_busy: averages.map(|averages| averages.busy), worked }
}

impl Chronicle {
    /// All evidence except what workers did.
    fn evidence(&self, course: Course<'_>, names: &Names) -> Evidence {
        let Course { is_over, waits, figures, .. } = course;
        let now_ms = if is_over { self.last_ms() } else { self.now_ms() };
        let seconds = |ms: u32| f64::from(ms) / 1e3;
        let last = self.critical_path(CRITICAL_PATH_MAX).into_iter().skip(1).next_back();
        Evidence {
            stage: course.stage(),
            passed_s: seconds(now_ms),
            elapsed_s: course.elapsed_s,
            waiting: self.waiting(waits.filter(|waits| !is_over && waits.reason != RESTARTED), now_ms),
            others_s: self.timeline.others_s(),
            has_pauses: self.events.are_of_pauses(),
            work_s: figures.times.work_s,
            computed_s: figures.times.computed_s,
            lost_with_hosts: lost_with_hosts(figures),
            least: least(&figures.by_host, is_over),
            begun: self.tree.begun(),
            sampled: self.sampled(now_ms),
            last_job: last.map(|job| {
                let ran_ms = job.ended_ms.unwrap_or(now_ms).saturating_sub(job.begun_ms);
                LastJob {
                    what: format!("{} {}", names.of(job.kind), job.job),
                    host: self.host_at(job.host).map(TreeHost::label).unwrap_or_default(),
                    ran_s: seconds(ran_ms),
                    has_ended: job.ended_ms.is_some(),
                }
            }),
            ..Evidence::default()
        }
    }

    /// When the run ended, as far as the chronicle knows.
    fn last_ms(&self) -> u32 {
        self.events.all().last().map_or(0, |event| event.t_ms)
    }
}

impl Evidence {
    fn verdict(&self) -> Option<HoldUp> {
        if let Some(text) = self.waiting.present(self.passed_s) {
            return said(HoldUpKind::Waiting, text);
        }
        if self.passed_s < TIME_S_MIN || self.stage == Stage::Awaited {
            return None;
        }
        let past = self.waiting.past(self.passed_s, self.stage == Stage::Over);
        let past = past.map(|text| HoldUp { kind: HoldUpKind::Waiting, text });
        // A wait that everybody remembers may have cost less than processors that others had all the time.
        if self.starved_for_s() > self.waiting.waited_s() {
            self.of_workers().or(past)
        } else {
            past.or_else(|| self.of_workers())
        }
    }

    /// The share of a core that a worker got while it computed.
    fn got(&self) -> f64 {
        self.work_s / self.computed_s.max(f64::MIN_POSITIVE)
    }

    /// How much sooner the run would have come this far if its workers had had their processors to themselves, in seconds.
    fn starved_for_s(&self) -> f64 {
        let workers = self.averages().map_or(0.0, |averages| averages.workers);
        if self.got() >= PROCESSOR_ENOUGH || workers <= 0.0 {
            return 0.0;
        }
        (self.computed_s - self.work_s) / workers
    }

    fn of_workers(&self) -> Option<HoldUp> {
        let weighed = self.weighed();
        let Weighed { all, lost, .. } = weighed;
        let worker_s = all.workers * self.bucket_s;
        if worker_s < TIME_S_MIN {
            return None;
        }
        let of = |part: f64| part / all.workers;
        let computed = of(all.work);
        let Averages { busy, workers } = self.averages()?;
        let of_workers =
            || format!("{} of {} computed on average", number(busy), counted(workers, "worker", "workers"));

        let computed_s = all.work * self.bucket_s;
        let got = self.got();
        // Computing by other programs merely took time in which its workers had nothing to do, or other runs their turn.
        let starved = (1.0 - got) * all.work;
        let others_of_all = self.others_s / self.bucket_s;
        if computed_s >= TIME_S_MIN
            && got < PROCESSOR_ENOUGH
            && starved >= (all.steal + all.wait).max(others_of_all).max(lost)
        {
            // A host that got no less, as it is written, is not worth a word.
            let whole = |share: f64| (100.0 * share).round() as u32;
            let least = self.least.as_ref().filter(|(_, share)| whole(*share) < whole(got));
            let least = least.map(|(host, share)| format!(", and {} on {host}", percent(*share)));
            let text = format!(
                "The hosts' machines {} busy elsewhere: while a worker computed, it got {} of a core on average{}.",
                self.tense("are", "were"),
                percent(got),
                least.unwrap_or_default()
            );
            return said(HoldUpKind::Starved, text);
        }
        if let Some(lost) = self.lost_with_hosts.filter(|lost| *lost > LOST_MIN) {
            let text = format!(
                "Crashes cost it time: {} of its work is not part of the result, but was lost with hosts, done twice or aborted.",
                percent(lost)
            );
            return said(HoldUpKind::Recovery, text);
        }
        let (looked, lost) = (of(all.steal + all.wait), of(lost));
        // The time of disturbances includes turns of other runs.
        let others = (self.others_s / worker_s).min((1.0 - computed - looked - lost).max(0.0));
        let unknown = (1.0 - computed - others - looked - lost).max(0.0);
        let is_enough = lost >= LOST_TO_FAILURES_MIN || (lost > 0.0 && computed < COMPUTED_ENOUGH);
        if let Some(worst) =
            weighed.worst.as_ref().filter(|_| is_enough && lost >= others.max(looked).max(unknown))
        {
            return said(HoldUpKind::Recovery, self.failures(lost, worst, weighed.is_only, &of_workers()));
        }
        if computed >= COMPUTED_ENOUGH {
            let text = format!(
                "Nothing {} it down: {}; more hosts {} it faster.",
                self.tense("slows", "slowed"),
                of_workers(),
                self.tense("make", "would have made")
            );
            return said(HoldUpKind::Nothing, text);
        }
        if others >= SHARED_MIN.max(unknown) && others + unknown >= looked {
            let text = format!(
                "Other runs {} its hosts: they got {} of the time for which this run had work, and {}; more hosts {} it \
                 faster.",
                self.tense("share", "shared"),
                percent(others / (others + computed)),
                of_workers(),
                self.tense("make", "would have made")
            );
            return said(HoldUpKind::Sharing, text);
        }
        if let Some(straggler) = self.straggler(&weighed.is_disturbed) {
            return Some(straggler);
        }
        let (begun, long) = self.begun;
        if begun > 0 && long as f64 >= LONG_PARAMETERS_MIN * begun as f64 {
            let text = format!(
                "Large parameters {} it down: {long} of {begun} jobs that workers took {} more than 4 KiB of them, and {}; \
                 {} of the workers' time went into looking for jobs and fetching them.",
                self.tense("slow", "slowed"),
                self.tense("have", "had"),
                of_workers(),
                percent(of(all.steal + all.wait))
            );
            return said(HoldUpKind::Parameters, text);
        }
        let elsewhere = elsewhere(if self.has_pauses { unknown } else { 0.0 }, others);
        if unknown > UNKNOWN_MIN || (unknown > looked && elsewhere.is_none()) {
            let text = format!(
                "Little is known of it: for {} of the time, no host {} reported what its workers did, as after a crash, on an \
                 overloaded machine or over a slow link.",
                percent(unknown),
                self.tense("has", "had")
            );
            return said(HoldUpKind::Starved, text);
        }
        if of(all.wait) >= WAITED_FOR_OTHERS_MIN {
            let text = format!(
                "Results of other hosts {} late: workers waited for them for {} of their time, and {}; the other hosts {} \
                 them, or they {} large for the links on their way.",
                self.tense("come", "came"),
                percent(of(all.wait)),
                of_workers(),
                self.tense("compute", "computed"),
                self.tense("are", "were")
            );
            return said(HoldUpKind::Waiting, text);
        }
        if let Some((causes, clause)) = elsewhere.filter(|_| unknown + others > looked) {
            let text = format!(
                "{causes} {} it down: {}; for {} of the time, the hosts' workers did nothing for this run, as {clause}.",
                self.tense("slow", "slowed"),
                of_workers(),
                percent(unknown + others)
            );
            return said(HoldUpKind::Sharing, text);
        }
        let rest = match elsewhere {
            _ if unknown + others < REST_MIN => String::new(),
            Some((_, clause)) => format!("; for {} {clause}", percent(unknown + others)),
            None => format!("; of {} nothing is known", percent(unknown)),
        };
        let failures =
            if lost < REST_MIN { String::new() } else { format!("; failures cost {}", percent(lost)) };
        let text = format!(
            "It {} too little parallelism: {}; workers found no job for {} of the time, and waited for results of other \
             hosts for {}{rest}{failures}.",
            self.tense("has", "had"),
            of_workers(),
            percent(of(all.steal)),
            percent(of(all.wait))
        );
        said(HoldUpKind::Parallelism, text)
    }

    /// The form of a verb that fits the run.
    fn tense<'a>(&self, present: &'a str, past: &'a str) -> &'a str {
        if self.stage == Stage::UnderWay { present } else { past }
    }
}

fn said(kind: HoldUpKind, text: String) -> Option<HoldUp> {
    Some(HoldUp { kind, text })
}

fn sum(totals: &[Totals]) -> Totals {
    totals.iter().fold(Totals::default(), |sum, one| Totals {
        workers: sum.workers + one.workers,
        work: sum.work + one.work,
        steal: sum.steal + one.steal,
        wait: sum.wait + one.wait,
    })
}

#[cfg(test)]
mod tests;
