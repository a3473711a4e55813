//! A process of guests, as its host knows it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sateen_protocol::Counts;
use sateen_protocol::host::{FinalCounts, Notice, RunCommand};
use sateen_protocol::message::{JobNote, WorkerTimes};

use super::check::Check;
use super::mailbox::{Mailbox, Unread};
use super::process::Process;
use super::stock::{Spare, Stock, goes_back};
use super::wire::ToGuests;
use crate::grid::runtime::Notify;

/// Maximum notices in transit from a process to the driver; above it, nothing more is read from the process.
const NOTICES_MAX: usize = 4096;
/// Each of this number of bytes in transit counts as one more notice.
const BYTES_A_NOTICE: usize = 8 << 10;
/// Maximum notes of jobs that wait to be reported; the others are counted.
const NOTES_MAX: usize = 16 << 10;

/// How far a process has come.
#[derive(Debug, Clone)]
pub enum Stage {
    /// It sets up its engine.
    Starting,
    /// It needs code for instances without a pool.
    Unpooled,
    /// It cannot take part, for this reason.
    Refused(String),
    /// It runs guests.
    Started,
    /// It was asked to stop.
    Stopping,
    /// It has stopped, with these counts.
    Stopped(Box<FinalCounts>),
    /// It has ended without having been asked to.
    Ended,
}

/// A process of guests.
pub struct Member {
    /// Its number.
    pub id: u64,
    /// The process.
    pub process: Process,
    /// The way to it.
    pub mailbox: Arc<Mailbox>,
    /// What it may say.
    pub check: Check,
    /// The job that it has spared.
    pub stock: Stock,
    stage: Mutex<Stage>,
    stage_changed: Condvar,
    shown: Mutex<Shown>,
    in_transit: Mutex<usize>,
    has_room: tokio::sync::Notify,
}

/// What people are shown of it.
#[derive(Debug, Default)]
struct Shown {
    counts: Counts,
    workers: Vec<WorkerTimes>,
    notes: Vec<JobNote>,
    notes_dropped: u64,
    /// The work that it expects, in nanoseconds.
    ahead_ns: Option<u64>,
}

impl Member {
    /// A process that is starting.
    pub fn new(id: u64, process: Process, mailbox: Arc<Mailbox>, check: Check) -> Arc<Self> {
        Arc::new(Self {
            id,
            process,
            mailbox,
            check,
            stock: Stock::default(),
            stage: Mutex::new(Stage::Starting),
            stage_changed: Condvar::new(),
            shown: Mutex::default(),
            in_transit: Mutex::default(),
            has_room: tokio::sync::Notify::new(),
        })
    }

    /// Sends it a message. One that does not read is killed.
    pub fn post(&self, message: &ToGuests) {
        self.judge(self.mailbox.post(message));
    }

    fn judge(&self, sent: Result<(), Unread>) {
        if sent.is_err() {
            self.process.condemn("it did not read its messages");
        }
    }

    /// Sends it a command of the state machine, with the next [`flush`](Self::flush).
    pub fn command(&self, command: RunCommand) {
        self.check.note_command(&command);
        self.gather(&ToGuests::Command(command));
    }

    fn gather(&self, message: &ToGuests) {
        self.judge(self.mailbox.gather(message));
    }

    /// Sends it what was gathered for it.
    pub fn flush(&self) {
        self.judge(self.mailbox.flush());
    }

    // ---- its spare job ----

    /// Passes on an offer to a thief that takes at most `more` jobs beyond the first. If it gets some, another thief may come.
    pub fn lend(&self, offered: Vec<Spare>, more: usize, notify: &Notify) {
        let is_lent = !offered.is_empty();
        self.pass_on(Notice::Offered(offered), notify);
        if let Some(most) = is_lent.then(|| self.stock.ask(1 + more)).flatten() {
            self.gather(&ToGuests::Spare(most));
        }
    }

    /// Gives spare jobs back.
    pub fn give_back(&self, spares: impl IntoIterator<Item = Spare>) {
        for spare in spares {
            self.command(goes_back(&spare));
        }
        self.flush();
    }

    // ---- its stage ----

    /// How far it has come.
    pub fn stage(&self) -> Stage {
        self.stage.lock().clone()
    }

