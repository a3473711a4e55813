//! What a host counts and notes of one run, and what the coordinator has been told of it.

use crate::limits::{COUNTS, COUNTS_SOON, LOG_LINES_WAITING_MAX, WORKERS_REPORTED_MAX};
use crate::message::{JobNote, LogLine, ToCoordinator, WorkerTimes};
use crate::wide::counted_since;
use crate::{Counts, Finished, RunId, Time};

use super::Host;
use super::notes::{Notes, note_bytes};
use super::outputs::in_parts;

/// What the coordinator was told of a run.
#[derive(Debug, Clone, Default)]
struct Told {
    /// What was counted.
    counts: Counts,
    /// What workers did with their time.
    workers: Vec<WorkerTimes>,
}

/// What was counted of a run, in all.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Names these counts; see [`ToCoordinator::Counts`].
    series: u64,
    /// What the runtime counted, and what the machine did.
    runtime: Counts,
    own: Counts,
    /// What the coordinator counts for an id of this host that it does not believe any more.
    told_as_another: Told,
    progress: Option<(u64, u64)>,
    workers: Vec<WorkerTimes>,
}

impl Figures {
    fn counts(&self) -> Counts {
        let mut counts = self.runtime;
        counts.add(&self.own);
        counts
    }

    /// The runtime has stopped: what it counted last.
    pub fn stop(&mut self, counts: Counts, workers: Vec<WorkerTimes>) {
        (self.runtime, self.workers) = (counts, workers);
    }

    /// What the coordinator is told.
    pub fn message(&self, run: RunId, notes: Vec<JobNote>, notes_dropped: u64) -> ToCoordinator {
        ToCoordinator::Counts {
            run,
            series: self.series,
            counts: Box::new(counted_since(&self.told_as_another.counts, &self.counts())),
            progress: self.progress,
            notes,
            notes_dropped,
            workers: WorkerTimes::all_since(&self.told_as_another.workers, &self.workers),
        }
    }

    /// The same of a run that nothing computes any more.
    pub fn last_message(&self, run: RunId, notes: Vec<JobNote>, notes_dropped: u64) -> ToCoordinator {
        let mut message = self.message(run, notes, notes_dropped);
        if let ToCoordinator::Counts { counts, .. } = &mut message {
            counts.busy = 0;
        }
        message
    }
}

/// What the coordinator is told of one run.
#[derive(Debug)]
pub struct Reporting {
    figures: Figures,
    /// What the runtime and the machine had counted when the coordinator was last told.
    reported: (Counts, Counts),
    /// What the workers had done then.
    workers_reported: Vec<WorkerTimes>,
    /// It may have been lost with the link.
    is_uncertain: bool,
    notes: Notes,
    /// What the app said.
    log: Vec<LogLine>,
    next: Time,
    last: Option<Time>,
    /// What is to end the run: a limit or a failure. The coordinator is told until the run is over.
    verdict: Option<ToCoordinator>,
}

impl Reporting {
    /// Nothing is counted yet.
    pub fn new(now: Time) -> Self {
        Self {
            figures: Figures::default(),
            reported: Default::default(),
            workers_reported: Vec::new(),
            is_uncertain: false,
            notes: Notes::default(),
            log: Vec::new(),
            next: now,
            last: None,
            verdict: None,
        }
    }

    /// The counts begin under this name.
    pub fn begin(&mut self, series: u64) {
        self.figures.series = series;
    }

    /// All that was counted until now.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// What the runtime and the machine have counted together.
    pub fn counts(&self) -> Counts {
        self.figures.counts()
    }

    /// What the machine has counted.
    pub fn own(&self) -> &Counts {
        &self.figures.own
    }

    /// The same, to count more.
    pub fn own_mut(&mut self) -> &mut Counts {
        &mut self.figures.own
    }

    /// What the runtime has counted, in all.
    pub fn take_counts(&mut self, counts: Counts) {
        self.figures.runtime = counts;
    }

    /// How far the app says it is.
    pub fn take_progress(&mut self, done: u64, total: u64) {
        self.figures.progress = Some((done, total));
    }

    /// Takes what the runtime saw: what workers did with their time, in all, and what happened to jobs since the last time.
    pub fn take_activity(
        &mut self,
        now: Time,
        mut workers: Vec<WorkerTimes>,
        jobs: Vec<JobNote>,
        jobs_dropped: u64,
    ) {
        workers.truncate(WORKERS_REPORTED_MAX);
        self.figures.workers = workers;
        self.notes.dropped = self.notes.dropped.saturating_add(jobs_dropped);
        for note in jobs {
            self.note(Time(now.0.saturating_sub(u64::from(note.ago_ms) * 1_000_000)), note);
        }
    }

    /// Takes a line that the app said; of those that are too many, that there were more.
    pub fn take_line(&mut self, line: LogLine) {
        match self.log.len() {
            ..LOG_LINES_WAITING_MAX => self.log.push(line),
            LOG_LINES_WAITING_MAX => {
                let text = "(more was said than could be sent)".to_owned();
                self.log.push(LogLine { text, ..line });
            }
            _ => {}
        }
    }

    /// The lines that wait to be sent.
    pub fn log(&self) -> &[LogLine] {
        &self.log
    }

    /// The lines to be sent now.
    pub fn take_log(&mut self) -> Vec<LogLine> {
        std::mem::take(&mut self.log)
    }

    /// The table had this.
    pub fn count_reused(&mut self, finished: &Finished) {
        self.own_mut().jobs.reused += 1;
        self.count_saved(finished);
    }

    /// This result would have been lost with a host.
    pub fn count_saved(&mut self, finished: &Finished) {
        let own = self.own_mut();
        own.saved_work_ns = own.saved_work_ns.saturating_add(finished.work_ns);
    }

