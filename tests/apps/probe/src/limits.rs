//! Jobs that exceed their limits.

use sateen::prelude::*;

/// Computes for ever and never spawns.
#[job]
pub fn endless(n: u64) -> u64 {
    let mut state = n;
    loop {
        state = crate::mix(state);
        if state == n.wrapping_add(1) {
            std::hint::black_box(state);
        }
    }
}

/// A loop that uses only registers.
#[main]
pub fn loop_for_ever() -> u64 {
    endless(1)
}

/// A loop that calls nothing and ends.
#[job]
pub fn long_loop(turns: u64, seed: u64) -> u64 {
    (0..turns).fold(seed, |state, turn| crate::mix(state ^ turn))
}

/// Jobs that are such loops.
#[main]
pub fn long_loops(jobs: u64, turns: u64) -> u64 {
    long_loop::spawn_all((0..jobs).map(|seed| (turns, seed))).sync().iter().fold(0, |all, state| all ^ state)
}

/// A loop in a job on another worker, while this one waits.
#[main]
pub fn wait_for_ever() -> u64 {
    let endless = endless::spawn(1);
    crate::spin(20_000_000);
    endless.sync()
}

/// Spawns and syncs for ever.
#[main]
pub fn spawn_and_sync_for_ever() -> u64 {
    let mut sum = 0u64;
    loop {
        sum = sum.wrapping_add(crate::shapes::leaf::spawn(sum).sync());
    }
}

/// Recurses for ever, by plain calls.
#[main]
pub fn recurse_for_ever() -> u64 {
    fn down(n: u64) -> u64 {
        if n == u64::MAX { 0 } else { down(n + 1) ^ std::hint::black_box(n) }
    }
    down(0)
}

/// Recurses for ever with large frames on the stack in the app's own memory.
#[main]
pub fn recurse_in_memory_for_ever() -> u64 {
    fn down(n: u64) -> u64 {
        let words = std::hint::black_box([n; 512]);
        if n == u64::MAX { 0 } else { down(n + 1) ^ words[(n % 512) as usize] }
    }
    down(0)
}

/// A tree without leaves.
#[job]
pub fn bottomless(n: u64) -> u64 {
    let left = bottomless::spawn(n + 1);
    let right = bottomless::spawn(n + 2);
    left.sync() ^ right.sync()
}

/// Recursive spawning for ever.
#[main]
pub fn spawn_deeper_for_ever() -> u64 {
    bottomless(0)
}

/// A flat loop that keeps every handle.
#[main]
pub fn spawn_wider_for_ever() -> u64 {
    let mut handles = Vec::new();
    loop {
        handles.push(crate::shapes::leaf::spawn(handles.len() as u64));
        if handles.len() == usize::MAX {
            return handles.sync_all().len() as u64;
        }
    }
}

/// Asks for `gibibytes` in one vector.
#[main]
pub fn allocate(gibibytes: u64) -> u64 {
    let words = usize::try_from(gibibytes << 27).unwrap_or(usize::MAX);
    let vector: Vec<u64> = Vec::with_capacity(words);
    std::hint::black_box(&vector);
    vector.capacity() as u64
}

/// Requests `gibibytes` from the engine itself, and continues when refused.
#[main]
pub fn grow(gibibytes: usize) -> String {
    #[cfg(target_family = "wasm")]
    let grown = core::arch::wasm32::memory_grow(0, gibibytes << 14);
    #[cfg(not(target_family = "wasm"))]
    let grown = gibibytes;
    format!("grown from {grown}")
}

/// Returns this number of mebibytes.
#[main]
pub fn large_output(mebibytes: usize) -> Vec<u8> {
    vec![7; mebibytes << 20]
}

/// A job that returns this number of mebibytes.
#[job]
pub fn large(mebibytes: usize) -> Vec<u8> {
    vec![7; mebibytes << 20]
}

/// A child's result of this number of mebibytes.
#[main]
pub fn large_result(mebibytes: usize) -> u64 {
    let handle = large::spawn(mebibytes);
    crate::spin(20_000_000);
    handle.sync().len() as u64
}

/// Children with results of this number of mebibytes; the parent is busy for long enough that others take them.
#[main]
pub fn large_results(children: usize, mebibytes: usize) -> u64 {
    let handles: Vec<_> = (0..children).map(|_| large::spawn(mebibytes)).collect();
    crate::spin(2_000_000_000);
    handles.into_iter().map(|handle| handle.sync().len() as u64).sum()
}

/// Takes bytes and returns their number.
#[job]
pub fn count(bytes: Vec<u8>) -> u64 {
    bytes.len() as u64
}

/// A child's parameter of this number of mebibytes.
#[main]
pub fn large_parameter(mebibytes: usize) -> u64 {
    let handle = count::spawn(vec![7; mebibytes << 20]);
    crate::spin(20_000_000);
    handle.sync()
}

/// Logs that it has begun, and does not end.
#[main]
pub fn begin_for_ever() -> u64 {
    sateen::log!("begun");
    endless(1)
}

/// Logs that it has begun, and does not end: one worker computes while the others wait.
#[main]
pub fn begin_waiting_for_ever() -> u64 {
    let endless = endless::spawn(1);
    sateen::log!("begun");
    crate::spin(20_000_000);
    endless.sync()
}

/// Repeatedly fills all the memory that it can get, with single instructions.
#[main]
pub fn fill_for_ever(mebibytes: usize) -> u64 {
    sateen::log!("begun");
    let mut bytes = vec![1u8; mebibytes << 20];
    for round in 0u8.. {
        bytes.fill(round);
        std::hint::black_box(&mut bytes);
    }
    0
}

/// A node of a tree that holds `kibibytes` while its children run; returns the number of nodes at or below it.
#[job]
pub fn hoarder(depth: u64, kibibytes: usize) -> u64 {
    let held = std::hint::black_box(vec![1u8; kibibytes << 10]);
    if depth == 0 {
        crate::spin(5_000_000);
        return u64::from(held[held.len() / 2]);
    }
    let children = [(); 2].map(|()| hoarder::spawn(depth - 1, kibibytes));
    crate::spin(1_000_000);
    let below: u64 = children.into_iter().map(Spawned::sync).sum();
    below + u64::from(held[held.len() / 2])
}

/// A tree in which each path holds `depth` times `kibibytes`, and all waiting nodes together much more.
#[main]
pub fn hoard(depth: u64, kibibytes: usize) -> u64 {
    hoarder::spawn(depth, kibibytes).sync()
}
