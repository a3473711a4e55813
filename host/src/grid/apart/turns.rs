//! The turns of all processes of guests: how many threads each may compute with.
//!
//! The same rules as for runs in one process (`host/src/scheduler/turns.rs`): a free turn goes to the process with the
//! fewest, and among equals to the one that has waited the longest. Here, turns are lent, and a process keeps those that
//! it has until others wait. So a run that is alone on its host is lent all turns once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// After this time, turns that were recalled count as given back when the time of a process is compared with its turns.
const GIVEN_BACK_AFTER: Duration = Duration::from_millis(100);

/// What a process is told about turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOrder {
    /// It has this many more.
    Lend(u32),
    /// It must give this many back.
    Recall(u32),
    /// Whether others wait: then it gives back at once what it does not use.
    Scarce(bool),
}

/// The turns of a host.
#[derive(Debug)]
pub struct TurnPool {
    free: u32,
    members: BTreeMap<u64, Share>,
    /// The number of the process that began to wait last.
    last_ticket: u64,
    is_scarce: bool,
}

#[derive(Debug)]
struct Share {
    has: u32,
    /// Of these, those that it must give back, and since when.
    recalled: u32,
    recalled_since: Option<Instant>,
    waiting: u32,
    /// Its place in the queue.
    ticket: u64,
    /// The time of all turns until `settled`.
    time: Duration,
    settled: Instant,
}

impl Share {
    fn new(now: Instant) -> Self {
        Self {
            has: 0,
            recalled: 0,
            recalled_since: None,
            waiting: 0,
            ticket: 0,
            time: Duration::ZERO,
            settled: now,
        }
    }

    fn keeps(&self) -> u32 {
        self.has - self.recalled
    }

    /// The number of turns with which it may compute.
    fn held(&self, now: Instant) -> u32 {
        let is_late = self.recalled_since.is_some_and(|since| now.duration_since(since) >= GIVEN_BACK_AFTER);
        if is_late { self.keeps() } else { self.has }
    }

    /// Adds the time since the last call; called before the number of turns changes.
    fn settle(&mut self, now: Instant) {
        self.time += now.duration_since(self.settled).saturating_mul(self.held(now));
        self.settled = now;
    }
}

/// Orders, each with the process that it is for.
pub type Orders = Vec<(u64, TurnOrder)>;

impl TurnPool {
    /// This many turns.
    pub fn new(count: u32) -> Self {
        Self { free: count, members: BTreeMap::new(), last_ticket: 0, is_scarce: false }
    }

    /// A process takes part.
    pub fn join(&mut self, member: u64, now: Instant) -> Orders {
        self.members.insert(member, Share::new(now));
        if self.is_scarce { vec![(member, TurnOrder::Scarce(true))] } else { Orders::new() }
    }

    /// A process is gone; its turns are free.
    pub fn leave(&mut self, member: u64, now: Instant) -> Orders {
        if let Some(share) = self.members.remove(&member) {
            self.free += share.has;
        }
        self.balance(now)
    }

    /// This many workers of a process wait for a turn.
    pub fn wait(&mut self, member: u64, waiting: u32, now: Instant) -> Orders {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let most = self.count();
        if let Some(share) = self.members.get_mut(&member) {
            if share.waiting == 0 {
                share.ticket = ticket;
            }
            // More would never be lent.
            share.waiting = waiting.min(most);
        }
        self.balance(now)
    }

    /// A process gives back turns. `None` if it does not have as many.
    pub fn give_back(&mut self, member: u64, turns: u32, now: Instant) -> Option<Orders> {
        let share = self.members.get_mut(&member)?;
        share.settle(now);
        share.has = share.has.checked_sub(turns)?;
        share.recalled = share.recalled.saturating_sub(turns);
        share.recalled_since = share.recalled_since.filter(|_| share.recalled > 0);
        self.free += turns;
        Some(self.balance(now))
    }

    /// The number of turns that a process has, if they are scarce, so that it uses them all.
    pub fn in_use(&self, member: u64) -> Option<u32> {
        self.members.get(&member).filter(|_| self.is_scarce).map(|share| share.has)
    }

    /// The time of all turns that a process has had, which is the longest that it may have computed.
    pub fn time(&mut self, member: u64, now: Instant) -> Duration {
        let Some(share) = self.members.get_mut(&member) else { return Duration::ZERO };
        share.settle(now);
        share.time
    }

    fn count(&self) -> u32 {
        self.free + self.members.values().map(|share| share.has).sum::<u32>()
    }

    fn balance(&mut self, now: Instant) -> Orders {
        let mut orders = Orders::new();
        while self.free > 0 {
            let waiting = self.members.iter_mut().filter(|(_, share)| share.waiting > 0);
            let Some((member, share)) = waiting.min_by_key(|(_, share)| (share.keeps(), share.ticket)) else {
                break;
            };
            self.free -= 1;
            share.settle(now);
            share.has += 1;
            share.waiting -= 1;
            self.last_ticket += 1;
            share.ticket = self.last_ticket;
            orders.push((*member, TurnOrder::Lend(1)));
        }
        orders.extend(self.recall(now));
        let is_scarce = self.members.values().any(|share| share.waiting > 0);
        if self.is_scarce != is_scarce {
            self.is_scarce = is_scarce;
            orders.extend(self.members.keys().map(|member| (*member, TurnOrder::Scarce(is_scarce))));
        }
        orders
    }

