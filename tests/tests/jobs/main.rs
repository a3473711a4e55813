//! Spawned jobs have the same results as the sequential program, on one worker and on many, whatever they do
//! with their handles, their parameters and their failures.

mod awkward;
mod engines;
mod failures;
mod limits;
mod objects;
mod orders;
mod parameters;
mod prepared;
mod profile;
mod random_programs;
mod sets;
mod shapes;
mod statics;
mod voice;
mod waits;
#[cfg(target_os = "linux")]
mod walled;
