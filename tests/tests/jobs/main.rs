//! Spawned jobs give what the sequential program gives, on one worker and on many, whatever they do
//! with their handles, their parameters and their failures.

mod awkward;
mod engines;
mod failures;
mod limits;
mod objects;
mod orders;
mod parameters;
mod profile;
mod random_programs;
mod sets;
mod shapes;
mod statics;
mod voice;
mod waits;
