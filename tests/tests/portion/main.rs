//! Portions of one run in one process, with a shuttle in place of a network: jobs that move between hosts
//! have the same results as on one host, despite crashes, leaves and aborts.

mod aborts;
mod control;
mod crashes;
mod forecast;
mod hostile;
mod moves;
mod objects;
mod sharing;
mod shuttle;
mod task;

use sateen_protocol::Again;

/// How jobs of a crashed host are begun again.
pub const fn lost(depth_max: u32) -> Again {
    Again { redone: true, begun: true, given_back: false, lookup_below: depth_max }
}
