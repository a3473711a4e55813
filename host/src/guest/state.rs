//! What the host knows of one instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use sateen_protocol::message::NoteKind;
use sateen_protocol::{Bytes, JobTag};
use wasmtime::{Caller, Global, Memory, ResourceLimiter, StoreContextMut};

use super::catch_up::{Before, CatchUp};
use super::clock::Clock;
use super::grain::{Grain, exposure_cost};
use super::memory::{room, write};
use super::objects::GuestObjects;
use super::pace::Pace;
use super::profile::Profile;
use super::task::Assignment;
use crate::failure::{JobFailure, Stop};
use crate::limits::LimitExceeded;
use crate::memory::{Claim, NoRoom};
use crate::portion::Notice;
use crate::scheduler::{
    Alarm, Ancestry, CALM, Doing, Job, LazyKey, Place, ROOT, Remote, Shared, Task, TaskId, end_turn,
    own_index,
};

/// A line that a guest wrote to its run's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The job that the instance runs.
    pub job: String,
    /// The same as the tree of the run has it, if that is spread over hosts.
    pub tag: Option<JobTag>,
    /// What it wrote.
    pub text: String,
}

/// Bytes that wait for the guest to take them.
pub enum Offered {
    Owned(Vec<u8>),
    Shared(Arc<[u8]>),
    /// Each with its length in four bytes before it.
    Pieces(Vec<Bytes>),
}

impl Offered {
    pub fn len(&self) -> usize {
        match self {
            Self::Owned(bytes) => bytes.len(),
            Self::Shared(bytes) => bytes.len(),
            Self::Pieces(pieces) => pieces.iter().map(|piece| 4 + piece.len()).sum(),
        }
    }

    /// Writes all to the guest's memory.
    pub fn write(&self, caller: &mut Caller<'_, Guest>, address: u32) -> wasmtime::Result<()> {
        match self {
            Self::Owned(bytes) => write(caller, address, bytes),
            Self::Shared(bytes) => write(caller, address, bytes),
            Self::Pieces(pieces) => {
                let mut room = room(caller, address, self.len())?;
                for piece in pieces {
                    let (length, rest) = room.split_at_mut(4);
                    length.copy_from_slice(&(piece.len() as u32).to_le_bytes());
                    let (place, rest) = rest.split_at_mut(piece.len());
                    place.copy_from_slice(piece);
                    room = rest;
                }
                Ok(())
            }
        }
    }
}

/// A job kind as this instance spawns it.
pub struct LiveKind {
    /// Its number in the app.
    pub kind: usize,
    /// Where its record is in the guest's memory.
    pub address: u32,
    /// Spawns that were counted already, and those dropped without a sync.
    pub spawned: u64,
    pub dropped: u64,
    /// Spawns since its grain was judged.
    pub unjudged: u64,
    /// Whether each of its spawns is exposed.
    pub grain: Grain,
}

/// So many of a job's recorded ancestors within its instance travel with it.
const RECORDED_ABOVE_MAX: usize = 16;
/// A guest that has offered a job that is too short is left alone for so many beats.
const QUIET_BEATS: u32 = 8;

/// A job that the guest calls in place and whose result it will report.
pub struct Recording {
    pub number: u32,
    pub job: Arc<Job>,
    pub key: Arc<LazyKey>,
    /// It, or a job above it, was lost in a crash.
    pub is_redone: bool,
    /// If it was begun before: what is to be as before when it ends.
    pub before: Option<Before>,
    /// How deep spawns were looked up outside of it.
    pub lookup_bound: u32,
    /// Where the clock stood.
    pub work: Duration,
    pub span: Duration,
    /// Work within it, but not within another recording, whose result others can have.
    pub saved: Duration,
}

