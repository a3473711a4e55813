//! Latent jobs: spawning at the price of a few stores.
//!
//! A spawned job is a *record* on a stack in the guest's own memory: a pointer to its kind, and its
//! parameters by value. Its sync finds the record on top, pops it and makes a plain call; nothing is
//! serialised (TOPLAS 4.1.1, serialisation on demand; Acar et al., PLDI 2018, heartbeat scheduling).
//!
//! ```text
//!  base            real_floor                    top        end
//!   | exposed, holes |  latent, holes             |   free   |
//! ```
//!
//! * Records below `real_floor` are exposed (offered to the host under a number) or *holes* (synced
//!   out of order). Records above are latent or holes. So exposing goes from the oldest upwards, and
//!   "latent" is one comparison.
//! * The **alarm**: the host's heartbeat writes `limit = 0` and `floor = MAX`. Both fast paths
//!   compare against these words anyway, fail, and land in the slow path, which writes the true
//!   values back and exposes the oldest latent record. An alarm costs the fast path nothing.
//! * A job kind that is *coarse* (seldom spawned, so long-running for all that is known) is exposed
//!   at every spawn: nobody may come by later to do it.
//! * When the stack is full, holes at its end are swept away; if that does not help, a job runs at
//!   its spawn. Older ones are there to be exposed, so nothing is lost but order.
//!
//! The words that the host writes are read volatile: the compiler may not keep them in a register
//! across a loop without calls.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::{align_of, forget, size_of};
use std::ptr::{read, read_volatile, write, write_volatile};

use super::abi::{self, Fault, Synced};
use crate::{Job, JobError, codec};

const STACK_BYTES: usize = 512 * 1024;
/// Parameters beyond this size, or aligned beyond 8, are kept in a box of their own.
const INLINE_BYTES_MAX: usize = 256;

const HEADER: usize = size_of::<Header>();
/// Marks in a header's kind pointer, whose low bits are free.
const HOLE: usize = 1;
const EXPOSED: usize = 2;
const MARKS: usize = HOLE | EXPOSED;

/// In front of each record's parameters.
#[repr(C)]
struct Header {
    /// The kind's address and the marks.
    kind: usize,
    /// An exposed job's number.
    job: u32,
}

#[repr(C, align(8))]
struct Stack {
    bytes: UnsafeCell<[u8; STACK_BYTES]>,
}

/// Where the stack stands. The first two words are the alarm's; see the module's text.
#[repr(C)]
struct Control {
    limit: UnsafeCell<usize>,
    floor: UnsafeCell<usize>,
    top: UnsafeCell<usize>,
    real_floor: UnsafeCell<usize>,
    /// Spawns to let pass before a full stack is swept again.
    sweep_after: UnsafeCell<u32>,
}

// SAFETY: a guest has one thread.
unsafe impl Sync for Stack {}
// SAFETY: a guest has one thread; the host writes only while that thread is inside a check or call.
unsafe impl Sync for Control {}
// SAFETY: as for `Control`.
unsafe impl Sync for Kind {}

static STACK: Stack = Stack { bytes: UnsafeCell::new([0; STACK_BYTES]) };
static CONTROL: Control = Control {
    limit: UnsafeCell::new(0),
    floor: UnsafeCell::new(usize::MAX),
    top: UnsafeCell::new(0),
    real_floor: UnsafeCell::new(0),
    sweep_after: UnsafeCell::new(0),
};

fn base() -> usize {
    STACK.bytes.get() as usize
}

fn end() -> usize {
    base() + STACK_BYTES
}

macro_rules! word {
    ($name:ident, $set:ident, $read:path, $write:path) => {
        #[inline(always)]
        fn $name() -> usize {
            // SAFETY: one thread; the word is always initialised.
            unsafe { $read(CONTROL.$name.get()) }
        }
        #[inline(always)]
        fn $set(value: usize) {
            // SAFETY: one thread.
            unsafe { $write(CONTROL.$name.get(), value) }
        }
    };
}

word!(limit, set_limit, read_volatile, write_volatile);
word!(floor, set_floor, read_volatile, write_volatile);
word!(top, set_top, read, write);
word!(real_floor, set_real_floor, read, write);

/// Moves the boundary between exposed and latent records.
fn move_floor(to: usize) {
    set_real_floor(to);
    set_floor(to);
}

/// Takes notice of an alarm, if there is one.
fn answer_alarm() -> bool {
    let alarmed = limit() == 0;
    if alarmed {
        set_limit(end());
        set_floor(real_floor());
    }
    alarmed
}

/// Called at the start of every job that has an instance of its own.
pub fn attach() {
    set_top(base());
    set_limit(end());
    move_floor(base());
    abi::attach(CONTROL.limit.get().cast());
}

