//! Tests how much memory decoding any bytes takes, counted at the allocator.
//!
//! Each kind of message is tried with zeros up to some place, a length there, and that many zeros. Where the place
//! belongs to a list or a text, these decode to the maximum number of the smallest elements.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use sateen_protocol::codec::{Decoder, FrameError, PROTOCOL_VERSION};
use sateen_protocol::frugal::memory_of;
use sateen_protocol::limits::{FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGES_PER_FRAME_MAX};
use sateen_protocol::message::{PeerMessage, ToCoordinator, ToHost};
use serde::de::DeserializeOwned;

/// Counts the bytes that each thread has allocated.
struct Counter;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let now = NOW.get() + bytes;
    NOW.set(now);
    PEAK.set(PEAK.get().max(now));
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller promises what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // Both allocations exist while one is copied to the other.
        count(bytes as isize);
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

#[global_allocator]
static COUNTER: Counter = Counter;

/// Memory that serde reserves ahead for a list, over all lists that are nested in one another.
const AHEAD_BYTES: usize = 4 << 20;

/// Decodes frames. Returns the maximum memory that this took, messages included, and the result of the last frame.
fn decode<M: DeserializeOwned>(frames: &[Vec<u8>]) -> (usize, Result<Vec<M>, FrameError>) {
    let mut decoder = Decoder::default();
    let before = NOW.get();
    PEAK.set(before);
    let mut last = Ok(Vec::new());
    for frame in frames {
        last = decoder.decode::<M>(frame);
    }
    ((PEAK.get() - before) as usize, last)
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A message of kind `kind` with `zeros` zeros, then a list of `count` elements that are zeros, and zeros for the
/// fields that follow.
fn crowded(kind: u8, zeros: usize, count: usize) -> Vec<u8> {
    let mut body = vec![kind];
    body.resize(1 + zeros, 0);
    body.extend(varint(count));
    body.resize(body.len() + count + 64, 0);
    body
}

fn batch(body: &[u8]) -> Vec<Vec<u8>> {
    vec![[&[PROTOCOL_VERSION, 0], body].concat()]
}

fn fragments(body: &[u8]) -> Vec<Vec<u8>> {
    let count = body.chunks(FRAME_BYTES_MAX - 2).count();
    let parts = body.chunks(FRAME_BYTES_MAX - 2).enumerate();
    parts
        .map(|(at, part)| [&[PROTOCOL_VERSION, if at + 1 == count { 2 } else { 1 }], part].concat())
        .collect()
}

/// Tries all kinds of messages of a direction.
fn attack<M: DeserializeOwned>(direction: &str) {
    const KINDS: u8 = 48;
    const PLACES: usize = 80;
    let messages = 3 * MESSAGES_PER_FRAME_MAX * size_of::<M>();
    let mut dense = 0;
    for kind in 0..KINDS {
        for zeros in 0..PLACES {
            let body = crowded(kind, zeros, 8 << 10);
            let (taken, _) = decode::<M>(&fragments(&body));
            // The fragments themselves are one more copy, whose capacity may have doubled.
            let allowed = |bytes: usize| 2 * memory_of(bytes) + 3 * bytes + AHEAD_BYTES;
            assert!(taken <= allowed(body.len()), "{direction} {kind} at {zeros}: {taken}");
            if taken < 6 * body.len() {
                continue;
            }
            dense += 1;
            let body = crowded(kind, zeros, FRAME_BYTES_MAX - 200);
            let (taken, _) = decode::<M>(&batch(&body));
            assert!(
                taken <= 2 * memory_of(body.len()) + messages + AHEAD_BYTES,
                "{direction} {kind} at {zeros}, in a batch: {taken}"
            );
            let body = crowded(kind, zeros, 4 << 20);
            let (taken, _) = decode::<M>(&fragments(&body));
            assert!(taken <= allowed(body.len()), "{direction} {kind} at {zeros}, long: {taken}");
        }
    }
    assert!(dense >= 4, "{direction}: only {dense} lists were found");
}

#[test]
fn messages_to_the_coordinator_take_bounded_memory_for_their_bytes() {
    attack::<ToCoordinator>("to the coordinator");
}

#[test]
fn messages_to_a_host_take_bounded_memory_for_their_bytes() {
    attack::<ToHost>("to a host");
}

#[test]
fn messages_between_hosts_take_bounded_memory_for_their_bytes() {
    attack::<PeerMessage>("between hosts");
}

#[test]
fn a_long_message_of_empty_strings_is_refused() {
    // A failure whose backtrace has an empty frame for each byte: 24 bytes of memory each.
    let count = MESSAGE_BYTES_MAX - 64;
    let kind = (0..48).find(|kind| {
        let few = [&[*kind, 0, 0, 0][..], &varint(9), &[0; 9]].concat();
        matches!(
            decode::<ToCoordinator>(&batch(&few)).1.as_deref(),
            Ok([ToCoordinator::Failed { failure, .. }]) if failure.backtrace.len() == 9
        )
    });
    let body = [&[kind.expect("failures travel"), 0, 0, 0][..], &varint(count), &vec![0; count]].concat();
    let (taken, end) = decode::<ToCoordinator>(&fragments(&body));
    let end = end.map(|messages| messages.len());
    assert!(matches!(&end, Err(FrameError::Message(why)) if why.contains("memory")), "{end:?}");
    assert!(taken < 240 << 20, "{taken}");
}
