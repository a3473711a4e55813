//! A host's counts and notes of one run, and those that the coordinator has been sent.

use crate::limits::{COUNTS, COUNTS_SOON, LOG_LINES_WAITING_MAX, WORKERS_REPORTED_MAX};
use crate::message::{JobNote, LogLine, ToCoordinator, WorkerTimes};
use crate::wide::{counted_since, no_less_than};
use crate::{Counts, Finished, RunId, Time};

use super::Host;
use super::notes::{Notes, note_bytes};
use super::outputs::in_parts;
use super::units::Units;

/// The figures of a run that the coordinator was sent.
#[derive(Debug, Clone, Default)]
struct Told {
    /// The counts.
    counts: Counts,
    /// How workers spent their time.
    workers: Vec<WorkerTimes>,
}

/// All figures of a run.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// The series of these counts; see [`ToCoordinator::Counts`].
    series: u64,
    /// The runtime's counts, and those of the state machine.
    runtime: Counts,
    own: Counts,
    /// The figures that the coordinator attributes to a former id of this host, whose claim to it was refused.
    told_as_another: Told,
    progress: Option<(u64, u64)>,
    ahead_ns: Option<u64>,
    workers: Vec<WorkerTimes>,
}

impl Figures {
    fn counts(&self) -> Counts {
        let mut counts = self.runtime;
        counts.add(&self.own);
        counts
    }

    /// Sets the runtime's counts.
    fn count(&mut self, counts: Counts) {
        self.runtime = no_less_than(&self.runtime, counts);
    }

    /// The runtime has stopped: sets its last counts.
    pub fn stop(&mut self, counts: Counts, workers: Vec<WorkerTimes>) {
        self.count(counts);
        self.workers = workers;
    }

    /// The message that reports the figures.
    pub fn message(&self, run: RunId, notes: Vec<JobNote>, notes_dropped: u64) -> ToCoordinator {
        ToCoordinator::Counts {
            run,
            series: self.series,
            counts: Box::new(counted_since(&self.told_as_another.counts, &self.counts())),
            progress: self.progress,
            ahead_ns: self.ahead_ns,
            notes,
            notes_dropped,
            workers: WorkerTimes::all_since(&self.told_as_another.workers, &self.workers),
        }
    }

    /// The same for a run in which nothing computes any more.
    pub fn last_message(&self, run: RunId, notes: Vec<JobNote>, notes_dropped: u64) -> ToCoordinator {
        let mut message = self.message(run, notes, notes_dropped);
        if let ToCoordinator::Counts { counts, ahead_ns, .. } = &mut message {
            counts.busy = 0;
            *ahead_ns = Some(0);
        }
        message
    }
}

/// The reports of one run to the coordinator.
#[derive(Debug)]
pub struct Reporting {
    figures: Figures,
    /// The counts of the runtime and of the state machine at the last report.
    reported: (Counts, Counts),
    /// How the workers had spent their time by the last report.
    workers_reported: Vec<WorkerTimes>,
    /// Whether the last report may have been lost with the link.
    is_uncertain: bool,
    notes: Notes,
    /// Lines of the app's log that wait to be sent.
    log: Vec<LogLine>,
    next: Time,
    last: Option<Time>,
    /// The limit or failure that is to end the run. The coordinator is notified repeatedly until the run is over.
    verdict: Option<ToCoordinator>,
    /// What is reported to the coordinator so that it can be checked.
    units: Units,
}

