//! Shared objects and guards.

use std::collections::BTreeMap;

use sateen::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{mix, spin};

/// The best number found.
#[derive(Serialize, Deserialize)]
pub struct Best(u64);

#[shared]
impl Best {
    #[update]
    fn lower(&mut self, to: u64) {
        self.0 = self.0.min(to);
    }
}

/// The least of the mixed numbers `from..to` that do not exceed the best found by others. A job that is
/// run again may meet its own result, and must find it again.
#[job]
pub fn search_least(from: u64, to: u64, best: Shared<Best>) -> u64 {
    if to - from <= 8 {
        let mut least = u64::MAX;
        for number in from..to {
            spin(200);
            if mix(number) <= best.read().0 {
                least = least.min(mix(number));
                best.lower(mix(number));
            }
        }
        return least;
    }
    let middle = from.midpoint(to);
    let left = search_least::spawn(from, middle, best.clone());
    search_least(middle, to, best).min(left.sync())
}

/// The least of `count` mixed numbers.
#[main]
pub fn least(count: u64) -> u64 {
    let best = Shared::new(Best(u64::MAX));
    search_least(0, count, best.clone());
    best.read().0
}

/// The same, from results: on many hosts, updates may arrive later than results.
#[main]
pub fn least_of_results(count: u64) -> u64 {
    search_least(0, count, Shared::new(Best(u64::MAX)))
}

/// The visitors, and the number of visits of each.
#[derive(Serialize, Deserialize, Default)]
pub struct Guests {
    visits: BTreeMap<u64, u32>,
    ballast: Vec<u64>,
}

#[shared]
impl Guests {
    #[update]
    fn enter(&mut self, who: u64) {
        *self.visits.entry(who).or_default() += 1;
    }

    fn is_once_each(&self, count: u64) -> bool {
        self.visits.len() as u64 == count && self.visits.values().all(|times| *times == 1)
    }
}

/// Each of `from..to` enters once; after its syncs, a parent sees all of them.
#[job]
pub fn visit(from: u64, to: u64, guests: Shared<Guests>) -> bool {
    if to - from == 1 {
        guests.enter(from);
        return guests.read().visits.contains_key(&from);
    }
    let middle = from.midpoint(to);
    let left = visit::spawn(from, middle, guests.clone());
    let right = visit::spawn(middle, to, guests.clone());
    left.sync() && right.sync() && (from..to).all(|who| guests.read().visits.contains_key(&who))
}

/// `count` jobs update an object with `ballast` additional numbers.
#[main]
pub fn visited(count: u64, ballast: u64) -> String {
    let guests = Shared::new(Guests { ballast: (0..ballast).map(mix).collect(), ..Guests::default() });
    let seen = visit(0, count, guests.clone());
    let end = guests.read();
    format!("{seen} {} {}", end.is_once_each(count), end.ballast.iter().fold(0, |sum, word| mix(sum ^ word)))
}

/// A state that changes step by step.
#[derive(Serialize, Deserialize)]
pub struct State {
    step: u32,
    words: Vec<u64>,
}

#[shared]
impl State {
    #[update]
    fn advance(&mut self, words: Vec<u64>) {
        self.words = words;
        self.step += 1;
    }
}

fn has_step(state: &Shared<State>, step: &u32, _from: &usize, _to: &usize) -> bool {
    state.read().step >= *step
}

/// The next words `from..to`, each of which depends on all present words.
#[job(guard = has_step)]
pub fn next_words(state: Shared<State>, step: u32, from: usize, to: usize) -> Vec<u64> {
    let state = state.read();
    assert_eq!(state.step, step, "the guard sees to it");
    let all = state.words.iter().fold(u64::from(step), |all, word| mix(all ^ word));
    (from..to).map(|at| mix(all ^ state.words[at] ^ spin(2_000))).collect()
}

