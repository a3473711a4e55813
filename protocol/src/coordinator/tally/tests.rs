//! Tests of what hosts have counted.

use super::*;
use crate::Jobs;

const HOST: HostId = HostId(3);
const OTHER: HostId = HostId(4);

fn counts(work_ns: u64) -> Counts {
    let jobs = Jobs { spawned: work_ns, executed: work_ns, ..Jobs::default() };
    Counts { jobs, work_ns, ..Counts::default() }
}

/// After a restart of the coordinator.
fn again(tally: &Tally) -> Tally {
    Tally::restore(tally.rows_from(HostId(0)).collect(), tally.begun_anew().collect(), tally.long_gone())
}

#[test]
fn hosts_that_have_computed_something_count_once_each() {
    let mut tally = Tally::default();
    let asked = Counts { steal_requests: 3, workers: 4, ..Counts::default() };
    tally.count(HOST, 1, asked);
    assert_eq!(tally.at_work(), AtWork::default(), "it found nothing to do");
    tally.count(HOST, 1, Counts { workers: 4, ..counts(5) });
    tally.count(OTHER, 1, asked);
    let one = AtWork { hosts: 1, workers: 4 };
    assert_eq!((tally.at_work(), AtWork::of(tally.rows_from(HostId(0)))), (one, one));
    // It goes, and its process comes back as another host, before and after the coordinator is started again.
    let back = HostId(9);
    tally.leave(HOST, |_| Whereabouts::Gone);
    tally.rename(HOST, back);
    assert_eq!((tally.at_work(), again(&tally).at_work()), (one, one));
    tally.count(back, 2, asked);
    assert_eq!(tally.at_work(), one);
    // Others come and go, until there is no row left for it.
    tally.leave(back, |_| Whereabouts::Gone);
    let others = GONE_HOSTS_LISTED_MAX as u64;
    for host in 100..100 + others {
        tally.count(HostId(host), 1, counts(1));
        tally.leave(HostId(host), |_| Whereabouts::Gone);
    }
    assert_eq!((tally.at_work().hosts, tally.long_gone()), (1 + others, 1));
    assert_eq!(again(&tally).at_work().hosts, 1 + others);
    tally.rename(back, HOST);
    assert_eq!((tally.at_work().hosts, tally.long_gone()), (1 + others, 0));
    tally.count(HOST, 3, counts(8));
    assert_eq!(tally.at_work().hosts, 1 + others);
    tally.leave(HOST, |_| Whereabouts::Gone);
    tally.leave(HostId(100 + others - 1), |_| Whereabouts::Gone);
    assert_eq!(tally.at_work().hosts, 1 + others);
}

#[test]
fn a_root_that_was_given_back_counts_at_the_host_that_had_it() {
    let mut tally = Tally::default();
    tally.count_root_given_back(HOST);
    assert_eq!(tally.len(), 0, "it had not begun it");
    tally.count(HOST, 1, counts(5));
    tally.count_root_given_back(HOST);
    for mut tally in [again(&tally), tally] {
        assert_eq!((tally.sum().jobs.given_back, tally.sum().work_ns), (1, 5));
        assert_eq!(tally.count(HOST, 1, counts(7)).jobs.given_back, 1);
        assert_eq!((tally.sum().jobs.given_back, tally.sum().work_ns), (1, 7));
    }
}

#[test]
fn counts_of_a_host_are_added_once_even_if_a_side_restarts() {
    let mut tally = Tally::default();
    assert_eq!(tally.count(HOST, 1, counts(100)).work_ns, 100);
    // It was given the run again, after a suspension, and has done more than before when it is heard.
    assert_eq!(tally.count(HOST, 2, counts(150)).work_ns, 250);
    // The coordinator began anew, and the host did not.
    let mut tally = again(&tally);
    assert_eq!(tally.sum().work_ns, 250);
    assert_eq!(tally.count(HOST, 2, counts(160)).work_ns, 260);
    assert_eq!(tally.count(HOST, 3, counts(5)).work_ns, 265);
    // Both did.
    let mut tally = again(&tally);
    assert_eq!(tally.count(HOST, 4, counts(1)).work_ns, 266);
}

#[test]
fn a_host_that_comes_back_as_another_is_counted_once() {
    let mut tally = Tally::default();
    tally.count(HOST, 1, counts(100));
    tally.leave(HOST, |_| Whereabouts::Gone);
    assert_eq!(tally.rename(HOST, OTHER), Some(counts(100)));
    tally.count(OTHER, 1, counts(120));
    assert_eq!(tally.sum().jobs.executed, 120);
    // Paused meanwhile: it has begun anew under the new id.
    tally.leave(OTHER, |_| Whereabouts::Gone);
    tally.rename(OTHER, HOST);
    tally.count(HOST, 2, counts(7));
    assert_eq!((tally.sum().jobs.executed, tally.rows_from(HostId(0)).count()), (127, 1));
}

#[test]
fn rows_of_the_gone_are_bounded_and_their_work_is_counted_once() {
    let mut tally = Tally::default();
    let hosts = 4 * GONE_HOSTS_LISTED_MAX as u64;
    for host in 1..=hosts {
        tally.count(HostId(host), 1, counts(10));
        tally.leave(HostId(host), |_| Whereabouts::Gone);
    }
    assert_eq!(tally.sum().work_ns, 10 * hosts);
    assert_eq!(tally.rows_from(HostId(0)).count(), GONE_HOSTS_LISTED_MAX + 1);
    // The first is still at it, and comes back as another.
    tally.rename(HostId(1), HostId(hosts + 1));
    tally.count(HostId(hosts + 1), 1, Counts { busy: 1, ..counts(12) });
    assert_eq!((tally.sum().work_ns, tally.sum().busy), (10 * hosts, 1));
    // Then it begins the run anew.
    tally.count(HostId(hosts + 1), 2, counts(3));
    assert_eq!(tally.sum().work_ns, 10 * hosts + 3);
}

