//! The imports of the ABI, version 1, behind safe functions. The comment on each import in `raw` says what it does;
//! `docs/abi.md` has all of them.

use sateen_abi::{answer, shared};

pub use sateen_abi::{Fault, Moment};

/// What `sync` may answer, in the upper half of its result; the lower half is a length or a depth.
pub enum Synced {
    /// No worker had taken the job: call it here. It was exposed from this depth; if `recorded`, report its
    /// result.
    Reclaimed { depth: usize, recorded: bool },
    /// Its result, of this many bytes, waits to be taken.
    Done(usize),
    /// It failed; its error, of this many bytes, waits to be taken.
    Failed(usize),
}

mod raw {
    #[link(wasm_import_module = "sateen")]
    unsafe extern "C" {
        /// Gives the host the address of the control words: `limit`, `floor`, `lookup_below`, `shield_below`,
        /// `news` and `measure_below`, which it writes at heartbeats and within calls; and, after `floor`, `depth`, which it leaves.
        pub fn attach(control: *mut u32);
        /// Shows the stack of latent jobs: the address of `sateen_abi::stack`'s words, and the place in a kind's record of
        /// the length of its jobs' records.
        pub fn latent(words: *mut u32, length_at: usize);
        /// Names a job kind and its record; returns its number for `expose`.
        pub fn register(name: *const u8, name_length: usize, kind: *mut u8) -> u32;
        /// Offers a job, spawned at a depth, to the scheduler; returns its number, or 0 if no worker wants it
        /// now.
        pub fn expose(kind: u32, parameters: *const u8, length: usize, depth: usize) -> u32;
        /// Waits for an exposed job, or takes it back.
        pub fn sync(job: u32) -> u64;
        /// Like `sync`, for one of `count` exposed jobs, the oldest first: one that is done, else the first
        /// that no worker has taken, else the first that is done later. If `waits` is 0, all ones instead of a
        /// wait. The job's index among the `count` is in the answer from bit 40 up.
        pub fn sync_any(jobs: *const u32, count: usize, waits: u32) -> u64;
        /// Whether a job that `sync` returned to be called here and recorded took long enough to be recorded. If
        /// not, this returns 0, and `record` must not be called.
        pub fn wants_record(job: u32) -> u32;
        /// Reports the encoded result of a job that `sync` returned to be called here and recorded.
        pub fn record(job: u32, result: *const u8, length: usize);
        /// Copies all data that waits to be taken: first this instance's parameters, later the data of the last
        /// `sync`, `attempt` or `input`.
        pub fn take(destination: *mut u8);
        /// This exposed job will not be synced or recorded.
        pub fn abandon(job: u32);
        /// Calls the export `sateen_attempt` with the argument; a trap is returned as a failure.
        pub fn attempt(argument: *mut u8) -> u64;
        /// Gives the reason of the trap that follows and ends this instance or attempt: the text is a panic's
        /// message and place.
        pub fn panic(text: *const u8, length: usize);
        /// Ends this instance or attempt.
        pub fn fail(fault: u32, text: *const u8, length: usize) -> !;
        pub fn log(text: *const u8, length: usize);
        pub fn progress(done: u64, total: u64);
        /// The length of a named input, to be copied with `take`; all ones if there is none.
        pub fn input(name: *const u8, length: usize) -> u64;
        /// Makes a shared object of an encoded value; writes its id, 16 bytes, and returns this instance's
        /// number for it.
        pub fn share(id: *mut u8, initial: *const u8, length: usize) -> u32;
        /// The number of the shared object with this id.
        pub fn open(id: *const u8) -> u32;
        /// This instance does not have a reference to the object any more.
        pub fn close(object: u32);
        /// The object's id is being written: into the parameters of the next job that is exposed, the next
        /// result, object or update.
        pub fn mention(object: u32);
        /// Waits until there is a replica. Then returns 0, or the length of the changes that this instance does
        /// not have yet, to be copied with `take`, with flags above it. The changes are updates, each preceded
        /// by its length in four bytes; if the flag is set, they are preceded by a value that replaces the
        /// current one, also with its length.
        pub fn catch_up(object: u32) -> u64;
        /// Sends an encoded update to all replicas. 1 if the caller can and must apply it now, because it has
        /// applied all earlier updates. 2, alone or added, if a snapshot is wanted. 4 if nothing was done
        /// because there is no replica yet: `catch_up` waits for it.
        pub fn update(object: u32, update: *const u8, length: usize, applies: u32) -> u32;
        /// The encoded value after all updates that this instance received.
        pub fn snapshot(object: u32, value: *const u8, length: usize);
        /// The guard with this name is false: waits until an object has changed.
        pub fn hold(guard: *const u8, length: usize);
        /// While the run is profiled, reports the next event of the record of a job of a kind at a depth. For a
        /// call in place, returns whether spawns within it must be reported as well.
        pub fn measure(event: u32, record: usize, kind: u32, depth: usize) -> u32;
    }
}

pub fn attach(control: *mut u32) {
    // SAFETY: the host writes `limit` and `floor` only while the guest runs, and both are read
    // volatile, as is `lookup_below`.
    unsafe { raw::attach(control) }
}

pub fn latent(words: *mut u32, length_at: usize) {
    // SAFETY: the host reads only, and only while this thread is inside a check or call.
    unsafe { raw::latent(words, length_at) }
}

pub fn register(name: &str, kind: *mut u8) -> u32 {
    // SAFETY: the host only reads the name, and writes the kind's first word, which is read volatile.
    unsafe { raw::register(name.as_ptr(), name.len(), kind) }
}

pub fn expose(kind: u32, parameters: &[u8], depth: usize) -> u32 {
    // SAFETY: the host copies the parameters before it returns.
    unsafe { raw::expose(kind, parameters.as_ptr(), parameters.len(), depth) }
}