impl Reporting {
    /// Makes reports without any counts.
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
            units: Units::default(),
        }
    }

    /// Begins a series of counts.
    pub fn begin(&mut self, series: u64) {
        self.figures.series = series;
    }

    /// All figures until now.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The counts of the runtime and the state machine together.
    pub fn counts(&self) -> Counts {
        self.figures.counts()
    }

    /// The counts of the state machine.
    pub fn own(&self) -> &Counts {
        &self.figures.own
    }

    /// The counts of the state machine, to be increased.
    pub fn own_mut(&mut self) -> &mut Counts {
        &mut self.figures.own
    }

    /// Sets the runtime's counts.
    pub fn take_counts(&mut self, counts: Counts) {
        self.figures.count(counts);
    }

    /// Sets the progress that the app reports.
    pub fn take_progress(&mut self, done: u64, total: u64) {
        self.figures.progress = Some((done, total));
    }

    /// Sets how workers have spent their time in total and how much work is ahead, and adds notes of what has happened to jobs since the
    /// last call.
    pub fn take_activity(
        &mut self,
        now: Time,
        mut workers: Vec<WorkerTimes>,
        ahead_ns: Option<u64>,
        (jobs, jobs_dropped): (Vec<JobNote>, u64),
    ) {
        self.figures.ahead_ns = ahead_ns;
        workers.truncate(WORKERS_REPORTED_MAX);
        self.figures.workers = workers;
        self.notes.dropped = self.notes.dropped.saturating_add(jobs_dropped);
        for note in jobs {
            self.note(Time(now.0.saturating_sub(u64::from(note.ago_ms) * 1_000_000)), note);
        }
    }

    /// Adds a line of the app's log. If there are too many, a line that says so takes the place of the others.
    pub fn take_line(&mut self, line: LogLine) {
        match self.log.len() {
            ..LOG_LINES_WAITING_MAX => self.log.push(line),
            LOG_LINES_WAITING_MAX => {
                let text = "(further lines were left out: too many to be sent)".to_owned();
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

    /// Counts a result that came from the table; `is_earlier` if it is one of an earlier run.
    pub fn count_reused(&mut self, finished: &Finished, is_earlier: bool) {
        let own = self.own_mut();
        if is_earlier {
            own.earlier += 1;
            own.earlier_work_ns = own.earlier_work_ns.saturating_add(finished.work_ns);
        } else {
            own.jobs.reused += 1;
            self.count_saved(finished);
        }
    }

    /// Counts a result that would otherwise have been lost with a host.
    pub fn count_saved(&mut self, finished: &Finished) {
        let own = self.own_mut();
        own.saved_work_ns = own.saved_work_ns.saturating_add(finished.work_ns);
    }

    /// The job's parameters, if a note may carry them.
    pub fn noted(&self, parameters: &[u8]) -> Option<Vec<u8>> {
        self.notes.has_room_for(parameters).then(|| parameters.to_vec())
    }

    /// Adds a note to be sent with the next report.
    pub fn note(&mut self, when: Time, note: JobNote) {
        self.notes.add(when, note);
    }

    /// The number of notes that wait.
    pub fn notes_len(&self) -> usize {
        self.notes.len()
    }

    /// The notes that would be sent now.
    #[cfg(test)]
    pub fn take_notes(&mut self, now: Time) -> Vec<JobNote> {
        self.notes.take(now)
    }

    /// This host has another id, and the coordinator does not know that it is the same host: it attributes earlier
    /// reports to the former id.
    pub fn count_as_another(&mut self) {
        let (mut told, own) = self.reported;
        told.add(&own);
        self.figures.told_as_another = Told { counts: told, workers: self.workers_reported.clone() };
    }

    /// The last report may have been lost with a link: it is sent again.
    pub fn tell_again(&mut self) {
        self.is_uncertain = self.reported != Default::default();
    }

    /// Whether counts have changed since the last report. This is called after every event, so it adds nothing up.
    fn has_counted(&self) -> bool {
        self.figures.own != self.reported.1 || self.figures.runtime != self.reported.0
    }

    fn has_news(&self) -> bool {
        self.notes.len() > 0 || self.is_uncertain || self.has_counted()
    }

    /// Whether workers have become busy or idle since the last report.
    fn has_other_workers(&self) -> bool {
        self.reported.0.busy != self.figures.runtime.busy
    }

    fn is_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Makes a report due at once.
    pub fn make_due(&mut self, now: Time) {
        self.next = now;
    }

    /// Makes a report due a moment after the last one, if it is not due sooner.
    fn make_due_soon(&mut self, now: Time) {
        let soon = self.last.map_or(now, |last| last + COUNTS_SOON);
        self.next = self.next.min(soon);
    }

    /// The messages of a report that is due, if there is anything new.
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

    /// The message that is to end the run.
    pub fn verdict(&self) -> Option<&ToCoordinator> {
        self.verdict.as_ref()
    }

    /// The units that this host has computed.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// The same, to be added to.
    pub fn units_mut(&mut self) -> &mut Units {
        &mut self.units
    }

    /// Sets the message that is to end the run.
    pub fn judge(&mut self, verdict: ToCoordinator) {
        self.verdict = Some(verdict);
    }
}

impl Host {
    pub(super) fn next_report(&self, reporting: &Reporting) -> Option<(Time, &'static str)> {
        (self.is_connected() && reporting.has_news()).then_some((reporting.next, "counts are due"))
    }

    /// Sends the coordinator all news of a run, as there may be no later occasion.
    pub(super) fn report_last(&mut self, now: Time, run: RunId) {
        if let Some(host_run) = self.runs.get_mut(&run) {
            host_run.reporting.make_due(now);
        }
        self.flush(now, run);
        self.report(now, run);
    }

    /// Sends a report as soon as its interval allows, or at once.
    pub(super) fn report_soon(&mut self, now: Time, run: RunId, at_once: bool) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if at_once {
            host_run.reporting.make_due(now);
        } else {
            host_run.reporting.make_due_soon(now);
        }
        self.report(now, run);
    }

    /// Reports the counts to the coordinator if they have changed. Also reports all other runs whose busy workers have
    /// changed, so that the coordinator does not add up workers of different moments.
    pub(super) fn report(&mut self, now: Time, run: RunId) {
        let is_due = self.runs.get(&run).is_some_and(|run| run.reporting.is_due(now));
        if !self.is_connected() || !is_due {
            return;
        }
        self.report_one(now, run);
        let others = self
            .runs
            .iter()
            .filter(|(other, host_run)| **other != run && host_run.reporting.has_other_workers());
        let others: Vec<RunId> = others.map(|(other, _)| *other).collect();
        for other in others {
            if let Some(host_run) = self.runs.get_mut(&other) {
                host_run.reporting.make_due(now);
            }
            self.report_one(now, other);
        }
    }

    fn report_one(&mut self, now: Time, run: RunId) {
        let is_connected = self.is_connected();
        let host_run = self.runs.get_mut(&run).filter(|run| is_connected && run.reporting.is_due(now));
        let Some(host_run) = host_run else { return };
        let messages = host_run.reporting.report(now, run);
        messages.into_iter().for_each(|message| self.tell_coordinator(message));
    }

    /// Sends the lines of the app's log, if the coordinator is connected.
    pub(super) fn send_log(&mut self, run: RunId) {
        let is_connected = self.is_connected();
        let host_run = self.runs.get_mut(&run).filter(|run| is_connected && !run.reporting.log.is_empty());
        let Some(host_run) = host_run else { return };
        let lines = host_run.reporting.take_log();
        for lines in in_parts(lines, |line| line.text.len() + line.function.len() + LINE_BYTES) {
            self.tell_coordinator(ToCoordinator::Log { run, lines });
        }
    }
}

/// About how many bytes a line of a log takes besides its texts.
const LINE_BYTES: usize = 16;

#[cfg(test)]
mod tests;
