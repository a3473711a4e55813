//! Tests how much memory a result table takes, counted at the allocator: its bound holds for real bytes, whichever
//! entries hosts send.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sateen_protocol::limits::{INLINE_RESULT_BYTES_MAX, LINEAGE_LENGTH_MAX};
use sateen_protocol::{Entry, EntryState, Finished, HostId, JobKey, JobTag, Lineage, Outcome, Table};

/// Counts the bytes that each thread has allocated.
struct Counter;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NOW.set(NOW.get() + layout.size() as isize);
        // SAFETY: the caller promises what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.set(NOW.get() - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTER: Counter = Counter;

const BYTES_MAX: usize = 4 << 20;

/// Maps numbers to others in no order, each to a different one.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn entry(key: u64, lineage: Vec<JobTag>, state: EntryState) -> Entry {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&key.to_be_bytes());
    Entry { key: JobKey(bytes), depth: 1, lineage: Lineage(lineage), state, is_earlier: false }
}

fn done(bytes: usize, work_ns: u64) -> EntryState {
    EntryState::Done(Finished { outcome: Outcome::Done(vec![0; bytes].into()), work_ns, span_ns: 1 })
}

/// Fills a table with many times the entries that it may hold, and checks the maximum memory that it took.
fn fill(what: &str, entry: impl Fn(u64) -> Entry) {
    let before = NOW.get();
    let mut table = Table::new(BYTES_MAX);
    let (mut most, mut counted) = (0, 0);
    for number in 0..12_000 {
        table.insert(entry(number));
        most = most.max(NOW.get() - before);
        counted = counted.max(table.bytes());
    }
    let (most, dropped) = (most as usize, table.dropped());
    assert!(dropped > 0, "{what}: it was never full");
    assert!(most <= BYTES_MAX + BYTES_MAX / 8, "{what}: {most} bytes, of which {counted} were counted");
    // The counted bytes are not many times the real ones.
    assert!(most >= BYTES_MAX / 3, "{what}: it holds only {most} bytes");
    drop(table);
    assert_eq!(NOW.get(), before);
}

#[test]
fn a_table_takes_no_more_memory_than_its_bound() {
    let here = HostId(1);
    // Each tag names one job only. This attack once took 17 times the bound.
    let unique = |number: u64| {
        (0..LINEAGE_LENGTH_MAX as u64).map(|tag| JobTag(scattered(number * 64 + tag))).collect::<Vec<_>>()
    };
    fill("unique ancestors", |number| entry(scattered(number), unique(number), EntryState::Running(here)));
    fill("unique ancestors, in order", |number| {
        let tags = (0..LINEAGE_LENGTH_MAX as u64).map(|tag| JobTag(number * 64 + tag)).collect();
        entry(number, tags, done(0, number))
    });
    // A tree of jobs, as honest hosts have it.
    let shared =
        |number: u64| (1..12).map(|level| JobTag(scattered(number >> (2 * level)) ^ level)).collect();
    fill("a tree", |number| entry(scattered(number), shared(number), done(8, scattered(number))));
    fill("no ancestors", |number| entry(number, Vec::new(), EntryState::Running(here)));
    fill("no ancestors, results", |number| entry(scattered(number), Vec::new(), done(1, number)));
    fill("large results", |number| {
        entry(number, shared(number), done(INLINE_RESULT_BYTES_MAX, scattered(number)))
    });
}
