//! The imports of the ABI, version 1, behind safe functions. `docs` of each import: what it gets,
//! what it gives.

/// What `sync` may answer, in the upper half of its result; the lower half is a length or a depth.
pub enum Synced {
    /// Nobody had taken the job: call it here. It was exposed from this depth; if `recorded`, report
    /// its result.
    Reclaimed { depth: usize, recorded: bool },
    /// Its result waits to be taken, so many bytes long.
    Done(usize),
    /// It failed; its error waits to be taken, so many bytes long.
    Failed(usize),
}

/// Why a guest gives up.
#[repr(u32)]
#[derive(Clone, Copy)]
pub enum Fault {
    /// The job that was synced last had failed, and so has this one.
    Child = 1,
    /// Parameters or a result that do not decode.
    Encoding = 2,
}

mod raw {
    #[link(wasm_import_module = "sateen")]
    unsafe extern "C" {
        /// Tells the host where the control words are: `limit` and `floor`, `depth`, `lookup_below` and
        /// `shield_below`. It writes all but `depth` at heartbeats and within calls.
        pub fn attach(control: *mut u32);
        /// Names a job kind and its record; gives its number for `expose`.
        pub fn register(name: *const u8, name_length: usize, kind: *mut u8) -> u32;
        /// Offers a job, spawned at a depth, to the scheduler; gives its number, or 0 when nobody wants
        /// it now.
        pub fn expose(kind: u32, parameters: *const u8, length: usize, depth: usize) -> u32;
        /// Waits for an exposed job, or takes it back.
        pub fn sync(job: u32) -> u64;
        /// As `sync` for whichever of `count` exposed jobs, the oldest first, comes to its end first: one
        /// that is done, else the first that nobody has taken, else the first that is done later. All
        /// ones instead of a wait, if `waits` is 0. The job's place among the `count` is in the answer
        /// from bit 40 up.
        pub fn sync_any(jobs: *const u32, count: usize, waits: u32) -> u64;
        /// The encoded result of a job that `sync` gave back to be called here and recorded.
        pub fn record(job: u32, result: *const u8, length: usize);
        /// Copies all of what waits to be taken: this instance's parameters at first, then what the last
        /// `sync`, `attempt` or `input` left.
        pub fn take(destination: *mut u8);
        /// Nobody will sync this exposed job, or record it.
        pub fn abandon(job: u32);
        /// Calls the export `sateen_attempt` with the argument; a trap comes back as a failure.
        pub fn attempt(argument: *mut u8) -> u64;
        /// Says why the trap that follows will end this instance or attempt: the text is a panic's
        /// message and place.
        pub fn panic(text: *const u8, length: usize);
        /// Ends this instance or attempt.
        pub fn fail(fault: u32, text: *const u8, length: usize) -> !;
        pub fn log(text: *const u8, length: usize);
        pub fn progress(done: u64, total: u64);
        /// The length of a named input, to be taken with `take`; all ones when there is none.
        pub fn input(name: *const u8, length: usize) -> u64;
    }
}

pub fn attach(control: *mut u32) {
    // SAFETY: the host writes `limit` and `floor` only while the guest runs, and both are read
    // volatile, as is `lookup_below`.
    unsafe { raw::attach(control) }
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
    // SAFETY: takes and gives plain numbers.
    synced(unsafe { raw::sync(job) })
}

fn synced(answer: u64) -> Synced {
    let length = answer as u32 as usize;
    match answer >> 32 {
        0 => Synced::Done(length),
        1 => Synced::Reclaimed { depth: length, recorded: false },
        3 => Synced::Reclaimed { depth: length, recorded: true },
        _ => Synced::Failed(length),
    }
}

/// The place of the one that is synced. `None` if it would have to wait, and is not to.
pub fn sync_any(jobs: &[u32], waits: bool) -> Option<(usize, Synced)> {
    const PLACE: u32 = 40;
    // SAFETY: the host only reads the numbers.
    let answer = unsafe { raw::sync_any(jobs.as_ptr(), jobs.len(), waits.into()) };
    (answer != u64::MAX).then(|| ((answer >> PLACE) as usize, synced(answer & ((1 << PLACE) - 1))))
}

pub fn record(job: u32, result: &[u8]) {
    // SAFETY: the host copies the result before it returns.
    unsafe { raw::record(job, result.as_ptr(), result.len()) }
}

/// The `length` bytes that the last call left to be taken.
pub fn take(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    // SAFETY: the host writes exactly the length that it announced, which the vector has.
    unsafe { raw::take(bytes.as_mut_ptr()) }
    bytes
}

pub fn abandon(job: u32) {
    // SAFETY: takes a plain number.
    unsafe { raw::abandon(job) }
}

/// The length of the error, when the attempt failed.
pub fn attempt(argument: *mut u8) -> Option<usize> {
    // SAFETY: the host hands the pointer to `sateen_attempt` and does not look behind it.
    let answer = unsafe { raw::attempt(argument) };
    (answer >> 32 != 0).then_some(answer as u32 as usize)
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
    usize::try_from(length).ok()
}
