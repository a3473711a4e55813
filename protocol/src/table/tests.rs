use super::*;
use crate::limits::{ENTRIES_PER_MESSAGE_MAX, MESSAGE_PART_BYTES};
use crate::{Finished, INLINE_RESULT_BYTES_MAX, Lineage, Outcome};

fn key(byte: u8) -> JobKey {
    JobKey([byte; 32])
}

fn entry(job: u8, above: &[u8], state: EntryState) -> Entry {
    let lineage = Lineage(above.iter().map(|byte| key(*byte).tag()).collect());
    Entry { key: key(job), depth: above.len() as u32, lineage, state, is_earlier: false }
}

fn done(work_ns: u64) -> EntryState {
    EntryState::Done(Finished { outcome: Outcome::Done(vec![1].into()), work_ns, span_ns: 1 })
}

#[test]
fn a_result_makes_what_is_below_superfluous() {
    let mut table = Table::new(1 << 20);
    assert!(table.insert(entry(3, &[1, 2], done(5))));
    assert!(table.insert(entry(4, &[1], EntryState::Running(HostId(9)))));
    assert_eq!((table.depth_below(key(1).tag()), table.depth_below(key(2).tag())), (2, 2));
    assert!(table.insert(entry(2, &[1], done(6))));
    assert!(!table.sweep(5));
    assert!(table.get(&key(3)).is_none());
    assert_eq!((table.len(), table.is_empty()), (2, false));
    assert_eq!(table.below(key(1).tag()).count(), 2);
    assert_eq!(table.depth_below(key(2).tag()), 0);
}

#[test]
fn many_entries_below_a_result_are_dropped_a_few_at_a_time() {
    let mut table = Table::new(1 << 20);
    for job in 10..60 {
        table.insert(entry(job, &[1, 2], done(5)));
    }
    table.insert(entry(2, &[1], done(5)));
    assert_eq!(table.len(), 51);
    assert!(table.sweep(20));
    assert_eq!(table.len(), 31);
    assert!(table.sweep(29) && !table.sweep(29));
    assert_eq!((table.len(), table.take_superfluous().len()), (1, 50));
    // An entry that comes later below it is dropped, too, once there is another result.
    table.insert(entry(60, &[1, 2], done(5)));
    table.insert(entry(1, &[], done(5)));
    assert!(!table.sweep(29));
    assert_eq!(table.len(), 1);
}

#[test]
fn a_bounded_number_of_superfluous_keys_is_remembered() {
    let mut table = Table::new(64 << 20);
    for job in 0..SUPERFLUOUS_MAX as u64 + 10 {
        let mut key = [9; 32];
        key[..8].copy_from_slice(&job.to_le_bytes());
        table.insert(Entry { key: JobKey(key), ..entry(0, &[1], done(5)) });
    }
    table.insert(entry(1, &[], done(5)));
    assert!(!table.sweep(usize::MAX));
    assert_eq!((table.len(), table.take_superfluous().len()), (1, SUPERFLUOUS_MAX));
}

#[test]
fn a_large_entry_displaces_many_a_few_at_a_time() {
    let mut table = Table::new(128 << 10);
    for job in 0..200 {
        table.insert(entry(job, &[], EntryState::Running(HostId(1))));
    }
    let outcome = Outcome::Done(vec![1; 100 << 10].into());
    let large = EntryState::Done(Finished { outcome, work_ns: u64::MAX, span_ns: 1 });
    let before = table.len();
    table.insert(entry(250, &[], large.clone()));
    assert_eq!(before + 1 - table.len(), DROPPED_AT_ONCE_MAX);
    while table.sweep(DROPPED_AT_ONCE_MAX) {}
    assert!(table.bytes() <= 128 << 10 && table.get(&key(250)).is_some());
    table.insert(entry(251, &[], large.clone()));
    table.insert(entry(252, &[], large));
    assert!(table.bytes() <= 256 << 10, "never more than twice the bound");
}