    /// It has come further: returns from where, or `None` if it cannot from where it is.
    pub fn advance(&self, to: Stage) -> Option<Stage> {
        let mut stage = self.stage.lock();
        let may = matches!(
            (&*stage, &to),
            (Stage::Starting, Stage::Started | Stage::Unpooled | Stage::Refused(_))
                | (Stage::Starting | Stage::Started, Stage::Stopping)
                | (Stage::Starting | Stage::Started | Stage::Stopping, Stage::Ended)
                | (Stage::Stopping, Stage::Stopped(_))
        );
        if !may {
            return None;
        }
        self.stage_changed.notify_all();
        self.has_room.notify_one();
        Some(std::mem::replace(&mut *stage, to))
    }

    /// Waits until it has come further than `is_waiting` says, at most for `patience`.
    pub fn wait(&self, is_waiting: impl Fn(&Stage) -> bool, patience: Duration) -> Stage {
        let mut stage = self.stage.lock();
        let until = Instant::now() + patience;
        while is_waiting(&stage) && !self.stage_changed.wait_until(&mut stage, until).timed_out() {}
        stage.clone()
    }

    // ---- its notices ----

    /// Passes a notice on to the driver.
    pub fn pass_on(&self, notice: Notice, notify: &Notify) {
        *self.in_transit.lock() += weight(&notice);
        notify(notice);
    }

    /// The driver has received a notice.
    pub fn note_taken(&self, notice: &Notice) {
        let mut count = self.in_transit.lock();
        let before = *count;
        *count = before.saturating_sub(weight(notice));
        if before >= NOTICES_MAX / 2 && *count < NOTICES_MAX / 2 {
            self.has_room.notify_one();
        }
    }

    /// Waits until not too many notices are in transit to the driver.
    pub async fn wait_for_room(&self) {
        while *self.in_transit.lock() >= NOTICES_MAX
            && matches!(self.stage(), Stage::Starting | Stage::Started)
        {
            self.has_room.notified().await;
        }
    }

    // ---- what people see ----

    /// It has counted.
    pub fn show_counts(&self, counts: Counts) {
        self.shown.lock().counts = self.check.counts(counts);
    }

    /// It has reported what its workers and jobs did.
    pub fn show_activity(
        &self,
        workers: Vec<WorkerTimes>,
        ahead_ns: Option<u64>,
        (jobs, dropped): (Vec<JobNote>, u64),
    ) {
        let mut shown = self.shown.lock();
        (shown.workers, shown.ahead_ns) = (workers, ahead_ns);
        let room = NOTES_MAX.saturating_sub(shown.notes.len());
        let left_out = jobs.len().saturating_sub(room) as u64;
        shown.notes.extend(jobs.into_iter().take(room));
        shown.notes_dropped = shown.notes_dropped.saturating_add(dropped).saturating_add(left_out);
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.shown.lock().counts
    }

    /// What its workers and jobs did since the last call.
    pub fn take_activity(&self) -> Notice {
        let mut shown = self.shown.lock();
        Notice::Activity {
            workers: shown.workers.clone(),
            ahead_ns: shown.ahead_ns,
            jobs: std::mem::take(&mut shown.notes),
            jobs_dropped: std::mem::take(&mut shown.notes_dropped),
        }
    }

    /// All of it, when it has ended; `last` is what it said last.
    pub fn final_counts(&self, last: Option<FinalCounts>) -> FinalCounts {
        if let Some(last) = last {
            self.show_activity(last.workers, None, (last.jobs, last.jobs_dropped));
            self.show_counts(last.counts);
        }
        let mut shown = self.shown.lock();
        FinalCounts {
            counts: Counts { busy: 0, ..shown.counts },
            workers: std::mem::take(&mut shown.workers),
            jobs: std::mem::take(&mut shown.notes),
            jobs_dropped: shown.notes_dropped,
        }
    }
}

/// How much a notice counts in transit. Those that may be left out on the way are bounded there.
fn weight(notice: &Notice) -> usize {
    let bytes = match notice {
        Notice::Log(_) | Notice::Progress(..) => return 0,
        Notice::Offered(jobs) => jobs.iter().map(|(_, spec)| spec.parameters.len()).sum(),
        Notice::Lookup { spec, .. } => spec.parameters.len(),
        Notice::Finished { finished, .. } | Notice::Recorded { finished, .. } => {
            finished.outcome.bytes().len()
        }
        Notice::Shared { initial, .. } => initial.len(),
        Notice::Updated { bytes, .. } => bytes.len(),
        Notice::Based { new, .. } => new.base.len(),
        _ => 0,
    };
    1 + bytes / BYTES_A_NOTICE
}
