//! Jobs that run while others wait. Each step is logged, and a test that receives the lines can block a
//! worker in them: so it decides the order of events, without a clock.

use sateen::prelude::*;

/// A piece of `family`'s work.
#[job]
pub fn piece(n: u64) -> u64 {
    sateen::log!("piece {n} runs");
    n
}

/// Spawns pieces while its own parent waits for it.
#[job]
pub fn family(pieces: u64) -> u64 {
    sateen::log!("family runs");
    piece::spawn_all(0..pieces).sync().iter().sum()
}

/// The root waits for a stolen job, which has work to share.
#[main]
pub fn share_while_waiting(pieces: u64) -> u64 {
    let family = family::spawn(pieces);
    sateen::log!("root waits");
    let sum = family.sync();
    sateen::log!("root goes on");
    sum
}

/// As `share_while_waiting`, with the wait inside an attempt.
#[job]
pub fn attempted(pieces: u64) -> u64 {
    share_while_waiting(pieces)
}

/// The root's wait is within a `try_sync` of a job in place.
#[main]
pub fn share_while_attempting(pieces: u64) -> u64 {
    attempted::spawn(pieces).try_sync().unwrap_or(u64::MAX)
}

/// A job that only logs that it runs.
#[job]
pub fn guest(name: String) -> u64 {
    sateen::log!("{name} runs");
    sateen::log!("{name} ends");
    1
}

/// Waits for its own child.
#[job]
pub fn stranger() -> u64 {
    sateen::log!("stranger runs");
    let own = guest::spawn("inner".to_owned());
    sateen::log!("stranger waits");
    let sum = own.sync();
    sateen::log!("stranger ends");
    sum
}

/// The root waits for `wanted`; meanwhile its worker takes `stranger`, which waits as well, for
/// longer.
#[main]
pub fn wait_beside_a_stranger() -> u64 {
    let wanted = guest::spawn("wanted".to_owned());
    let other = guest::spawn("other".to_owned());
    let stranger = stranger::spawn();
    sateen::log!("root waits");
    let mut sum = wanted.sync();
    sateen::log!("root goes on");
    sum += other.sync();
    sum + stranger.sync()
}

/// A chain of waits: each job waits for the next, which another worker has taken.
#[job]
pub fn waiting_chain(depth: u64) -> u64 {
    if depth == 0 {
        return 0;
    }
    let next = waiting_chain::spawn(depth - 1);
    let other = waiting_chain::spawn(0);
    next.sync() + other.sync() + 1
}

/// More waiting jobs than there may be instances.
#[main]
pub fn many_waits(chains: u64, depth: u64) -> u64 {
    waiting_chain::spawn_all((0..chains).map(|_| depth)).sync().iter().sum()
}
