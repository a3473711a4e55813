//! Answers to searches, sent in pieces.
//!
//! A request of a few bytes may have an answer of megabytes. So an answer is read from the table a piece at a time,
//! the nearest entries first, and each host is sent pieces at a bounded rate after a first burst. Entries that arrive
//! while an answer is under way reach its host like those below any job to which it is subscribed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::limits::{
    ANSWER_BURST_BYTES, ANSWER_BYTES_PER_SECOND, CIRCLE_OF_ENTRIES_MAX, EARLIER_BYTES_PER_SECOND,
    ENTRIES_PER_MESSAGE_MAX, INTRODUCED_AT_ONCE_MAX, MESSAGE_PART_BYTES, SEARCHES_ANSWERED_AT_ONCE_MAX,
};
use crate::message::ToHost;
use crate::{Entry, HostId, JobKey, RunId, Time};

use super::Coordinator;
use super::roster::Roster;
use super::run::CoordinatorRun;

/// The size that an answer without entries counts as.
const EMPTY_BYTES: usize = 64;

/// The entries of a job and below it that are being sent to a host.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub run: RunId,
    pub key: JobKey,
    /// The host waits for the end.
    is_awaited: bool,
    /// Its entries are results of earlier runs, for which a root waits.
    is_of_earlier: bool,
    /// The job's own entry was read.
    is_begun: bool,
    /// The last entry below it that was read.
    after: Option<(u32, JobKey)>,
}

impl Answer {
    /// Answers a search, whose host waits for the end.
    pub fn to_search(run: RunId, key: JobKey) -> Self {
        Self { run, key, is_awaited: true, is_of_earlier: false, is_begun: false, after: None }
    }

    /// Entries that were not asked for.
    pub fn unasked(run: RunId, key: JobKey) -> Self {
        Self { is_awaited: false, ..Self::to_search(run, key) }
    }

    /// Results of earlier runs that a host is sent before it has a root below which it may find them.
    pub fn of_earlier(run: RunId, key: JobKey) -> Self {
        Self { is_of_earlier: true, ..Self::unasked(run, key) }
    }

    /// Bytes of it that a host is sent per second after the first burst.
    fn bytes_per_second(&self) -> u64 {
        if self.is_of_earlier { EARLIER_BYTES_PER_SECOND } else { ANSWER_BYTES_PER_SECOND }
    }

    /// Reads the next piece, of at most `most` entries; returns it, and whether it is the last.
    fn read(&mut self, coordinator_run: &CoordinatorRun, most: usize) -> (Vec<Entry>, bool) {
        let (mut entries, mut bytes) = (Vec::new(), 0);
        let tag = self.key.tag();
        if !std::mem::replace(&mut self.is_begun, true) {
            entries.extend(coordinator_run.ledger.table().get(&self.key).cloned());
        }
        for (place, entry) in coordinator_run.ledger.table().below_after(tag, self.after) {
            bytes += entry.bytes();
            if entries.len() >= most || (bytes > MESSAGE_PART_BYTES && !entries.is_empty()) {
                return (entries, false);
            }
            self.after = Some(place);
            entries.push(entry.clone());
        }
        (entries, true)
    }
}

/// The work that one event may still do for answers.
pub struct Room {
    entries: usize,
    introductions: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { entries: ENTRIES_PER_MESSAGE_MAX, introductions: INTRODUCED_AT_ONCE_MAX }
    }
}

/// The answers to a host.
struct Asker {
    due: Time,
    answers: VecDeque<Answer>,
}

/// All answers that are under way.
#[derive(Default)]
pub struct Answers {
    askers: BTreeMap<HostId, Asker>,
    due: BTreeSet<(Time, HostId)>,
    len: usize,
}

impl Answers {
    /// The number of answers under way.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of answers to a host.
    pub fn len_of(&self, host: HostId) -> usize {
        self.askers.get(&host).map_or(0, |asker| asker.answers.len())
    }

    /// Whether a host has not been sent all results of earlier runs that it is to have for a run.
    pub fn has_earlier(&self, host: HostId, run: RunId) -> bool {
        let answers = self.askers.get(&host).into_iter().flat_map(|asker| &asker.answers);
        answers.into_iter().any(|answer| answer.is_of_earlier && answer.run == run)
    }

