//! Requests that hosts may send without end, and their bounded effects.

use crate::limits::{
    ACCUSATION_EVERY, ACCUSATIONS_AT_ONCE_MAX, ANSWER_BURST_BYTES, ANSWER_BYTES_PER_SECOND,
    BROADCAST_AT_ONCE_MAX, CHUNK_BYTES_MAX, CIRCLE_OF_ENTRIES_MAX, JOINED_PER_MESSAGE_MAX,
    MESSAGE_PART_BYTES, PING, REFUSALS_AT_ONCE_MAX, SEARCHES_PER_HOST_MAX, SETTLE_MAX,
};
use crate::message::{ToCoordinator, ToHost};
use crate::parcel::{ParcelId, ParcelMessage};
use crate::{Entry, EntryState, HostId, JobKey, Lineage, RunId, Time};

use super::tests::Grid;
use super::{Event, LinkId};

const RUN: RunId = RunId(1);

fn key(job: u64) -> JobKey {
    let mut bytes = [1; 32];
    bytes[..8].copy_from_slice(&job.to_le_bytes());
    JobKey(bytes)
}

/// A grid with a host that has had a run for some time, and many entries below the run's root.
fn with_entries(count: u64) -> (Grid, LinkId, JobKey) {
    let mut grid = Grid::new();
    let (link, _) = grid.join();
    grid.advance(1_000, &[link]);
    grid.submit(RUN);
    let coordinator_run = grid.machine.runs.get_mut(&RUN).expect("the run");
    let root = coordinator_run.root.spec().key;
    for job in 0..count {
        let state = EntryState::DoneAt { host: HostId(99), work_ns: 1 };
        let depth = 1 + (count - job) as u32 % 20;
        let above = Lineage(vec![root.tag(); depth as usize]);
        let entry = Entry { key: key(job), depth, lineage: above, state, is_earlier: false };
        assert!(coordinator_run.ledger.record(&entry, HostId(99), None).is_some());
    }
    (grid, link, root)
}

/// The entries that were sent on a link, and whether the answer is complete.
fn answer(grid: &Grid, link: LinkId) -> (Vec<&Entry>, bool) {
    let said = &grid.said[&link];
    let entries = said.iter().filter_map(|message| match message {
        ToHost::Entries { entries, .. } => Some(entries),
        _ => None,
    });
    (entries.flatten().collect(), said.iter().any(|message| matches!(message, ToHost::Found { .. })))
}

fn bytes(entries: &[&Entry]) -> usize {
    entries.iter().map(|entry| entry.bytes()).sum()
}

#[test]
fn a_search_is_answered_at_a_bounded_rate() {
    let (mut grid, link, root) = with_entries(20_000);
    grid.tell(link, ToCoordinator::Find { run: RUN, key: root });
    let (entries, is_all) = answer(&grid, link);
    assert!(
        !entries.is_empty() && bytes(&entries) <= 2 * MESSAGE_PART_BYTES && !is_all,
        "one event does little"
    );
    grid.advance(0, &[link]);
    let (entries, is_all) = answer(&grid, link);
    let burst = bytes(&entries);
    let about = ANSWER_BURST_BYTES - MESSAGE_PART_BYTES..ANSWER_BURST_BYTES + MESSAGE_PART_BYTES;
    assert!(about.contains(&burst) && !is_all, "{burst} bytes at once");
    grid.advance(250, &[link]);
    let (entries, is_all) = answer(&grid, link);
    let more = bytes(&entries) - burst;
    let at_most = ANSWER_BYTES_PER_SECOND as usize / 4 + MESSAGE_PART_BYTES;
    assert!(!is_all && (at_most / 2..at_most).contains(&more), "{more} more bytes in 250 ms");
    for _ in 0..20 {
        grid.advance(500, &[link]);
    }
    let (entries, is_all) = answer(&grid, link);
    assert!(is_all && entries.len() == 20_000, "{} entries came", entries.len());
    assert!(entries.is_sorted_by_key(|entry| entry.depth), "the nearest first");
    assert_eq!(grid.machine.sizes().searches, 0);
}

