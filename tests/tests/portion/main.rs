//! Portions of one run in one process, with a shuttle in place of a network: jobs that move between hosts
//! give what they give on one, whatever crashes, leaves or is aborted.

mod aborts;
mod control;
mod crashes;
mod hostile;
mod moves;
mod objects;
mod sharing;
mod shuttle;