/// What the scheduler knows of a job kind. The host writes `coarse` and reads the counters, so their
/// places are part of the ABI.
#[repr(C, align(8))]
pub struct Kind {
    /// Not zero while every spawn of this kind is to be exposed: until the host has measured that
    /// it is fine, and before it is registered.
    coarse: UnsafeCell<u32>,
    /// The host's number for this kind, when registered.
    number: UnsafeCell<u32>,
    /// Spawns so far in this instance.
    spawned: UnsafeCell<u64>,
    /// Of these, latent jobs whose handle was dropped.
    dropped: UnsafeCell<u64>,
    registered: UnsafeCell<bool>,
    name: &'static str,
    record_bytes: usize,
    encode: fn(*const u8) -> Vec<u8>,
    discard: fn(*mut u8),
}

impl Kind {
    /// The kind of the job `J`.
    pub const fn of<J: Job>() -> Self {
        Self {
            coarse: UnsafeCell::new(1),
            number: UnsafeCell::new(0),
            spawned: UnsafeCell::new(0),
            dropped: UnsafeCell::new(0),
            registered: UnsafeCell::new(false),
            name: J::NAME,
            record_bytes: Record::<J>::BYTES,
            encode: Record::<J>::encode,
            discard: Record::<J>::discard,
        }
    }

    #[inline(always)]
    fn is_coarse(&self) -> bool {
        // SAFETY: one thread; the host may write between, hence volatile.
        unsafe { read_volatile(self.coarse.get()) != 0 }
    }

    #[inline(always)]
    fn count_spawn(&self) {
        // SAFETY: one thread; the host may read between, hence volatile.
        unsafe { write_volatile(self.spawned.get(), read_volatile(self.spawned.get()) + 1) }
    }

    fn count_drop(&self) {
        // SAFETY: one thread; the host only reads.
        unsafe { *self.dropped.get() += 1 }
    }

    fn number(&'static self) -> u32 {
        // SAFETY: one thread, and no reference into the cells is kept.
        unsafe {
            if !*self.registered.get() {
                *self.number.get() = abi::register(self.name, std::ptr::from_ref(self).cast_mut().cast());
                *self.registered.get() = true;
            }
            *self.number.get()
        }
    }
}

/// A record of the job `J`, by the address of its header.
struct Record<J: Job>(PhantomData<J>);

impl<J: Job> Record<J> {
    const BOXED: bool = size_of::<J::Parameters>() > INLINE_BYTES_MAX || align_of::<J::Parameters>() > 8;
    const BYTES: usize =
        HEADER + if Self::BOXED { 8 } else { size_of::<J::Parameters>().next_multiple_of(8) };

    #[inline(always)]
    fn write(record: usize, parameters: J::Parameters) {
        let place = (record + HEADER) as *mut u8;
        // SAFETY: the caller has found BYTES of free room at `record`, aligned to 8, on the stack or
        // in a box; nothing refers to it.
        unsafe {
            (*(record as *mut Header)).kind = std::ptr::from_ref(J::kind()) as usize;
            if Self::BOXED {
                place.cast::<*mut J::Parameters>().write(Box::into_raw(Box::new(parameters)));
            } else {
                place.cast::<J::Parameters>().write(parameters);
            }
        }
    }

    /// Moves the parameters out; the record is dead afterwards.
    #[inline(always)]
    fn read(record: usize) -> J::Parameters {
        let place = (record + HEADER) as *mut u8;
        // SAFETY: the record holds the parameters that `write` put there, and each record is read
        // once: by its only handle, which is consumed.
        unsafe {
            if Self::BOXED {
                *Box::from_raw(place.cast::<*mut J::Parameters>().read())
            } else {
                place.cast::<J::Parameters>().read()
            }
        }
    }

    fn encode(record: *const u8) -> Vec<u8> {
        // SAFETY: as for `read`, but the parameters stay: an unstolen job is called with them.
        unsafe {
            let place = record.add(HEADER);
            if Self::BOXED {
                codec::encode(&**place.cast::<*const J::Parameters>())
            } else {
                codec::encode(&*place.cast::<J::Parameters>())
            }
        }
    }

    fn discard(record: *mut u8) {
        drop(Self::read(record as usize));
    }
}

fn header(record: usize) -> *mut Header {
    record as *mut Header
}

fn kind_of(record: usize) -> &'static Kind {
    // SAFETY: records on the stack carry the address of a static kind, but for the marks.
    unsafe { &*(((*header(record)).kind & !MARKS) as *const Kind) }
}

fn is_marked(record: usize, mark: usize) -> bool {
    // SAFETY: `record` is a record on the stack.
    unsafe { (*header(record)).kind & mark != 0 }
}