#[test]
fn a_second_search_gets_no_burst_of_its_own() {
    let (mut grid, link, root) = with_entries(20_000);
    for _ in 0..50 {
        grid.tell(link, ToCoordinator::Find { run: RUN, key: root });
    }
    grid.advance(0, &[link]);
    let (entries, _) = answer(&grid, link);
    assert!(bytes(&entries) < ANSWER_BURST_BYTES + MESSAGE_PART_BYTES);
    // Nor is anything kept for a host that is gone.
    grid.cut(link);
    assert_eq!(grid.machine.lookups.answers().len(), 0);
}

/// A host that reconnects again and again under new ids gets no new burst each time.
#[test]
fn a_host_earns_its_first_burst_by_staying() {
    let (mut grid, _, root) = with_entries(20_000);
    let links: Vec<LinkId> = (0..50).map(|_| grid.join().0).collect();
    for link in &links {
        grid.tell(*link, ToCoordinator::Find { run: RUN, key: root });
    }
    grid.advance(0, &[]);
    let sent = |grid: &Grid| links.iter().map(|link| bytes(&answer(grid, *link).0)).sum::<usize>();
    assert_eq!(sent(&grid), 0);
    let last = *links.last().expect("fifty");
    grid.advance(100, &links);
    let got = bytes(&answer(&grid, last).0);
    assert!(got > 0 && got <= ANSWER_BYTES_PER_SECOND as usize / 10 + MESSAGE_PART_BYTES, "{got}");
}

#[test]
fn waiting_searches_are_bounded() {
    let (mut grid, link, _) = with_entries(10);
    // A host does not report what it holds of a departed host.
    while grid.machine.newsroom.begin_epoch() < 5 {}
    grid.machine.newsroom.hold(grid.now, 5);
    for job in 0..SEARCHES_PER_HOST_MAX as u64 + 10 {
        grid.tell(link, ToCoordinator::Find { run: RUN, key: key(job) });
    }
    assert_eq!(grid.machine.sizes().searches, SEARCHES_PER_HOST_MAX);
    let found = |grid: &Grid| {
        grid.said[&link].iter().filter(|message| matches!(message, ToHost::Found { .. })).count()
    };
    assert_eq!(found(&grid), 10, "the others find nothing, and need not wait");
    grid.advance(SETTLE_MAX.as_millis() as u64, &[link]);
    grid.advance(PING.as_millis() as u64, &[link]);
    assert_eq!((grid.machine.sizes().searches, found(&grid)), (0, SEARCHES_PER_HOST_MAX + 10));
}

#[test]
fn accusations_are_passed_on_at_a_bounded_rate() {
    let mut grid = Grid::new();
    let (link, _) = grid.join();
    let mut accuse = |now: Time| {
        let count = (0..1000).filter(|number| {
            let accusation =
                ToCoordinator::Misbehaved { host: HostId(*number), reason: "it lies".to_owned() };
            grid.machine.handle_message(now, link, accusation);
            let events = std::iter::from_fn(|| grid.machine.poll_event());
            events.filter(|event| matches!(event, Event::Misbehaved { .. })).count() > 0
        });
        count.count()
    };
    assert_eq!(accuse(Time(0)), ACCUSATIONS_AT_ONCE_MAX as usize);
    assert_eq!(accuse(Time(0) + ACCUSATION_EVERY), 1);
}

#[test]
fn chunks_of_unknown_parcels_are_refused_at_a_bounded_rate() {
    let mut grid = Grid::new();
    let (link, _) = grid.join();
    for parcel in 0..1000 {
        let bytes = vec![1; CHUNK_BYTES_MAX].into();
        let chunk = ParcelMessage::Chunk { parcel: ParcelId(parcel), offset: 0, bytes };
        grid.tell(link, ToCoordinator::Parcel(chunk));
    }
    let is_refusal = |message: &&ToHost| matches!(message, ToHost::Parcel(ParcelMessage::Refused { .. }));
    assert_eq!(grid.said[&link].iter().filter(is_refusal).count(), REFUSALS_AT_ONCE_MAX as usize);
    assert!(!grid.is_closed(link), "they may be late");
}