/// The data of an instance's store.
pub struct Guest {
    pub shared: Arc<Shared>,
    pub task: TaskId,
    pub assignment: Assignment,
    /// Where its job stands in a run of many hosts.
    pub ancestry: Option<Arc<Ancestry>>,
    /// Spawns from less than this depth are looked up, while lookups may find anything.
    pub lookup_bound: u32,
    /// What the guest was told of it last.
    pub lookup_below: u32,
    /// What it was told last of how deep jobs are that take long.
    shield_below: u32,
    /// A job that this guest had begun in an instance of its own rather than call it in place.
    pub begun: Option<Arc<Job>>,
    /// See [`Task`].
    pub is_urgent: Arc<AtomicBool>,
    /// Calls in place that will be reported, the innermost last.
    pub recordings: Vec<Recording>,
    /// Work outside of them whose result others can have.
    pub saved: Duration,
    /// The least of its work that was not saved at any heartbeat since its host began to leave.
    pub least_unsaved: Option<Duration>,
    /// When more jobs are exposed than those who are hungry need.
    pub pace: Pace,
    /// The run's beats that it has counted.
    beats: u64,
    /// For so many beats it is not asked for jobs.
    quiet_beats: u32,
    pub memory: Option<Memory>,
    /// Points to the end of the stack that the guest keeps in its memory, if it shows that.
    pub stack_pointer: Option<Global>,
    /// Where the control words are, of which the alarm's come first.
    pub control: Option<u32>,
    pub kinds: Vec<LiveKind>,
    children: Vec<Option<Arc<Job>>>,
    free_numbers: Vec<u32>,
    pub offered: Offered,
    pub objects: GuestObjects,
    /// How the child failed that was synced last.
    pub child_failure: Option<JobFailure>,
    /// What the trap will mean that a panic ends in.
    pub panic: Option<Stop>,
    pub clock: Clock,
    /// What of its work is repeated.
    pub catch_up: CatchUp,
    /// In a run that is profiled.
    pub profile: Option<Profile>,
    /// On the host's memory, if that is bounded.
    claim: Option<Claim>,
}

impl Guest {
    pub fn new(shared: Arc<Shared>, task: Task, assignment: Assignment) -> Self {
        let profile = shared.profiler().map(|_| Profile::new());
        let mut clock = Clock::start();
        if profile.is_some() {
            clock.be_exact();
        }
        let is_given_back = task.ancestry.as_ref().is_some_and(|ancestry| ancestry.given_back);
        let every = shared.remote.as_ref().and_then(|remote| remote.parts.record_every);
        Self {
            catch_up: CatchUp::new(every, task.repeats, is_given_back),
            task: task.id,
            assignment,
            ancestry: task.ancestry,
            lookup_bound: 0,
            lookup_below: 0,
            shield_below: 0,
            begun: None,
            is_urgent: task.is_urgent,
            recordings: Vec::new(),
            saved: Duration::ZERO,
            least_unsaved: None,
            pace: Pace::default(),
            beats: shared.tempo.beats(),
            quiet_beats: 0,
            memory: None,
            stack_pointer: None,
            control: None,
            kinds: Vec::new(),
            children: Vec::new(),
            free_numbers: Vec::new(),
            offered: Offered::Owned(task.parameters),
            objects: GuestObjects::default(),
            child_failure: None,
            panic: None,
            clock,
            profile,
            claim: shared.memory().map(|memory| memory.claim(&shared, task.id)),
            shared,
        }
    }

    /// The job that this instance runs.
    pub fn job_name(&self) -> &str {
        match &self.assignment {
            Assignment::Root { name, .. } => name,
            Assignment::Job(job) => self.shared.job_name(job.kind),
        }
    }

    /// Spawns below the root, of its job.
    pub fn depth_below_root(&self) -> u32 {
        match &self.assignment {
            Assignment::Root { .. } => 0,
            Assignment::Job(job) => job.depth,
        }
    }