#[test]
fn the_sum_is_that_of_the_rows_whatever_happened() {
    let mut tally = Tally::default();
    let mut random = crate::Random::new(1);
    for step in 0..20_000 {
        let host = HostId(1 + random.below(3 * GONE_HOSTS_LISTED_MAX) as u64);
        match random.below(8) {
            0 => tally.leave(host, |host| match host.0 % 3 {
                0 => Whereabouts::There,
                1 => Whereabouts::Missing,
                _ => Whereabouts::Gone,
            }),
            1 => drop(tally.rename(host, HostId(1 + random.below(3 * GONE_HOSTS_LISTED_MAX) as u64))),
            2 => drop(tally.count(host, 1, Counts { workers: u32::MAX, ..counts(u64::MAX) })),
            _ => drop(tally.count(host, 1, Counts { workers: 2, busy: 1, ..counts(step) })),
        }
        if step % 500 == 0 {
            let mut sum = Counts::default();
            tally.rows_from(HostId(0)).for_each(|(_, row)| sum.add(&row));
            assert_eq!(tally.sum(), sum);
            let mut at_work = AtWork::of(tally.rows_from(HostId(0)));
            at_work.hosts += tally.long_gone();
            // Those that are known to have worked before they had their rows have more than their rows say.
            let more = tally
                .rows_from(HostId(0))
                .filter(|(host, row)| !row.has_computed() && tally.has_worked(*host, row));
            more.for_each(|(_, row)| at_work.add(&row));
            assert_eq!(tally.at_work(), at_work);
            let there = tally.rows_from(HostId(0)).filter(|(host, _)| !tally.away.contains(host));
            let workers = there.map(|(_, row)| u64::from(row.workers)).sum::<u64>();
            assert_eq!(tally.workers, workers);
        }
    }
}

/// What is taken bit by bit and saved is the same as the whole.
#[test]
fn rows_that_have_changed_are_taken_once_and_are_all_that_there_is_to_know() {
    let mut tally = Tally::default();
    let mut saved: BTreeMap<HostId, Row> = BTreeMap::new();
    let mut random = crate::Random::new(2);
    let mut after = None;
    for step in 0..20_000 {
        let host = HostId(1 + random.below(3 * GONE_HOSTS_LISTED_MAX) as u64);
        match random.below(8) {
            0 => tally.leave(host, |_| Whereabouts::Gone),
            1 => drop(tally.rename(host, HostId(1 + random.below(3 * GONE_HOSTS_LISTED_MAX) as u64))),
            series => drop(tally.count(host, series as u64 / 4, counts(step))),
        }
        let is_last = step == 19_999;
        for (host, row) in tally.take_changed(after, if is_last { usize::MAX } else { random.below(3) }) {
            after = Some(host);
            match row {
                Some(row) => drop(saved.insert(host, row)),
                None => drop(saved.remove(&host)),
            }
        }
    }
    assert!(!tally.has_changed() && tally.take_changed(None, 1).is_empty());
    assert_eq!(
        saved.iter().map(|(host, row)| (*host, row.sum)).collect::<Vec<_>>(),
        tally.rows_from(HostId(0)).collect::<Vec<_>>()
    );
    let anew = saved.iter().filter_map(|(host, row)| row.anew.map(|(before, last)| (*host, before, last)));
    let known = tally.begun_anew().filter(|(host, ..)| saved.contains_key(host));
    assert_eq!(anew.collect::<Vec<_>>(), known.collect::<Vec<_>>());
}

#[test]
fn hosts_that_are_there_keep_their_rows() {
    let mut tally = Tally::default();
    for host in 1..=2 * GONE_HOSTS_LISTED_MAX as u64 {
        tally.count(HostId(host), 1, counts(10));
        tally.leave(HostId(host), |host| match host {
            HostId(1) => Whereabouts::There,
            _ => Whereabouts::Gone,
        });
    }
    assert!(tally.rows_from(HostId(0)).any(|(host, _)| host == HostId(1)));
}

#[test]
fn a_missing_host_that_is_gone_for_good_does_not_keep_its_row() {
    let mut tally = Tally::default();
    let hosts = 8 * GONE_HOSTS_LISTED_MAX as u64;
    for host in 1..=hosts {
        tally.count(HostId(host), 1, counts(10));
        // All that went lately may come back.
        tally.leave(HostId(host), |_| Whereabouts::Missing);
    }
    assert_eq!(tally.rows_from(HostId(0)).count() as u64, hosts);
    // None of them did. A few others come and go.
    for host in hosts + 1..=2 * hosts {
        tally.count(HostId(host), 1, counts(10));
        tally.leave(HostId(host), |_| Whereabouts::Gone);
    }
    assert_eq!(tally.rows_from(HostId(0)).count(), GONE_HOSTS_LISTED_MAX + 1);
    assert_eq!((tally.gone.len(), tally.listed.len()), (GONE_HOSTS_LISTED_MAX, GONE_HOSTS_LISTED_MAX));
    assert_eq!(tally.sum().work_ns, 10 * 2 * hosts);
}

#[test]
fn a_host_that_has_gone_computes_nothing() {
    let mut tally = Tally::default();
    for host in 1..=2 {
        tally.count(HostId(host), 1, Counts { workers: 3, busy: 2, ..counts(10) });
    }
    assert_eq!((tally.sum().busy, tally.workers()), (4, 6));
    tally.leave(HostId(1), |_| Whereabouts::There);
    assert_eq!((tally.sum().busy, tally.workers()), (2, 3));
}
