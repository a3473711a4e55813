//! Details of a portion for people: how each worker spends its time, and which of this host's own jobs have
//! instances of their own. Workers write and reporters collect, without waiting for one another.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Instant;

use parking_lot::Mutex;
use sateen_protocol::message::{JobNote, WorkerTimes};

use super::awake::Awake;

/// Maximum notes that wait to be collected; further ones are only counted.
const NOTES_MAX: usize = 512;
/// Maximum times that a clock which changes while it is read is read again.
const READS_MAX: usize = 8;

/// The activity of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// The worker is paused, or has no run.
    Nothing,
    /// It computes.
    Work,
    /// It repeats work that was lost in a crash.
    Recover,
    /// It has no work, and looks for some.
    Steal,
    /// It has no work, and jobs of this host wait for results.
    Wait,
    /// It would compute, and other runs of this host have their turn.
    Others,
}

impl Doing {
    const ALL: [Self; 6] = [Self::Nothing, Self::Work, Self::Recover, Self::Steal, Self::Wait, Self::Others];
}

/// The clocks of all workers.
pub struct Activity {
    time: Awake,
    clocks: Vec<Clock>,
    notes: Mutex<Vec<(Instant, JobNote)>>,
    notes_dropped: AtomicU64,
}

/// The clock of one worker. Only that worker writes.
#[derive(Default)]
struct Clock {
    /// The start of the current activity, in microseconds, and after it the activity.
    since: AtomicU64,
    /// Microseconds, by activity.
    spent: [AtomicU64; Doing::ALL.len()],
}

const DOING_BITS: u32 = 3;

impl Activity {
    pub fn new(workers: usize) -> Self {
        Self {
            time: Awake::start(),
            clocks: (0..workers).map(|_| Clock::default()).collect(),
            notes: Mutex::default(),
            notes_dropped: AtomicU64::new(0),
        }
    }

    /// Sets the worker's activity; returns the previous one.
    pub fn begin(&self, worker: usize, doing: Doing) -> Doing {
        let Some(clock) = self.clocks.get(worker) else { return Doing::Nothing };
        let last = clock.since.load(Relaxed);
        let did = Doing::ALL.into_iter().find(|did| *did as u64 == last & ((1 << DOING_BITS) - 1));
        let did = did.unwrap_or(Doing::Nothing);
        if did == doing {
            return did;
        }
        let now = self.now();
        if let Some(spent) = clock.spent.get((last & ((1 << DOING_BITS) - 1)) as usize) {
            spent.fetch_add(now.saturating_sub(last >> DOING_BITS), SeqCst);
        }
        clock.since.store(now << DOING_BITS | doing as u64, SeqCst);
        did
    }

    /// Microseconds since the start.
    fn now(&self) -> u64 {
        self.time.now().min(u64::MAX >> DOING_BITS)
    }

    /// Must be called several times a second while workers compute.
    pub fn tick(&self) {
        self.time.tick();
    }

    /// The times of all workers so far.
    pub fn times(&self) -> Vec<WorkerTimes> {
        self.tick();
        let now = self.now();
        self.clocks.iter().map(|clock| clock.read(now)).collect()
    }

    /// Notes an event of one of this host's own jobs.
    pub fn note(&self, note: impl FnOnce() -> JobNote) {
        let mut notes = self.notes.lock();
        if notes.len() < NOTES_MAX {
            notes.push((Instant::now(), note()));
        } else {
            drop(notes);
            self.notes_dropped.fetch_add(1, Relaxed);
        }
    }

    /// The notes since the last time, and how many were left out.
    pub fn take_notes(&self) -> (Vec<JobNote>, u64) {
        let notes = std::mem::take(&mut *self.notes.lock());
        let notes = notes.into_iter().map(|(when, mut note)| {
            note.ago_ms = u32::try_from(when.elapsed().as_millis()).unwrap_or(u32::MAX);
            note
        });
        (notes.collect(), self.notes_dropped.swap(0, Relaxed))
    }
}

impl Clock {
    fn read(&self, now: u64) -> WorkerTimes {
        let mut spent = [0; Doing::ALL.len()];
        for _ in 0..READS_MAX {
            let since = self.since.load(SeqCst);
            spent = std::array::from_fn(|doing| self.spent[doing].load(SeqCst));
            if self.since.load(SeqCst) == since {
                let doing = (since & ((1 << DOING_BITS) - 1)) as usize;
                if let Some(spent) = spent.get_mut(doing) {
                    *spent += now.saturating_sub(since >> DOING_BITS);
                }
                break;
            }
        }
        let ms = |doing: Doing| spent[doing as usize] / 1000;
        WorkerTimes {
            work_ms: ms(Doing::Work),
            recover_ms: ms(Doing::Recover),
            steal_ms: ms(Doing::Steal),
            wait_ms: ms(Doing::Wait),
            others_ms: ms(Doing::Others),
        }
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::JobTag;
    use sateen_protocol::message::NoteKind;

    use super::*;

    #[test]
    fn time_is_spent_on_one_thing_at_once() {
        let activity = Activity::new(2);
        let begun = activity.now();
        activity.begin(0, Doing::Work);
        activity.begin(0, Doing::Wait);
        activity.begin(0, Doing::Work);
        activity.begin(7, Doing::Work);
        let later = begun + 5_000_000;
        let times = activity.clocks[0].read(later);
        let all = times.work_ms + times.recover_ms + times.steal_ms + times.wait_ms;
        assert!(all <= 5000 && times.work_ms + 20 >= all, "{times:?}");
        assert_eq!(activity.clocks[1].read(later), WorkerTimes::default());
    }

    #[test]
    fn notes_beyond_the_bound_are_counted() {
        let activity = Activity::new(1);
        for job in 0..NOTES_MAX as u64 + 3 {
            activity.note(|| JobNote {
                job: JobTag(job),
                parent: None,
                kind: 0,
                depth: 1,
                what: NoteKind::Failed,
                ago_ms: 0,
                parameters: None,
                shares: false,
            });
        }
        let (notes, dropped) = activity.take_notes();
        assert_eq!((notes.len(), dropped), (NOTES_MAX, 3));
        assert_eq!(activity.take_notes(), (Vec::new(), 0));
    }
}