#[test]
fn a_run_of_many_hosts_is_suspended_when_all_have_saved_it() {
    let mut grid = Grid::new();
    let links: Vec<LinkId> = (0..2 * BROADCAST_AT_ONCE_MAX + 50).map(|_| grid.join().0).collect();
    grid.submit(RUN);
    grid.advance(1, &links);
    assert!(grid.machine.suspend(grid.now, RUN).is_ok());
    grid.drain();
    let state = |grid: &Grid| grid.machine.run(RUN).map(|run| run.state());
    // The first of them answer before the last have been asked.
    for link in &links[..links.len() - 1] {
        assert_eq!(state(&grid), Some(crate::RunState::Suspending));
        grid.tell(*link, ToCoordinator::Suspended { run: RUN });
    }
    grid.advance(1, &links);
    let is_asked =
        |link: &&LinkId| grid.said[link].iter().any(|message| matches!(message, ToHost::SuspendRun { .. }));
    assert_eq!(links.iter().filter(is_asked).count(), links.len());
    for link in &links {
        grid.tell(*link, ToCoordinator::Suspended { run: RUN });
    }
    assert_eq!(state(&grid), Some(crate::RunState::Suspended));
    // And given to all hosts again.
    grid.said.clear();
    assert!(grid.machine.resume(grid.now, RUN).is_ok());
    grid.drain();
    grid.advance(1, &links);
    let is_started =
        |link: &&LinkId| grid.said[link].iter().any(|message| matches!(message, ToHost::StartRun { .. }));
    assert_eq!(links.iter().filter(is_started).count(), links.len());
}

#[test]
fn many_new_hosts_are_reported_in_several_messages() {
    const HOSTS: usize = 250;
    let mut grid = Grid::new();
    let links: Vec<LinkId> = (0..HOSTS).map(|_| grid.join().0).collect();
    grid.advance(1_000, &[]);
    let told = grid.said[&links[0]].iter().filter_map(|message| match message {
        ToHost::Hosts { joined, .. } => Some(joined.len()),
        _ => None,
    });
    let told: Vec<usize> = told.collect();
    assert_eq!(told.iter().max(), Some(&JOINED_PER_MESSAGE_MAX));
    assert_eq!(told.iter().sum::<usize>(), HOSTS - 1, "and none twice");
}

#[test]
fn a_search_does_not_introduce_a_host_to_a_whole_grid() {
    let mut grid = Grid::new();
    let joined: Vec<_> = (0..2_200).map(|_| grid.join()).collect();
    let (link, (searcher, ..)) = joined[0];
    grid.submit(RUN);
    grid.advance(200, &[]);
    let coordinator_run = grid.machine.runs.get_mut(&RUN).expect("the run");
    let root = coordinator_run.root.spec().key;
    for (job, (_, (host, ..))) in joined.iter().enumerate() {
        let state = EntryState::DoneAt { host: *host, work_ns: 1 };
        let above = Lineage(vec![root.tag()]);
        let entry = Entry { key: key(job as u64), depth: 1, lineage: above, state, is_earlier: false };
        assert!(coordinator_run.ledger.record(&entry, *host, None).is_some());
    }
    let circle = |grid: &Grid| grid.machine.circle(searcher).collect::<Vec<_>>();
    grid.tell(link, ToCoordinator::Find { run: RUN, key: root });
    grid.advance(0, &[]);
    let before = circle(&grid);
    assert_eq!(before.len(), CIRCLE_OF_ENTRIES_MAX);
    // The host is still introduced to the one that has the entry it needs.
    let mut strangers = joined.iter().enumerate().filter(|(_, (_, (host, ..)))| !before.contains(host));
    let (job, (_, (host, ..))) = strangers.next_back().expect("some are strangers");
    grid.tell(link, ToCoordinator::Find { run: RUN, key: key(job as u64) });
    assert!(circle(&grid).contains(host));
}
