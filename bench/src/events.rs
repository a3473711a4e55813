//! How long single events of the protocol's machines take in the largest grids.

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};
use sateen_simulator::experiments::machine::{self, Row};

use crate::figure::Figure;

/// Hosts of the grid.
const HOSTS: u64 = 100_000;
/// Entries of the run's table at the coordinator; half as many at a host.
const ENTRIES: u64 = 1_000_000;

/// This thread's processor time: what else runs makes no event longer.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The longest event of each kind, and the median.
pub fn bench() -> Result<Vec<Figure>> {
    eprintln!("machine: a coordinator of {HOSTS} hosts");
    let mut rows = machine::coordinator(now_ns, HOSTS, ENTRIES);
    eprintln!("machine: a host with {} entries", ENTRIES / 2);
    rows.extend(machine::host(now_ns, ENTRIES / 2));
    Ok(rows.into_iter().map(figure).collect())
}

fn figure(row: Row) -> Figure {
    Figure::ratio("machine", format!("longest: {}", row.kind), [row.longest_ms].into_iter().collect())
        .unit("ms")
        .against(format!("median {:.4} ms of {} events", row.median_ms, row.events))
        .goal(1.0, 0.1)
}