    /// Tells the driver that its job has begun, if that is another host's.
    pub fn announce_begun(&self) {
        if let Assignment::Job(job) = &self.assignment
            && let Some(held) = job.place.as_ref().and_then(Place::held)
            && let Some(remote) = &self.shared.remote
        {
            let worker = own_index().and_then(|worker| u32::try_from(worker).ok()).unwrap_or(0);
            remote.notify(Notice::Begun { held, worker });
        }
    }

    /// Whether this instance runs the run's root.
    pub fn is_root(&self) -> bool {
        match &self.assignment {
            Assignment::Root { .. } => true,
            Assignment::Job(job) => job.kind == ROOT,
        }
    }

    /// Sleeps, with its worker, while the portion is paused or others have their turn.
    pub fn stand_still(&self) {
        let Some(remote) = &self.shared.remote else {
            end_turn();
            return self.shared.begin_turn(|| self.check().is_err());
        };
        let worker = own_index().unwrap_or(usize::MAX);
        // Taken down before the turn ends: whoever gets it may take this very core.
        let stands = if self.shared.is_paused() { Doing::Nothing } else { Doing::Others };
        let did = remote.activity.begin(worker, stands);
        end_turn();
        remote.pause.wait(|| self.check().is_err());
        self.shared.begin_turn(|| self.check().is_err());
        remote.activity.begin(worker, did);
    }

    /// Whether this instance has computed for so long that it should expose jobs for their results to be
    /// recorded.
    pub fn is_time_to_record(&mut self) -> bool {
        let Some(every) = self.record_every() else { return false };
        let work = self.clock.own_work();
        self.pace.is_time(every, work)
    }

    /// Whether another exposed job is welcome.
    pub fn exposes_more(&mut self) -> bool {
        if self.outstanding() >= self.shared.limits().exposed_jobs_max {
            return false;
        }
        match self.pace.takes_more() {
            _ if self.shared.is_draining() => true,
            Some(false) if self.shared.is_hungry() => self.shared.takes_more(),
            Some(false) => {
                self.pace.end();
                false
            }
            Some(true) => true,
            None => self.shared.takes_more(),
        }
    }

    /// The beats since they were counted last: none if guests were only made to look up. Those in which it waited do
    /// not count.
    pub fn count_beats(&mut self) -> u32 {
        let now = self.shared.tempo.beats();
        let beats = now.saturating_sub(std::mem::replace(&mut self.beats, now)).min(CALM) as u32;
        self.quiet_beats = self.quiet_beats.saturating_sub(beats.max(1));
        beats
    }

    /// What it is asked to expose now.
    pub fn alarm(&self) -> Option<Alarm> {
        self.shared.alarm().filter(|alarm| self.quiet_beats == 0 || *alarm == Alarm::All)
    }

    /// Whether a job spawned from `depth`, with so many bytes of parameters, takes too short for others. Nothing
    /// is asked for then for a while: the guest writes the parameters of all that it offers.
    pub fn turns_down(&mut self, kind: usize, depth: u32, bytes: usize) -> bool {
        let is_too_short = !self.shared.is_draining()
            && !self.shared.is_pristine()
            && self.shared.grains.turns_down(kind, self.depth_of(depth), exposure_cost(bytes));
        if is_too_short {
            self.quiet_beats = QUIET_BEATS;
        }
        is_too_short
    }

    /// How deep below the run's root a job is that is spawned from `depth`.
    pub fn depth_of(&self, depth: u32) -> u32 {
        self.depth_below_root().saturating_add(depth).saturating_add(1)
    }

    /// How often finished work is to be recorded.
    pub fn record_every(&self) -> Option<Duration> {
        self.shared.remote.as_ref()?.parts.record_every
    }

    /// Counts the copy of its result, in bytes.
    pub fn claim_result(&self, bytes: usize) {
        if let Some(claim) = &self.claim {
            claim.add_result(bytes);
        }
    }

