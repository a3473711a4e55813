//! The stack of records, and the words through which the heartbeat raises its alarm.

use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::ptr::{read, read_volatile, write, write_volatile};

use sateen_abi::{stack, word};

use super::kind::RECORD_BYTES_AT;
use super::record::{EXPOSED, HOLE, depth_of, is_marked, job_of, kind_of, mark, mark_exposed};
use crate::wasm::abi;

/// Room for some ten thousand records; jobs that do not fit are kept elsewhere and cannot be exposed.
const STACK_BYTES: usize = 512 * 1024;

#[repr(C, align(8))]
struct Stack {
    bytes: UnsafeCell<[u8; STACK_BYTES]>,
}

/// The state of the stack. The host knows the first seven words; see `sateen_abi::word`.
#[repr(C)]
struct Control {
    limit: UnsafeCell<usize>,
    floor: UnsafeCell<usize>,
    /// In-place calls of spawned jobs that the guest is inside.
    depth: UnsafeCell<usize>,
    /// While the depth is less, every spawn is reported to the host. The host writes this word at `attach`.
    lookup_below: UnsafeCell<usize>,
    /// Jobs of sets that are spawned from less than this depth are long, as far as the host knows: the guest
    /// asks the host before it calls one in place.
    shield_below: UnsafeCell<usize>,
    /// Another number whenever a shared object has changed; 0 before there is one.
    news: UnsafeCell<usize>,
    /// While the depth is less, the guest reports spawns, calls and returns to a profiling host. The host
    /// writes this word at `attach` and at heartbeats, and the guest writes it as well.
    measure_below: UnsafeCell<usize>,
    // The host knows these three, too; see `sateen_abi::stack`.
    real_floor: UnsafeCell<usize>,
    top: UnsafeCell<usize>,
    /// The number of latent jobs that found the stack full.
    kept: UnsafeCell<usize>,
    /// The address at which the innermost attempt's records begin: its leftovers are removed from there on.
    attempt_base: UnsafeCell<usize>,
    /// Attempts to let pass before a full stack is swept again.
    sweep_after: UnsafeCell<u32>,
    /// The same for jobs that waited for room.
    sweep_for_kept_after: UnsafeCell<u32>,
}

const _: () = {
    assert!(offset_of!(Control, limit) == word::LIMIT && offset_of!(Control, floor) == word::FLOOR);
    assert!(offset_of!(Control, depth) == word::DEPTH);
    assert!(offset_of!(Control, lookup_below) == word::LOOKUP_BELOW);
    assert!(offset_of!(Control, shield_below) == word::SHIELD_BELOW);
    assert!(offset_of!(Control, news) == word::NEWS);
    assert!(offset_of!(Control, measure_below) == word::MEASURE_BELOW);
    let shown = offset_of!(Control, real_floor);
    assert!(stack::FLOOR == 0 && offset_of!(Control, top) == shown + stack::TOP);
    assert!(offset_of!(Control, kept) == shown + stack::KEPT);
};

// SAFETY: a guest has one thread.
unsafe impl Sync for Stack {}
// SAFETY: a guest has one thread; the host writes only while that thread is inside a check or call.
unsafe impl Sync for Control {}

static STACK: Stack = Stack { bytes: UnsafeCell::new([0; STACK_BYTES]) };
static CONTROL: Control = Control {
    limit: UnsafeCell::new(0),
    floor: UnsafeCell::new(usize::MAX),
    depth: UnsafeCell::new(0),
    lookup_below: UnsafeCell::new(0),
    shield_below: UnsafeCell::new(0),
    news: UnsafeCell::new(0),
    measure_below: UnsafeCell::new(0),
    real_floor: UnsafeCell::new(0),
    top: UnsafeCell::new(0),
    kept: UnsafeCell::new(0),
    attempt_base: UnsafeCell::new(0),
    sweep_after: UnsafeCell::new(0),
    sweep_for_kept_after: UnsafeCell::new(0),
};

fn base() -> usize {
    STACK.bytes.get() as usize
}

pub fn end() -> usize {
    base() + STACK_BYTES
}

macro_rules! word {
    ($name:ident, $set:ident, $read:path, $write:path) => {
        #[inline(always)]
        pub fn $name() -> usize {
            // SAFETY: one thread; the word is always initialised.
            unsafe { $read(CONTROL.$name.get()) }
        }
        #[inline(always)]
        pub fn $set(value: usize) {
            // SAFETY: one thread.
            unsafe { $write(CONTROL.$name.get(), value) }
        }
    };
}

word!(limit, set_limit, read_volatile, write_volatile);
word!(floor, set_floor, read_volatile, write_volatile);
word!(depth, set_depth, read, write);
word!(measure_below, set_measure_below, read_volatile, write_volatile);
word!(top, set_top, read, write);
word!(real_floor, set_real_floor, read, write);
word!(kept, set_kept, read, write);
word!(attempt_base, set_attempt_base, read, write);

/// A limit below which no record fits, and which is not an alarm.
const CLOSED: usize = word::CLOSED as usize;
/// The floor of an alarm that asks for all latent jobs.
const DRAIN: usize = word::ALL as usize;

/// The host's request at a spawn or sync.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    Silent,
    /// Workers are hungry: expose the oldest latent job, and another if the host then asks again.
    Hungry,
    /// This host leaves: expose all latent jobs.
    Drain,
}

