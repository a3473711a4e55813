//! Jobs of a tree as bytes, all of one length, as pages draw them.

use super::Chronicle;
use super::state::JobState;
use super::tree::{NEVER, NOWHERE, Node};

/// Bytes of a job in a tree's frame.
pub const RECORD_BYTES: usize = 48;

impl Chronicle {
    /// Appends the records of these jobs.
    pub fn records(&self, places: impl Iterator<Item = u32>, bytes: &mut Vec<u8>) -> u32 {
        let mut count = 0;
        for place in places {
            let Some(node) = self.tree.get(place) else { continue };
            record(place, node, bytes);
            count += 1;
        }
        count
    }
}

fn record(place: u32, node: &Node, bytes: &mut Vec<u8>) {
    let work_us = node.work_ns().map_or(f64::NAN, |work_ns| work_ns as f64 / 1e3);
    bytes.extend_from_slice(&place.to_le_bytes());
    bytes.extend_from_slice(&node.parent.to_le_bytes());
    bytes.extend_from_slice(&node.tag.0.to_le_bytes());
    bytes.extend_from_slice(&node.begun_ms.to_le_bytes());
    bytes.extend_from_slice(&node.ended_ms.to_le_bytes());
    bytes.extend_from_slice(&work_us.to_le_bytes());
    bytes.extend_from_slice(&node.host.to_le_bytes());
    bytes.extend_from_slice(&node.kind.to_le_bytes());
    bytes.extend_from_slice(&node.depth.to_le_bytes());
    bytes.push(node.state as u8);
    bytes.push(node.flags());
    bytes.extend_from_slice(&node.worker.to_le_bytes());
    bytes.extend_from_slice(&node.rolled.to_le_bytes());
    // A running job has no end, and a job without a known parent no parent: both are all ones.
    const { assert!(NOWHERE == u32::MAX && NEVER == u32::MAX && JobState::Running as u8 == 0) };
}