fn mark(record: usize, mark: usize) {
    // SAFETY: `record` is a record on the stack.
    unsafe { (*header(record)).kind |= mark }
}

/// Offers the oldest latent record to the host, which may sound the alarm again at once if more is
/// wanted.
#[cold]
#[inline(never)]
fn expose_oldest() {
    let mut record = real_floor();
    while record < top() && is_marked(record, HOLE) {
        record += kind_of(record).record_bytes;
    }
    move_floor(record);
    if record >= top() {
        return;
    }
    let kind = kind_of(record);
    // The floor moves first. The host may raise the alarm within `expose`, which must not be
    // overwritten; and serialising may run code of the app's that spawns.
    let next = record + kind.record_bytes;
    move_floor(next);
    let parameters = (kind.encode)(record as *const u8);
    let job = abi::expose(kind.number(), &parameters);
    if job == 0 {
        if real_floor() == next {
            set_real_floor(record);
            if floor() != usize::MAX {
                set_floor(record);
            }
        }
        return;
    }
    mark(record, EXPOSED);
    // SAFETY: `record` is a record on the stack.
    unsafe { (*header(record)).job = job }
}

/// Frees the holes at the stack's end.
#[cold]
fn sweep() {
    let mut record = base();
    let mut live_end = base();
    while record < top() {
        let next = record + kind_of(record).record_bytes;
        if !is_marked(record, HOLE) {
            live_end = next;
        }
        record = next;
    }
    set_top(live_end);
    if real_floor() > live_end {
        move_floor(live_end);
    }
}

/// A record that is dead: the top comes down if it was the last, else it becomes a hole.
fn remove(record: usize, bytes: usize) {
    if record + bytes == top() {
        set_top(record);
        if real_floor() > record {
            move_floor(record);
        }
    } else {
        mark(record, HOLE);
    }
}

/// A spawned job: the address of its record, on the stack or, when it ran at its spawn, in a box of
/// its own that holds its result.
pub struct Pending<J: Job> {
    record: usize,
    job: PhantomData<J>,
}

impl<J: Job> Pending<J> {
    #[inline(always)]
    pub fn spawn(parameters: J::Parameters) -> Self {
        let kind = J::kind();
        kind.count_spawn();
        let record = top();
        let next = record + Record::<J>::BYTES;
        if next <= limit() && !kind.is_coarse() {
            Record::<J>::write(record, parameters);
            set_top(next);
            Self { record, job: PhantomData }
        } else {
            Self::spawn_slowly(parameters)
        }
    }

    #[inline(always)]
    pub fn sync(self) -> J::Output {
        let record = self.record;
        if record >= floor() && record + Record::<J>::BYTES == top() {
            forget(self);
            set_top(record);
            J::call(Record::<J>::read(record))
        } else {
            self.sync_slowly()
        }
    }

    #[cold]
    #[inline(never)]
    fn spawn_slowly(parameters: J::Parameters) -> Self {
        let alarmed = answer_alarm();
        let kind = J::kind();
        kind.number();
        if top() + Record::<J>::BYTES > end() {
            // SAFETY: one thread.
            let sweep_after = unsafe { &mut *CONTROL.sweep_after.get() };
            if *sweep_after == 0 {
                sweep();
                *sweep_after = 4096;
            } else {
                *sweep_after -= 1;
            }
            if top() + Record::<J>::BYTES > end() {
                if alarmed {
                    expose_oldest();
                }
                let result = Box::new(Ready(J::call(parameters)));
                return Self { record: Box::into_raw(result) as usize | HOLE, job: PhantomData };
            }
        }
        let record = top();
        Record::<J>::write(record, parameters);
        set_top(record + Record::<J>::BYTES);
        if alarmed || kind.is_coarse() {
            expose_oldest();
        }
        Self { record, job: PhantomData }
    }

    #[cold]
    #[inline(never)]
    fn sync_slowly(self) -> J::Output {
        match self.claim() {
            Claimed::Parameters(parameters) => J::call(parameters),
            Claimed::Result(result) => result,
            Claimed::Failed(_) => abi::fail(Fault::Child, ""),
        }
    }

    #[inline(never)]
    pub fn try_sync(self) -> Result<J::Output, JobError> {
        match self.claim() {
            Claimed::Parameters(parameters) => attempt::<J>(parameters),
            Claimed::Result(result) => Ok(result),
            Claimed::Failed(length) => Err(taken_error(length)),
        }
    }