/// An iterative program: in each step, all parts are computed from the whole last step.
#[main]
pub fn iterated(words: usize, steps: u32) -> u64 {
    const PART: usize = 16;
    let state = Shared::new(State { step: 0, words: (0..words as u64).map(mix).collect() });
    for step in 0..steps {
        let parts = (0..words).step_by(PART).map(|from| (state.clone(), step, from, words.min(from + PART)));
        let next = next_words::spawn_all(parts).sync().concat();
        state.advance(next);
    }
    let words = &state.read().words;
    words.iter().fold(0, |all, word| mix(all ^ word))
}

/// Part of a step; `size` is the amount of work.
#[job(guard = has_steps)]
pub fn part_of_step(state: Shared<State>, step: u32, part: u64, size: u64) -> u64 {
    let state = state.read();
    assert_eq!(state.step, step, "the guard sees to it");
    state.words.iter().fold(part ^ spin(size), |all, word| mix(all ^ word))
}

fn has_steps(state: &Shared<State>, step: &u32, _part: &u64, _size: &u64) -> bool {
    state.read().step >= *step
}

/// A number of steps with large parts.
#[main]
pub fn stepped(steps: u32, parts: u64, size: u64) -> u64 {
    let state = Shared::new(State { step: 0, words: vec![7; 100] });
    for step in 0..steps {
        let jobs = (0..parts).map(|part| (state.clone(), step, part, size));
        state.advance(part_of_step::spawn_all(jobs).sync());
    }
    state.read().words.iter().fold(0, |all, word| mix(all ^ word))
}

/// A door that can be opened.
#[derive(Serialize, Deserialize)]
pub struct Door(bool);

#[shared]
impl Door {
    #[update]
    fn open(&mut self) {
        self.0 = true;
    }

    #[update]
    fn slam(&mut self, words: String) {
        assert!(!self.0, "the door slams: {words}");
    }
}

fn is_open(door: &Shared<Door>, _name: &String) -> bool {
    door.read().0
}

/// Enters when the door is open.
#[job(guard = is_open)]
pub fn enter(door: Shared<Door>, name: String) -> bool {
    sateen::log!("{name} enters");
    door.read().0
}

/// The door is opened when a job waits for it.
#[main]
pub fn wait_for_the_door() -> bool {
    let door = Shared::new(Door(false));
    let waiting = enter::spawn(door.clone(), "somebody".to_owned());
    sateen::log!("root opens");
    door.open();
    waiting.sync()
}

/// The door is never opened.
#[main]
pub fn wait_before_the_door() -> bool {
    let door = Shared::new(Door(false));
    let waiting = enter::spawn(door, "nobody".to_owned());
    waiting.sync()
}

/// Slams the door.
#[job]
pub fn slammer(door: Shared<Door>) {
    door.slam("wind".to_owned());
}

/// The door is never opened, and another host has time to steal.
#[main]
pub fn wait_elsewhere(rounds: u64) -> bool {
    let door = Shared::new(Door(false));
    let waiting = enter::spawn(door, "nobody".to_owned());
    spin(rounds);
    waiting.sync()
}

/// The door is opened after another host has had time to wait for it.
#[main]
pub fn opened_late(rounds: u64) -> bool {
    let door = Shared::new(Door(false));
    let waiting = enter::spawn(door.clone(), "somebody".to_owned());
    spin(rounds);
    door.open();
    waiting.sync()
}

/// An update panics at once, or when another replica applies it; it cannot be caught.
#[main]
pub fn panic_in_update() -> bool {
    let door = Shared::new(Door(true));
    let _ = door.read().0;
    let has_failed = slammer::spawn(door.clone()).try_sync().is_err();
    door.read().0 || has_failed
}

/// Makes an object and hands it on.
#[job]
pub fn make(count: u64) -> Vec<Shared<Guests>> {
    let all: Vec<_> = (0..count).map(|_| Shared::new(Guests::default())).collect();
    all.iter().zip(0..).for_each(|(guests, who)| guests.enter(who));
    all
}

/// Objects that hold references to others.
#[derive(Serialize, Deserialize, Default)]
pub struct House {
    rooms: Vec<Shared<Guests>>,
}