    /// Whether this instance is to stop.
    pub fn check(&self) -> Result<(), Stop> {
        if self.shared.is_stopping() {
            return Err(Stop::Stopped);
        }
        if self.claim.as_ref().is_some_and(Claim::is_evicted) {
            return Err(Stop::Evicted);
        }
        match &self.assignment {
            Assignment::Job(job) if job.is_aborted() => Err(Stop::Aborted),
            _ => Ok(()),
        }
    }

    /// How many exposed jobs have not been synced.
    pub fn outstanding(&self) -> usize {
        self.children.len() - self.free_numbers.len()
    }

    /// Keeps an exposed job under a number from 1 upwards.
    pub fn add_child(&mut self, job: Arc<Job>) -> u32 {
        match self.free_numbers.pop() {
            Some(number) => {
                self.children[number as usize - 1] = Some(job);
                number
            }
            None => {
                self.children.push(Some(job));
                self.children.len() as u32
            }
        }
    }

    /// Gives up an exposed job's number; `None` if it is not in use.
    pub fn remove_child(&mut self, number: u32) -> Option<Arc<Job>> {
        let job = self.take_child(number)?;
        self.free_number(number);
        Some(job)
    }

    /// An exposed job that has not been synced.
    pub fn child(&self, number: u32) -> Option<&Arc<Job>> {
        self.children.get((number as usize).checked_sub(1)?)?.as_ref()
    }

    /// As `remove_child`, but the number is not given out again before it is freed.
    pub fn take_child(&mut self, number: u32) -> Option<Arc<Job>> {
        self.children.get_mut((number as usize).checked_sub(1)?)?.take()
    }

    pub fn free_number(&mut self, number: u32) {
        self.free_numbers.push(number);
    }

    /// The calls that will be recorded and that a job is within which was spawned at this depth: what is
    /// recorded of it is superfluous when one of them is. The innermost suffice.
    pub fn recorded_above(&self, depth: u32) -> Vec<Arc<LazyKey>> {
        let above: Vec<&Recording> =
            self.recordings.iter().filter(|recording| recording.job.spawned_at < depth).collect();
        let skipped = above.len().saturating_sub(RECORDED_ABOVE_MAX);
        above.into_iter().skip(skipped).map(|recording| recording.key.clone()).collect()
    }

    /// Whether a spawn from this depth is of a job called in place that was lost in a crash.
    pub fn is_redone_above(&self, depth: u32) -> bool {
        self.recordings.iter().any(|recording| recording.is_redone && recording.job.spawned_at < depth)
    }

    /// How deep the spawns are to be looked up that are below `job`, which comes back to be called in place.
    pub fn own_lookup_bound(&self, job: &Job) -> u32 {
        let below = job.place.as_ref().map_or(0, |place| place.lookup_below.load(SeqCst));
        below.saturating_sub(self.ancestry.as_ref().map_or(0, |ancestry| ancestry.depth))
    }

    /// Spawns from less than this depth are to be looked up now, as far as the guest knows of it.
    pub fn looks_up_below(&self) -> u32 {
        self.lookup_bound.min(self.lookup_below)
    }

    /// The recording of the job `number` comes to its end; those within it trapped and never will.
    pub fn end_recording(&mut self, number: u32, what: fn(work_ns: u64) -> NoteKind) -> Option<Recording> {
        let at = self.recordings.iter().rposition(|recording| recording.number == number)?;
        self.forget_recordings(at + 1);
        let recording = self.recordings.pop();
        if let Some(recording) = &recording {
            self.lookup_bound = recording.lookup_bound;
            self.end_repeating(recording, what);
        }
        self.free_number(number);
        recording
    }

    /// All recordings but the first `kept` have come to a bad end.
    pub fn forget_recordings(&mut self, kept: usize) {
        while self.recordings.len() > kept {
            if let Some(recording) = self.recordings.pop() {
                self.lookup_bound = recording.lookup_bound;
                self.end_repeating(&recording, |_| NoteKind::Failed);
                self.free_number(recording.number);
            }
        }
    }
}