pub fn sync(job: u32) -> Synced {
    // SAFETY: takes and returns plain numbers.
    synced(unsafe { raw::sync(job) })
}

fn synced(answer: u64) -> Synced {
    let length = answer as u32 as usize;
    match answer::upper(answer) {
        answer::DONE => Synced::Done(length),
        answer::RECLAIMED => Synced::Reclaimed { depth: length, recorded: false },
        answer::RECLAIMED_RECORD => Synced::Reclaimed { depth: length, recorded: true },
        _ => Synced::Failed(length),
    }
}

/// The index of the synced job. `None` if it would have to wait and must not.
pub fn sync_any(jobs: &[u32], waits: bool) -> Option<(usize, Synced)> {
    // SAFETY: the host only reads the numbers.
    let answer = unsafe { raw::sync_any(jobs.as_ptr(), jobs.len(), waits.into()) };
    let below = (1 << answer::PLACE_BIT) - 1;
    (answer != answer::NOTHING_YET).then(|| ((answer >> answer::PLACE_BIT) as usize, synced(answer & below)))
}

/// Records the result of a job that was called here, if the job took long enough.
pub fn record(job: u32, encoded: impl FnOnce() -> Vec<u8>) {
    // SAFETY: it takes and returns numbers.
    if unsafe { raw::wants_record(job) } != 0 {
        let result = encoded();
        // SAFETY: the host copies the result before it returns.
        unsafe { raw::record(job, result.as_ptr(), result.len()) }
    }
}

/// Takes the `length` bytes that the last call left.
pub fn take(length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    // SAFETY: the host writes exactly the length that it announced, for which there is room.
    unsafe {
        raw::take(bytes.as_mut_ptr());
        bytes.set_len(length);
    }
    bytes
}

pub fn abandon(job: u32) {
    // SAFETY: takes a plain number.
    unsafe { raw::abandon(job) }
}

/// The length of the error, if the attempt failed.
pub fn attempt(argument: *mut u8) -> Option<usize> {
    // SAFETY: the host hands the pointer to `sateen_attempt` and does not look behind it.
    let answer = unsafe { raw::attempt(argument) };
    (answer::upper(answer) != answer::DONE).then_some(answer as u32 as usize)
}

pub fn panic(text: &str) {
    // SAFETY: the host copies the text.
    unsafe { raw::panic(text.as_ptr(), text.len()) }
}

pub fn fail(fault: Fault, text: &str) -> ! {
    // SAFETY: the host copies the text; the call never returns.
    unsafe { raw::fail(fault as u32, text.as_ptr(), text.len()) }
}

pub fn log(text: &str) {
    // SAFETY: the host copies the text.
    unsafe { raw::log(text.as_ptr(), text.len()) }
}

pub fn progress(done: u64, total: u64) {
    // SAFETY: takes plain numbers.
    unsafe { raw::progress(done, total) }
}

pub fn input(name: &str) -> Option<usize> {
    // SAFETY: the host only reads the name.
    let length = unsafe { raw::input(name.as_ptr(), name.len()) };
    (length != answer::NO_INPUT).then_some(length as usize)
}

/// A new shared object's id and number.
pub fn share(initial: &[u8]) -> ([u8; shared::ID_BYTES], u32) {
    let mut id = [0; shared::ID_BYTES];
    // SAFETY: the host copies the value and writes 16 bytes, which the array has.
    let number = unsafe { raw::share(id.as_mut_ptr(), initial.as_ptr(), initial.len()) };
    (id, number)
}

pub fn open(id: &[u8; shared::ID_BYTES]) -> u32 {
    // SAFETY: the host reads 16 bytes.
    unsafe { raw::open(id.as_ptr()) }
}

pub fn close(object: u32) {
    // SAFETY: takes a plain number.
    unsafe { raw::close(object) }
}

pub fn mention(object: u32) {
    // SAFETY: takes a plain number.
    unsafe { raw::mention(object) }
}

/// The data that `catch_up` leaves.
pub struct CatchUp {
    pub length: usize,
    /// A value comes first.
    pub anew: bool,
    /// The host wants the value after these updates.
    pub wants_snapshot: bool,
}

pub fn catch_up(object: u32) -> Option<CatchUp> {
    // SAFETY: takes a plain number.
    let answer = unsafe { raw::catch_up(object) };
    (answer != 0).then_some(CatchUp {
        length: answer as u32 as usize,
        anew: answer::upper(answer) & shared::ANEW != 0,
        wants_snapshot: answer::upper(answer) & shared::WANTS_SNAPSHOT != 0,
    })
}

/// Whether the caller must apply the update now, and whether a snapshot is wanted. `None` if it must catch up
/// first.
pub fn update(object: u32, update: &[u8], can_apply: bool) -> Option<(bool, bool)> {
    // SAFETY: the host copies the update.
    let answer = unsafe { raw::update(object, update.as_ptr(), update.len(), can_apply.into()) };
    (answer & shared::NO_REPLICA == 0)
        .then_some((answer & shared::APPLY != 0, answer & shared::SNAPSHOT != 0))
}

pub fn snapshot(object: u32, value: &[u8]) {
    // SAFETY: the host copies the value.
    unsafe { raw::snapshot(object, value.as_ptr(), value.len()) }
}

pub fn hold(guard: &str) {
    // SAFETY: the host only reads the name.
    unsafe { raw::hold(guard.as_ptr(), guard.len()) }
}

pub fn measure(moment: Moment, record: usize, kind: u32, depth: usize) -> u32 {
    // SAFETY: takes and returns plain numbers.
    unsafe { raw::measure(moment as u32, record, kind, depth) }
}