#[shared]
impl House {
    #[update]
    fn build(&mut self, rooms: Vec<Shared<Guests>>) {
        self.rooms.extend(rooms);
    }
}

/// Enters every room.
#[job]
pub fn tour(who: u64, house: Shared<House>) {
    house.read().rooms.iter().for_each(|room| room.enter(who));
}

/// References in results, in objects and in their updates work like all others.
#[main]
pub fn references_everywhere(wings: u64, rooms: u64, guests: u64) -> String {
    let house = Shared::new(House::default());
    let wings: Vec<_> = (0..wings).map(|_| make::spawn(rooms)).collect();
    for wing in wings.sync_all() {
        house.build(wing);
    }
    tour::spawn_all((100..100 + guests).map(|who| (who, house.clone()))).sync();
    let rooms = &house.read().rooms;
    let all = rooms
        .iter()
        .flat_map(|room| room.read().visits.clone())
        .fold(0, |sum, (who, times)| sum + (who + 1) * u64::from(times));
    format!("{} {all}", rooms.len())
}

/// As [`make()`], after some work.
#[job]
pub fn make_slowly(count: u64, rounds: u64) -> Vec<Shared<Guests>> {
    spin(rounds);
    make(count)
}

/// Objects that jobs have made, with their makers' updates.
#[main]
pub fn handed_up(makers: u64, rooms: u64, rounds: u64) -> u64 {
    let made = make_slowly::spawn_all((0..makers).map(|_| (rooms, rounds))).sync();
    made.iter()
        .flatten()
        .flat_map(|room| room.read().visits.clone())
        .fold(0, |sum, (who, times)| sum + (who + 1) * u64::from(times))
}

/// Reads, and fails.
#[job]
pub fn fail_reading(guests: Shared<Guests>) -> u64 {
    let reading = guests.read();
    guests.enter(1);
    assert!(reading.visits.len() > 1_000, "a reader fails");
    0
}

/// A reader that fails does not keep the others from seeing new updates.
#[main]
pub fn failed_readers(count: u64) -> u64 {
    let guests = Shared::new(Guests::default());
    let kept = guests.read();
    for _ in 0..count {
        let failed = fail_reading::spawn(guests.clone()).try_sync().is_err();
        assert!(failed && kept.visits.is_empty());
    }
    drop(kept);
    u64::from(guests.read().visits[&1])
}

/// Objects that come and go: only the last is still needed.
#[main]
pub fn come_and_go(count: u64, words: usize) -> u64 {
    let mut sum = 0;
    for number in 0..count {
        let state = Shared::new(State { step: 0, words: vec![number; words] });
        let ends = [(state.clone(), 0), (state, words - 1)];
        sum += glance::spawn_all(ends).sync().iter().sum::<u64>();
    }
    sum
}

/// An object of `bytes` bytes.
#[main]
pub fn large_object(bytes: usize) -> usize {
    let words = Shared::new(State { step: 0, words: vec![u64::MAX; bytes / 10] });
    words.read().words.len()
}

/// Reads an object a number of times.
#[main]
pub fn read_often(count: u64) -> u64 {
    let best = Shared::new(Best(7));
    (0..count).fold(0, |sum, number| sum ^ (best.read().0 + number))
}

/// Updates an object a number of times, each time with a read.
#[main]
pub fn update_often(count: u64) -> u64 {
    let best = Shared::new(Best(u64::MAX));
    (0..count).fold(0, |sum, number| {
        best.lower(count - number);
        sum ^ best.read().0
    })
}

/// Reads one word of the object.
#[job]
pub fn glance(state: Shared<State>, at: usize) -> u64 {
    state.read().words[at]
}

/// A number of jobs read a large object, one after another.
#[main]
pub fn glance_often(count: usize, words: usize) -> u64 {
    let state = Shared::new(State { step: 0, words: (0..words as u64).map(mix).collect() });
    (0..count).fold(0, |sum, at| sum ^ glance::spawn(state.clone(), at % words).sync())
}
