//! A run's tree, as sent in frames.

use std::collections::BTreeMap;

use serde_json::Value;

/// The bytes of a record.
pub const RECORD_BYTES: usize = 48;
/// Maximum records of a frame.
const RECORDS_MAX: u32 = 16_384;
/// Bytes before a frame's table.
const HEAD_BYTES: usize = 28;

/// A page's knowledge of a run's jobs.
#[derive(Debug, Default, Clone)]
pub struct Tree {
    /// Records by their places.
    pub records: BTreeMap<u32, Record>,
    /// Names, and counts of the whole tree.
    pub table: BTreeMap<String, Value>,
    /// Whether the snapshot is complete.
    pub is_whole: bool,
    /// Frames since the last snapshot.
    pub frames: u32,
}

/// A job. Fields that do not apply have all bits set, and times are since the run's beginning.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Record {
    pub parent: u32,
    pub tag: u64,
    pub begun_ms: u32,
    pub ended_ms: u32,
    pub work_us: f64,
    pub host: u32,
    pub kind: u16,
    pub depth: u16,
    pub state: u8,
    pub flags: u8,
    pub worker: u16,
    pub rolled: u32,
}

impl Tree {
    /// A tree without jobs, before any frame.
    pub const fn new() -> Self {
        Self { records: BTreeMap::new(), table: BTreeMap::new(), is_whole: false, frames: 0 }
    }

    /// Processes a frame, for the tree that it names.
    pub(super) fn take_frame(trees: &mut BTreeMap<u64, Self>, frame: &[u8]) {
        assert_eq!((&frame[..4], frame[4]), (b"STRE".as_slice(), 1), "another format");
        let (kind, seq, count) = (frame[5], u32_at(frame, 8), u32_at(frame, 12));
        let tree = trees.entry(u64_at(frame, 16)).or_default();
        assert!(count <= RECORDS_MAX, "{count} records");
        if seq == 0 {
            *tree = Self::new();
        }
        assert_eq!(seq, tree.frames, "a gap in a tree");
        tree.frames += 1;
        let table_end = HEAD_BYTES + u32_at(frame, 24) as usize;
        let table: BTreeMap<String, Value> =
            serde_json::from_slice(&frame[HEAD_BYTES..table_end]).expect("an object");
        tree.table.extend(table);
        let records = &frame[table_end.next_multiple_of(8)..];
        assert_eq!(records.len(), RECORD_BYTES * count as usize, "a frame of another length");
        for record in records.chunks_exact(RECORD_BYTES) {
            let place = u32_at(record, 0);
            assert!(kind == 2 || seq > 0 || place as usize == tree.records.len(), "a snapshot out of order");
            tree.records.insert(place, Record::of(record));
        }
        tree.is_whole |= kind >= 1;
    }
}

impl Record {
    fn of(bytes: &[u8]) -> Self {
        Self {
            parent: u32_at(bytes, 4),
            tag: u64_at(bytes, 8),
            begun_ms: u32_at(bytes, 16),
            ended_ms: u32_at(bytes, 20),
            work_us: f64::from_bits(u64_at(bytes, 24)),
            host: u32_at(bytes, 32),
            kind: u16_at(bytes, 36),
            depth: u16_at(bytes, 38),
            state: bytes[40],
            flags: bytes[41],
            worker: u16_at(bytes, 42),
            rolled: u32_at(bytes, 44),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"))
}