#[test]
fn entries_below_a_job_are_read_from_any_place() {
    let mut table = Table::new(1 << 20);
    for (job, above) in [(9, [1, 2].as_slice()), (8, &[1]), (7, &[1, 2]), (6, &[2])] {
        table.insert(entry(job, above, done(5)));
    }
    let (mut read, mut after) = (Vec::new(), None);
    while let Some((place, entry)) = table.below_after(key(1).tag(), after).next() {
        read.push(entry.key);
        after = Some(place);
    }
    assert_eq!(read, [8, 7, 9].map(key));
}

#[test]
fn no_other_entry_replaces_a_result() {
    let mut table = Table::new(1 << 20);
    assert!(table.insert(entry(1, &[], EntryState::Running(HostId(1)))));
    assert!(table.insert(entry(1, &[], EntryState::Running(HostId(2)))));
    assert!(table.insert(entry(1, &[], done(1))));
    assert!(!table.insert(entry(1, &[], EntryState::Running(HostId(2)))));
    assert!(!table.insert(entry(1, &[], done(2))));
    assert!(!table.forget_host(HostId(2), 1));
    assert_eq!(table.len(), 1);
}

#[test]
fn the_entries_with_the_least_work_are_dropped_first() {
    let mut table = Table::new(2 * bytes_in_table(&entry(1, &[], done(1))));
    for job in 1..10 {
        table.insert(entry(job, &[], done(u64::from(job))));
    }
    assert!(table.bytes() <= table.bytes_max && table.dropped() > 0);
    assert!(table.get(&key(9)).is_some() && table.get(&key(1)).is_none());
    let keys: Vec<JobKey> = table.iter().map(|entry| entry.key).collect();
    for key in keys {
        table.remove(&key);
    }
    assert_eq!((table.bytes(), table.below.len(), table.results.len()), (0, 0, 0));
}

#[test]
fn entries_without_results_are_evicted_in_their_turn_and_not_listed_as_results() {
    let mut table = Table::new(3 * bytes_in_table(&entry(1, &[], done(1))));
    let at = |work_ns| EntryState::DoneAt { host: HostId(7), work_ns };
    for (job, state) in [(1, done(30)), (2, at(20)), (3, done(10)), (4, at(40)), (5, done(50))] {
        table.insert(entry(job, &[], state));
    }
    assert_eq!(table.iter().map(|entry| entry.key).collect::<Vec<_>>(), [1, 4, 5].map(key));
    let results: Vec<_> = table.results_after(None).map(|(place, _)| place).collect();
    assert_eq!(results, [(50, key(5)), (30, key(1))]);
    assert_eq!(table.results_after(Some(results[0])).count(), 1);
    assert!(table.insert(entry(4, &[], done(60))));
    assert_eq!(table.results_after(None).next().map(|(place, _)| place), Some((60, key(4))));
    [1, 4, 5].map(key).iter().for_each(|key| drop(table.remove(key)));
    assert_eq!((table.results.len(), table.by_work.len()), (0, 0));
}

#[test]
fn entries_that_name_a_host_are_removed_with_it() {
    let mut table = Table::new(1 << 20);
    let at = |host| EntryState::DoneAt { host: HostId(host), work_ns: 1 };
    for (job, state) in [(1, at(7)), (2, at(8)), (3, EntryState::Running(HostId(7))), (4, done(1))] {
        assert!(table.insert(entry(job, &[9], state)));
    }
    // The job's place changes, and changes again.
    assert!(table.insert(entry(3, &[9], EntryState::Running(HostId(8)))));
    assert!(table.refers_to(HostId(7)));
    assert!(table.forget_host(HostId(7), 1) && !table.forget_host(HostId(7), 2));
    assert!(!table.refers_to(HostId(7)) && table.refers_to(HostId(8)));
    assert_eq!(table.iter().map(|entry| entry.key).collect::<Vec<_>>(), [2, 3, 4].map(key));
    assert!(!table.forget_host(HostId(8), 5));
    assert_eq!((table.len(), table.by_place.len()), (1, 0));
    table.shrink(5);
    assert!(table.is_empty() && table.bytes() == 0);
}

