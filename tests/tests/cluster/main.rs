//! A grid of real processes on loopback, with faults: whatever is killed, stopped or
//! cut off, the answer is the same, bit for bit.

#![cfg(unix)]

mod aborts;
mod answers;
mod awkward;
mod bad_input;
mod bare;
mod comfort;
mod coordinator;
mod crash;
mod data_folder;
mod direct;
#[cfg(target_os = "linux")]
mod guests;
mod keys;
mod leave;
mod limits;
mod loss;
mod missing;
mod objects;
mod replay;
mod reuse;
mod runs;
mod shares;
mod silence;
mod slow;
mod suspend;
mod together;
mod trust;
mod watch;
mod wide;