    /// The job's parameters, if a note may carry them.
    pub fn noted(&self, parameters: &[u8]) -> Option<Vec<u8>> {
        self.notes.has_room_for(parameters).then(|| parameters.to_vec())
    }

    /// Takes a note to be sent with the next report.
    pub fn note(&mut self, when: Time, note: JobNote) {
        self.notes.add(when, note);
    }

    /// How many notes wait.
    pub fn notes_len(&self) -> usize {
        self.notes.len()
    }

    /// The notes that would be sent now.
    #[cfg(test)]
    pub fn take_notes(&mut self, now: Time) -> Vec<JobNote> {
        self.notes.take(now)
    }

    /// This host has another id, and the coordinator does not know that it is the one that had the former: it counts
    /// what it was told for that one.
    pub fn count_as_another(&mut self) {
        let (mut told, own) = self.reported;
        told.add(&own);
        self.figures.told_as_another = Told { counts: told, workers: self.workers_reported.clone() };
    }

    /// What the coordinator was told last may have been lost with a link: it is told again.
    pub fn tell_again(&mut self) {
        self.is_uncertain = self.reported != Default::default();
    }

    /// Whether the coordinator has not been told all of the counts. Asked after everything that happens: it
    /// adds nothing up.
    fn has_counted(&self) -> bool {
        self.figures.own != self.reported.1 || self.figures.runtime != self.reported.0
    }

    fn has_news(&self) -> bool {
        self.notes.len() > 0 || self.is_uncertain || self.has_counted()
    }

    /// Whether workers have begun or ended since the coordinator was last told.
    fn has_other_workers(&self) -> bool {
        self.reported.0.busy != self.figures.runtime.busy
    }

    fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// The coordinator is told at once.
    pub fn make_due(&mut self, now: Time) {
        self.next = now;
    }

    /// The coordinator is told a moment after the last time, if not sooner.
    fn make_due_soon(&mut self, now: Time) {
        let soon = self.last.map_or(now, |last| last + COUNTS_SOON);
        self.next = self.next.min(soon);
    }

    /// The messages of a report that is due, if there is any news.
    fn report(&mut self, now: Time, run: RunId) -> Vec<ToCoordinator> {
        self.next = now + COUNTS;
        self.last = Some(now);
        if !self.has_news() {
            return Vec::new();
        }
        self.is_uncertain = false;
        self.reported = (self.figures.runtime, self.figures.own);
        self.workers_reported.clone_from(&self.figures.workers);
        let notes = self.notes.take(now);
        (in_parts(notes, note_bytes).into_iter())
            .map(|notes| self.figures.message(run, notes, std::mem::take(&mut self.notes.dropped)))
            .collect()
    }

    /// What is to end the run.
    pub fn verdict(&self) -> Option<&ToCoordinator> {
        self.verdict.as_ref()
    }

    /// The run is to end.
    pub fn judge(&mut self, verdict: ToCoordinator) {
        self.verdict = Some(verdict);
    }
}

impl Host {
    pub(super) fn next_report(&self, reporting: &Reporting) -> Option<(Time, &'static str)> {
        (self.is_connected() && reporting.has_news()).then_some((reporting.next, "counts are due"))
    }

    /// Tells the coordinator all of a run that it has not been told: there may be no later.
    pub(super) fn report_last(&mut self, now: Time, run: RunId) {
        if let Some(part) = self.runs.get_mut(&run) {
            part.reporting.make_due(now);
        }
        self.flush(now, run);
        self.report(now, run);
    }

    /// As soon as may be, or now.
    pub(super) fn report_soon(&mut self, now: Time, run: RunId, at_once: bool) {
        let Some(part) = self.runs.get_mut(&run) else { return };
        if at_once {
            part.reporting.make_due(now);
        } else {
            part.reporting.make_due_soon(now);
        }
        self.report(now, run);
    }

    /// Tells the coordinator the counts, if they have changed; and of all other runs whose workers are at something else
    /// since, so that nobody adds up workers of different moments.
    pub(super) fn report(&mut self, now: Time, run: RunId) {
        let is_due = self.runs.get(&run).is_some_and(|part| part.reporting.is_due(now));
        if !self.is_connected() || !is_due {
            return;
        }
        self.report_one(now, run);
        let others =
            self.runs.iter().filter(|(other, part)| **other != run && part.reporting.has_other_workers());
        let others: Vec<RunId> = others.map(|(other, _)| *other).collect();
        for other in others {
            if let Some(part) = self.runs.get_mut(&other) {
                part.reporting.make_due(now);
            }
            self.report_one(now, other);
        }
    }

    fn report_one(&mut self, now: Time, run: RunId) {
        let is_connected = self.is_connected();
        let part = self.runs.get_mut(&run).filter(|part| is_connected && part.reporting.is_due(now));
        let Some(part) = part else { return };
        let messages = part.reporting.report(now, run);
        messages.into_iter().for_each(|message| self.tell_coordinator(message));
    }

    /// Sends what the app said, if the coordinator is there.
    pub(super) fn send_log(&mut self, run: RunId) {
        let is_connected = self.is_connected();
        let part = self.runs.get_mut(&run).filter(|part| is_connected && !part.reporting.log.is_empty());
        let Some(part) = part else { return };
        let lines = part.reporting.take_log();
        for lines in in_parts(lines, |line| line.text.len() + line.function.len() + LINE_BYTES) {
            self.tell_coordinator(ToCoordinator::Log { run, lines });
        }
    }
}

/// About what a line of a log takes besides its texts.
const LINE_BYTES: usize = 16;

#[cfg(test)]
mod tests;
