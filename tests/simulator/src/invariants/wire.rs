//! What is in flight is not sent again: where nothing is lost or late, each parcel's bytes travel once.

use sateen_protocol::limits::PARCEL_WINDOW_BYTES_MIN;

use crate::pipes::Pipe;
use crate::schedule::Fault;
use crate::world::World;

/// Questions about the first bytes of a parcel that may be asked again, as nobody knows then how slow a link is.
const FIRST_QUESTIONS: u64 = 2;
/// What chunks take beside their bytes, in parts of a thousand.
const OVERHEAD_PER_MILLE: u64 = 5;

pub fn check(world: &World) -> Option<String> {
    let is_undisturbed = world.schedule.iter().all(|fault| matches!(fault, Fault::Calm));
    if !is_undisturbed || !world.network.pipes.is_limited() {
        return None;
    }
    let (parcels, bytes) = world.parcels.announced();
    let is_first = |pipe: &Pipe| !matches!(pipe, Pipe::Down(_));
    let carried = world.network.pipes.carried.iter().filter(|(pipe, _)| is_first(pipe));
    let sent: u64 = carried.map(|(_, bytes)| bytes).sum();
    let again = parcels * FIRST_QUESTIONS * PARCEL_WINDOW_BYTES_MIN as u64;
    let most = bytes + bytes * OVERHEAD_PER_MILLE / 1_000 + again;
    (sent > most).then(|| format!("{sent} bytes were sent of {parcels} parcels, which have {bytes}"))
}
