//! A random program: each job's actions follow from a seed. Whatever the scheduler does, its value
//! must equal that of the sequential program.

use sateen::prelude::*;

use crate::mix;

/// A stream of choices that follow from a seed.
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = mix(self.0);
        self.0
    }

    fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Parameters that are kept in a box, as their size and alignment exceed a record's.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Crate {
    seed: u128,
    text: String,
    ballast: Vec<u64>,
}

/// A node with a small record.
#[job]
pub fn node(seed: u64, depth: u32) -> u64 {
    body(seed, depth)
}

/// A node with a boxed record that owns memory.
#[job]
pub fn crated(content: Crate, depth: u32) -> u64 {
    let whole = content.ballast.iter().all(|word| *word == content.seed as u64);
    assert!(whole && content.text == content.seed.to_string(), "parameters were damaged");
    body(content.seed as u64, depth)
}

/// A node that fails by value.
#[job]
pub fn fallible(depth: u32, seed: u64) -> Result<u64, String> {
    if seed % 7 == 3 { Err(format!("error {seed}")) } else { Ok(body(seed, depth)) }
}

enum Handle {
    Node(Spawned<node>),
    Crated(Spawned<crated>),
    Fallible(Spawned<fallible>),
}

impl Handle {
    fn spawn(choices: &mut Choices, depth: u32) -> Self {
        let seed = choices.next();
        match choices.below(4) {
            0 => {
                let ballast = vec![seed; (seed % 50) as usize];
                let content = Crate { seed: u128::from(seed), text: seed.to_string(), ballast };
                Self::Crated(crated::spawn(content, depth))
            }
            1 => Self::Fallible(fallible::spawn(depth, seed)),
            _ => Self::Node(node::spawn(seed, depth)),
        }
    }

    fn sync(self) -> u64 {
        match self {
            Self::Node(handle) => handle.sync(),
            Self::Crated(handle) => handle.sync(),
            Self::Fallible(handle) => handle.sync().unwrap_or_else(|error| digest(&error)),
        }
    }

    fn try_sync(self) -> u64 {
        let caught = match self {
            Self::Node(handle) => handle.try_sync(),
            Self::Crated(handle) => handle.try_sync(),
            Self::Fallible(handle) => {
                handle.try_sync().map(|result| result.unwrap_or_else(|error| digest(&error)))
            }
        };
        caught.unwrap_or_else(|error| digest_of(&error))
    }
}

fn digest_of(error: &JobError) -> u64 {
    digest(&error.message)
}

/// Takes the results of the set; the first result that is a multiple of five makes the others useless. The
/// value is the same in any order of results.
fn taken(set: &mut JobSet<node>) -> u64 {
    let mut value = 0;
    while let Some((index, result)) = set.try_next() {
        let result = result.unwrap_or_else(|error| digest_of(&error));
        if result.is_multiple_of(5) {
            set.abort();
            return 5;
        }
        value ^= mix(result.wrapping_add(index as u64));
    }
    value
}

fn digest(text: &str) -> u64 {
    text.bytes().fold(0, |digest, byte| mix(digest ^ u64::from(byte)))
}

/// One in this number of leaves fails.
const FAILING_LEAVES: u64 = 60;
/// One in this number of children is attempted.
const ATTEMPTS: u64 = 6;

fn body(seed: u64, depth: u32) -> u64 {
    let mut choices = Choices(seed);
    if depth == 0 || choices.one_in(8) {
        crate::spin(choices.below(2_000));
        assert!(!choices.one_in(FAILING_LEAVES), "leaf {seed} fails");
        return mix(seed);
    }
    let mut value = 0;
    // In some nodes each round leaves handles to the next.
    let mut left: Vec<(u64, Handle)> = Vec::new();
    let mut set = JobSet::<node>::new();
    let has_set = choices.one_in(3);
    for _round in 0..=choices.below(2) {
        for _ in 0..if has_set { choices.below(4) } else { 0 } {
            set.spawn((choices.next(), depth - 1));
        }
        let children = choices.below(5);
        left.extend((0..children).map(|child| (child, Handle::spawn(&mut choices, depth - 1))));
        if choices.one_in(3) {
            value ^= body(choices.next(), depth - 1);
        }
        match choices.below(4) {
            0 => left.reverse(),
            1 => {}
            _ => choices.shuffle(&mut left),
        }
        if has_set && choices.one_in(2) {
            value ^= taken(&mut set);
        }
        let kept = if choices.one_in(3) { choices.below(left.len() as u64 + 1) as usize } else { 0 };
        for (child, handle) in left.split_off(kept) {
            let result = match choices.below(10) {
                0 => {
                    drop(handle);
                    0
                }
                _ if choices.one_in(ATTEMPTS) => handle.try_sync(),
                _ => handle.sync(),
            };
            value = mix(value ^ result.wrapping_add(child));
        }
    }
    if !choices.one_in(4) {
        value ^= taken(&mut set);
    }
    for (_, handle) in left {
        value = mix(value ^ handle.sync());
    }
    value
}

/// The value of the program with this seed: a tree `depth` deep, some parts of which fail.
#[main]
pub fn random_program(seed: u64, depth: u32) -> u64 {
    Handle::spawn(&mut Choices(seed), depth).try_sync()
}