    /// Recalls turns for those that wait, from processes with more than they have or will have.
    fn recall(&mut self, now: Instant) -> Orders {
        let mut orders = Orders::new();
        let mut takers = Takers::of(&self.members);
        for _ in 0..self.members.values().map(|share| share.recalled).sum() {
            takers.take();
        }
        while let Some((next, has)) = takers.next() {
            let others = self.members.iter_mut().filter(|(member, _)| **member != next);
            // Among equals, the one whose last turn is the oldest.
            let most = others.max_by_key(|(_, share)| (share.keeps(), u64::MAX - share.ticket));
            let Some((member, share)) = most.filter(|(_, share)| share.keeps() > has) else { break };
            share.settle(now);
            share.recalled += 1;
            share.recalled_since.get_or_insert(now);
            orders.push((*member, TurnOrder::Recall(1)));
            takers.take();
        }
        orders
    }
}

/// Processes that wait, with what they will have when the turns that were recalled have come.
struct Takers(Vec<Taker>);

struct Taker {
    member: u64,
    keeps: u32,
    ticket: u64,
    waiting: u32,
}

impl Takers {
    fn of(members: &BTreeMap<u64, Share>) -> Self {
        let waiting = members.iter().filter(|(_, share)| share.waiting > 0);
        let taker = |(member, share): (&u64, &Share)| Taker {
            member: *member,
            keeps: share.keeps(),
            ticket: share.ticket,
            waiting: share.waiting,
        };
        Self(waiting.map(taker).collect())
    }

    fn first(&mut self) -> Option<&mut Taker> {
        let waiting = self.0.iter_mut().filter(|taker| taker.waiting > 0);
        waiting.min_by_key(|taker| (taker.keeps, taker.ticket))
    }

    /// Who gets the next turn, and how many it has before that.
    fn next(&mut self) -> Option<(u64, u32)> {
        self.first().map(|taker| (taker.member, taker.keeps))
    }

    fn take(&mut self) {
        if let Some(taker) = self.first() {
            taker.keeps += 1;
            taker.waiting -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lend(member: u64) -> (u64, TurnOrder) {
        (member, TurnOrder::Lend(1))
    }

    fn recall(member: u64) -> (u64, TurnOrder) {
        (member, TurnOrder::Recall(1))
    }

    /// The orders, except whether turns are scarce.
    fn given(orders: Orders) -> Orders {
        orders.into_iter().filter(|(_, order)| !matches!(order, TurnOrder::Scarce(_))).collect()
    }

    #[test]
    fn a_run_alone_gets_all_turns_and_others_take_turns_one_by_one() {
        let now = Instant::now();
        let mut pool = TurnPool::new(1);
        (1..=3).for_each(|member| assert_eq!(pool.join(member, now), []));
        assert_eq!(pool.wait(1, 1, now), [lend(1)]);
        assert_eq!(given(pool.wait(2, 1, now)), [recall(1)]);
        assert_eq!(pool.wait(3, 1, now), [], "there is one turn");
        assert_eq!(pool.give_back(1, 1, now), Some(vec![lend(2), recall(2)]));
        assert_eq!(pool.wait(1, 1, now), []);
        assert_eq!(pool.give_back(2, 1, now), Some(vec![lend(3), recall(3)]));
        assert_eq!(pool.wait(2, 1, now), []);
        assert_eq!(pool.give_back(3, 1, now), Some(vec![lend(1), recall(1)]));
        assert_eq!(pool.leave(1, now)[0], lend(2));
        assert_eq!(pool.leave(2, now), []);
        assert_eq!((pool.free, pool.count()), (1, 1));
    }

    #[test]
    fn processes_with_enough_work_share_the_turns_equally() {
        let now = Instant::now();
        let mut pool = TurnPool::new(2);
        pool.join(1, now);
        pool.join(2, now);
        assert_eq!(pool.wait(1, 2, now), [lend(1), lend(1)]);
        assert_eq!(given(pool.wait(2, 9, now)), [recall(1)]);
        assert_eq!(pool.give_back(1, 1, now), Some(vec![lend(2)]));
        assert_eq!(pool.wait(1, 1, now), [], "each has one");
        assert_eq!(pool.give_back(1, 2, now), None, "it does not have as many");
    }

    #[test]
    fn processes_are_notified_when_others_wait() {
        let now = Instant::now();
        let mut pool = TurnPool::new(1);
        pool.join(1, now);
        pool.wait(1, 1, now);
        pool.join(2, now);
        let scarce = |is_scarce| [1, 2].map(|member| (member, TurnOrder::Scarce(is_scarce)));
        assert_eq!(pool.wait(2, 1, now)[1..], scarce(true));
        assert_eq!(pool.join(3, now), [(3, TurnOrder::Scarce(true))]);
        pool.leave(3, now);
        assert_eq!(pool.give_back(1, 1, now).expect("it has it")[1..], scarce(false));
    }

    #[test]
    fn a_turn_that_is_not_given_back_in_time_counts_no_more() {
        let now = Instant::now();
        let mut pool = TurnPool::new(1);
        pool.join(1, now);
        pool.join(2, now);
        pool.wait(1, 1, now);
        pool.wait(2, 1, now);
        let half = now + GIVEN_BACK_AFTER / 2;
        assert_eq!(pool.time(1, half), GIVEN_BACK_AFTER / 2);
        let late = now + 3 * GIVEN_BACK_AFTER;
        assert_eq!((pool.time(1, late), pool.time(2, late)), (GIVEN_BACK_AFTER / 2, Duration::ZERO));
        pool.give_back(1, 1, late);
        let later = late + GIVEN_BACK_AFTER;
        assert_eq!((pool.time(1, later), pool.time(2, later)), (GIVEN_BACK_AFTER / 2, GIVEN_BACK_AFTER));
    }
}
