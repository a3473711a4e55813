//! Bytes in flight are not sent again: if nothing is lost or late, each parcel's bytes are sent once.

use sateen_protocol::limits::PARCEL_WINDOW_BYTES_MIN;

use crate::pipes::Pipe;
use crate::schedule::Fault;
use crate::world::World;

/// Requests for a parcel's first bytes that may be repeated, as the link's speed is not known then.
const FIRST_QUESTIONS: u64 = 2;
/// Overhead of chunks, in thousandths of their bytes.
const OVERHEAD_PER_MILLE: u64 = 5;

pub fn check(world: &World) -> Option<String> {
    let is_undisturbed = world.faults.schedule.iter().all(|fault| matches!(fault, Fault::Calm));
    if !is_undisturbed || !world.network.pipes.is_limited() {
        return None;
    }
    let (parcels, bytes) = world.faults.parcels.announced();
    let is_first = |pipe: &Pipe| !matches!(pipe, Pipe::Down(_));
    let carried = world.network.pipes.carried.iter().filter(|(pipe, _)| is_first(pipe));
    let sent: u64 = carried.map(|(_, bytes)| bytes).sum();
    let again = parcels * FIRST_QUESTIONS * PARCEL_WINDOW_BYTES_MIN as u64;
    let most = bytes + bytes * OVERHEAD_PER_MILLE / 1_000 + again;
    (sent > most).then(|| format!("{sent} bytes were sent for {parcels} parcels, which have {bytes}"))
}