impl Drop for Guest {
    /// What an instance spawned is of no use when it is gone.
    fn drop(&mut self) {
        for job in self.children.drain(..).flatten() {
            self.shared.abandon(&job);
        }
        for recording in std::mem::take(&mut self.recordings) {
            self.end_repeating(&recording, |_| NoteKind::Aborted);
        }
        if let Some(claim) = &self.claim {
            self.shared.note_size(claim.bytes());
        }
    }
}

/// Growth beyond a limit traps: a guest that could see it fail would behave differently under
/// another limit.
impl ResourceLimiter for Guest {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let limit = self.shared.limits().memory_bytes_max;
        if desired > limit {
            let exceeded = LimitExceeded::Memory { asked: desired as u64, limit };
            return Err(wasmtime::Error::new(Stop::Limit(exceeded)));
        }
        if let Some(claim) = &self.claim {
            claim.grow_to(desired).map_err(|NoRoom| wasmtime::Error::new(Stop::Evicted))?;
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let limit = self.shared.limits().table_elements_max;
        if desired > limit {
            return Err(wasmtime::Error::new(Stop::Limit(LimitExceeded::Table { asked: desired, limit })));
        }
        Ok(true)
    }
}

/// The two words of a sounded alarm: `limit = 0`, and `floor = MAX` or, for all that is latent,
/// `floor = MAX - 1`; see the SDK's `wasm/latent/`.
const OLDEST: [u8; 8] = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
const ALL: [u8; 8] = [0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff];
/// Where `depth` is among the control words, and `lookup_below` and `shield_below`.
const DEPTH: usize = 8;
const LOOKUP_BELOW: usize = 12;
const SHIELD_BELOW: usize = 16;
/// Where `news` is.
pub const NEWS: usize = 20;

/// Makes the guest look up at its next spawn or sync.
pub fn sound_alarm(store: StoreContextMut<'_, Guest>, alarm: Alarm) {
    let words = match alarm {
        Alarm::Oldest => OLDEST,
        Alarm::All => ALL,
    };
    write_control(store, 0, &words);
}

/// Tells the guest how deep its spawns are looked up, if that is news; true if it was.
pub fn update_lookup_below(mut store: StoreContextMut<'_, Guest>) -> bool {
    let guest = store.data_mut();
    let looks_up = guest.shared.remote.as_ref().is_some_and(Remote::looks_up);
    let below = if looks_up { guest.lookup_bound } else { 0 };
    if below == guest.lookup_below {
        return false;
    }
    guest.lookup_below = below;
    write_control(store, LOOKUP_BELOW, &below.to_le_bytes());
    true
}

/// Tells the guest down to which depth the jobs of its sets are not to be called in place without asking.
pub fn update_shield_below(mut store: StoreContextMut<'_, Guest>) {
    let guest = store.data_mut();
    let shared = &guest.shared;
    if !shared.app.0.has_sets || !shared.exposes() {
        return;
    }
    let below = shared.grains.long_levels(guest.depth_below_root());
    if below != guest.shield_below {
        guest.shield_below = below;
        write_control(store, SHIELD_BELOW, &below.to_le_bytes());
    }
}

/// In how many calls in place the guest is, as it says. It has made none before it has shown its control words.
pub fn depth(caller: &Caller<'_, Guest>) -> u32 {
    let guest = caller.data();
    let (Some(memory), Some(control)) = (guest.memory, guest.control) else { return 0 };
    let at = control as usize + DEPTH;
    let word = memory.data(caller).get(at..at + 4).and_then(|word| word.first_chunk());
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// What is outside the guest's memory is the guest's own loss.
pub fn write_control(mut store: StoreContextMut<'_, Guest>, offset: usize, words: &[u8]) {
    let guest = store.data();
    let (Some(memory), Some(control)) = (guest.memory, guest.control) else { return };
    let at = control as usize + offset;
    if let Some(room) = memory.data_mut(&mut store).get_mut(at..at + words.len()) {
        room.copy_from_slice(words);
    }
}