    /// The number of entries still to be read for all of them, plus one for the end of each.
    pub fn left(&self, runs: &Roster) -> usize {
        let answers = self.askers.values().flat_map(|asker| &asker.answers);
        let left = answers.map(|answer| {
            let below = |coordinator_run: &CoordinatorRun| {
                coordinator_run.ledger.table().below_after(answer.key.tag(), answer.after).count()
            };
            1 + usize::from(!answer.is_begun) + runs.get(&answer.run).map_or(0, below)
        });
        left.sum()
    }

    /// Adds an answer, to be sent from `due` on unless others to the same host are under way.
    pub fn push(&mut self, host: HostId, due: Time, answer: Answer) {
        let asker = self.askers.entry(host).or_insert_with(|| {
            self.due.insert((due, host));
            Asker { due, answers: VecDeque::new() }
        });
        asker.answers.push_back(answer);
        self.len += 1;
    }

    /// The host is gone, or no longer waits for any answer.
    pub fn forget_host(&mut self, host: HostId) {
        if let Some(asker) = self.askers.remove(&host) {
            self.due.remove(&(asker.due, host));
            self.len -= asker.answers.len();
        }
    }

    /// When the next piece is due.
    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    fn pop(&mut self, now: Time) -> Option<(HostId, Answer)> {
        let (due, host) = self.due.first().copied().filter(|(due, _)| now >= *due)?;
        self.due.remove(&(due, host));
        let answer = self.askers.get_mut(&host)?.answers.pop_front()?;
        self.len -= 1;
        Some((host, answer))
    }

    /// After [`pop`](Self::pop): the rest of the answer, and when the host may be sent more.
    fn put_back(&mut self, host: HostId, due: Time, rest: Option<Answer>) {
        let Some(asker) = self.askers.get_mut(&host) else { return };
        if let Some(rest) = rest {
            asker.answers.push_front(rest);
            self.len += 1;
        }
        if asker.answers.is_empty() {
            self.askers.remove(&host);
        } else {
            asker.due = due;
            self.due.insert((due, host));
        }
    }
}

impl Coordinator {
    /// Sends a host the entries of a job and below it, and subscribes it to new ones.
    pub(super) fn begin_answer(&mut self, now: Time, host: HostId, answer: Answer) {
        if !self.hosts.contains_key(&host) {
            return;
        }
        self.subscribe(host, &answer);
        self.continue_answer(now, host, answer);
    }

    /// A host is sent new entries of what it was sent an answer about.
    pub(super) fn subscribe(&mut self, host: HostId, answer: &Answer) {
        if let Some(coordinator_run) = self.runs.get_mut(&answer.run) {
            coordinator_run.ledger.subscribe(host, answer.key.tag());
        }
    }

    fn continue_answer(&mut self, now: Time, host: HostId, answer: Answer) {
        let Some(state) = self.hosts.get(&host) else { return };
        let due = now.max(state.paces.answers_from());
        self.lookups.answers().push(host, due, answer);
    }

    /// Sends the first piece at once, whatever else is under way to the host.
    pub(super) fn send_ahead(&mut self, now: Time, host: HostId, answer: Answer) {
        self.subscribe(host, &answer);
        self.send_once(now, host, answer);
    }

    /// The same, without new entries that come later.
    pub(super) fn send_once(&mut self, now: Time, host: HostId, answer: Answer) {
        if let Some(rest) = self.send_piece(now, host, answer, &mut Room::default()) {
            self.continue_answer(now, host, rest);
        }
    }

    /// Sends pieces that are due; some now, the others in events that follow at once.
    pub(super) fn send_answers(&mut self, now: Time) {
        let (mut room, mut is_earlier_sent) = (Room::default(), false);
        for _ in 0..SEARCHES_ANSWERED_AT_ONCE_MAX {
            if room.entries == 0 {
                break;
            }
            let Some((host, answer)) = self.lookups.answers().pop(now) else { break };
            let rest = self.send_piece(now, host, answer, &mut room);
            is_earlier_sent |= answer.is_of_earlier && rest.is_none();
            let due = self.hosts.get(&host).map_or(now, |state| now.max(state.paces.answers_from()));
            self.lookups.answers().put_back(host, due, rest);
        }
        if is_earlier_sent {
            self.assign_roots(now);
        }
    }

