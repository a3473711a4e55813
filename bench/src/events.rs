//! How long single events of the protocol's machines, and of the coordinator's driver, take in the largest grids.

use std::collections::BTreeMap;

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};
use sateen_simulator::experiments::machine::{self, Row, Scale};

use crate::figure::Figure;

/// This thread's processor time, which other load does not increase.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The longest event of each kind, and the median.
pub fn bench() -> Result<Vec<Figure>> {
    let scale = Scale::default();
    let Scale { hosts, entries, repetitions, .. } = scale;
    // As the coordinator and hosts do at their start.
    sateen_command_line::free_at_once();
    eprintln!(
        "machine: {repetitions} times a coordinator with {hosts} hosts and {entries} entries, and a host"
    );
    let mut rows = machine::measure(now_ns, scale);
    rows.extend(driver(hosts, repetitions)?);
    Ok(rows.into_iter().map(figure).collect())
}

/// The coordinator driver's work in addition to the machine's. Of repetitions, the shortest time of each event counts,
/// as other load disturbs it.
fn driver(hosts: u64, repetitions: usize) -> Result<Vec<Row>> {
    eprintln!("machine: {repetitions} times the coordinator's driver with {hosts} hosts");
    let mut least: BTreeMap<&'static str, Vec<u64>> = BTreeMap::new();
    for _ in 0..repetitions {
        let folder = tempfile::tempdir()?;
        for (kind, times) in sateen_coordinator::measure_driver(folder.path(), hosts, now_ns)? {
            match least.get_mut(kind) {
                Some(known) => {
                    known.iter_mut().zip(times).for_each(|(known, time)| *known = time.min(*known));
                }
                None => drop(least.insert(kind, times)),
            }
        }
    }
    let row = |(kind, mut times): (&'static str, Vec<u64>)| {
        times.sort_unstable();
        let ms = |place: usize| times[place] as f64 / 1e6;
        let last = times.len() - 1;
        Row {
            kind,
            events: times.len(),
            median_ms: ms(times.len() / 2),
            p9999_ms: ms(last - times.len() / 10_000),
            longest_ms: ms(last),
        }
    };
    Ok(least.into_iter().map(row).collect())
}

fn figure(row: Row) -> Figure {
    Figure::ratio("machine", format!("longest: {}", row.kind), [row.longest_ms].into_iter().collect())
        .unit("ms")
        .against(format!("median {:.4} ms of {} events", row.median_ms, row.events))
        .goal(1.0, 0.1)
}
