//! Entries, keys and configurations of both machines.

use sateen_protocol::coordinator::CoordinatorConfig;
use sateen_protocol::message::HostReport;
use sateen_protocol::{
    BlobHash, Entry, EntryState, Finished, GridId, JobKey, Lineage, Outcome, PublicKey, RunSpec, limits,
};

/// Entries of one message: the maximum.
pub const ENTRIES_PER_MESSAGE: u64 = limits::ENTRIES_PER_MESSAGE_MAX as u64;

/// Entry number `job` of a binary tree: its ancestors are found by halving its number.
pub fn entry(job: u64) -> Entry {
    let above = std::iter::successors(Some(job / 2), |job| Some(job / 2)).take_while(|job| *job > 0);
    let mut lineage: Vec<_> = above.map(|job| key(job).tag()).collect();
    lineage.reverse();
    let finished =
        Finished { outcome: Outcome::Done(vec![1; 16].into()), work_ns: 1_000_000 + job, span_ns: 1 };
    Entry {
        key: key(job),
        depth: lineage.len() as u32,
        lineage: Lineage(lineage),
        state: EntryState::Done(finished),
        is_earlier: false,
    }
}

/// The key of job number `job`.
pub fn key(job: u64) -> JobKey {
    // Spread like hashes.
    let mut bytes = [0; 32];
    let spread = job.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes[..8].copy_from_slice(&spread.to_be_bytes());
    bytes[8..16].copy_from_slice(&job.to_be_bytes());
    JobKey(bytes)
}

/// The specification of every run.
pub fn spec() -> RunSpec {
    RunSpec::new(BlobHash([7; 32]))
}

/// The coordinator's configuration.
pub fn config() -> CoordinatorConfig {
    CoordinatorConfig {
        grid: GridId(1),
        secret: [1; 32],
        seed: 1,
        table_bytes_max: usize::MAX,
        circle: limits::CIRCLE,
        place_kept: limits::PLACE_KEPT_MIN,
        restarted: false,
    }
}

/// The key of the host with this number.
fn key_of(host: u64) -> PublicKey {
    PublicKey(std::array::from_fn(|place| host.to_le_bytes()[place % 8]))
}

/// What the host with this number says of itself.
pub fn report(host: u64) -> HostReport {
    HostReport {
        name: format!("host {host}"),
        site: format!("site {}", host % 100),
        threads: 2,
        version: "1".to_owned(),
        direct: None,
        key: key_of(host),
    }
}