    /// Ends the record's life, whatever has become of it.
    fn claim(self) -> Claimed<J> {
        let alarmed = answer_alarm();
        let record = self.record;
        forget(self);
        if record & HOLE != 0 {
            // SAFETY: made by `spawn_slowly` from a box, and handed out once.
            let ready = unsafe { Box::from_raw((record & !HOLE) as *mut Ready<J::Output>) };
            return Claimed::Result(ready.0);
        }
        if !is_marked(record, EXPOSED) {
            let parameters = Record::<J>::read(record);
            remove(record, Record::<J>::BYTES);
            if alarmed {
                expose_oldest();
            }
            return Claimed::Parameters(parameters);
        }
        if alarmed {
            expose_oldest();
        }
        // SAFETY: `record` is an exposed record on the stack.
        let synced = abi::sync(unsafe { (*header(record)).job });
        let parameters = Record::<J>::read(record);
        remove(record, Record::<J>::BYTES);
        match synced {
            Synced::Reclaimed => {
                // What runs here may be long and spawn nothing: leave something for the others.
                if answer_alarm() {
                    expose_oldest();
                }
                Claimed::Parameters(parameters)
            }
            Synced::Done(length) => match codec::decode(&abi::take(length)) {
                Ok(result) => Claimed::Result(result),
                Err(error) => abi::fail(Fault::Encoding, &error),
            },
            Synced::Failed(length) => Claimed::Failed(length),
        }
    }
}

/// The result of a job that ran at its spawn; aligned so that its address has room for a mark.
#[repr(align(8))]
struct Ready<T>(T);

/// What a sync finds.
enum Claimed<J: Job> {
    /// Nobody had taken the job: call it.
    Parameters(J::Parameters),
    Result(J::Output),
    /// The length of an error to be taken.
    Failed(usize),
}

impl<J: Job> Drop for Pending<J> {
    /// A handle dropped without a sync aborts its job.
    fn drop(&mut self) {
        let record = self.record;
        if record & HOLE != 0 {
            // SAFETY: made by `spawn_slowly` from a box, and handed out once.
            drop(unsafe { Box::from_raw((record & !HOLE) as *mut Ready<J::Output>) });
            return;
        }
        if is_marked(record, EXPOSED) {
            // SAFETY: `record` is an exposed record on the stack.
            abi::abandon(unsafe { (*header(record)).job });
        } else {
            J::kind().count_drop();
        }
        drop(Record::<J>::read(record));
        remove(record, Record::<J>::BYTES);
    }
}

/// What `try_sync` hands through the host.
#[repr(C)]
struct Attempt<J: Job> {
    /// First, so that `run_attempt` finds it whatever the job.
    run: fn(*mut u8),
    parameters: Option<J::Parameters>,
    result: Option<J::Output>,
}

/// Calls the job with the host in between, so that its trap is an error here.
#[inline(never)]
fn attempt<J: Job>(parameters: J::Parameters) -> Result<J::Output, JobError> {
    let mut attempt = Attempt::<J> {
        run: |attempt| {
            // SAFETY: `run_attempt` passes the pointer that came from the `Attempt` below.
            let attempt = unsafe { &mut *attempt.cast::<Attempt<J>>() };
            attempt.result = attempt.parameters.take().map(J::call);
        },
        parameters: Some(parameters),
        result: None,
    };
    let records_end = top();
    match abi::attempt((&raw mut attempt).cast()) {
        None => match attempt.result {
            Some(result) => Ok(result),
            None => abi::fail(Fault::Encoding, "an attempted job left no result"),
        },
        Some(length) => {
            let error = taken_error(length);
            abort_from(records_end);
            Err(error)
        }
    }
}

/// See `sateen_attempt`.
pub fn run_attempt(attempt: *mut u8) {
    // SAFETY: the host passes on what `attempt` gave it, whose first field is the function.
    let run = unsafe { *attempt.cast::<fn(*mut u8)>() };
    run(attempt);
}

/// Removes the records that a trapped job left behind; the handles to them are gone with its frames.
fn abort_from(from: usize) {
    let mut record = from;
    while record < top() {
        let kind = kind_of(record);
        if !is_marked(record, HOLE) {
            if is_marked(record, EXPOSED) {
                // SAFETY: `record` is an exposed record on the stack.
                abi::abandon(unsafe { (*header(record)).job });
            } else {
                kind.count_drop();
            }
            (kind.discard)(record as *mut u8);
        }
        record += kind.record_bytes;
    }
    set_top(from);
    if real_floor() > from {
        set_real_floor(from);
    }
    // A trap may have come in the middle of a slow path: no alarm is pending afterwards.
    set_limit(end());
    set_floor(real_floor());
}

fn taken_error(length: usize) -> JobError {
    let (job, message, backtrace) =
        codec::decode(&abi::take(length)).unwrap_or_else(|error| (String::new(), error, Vec::new()));
    JobError { job, message, backtrace }
}
