//! How long single events of the protocol's machines take in the largest grids.

use anyhow::Result;
use rustix::time::{ClockId, clock_gettime};
use sateen_simulator::experiments::machine::{self, Row, Scale};

use crate::figure::Figure;

/// This thread's processor time: what else runs makes no event longer.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The longest event of each kind, and the median.
pub fn bench() -> Result<Vec<Figure>> {
    let scale = Scale::default();
    let Scale { hosts, entries, repetitions, .. } = scale;
    eprintln!(
        "machine: {repetitions} times a coordinator of {hosts} hosts with {entries} entries, and a host"
    );
    Ok(machine::measure(now_ns, scale).into_iter().map(figure).collect())
}

fn figure(row: Row) -> Figure {
    Figure::ratio("machine", format!("longest: {}", row.kind), [row.longest_ms].into_iter().collect())
        .unit("ms")
        .against(format!("median {:.4} ms of {} events", row.median_ms, row.events))
        .goal(1.0, 0.1)
}