impl Alarm {
    /// Fulfils the host's request, which may come anew with each job that it gets.
    pub fn expose(self) {
        let mut alarm = self;
        while alarm != Self::Silent && expose_oldest() {
            if alarm == Self::Hungry {
                alarm = answer_alarm();
            }
        }
    }
}

/// The host's word about shared objects.
#[inline(always)]
pub fn news() -> u32 {
    // SAFETY: one thread; the host writes the word between, hence volatile.
    unsafe { read_volatile(CONTROL.news.get()) as u32 }
}

/// Whether every spawn must be reported to the host.
pub fn is_looking_up() -> bool {
    // SAFETY: one thread; the host writes the word between, hence volatile.
    depth() < unsafe { read_volatile(CONTROL.lookup_below.get()) }
}

/// Whether both fast paths must be closed.
fn is_closed() -> bool {
    is_looking_up() || depth() < measure_below()
}

/// Whether the jobs of a set used here must not be called in place without asking the host.
#[inline(always)]
pub fn is_shielded() -> bool {
    // SAFETY: one thread; the host writes the word between, hence volatile.
    depth() < unsafe { read_volatile(CONTROL.shield_below.get()) }
}

/// Moves the boundary between exposed and latent records.
pub fn move_floor(to: usize) {
    set_real_floor(to);
    set_floor(if is_closed() { usize::MAX } else { to });
}

/// Opens the fast paths, or closes them while spawns are looked up or measured. No alarm is pending afterwards.
fn set_paths() {
    set_limit(if is_closed() { CLOSED } else { end() });
    move_floor(real_floor());
}

/// Sets another depth. A pending alarm stays pending.
pub fn enter(depth: usize) {
    set_depth(depth);
    if limit() != 0 {
        set_paths();
    }
}

/// Runs code that must not spawn: each spawn takes the slow path, which refuses.
pub fn without_spawns<T>(work: impl FnOnce() -> T) -> T {
    if limit() != 0 {
        set_limit(CLOSED);
    }
    let done = work();
    enter(depth());
    done
}

/// Handles an alarm, if there is one.
pub fn answer_alarm() -> Alarm {
    if limit() != 0 {
        return Alarm::Silent;
    }
    let alarm = if floor() == DRAIN { Alarm::Drain } else { Alarm::Hungry };
    set_paths();
    alarm
}

/// Called at the start of every job that has an instance of its own.
pub fn attach() {
    set_top(base());
    set_attempt_base(base());
    set_limit(end());
    move_floor(base());
    abi::attach(CONTROL.limit.get().cast());
    abi::latent(CONTROL.real_floor.get().cast(), RECORD_BYTES_AT);
    enter(0);
}

/// Offers the oldest latent record to the host, which may raise the alarm again at once if more are wanted.
/// False if there is none, or the host does not want it.
#[cold]
#[inline(never)]
pub fn expose_oldest() -> bool {
    let mut record = real_floor();
    while record < top() && is_marked(record, HOLE) {
        record += kind_of(record).record_bytes;
    }
    move_floor(record);
    if record >= top() {
        return false;
    }
    let kind = kind_of(record);
    // The floor moves first. The host may raise the alarm within `expose`, which must not be
    // overwritten; and serialising may run code of the app's that spawns.
    let next = record + kind.record_bytes;
    move_floor(next);
    super::measure::exposing(record);
    let parameters = (kind.encode)(record as *const u8);
    let job = abi::expose(kind.number(), &parameters, depth_of(record));
    if job == 0 {
        if real_floor() == next {
            set_real_floor(record);
            if floor() < DRAIN {
                set_floor(record);
            }
        }
        return false;
    }
    mark_exposed(record, job);
    true
}

/// Whether `bytes` fit on top of the stack, after sweeping if necessary. A stack that stays full is not swept
/// again for a while.
pub fn make_room(bytes: usize) -> bool {
    make_room_below(bytes, end(), &CONTROL.sweep_after)
}

/// The same for a job that waited for room: half of the stack stays free for the jobs that such jobs spawn.
pub fn make_room_for_kept(bytes: usize) -> bool {
    make_room_below(bytes, base() + STACK_BYTES / 2, &CONTROL.sweep_for_kept_after)
}

fn make_room_below(bytes: usize, end: usize, sweep_after: &UnsafeCell<u32>) -> bool {
    const CALLS_BETWEEN_SWEEPS: u32 = 4096;
    // SAFETY: one thread, and no reference is kept.
    let sweep_after = unsafe { &mut *sweep_after.get() };
    *sweep_after = sweep_after.saturating_sub(1);
    if top() + bytes <= end {
        return true;
    }
    if *sweep_after > 0 {
        return false;
    }
    *sweep_after = CALLS_BETWEEN_SWEEPS;
    sweep();
    top() + bytes <= end
}

/// Frees the holes at the stack's end, down to where the innermost attempt began.
#[cold]
fn sweep() {
    let mut record = attempt_base().min(top());
    let mut live_end = record;
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

/// Removes a dead record: the top moves down if it was the last, otherwise it becomes a hole.
pub fn remove(record: usize, bytes: usize) {
    if record + bytes == top() {
        set_top(record);
        if real_floor() > record {
            move_floor(record);
        }
    } else {
        mark(record, HOLE);
    }
}

/// Removes the records that a trapped job left behind; the handles to them are lost with its frames.
pub fn abort_from(from: usize) {
    let mut record = from;
    while record < top() {
        let kind = kind_of(record);
        if !is_marked(record, HOLE) {
            if is_marked(record, EXPOSED) {
                abi::abandon(job_of(record));
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
    set_paths();
}