#[test]
fn the_total_counts_the_memory_of_several_tables() {
    let total = Total::default();
    let mut tables = [(); 2].map(|()| Table::among(1 << 20, &total));
    for table in &mut tables {
        table.insert(entry(1, &[2], done(1)));
        table.insert(entry(1, &[2], done(1)));
        table.insert(entry(3, &[2], done(1)));
    }
    assert_eq!(total.bytes(), 2 * tables[0].bytes());
    let [mut one, other] = tables;
    one.remove(&key(3));
    assert_eq!(total.bytes(), one.bytes() + other.bytes());
    assert!(one.evict() && !one.evict());
    drop(one);
    assert_eq!(total.bytes(), other.bytes());
    drop(other);
    assert_eq!(total.bytes(), 0);
}

#[test]
fn an_entry_is_shared_with_its_result_up_to_a_maximum_length() {
    let here = HostId(3);
    for (length, is_inline) in [(INLINE_RESULT_BYTES_MAX, true), (INLINE_RESULT_BYTES_MAX + 1, false)] {
        let finished = Finished { outcome: Outcome::Done(vec![0; length].into()), work_ns: 5, span_ns: 5 };
        let whole = entry(1, &[], EntryState::Done(finished));
        let shared = whole.to_share(here);
        assert_eq!(shared == whole, is_inline, "{length} bytes");
        let place = EntryState::DoneAt { host: here, work_ns: 5 };
        assert_eq!(shared.state == place, !is_inline, "{length} bytes");
    }
}

#[test]
fn entries_are_split_into_batches_that_fit_into_messages() {
    let small = vec![entry(1, &[], done(5)); 2 * ENTRIES_PER_MESSAGE_MAX + 1];
    let lengths = |entries: &[Entry]| Entry::batches(entries).map(<[Entry]>::len).collect::<Vec<_>>();
    assert_eq!(lengths(&small), [ENTRIES_PER_MESSAGE_MAX, ENTRIES_PER_MESSAGE_MAX, 1]);
    let finished =
        Finished { outcome: Outcome::Done(vec![0; MESSAGE_PART_BYTES / 3].into()), work_ns: 5, span_ns: 5 };
    let large = entry(1, &[], EntryState::Done(finished));
    assert!(large.bytes() > MESSAGE_PART_BYTES / 3);
    assert_eq!(lengths(&vec![large; 7]), [3, 3, 1]);
    assert_eq!(lengths(&[]), [0; 0]);
}

/// A table with entries 1 to 4, of which 4 took the least work. Entries of running jobs are worth the most.
fn by_work(bytes_max: impl Fn(usize) -> usize) -> Table {
    let mut table = Table::new(usize::MAX);
    let at = EntryState::DoneAt { host: HostId(9), work_ns: 7 };
    for (job, state) in [(1, EntryState::Running(HostId(9))), (2, done(9)), (3, at), (4, done(5))] {
        assert!(table.insert(entry(job, &[], state)));
    }
    table.bytes_max = bytes_max(table.bytes());
    table
}

fn left(table: &Table) -> Vec<u8> {
    table.iter().map(|entry| entry.key.0[0]).collect()
}

#[test]
fn entries_are_dropped_by_work_down_to_the_bound() {
    let mut table = by_work(|_| 0);
    table.bytes_max = table.bytes() - 1;
    for expected in [&[1, 2, 3][..], &[1, 2], &[1], &[]] {
        assert!(table.is_to_be_swept());
        assert!(!table.sweep(1));
        assert_eq!(left(&table), expected);
        table.bytes_max = table.bytes().saturating_sub(1);
    }
    assert_eq!(table.dropped(), 4);
}

#[test]
fn only_twice_the_bound_is_enforced_at_once() {
    let mut whole = by_work(|bytes| bytes);
    assert!(!whole.is_to_be_swept() && !whole.sweep(9));
    assert_eq!((left(&whole).len(), whole.dropped()), (4, 0));
    let mut half = by_work(|bytes| bytes.div_ceil(2));
    assert!(half.sweep(0));
    assert_eq!(left(&half).len(), 4, "it may have a moment");
    let mut less = by_work(|bytes| bytes / 2 - 1);
    assert!(less.sweep(0), "there is more to drop");
    assert_eq!(left(&less), [1, 2, 3]);
}
