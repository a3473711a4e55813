//! The app that this repo's tests run: every use and misuse of the SDK that they need, one entry
//! point each. It is also compiled for this machine, where the same entry points return the expected answers.

pub mod failures;
pub mod limits;
pub mod measured;
pub mod objects;
pub mod orders;
pub mod parameters;
pub mod prepared;
pub mod program;
pub mod sets;
pub mod shapes;
pub mod shared_program;
pub mod statics;
pub mod voice;
pub mod waits;

/// A well-mixed number from `seed` (splitmix64): the app's only source of variety.
#[must_use]
pub fn mix(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Some work without spawns that is not optimised away: about `steps` nanoseconds of it.
pub fn spin(steps: u64) -> u64 {
    std::hint::black_box((0..steps).fold(std::hint::black_box(steps), |state, step| mix(state ^ step)))
}