    /// Sends the next piece of an answer, and returns the rest of the answer.
    pub(super) fn send_piece(
        &mut self,
        now: Time,
        host: HostId,
        mut answer: Answer,
        room: &mut Room,
    ) -> Option<Answer> {
        let (entries, is_last) = match self.runs.get(&answer.run) {
            Some(coordinator_run) => answer.read(coordinator_run, room.entries),
            None => (Vec::new(), true),
        };
        room.entries -= entries.len().min(room.entries);
        let bytes = EMPTY_BYTES + entries.iter().map(Entry::bytes).sum::<usize>();
        if let Some(state) = self.hosts.get_mut(&host) {
            let takes_ns = bytes as u64 * 1_000_000_000 / answer.bytes_per_second();
            state.paces.answers_paid = state.paces.answers_paid.max(now) + Duration::from_nanos(takes_ns);
        }
        let Answer { run, key, .. } = answer;
        if !entries.is_empty() {
            self.send_entries(now, host, (run, Some(key)), entries, &mut room.introductions);
        }
        if is_last && answer.is_awaited {
            self.send(host, ToHost::Found { run, key });
        }
        (!is_last).then_some(answer)
    }

    /// Sends entries of one message, after introducing the host to the hosts of the first of them; if it knows many
    /// already, only to the host of the job that it searched for. If it needs one of the others, it searches
    /// for that job, and is introduced then.
    pub(super) fn send_entries(
        &mut self,
        now: Time,
        host: HostId,
        (run, searched): (RunId, Option<JobKey>),
        entries: Vec<Entry>,
        introductions: &mut usize,
    ) {
        let mut introduced = BTreeSet::new();
        let places = entries.iter().filter_map(|entry| Some((entry.key, entry.state.place()?)));
        for (key, place) in places {
            if *introductions == 0 {
                break;
            }
            let is_small = |host| self.circles.len_of(host) < CIRCLE_OF_ENTRIES_MAX;
            let is_due = searched == Some(key) || (is_small(host) && is_small(place));
            if is_due && introduced.insert(place) {
                *introductions -= 1;
                self.introduce(now, host, place);
            }
        }
        self.send(host, ToHost::Entries { run, entries });
    }
}

/// Time that a burst would take at the steady rate.
pub const BURST: Duration = time_of(ANSWER_BURST_BYTES);
/// Time that a piece takes at the steady rate.
pub const PIECE: Duration = time_of(MESSAGE_PART_BYTES);

const fn time_of(bytes: usize) -> Duration {
    Duration::from_nanos(bytes as u64 * 1_000_000_000 / ANSWER_BYTES_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_and_sent_in_order_of_their_due_times() {
        let (one, other) = (HostId(1), HostId(2));
        let answer = |job: u8| Answer::to_search(RunId(1), JobKey([job; 32]));
        let mut answers = Answers::default();
        for (host, due, job) in [(one, 5, 1), (one, 1, 2), (other, 3, 3)] {
            answers.push(host, Time(due), answer(job));
        }
        let lengths = |answers: &Answers| (answers.len(), answers.len_of(one), answers.len_of(other));
        assert_eq!((lengths(&answers), answers.next()), ((3, 2, 1), Some(Time(3))));
        assert!(answers.pop(Time(2)).is_none());
        let (host, popped) = answers.pop(Time(3)).expect("it is due");
        assert_eq!((host, popped.key), (other, JobKey([3; 32])));
        answers.put_back(other, Time(8), Some(popped));
        assert_eq!((lengths(&answers), answers.next()), ((3, 2, 1), Some(Time(5))));
        let (host, popped) = answers.pop(Time(5)).expect("it is due");
        assert_eq!((host, popped.key), (one, JobKey([1; 32])));
        answers.put_back(one, Time(6), None);
        assert_eq!((lengths(&answers), answers.next()), ((2, 1, 1), Some(Time(6))));
        answers.forget_host(one);
        assert_eq!((lengths(&answers), answers.next()), ((1, 0, 1), Some(Time(8))));
        answers.forget_host(other);
        assert_eq!((lengths(&answers), answers.next()), ((0, 0, 0), None));
    }
}
