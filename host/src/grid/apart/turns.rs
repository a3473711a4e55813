//! The turns of all processes of guests: how many threads each may compute with.
//!
//! Each process is [due](dues) a number of turns, usually not a whole one. It has at least the whole ones, if it can use
//! them. Of the others, several processes are due a part each: the next is the one that is the furthest behind. Turns are
//! lent, and a process keeps those that it has until others are due them. So a run that is alone on its host is lent all
//! turns once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sateen_protocol::{Claim, Share, dues};

use crate::scheduler::SLICE;

/// After this time, turns that were recalled count as given back when the time of a process is compared with its turns.
const GIVEN_BACK_AFTER: Duration = Duration::from_millis(100);
/// A turn of which several processes are due a part is passed on when the next is behind by this, in seconds of a turn: two
/// with equal shares then have it for a slice each.
const BEHIND_S: f64 = SLICE.as_millis() as f64 / 2000.0;
/// A process that wanted no turn for this time comes anew. Between two of its turns, it wants none for a moment.
const GONE_AFTER: Duration = Duration::from_millis(100);
/// The most that a process gets later for what it did not get before, in seconds of a turn.
const BEHIND_MAX_S: f64 = 1.0;
/// Dues that differ from whole numbers by less are whole.
const NEGLIGIBLE: f64 = 1e-6;

/// An order to a process about its turns.
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
    members: BTreeMap<u64, Borrower>,
    /// The number of the process that began to wait last.
    last_ticket: u64,
    is_scarce: bool,
    /// Until when the times of processes are counted.
    settled: Instant,
}

#[derive(Debug, Clone)]
struct Borrower {
    share: Share,
    has: u32,
    /// Of these, those that it must give back, and since when.
    recalled: u32,
    recalled_since: Option<Instant>,
    waiting: u32,
    /// Its place in the queue.
    ticket: u64,
    /// The time of all its turns.
    time: Duration,
    /// The turns that it is due.
    due: f64,
    /// What it is due and did not get, in seconds of a turn, while turns are scarce; negative if it got more.
    behind_s: f64,
    /// Since when it wants no turn.
    content_since: Option<Instant>,
    /// It was asked to stop, and gets no turns any more.
    is_over: bool,
}

impl Borrower {
    fn new(share: Share) -> Self {
        Self {
            share,
            has: 0,
            recalled: 0,
            recalled_since: None,
            waiting: 0,
            ticket: 0,
            time: Duration::ZERO,
            due: 0.0,
            behind_s: BEHIND_S,
            content_since: None,
            is_over: false,
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

    /// Turns that it can use. The workers whose turns were recalled will want others.
    fn demand(&self) -> u32 {
        self.has + self.waiting
    }

    /// Adds the time for which it has had its turns.
    fn settle(&mut self, passed: Duration, now: Instant) {
        let held = self.held(now);
        self.time += passed.saturating_mul(held);
        if self.demand() > 0 {
            self.content_since = None;
            let behind_s = self.behind_s + (self.due - f64::from(held)) * passed.as_secs_f64();
            self.behind_s = behind_s.clamp(-BEHIND_MAX_S, BEHIND_MAX_S);
        } else if now.duration_since(*self.content_since.get_or_insert(now)) >= GONE_AFTER {
            // A process that comes anew need not wait until it is behind.
            self.behind_s = BEHIND_S;
        }
    }

    /// Whether another whole turn is due.
    fn lacks_a_turn(&self) -> bool {
        f64::from(self.keeps() + 1) <= self.due + NEGLIGIBLE
    }

    /// Whether a part of another turn is due.
    fn lacks(&self) -> bool {
        f64::from(self.keeps()) < self.due - NEGLIGIBLE
    }

    /// Whether it has a turn of which nothing is due.
    fn has_one_too_many(&self) -> bool {
        f64::from(self.keeps()) >= self.due + 1.0 - NEGLIGIBLE
    }

    /// Whether it has a turn of which only a part is due, or nothing.
    fn has_too_much(&self) -> bool {
        f64::from(self.keeps()) > self.due + NEGLIGIBLE
    }

    /// The process with the least rank is next: one that is due a whole turn, then one that is due a part; the one that is
    /// the furthest behind; the one that has waited the longest.
    fn rank(&self) -> (u8, f64, u64) {
        let class = if self.lacks_a_turn() { 0 } else { u8::from(!self.lacks()) + 1 };
        (class, -self.behind_s, self.ticket)
    }
}

fn first<'a>(borrowers: impl Iterator<Item = (u64, &'a Borrower)>) -> Option<u64> {
    let waiting = borrowers.filter(|(_, borrower)| borrower.waiting > 0);
    let first = waiting.min_by(|(_, one), (_, other)| {
        let ((class, behind, ticket), than) = (one.rank(), other.rank());
        class.cmp(&than.0).then(behind.total_cmp(&than.1)).then(ticket.cmp(&than.2))
    });
    first.map(|(member, _)| member)
}

/// Orders, each with the process that it is for.
pub type Orders = Vec<(u64, TurnOrder)>;

impl TurnPool {
    /// This many turns.
    pub fn new(count: u32, now: Instant) -> Self {
        Self { free: count, members: BTreeMap::new(), last_ticket: 0, is_scarce: false, settled: now }
    }

    /// A process takes part.
    pub fn join(&mut self, member: u64, share: Share) -> Orders {
        self.members.insert(member, Borrower::new(share));
        if self.is_scarce { vec![(member, TurnOrder::Scarce(true))] } else { Orders::new() }
    }

    /// A process is gone; its turns are free.
    pub fn leave(&mut self, member: u64, now: Instant) -> Orders {
        self.settle(now);
        if let Some(borrower) = self.members.remove(&member) {
            self.free += borrower.has;
        }
        self.balance(now)
    }

    /// A process was asked to stop: its turns are free, as it computes no more than a moment.
    pub fn end(&mut self, member: u64, now: Instant) -> Orders {
        self.settle(now);
        if let Some(borrower) = self.members.get_mut(&member) {
            self.free += std::mem::take(&mut borrower.has);
            (borrower.recalled, borrower.recalled_since, borrower.waiting) = (0, None, 0);
            borrower.is_over = true;
        }
        self.balance(now)
    }

    /// This many workers of a process wait for a turn.
    pub fn wait(&mut self, member: u64, waiting: u32, now: Instant) -> Orders {
        self.settle(now);
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let most = self.count();
        if let Some(borrower) = self.members.get_mut(&member).filter(|borrower| !borrower.is_over) {
            if borrower.waiting == 0 {
                borrower.ticket = ticket;
            }
            // More would never be lent.
            borrower.waiting = waiting.min(most);
        }
        self.balance(now)
    }

    /// A process gives back turns. `None` if it does not have as many.
    pub fn give_back(&mut self, member: u64, turns: u32, now: Instant) -> Option<Orders> {
        self.settle(now);
        let borrower = self.members.get_mut(&member)?;
        if borrower.is_over {
            return Some(Orders::new());
        }
        borrower.has = borrower.has.checked_sub(turns)?;
        borrower.recalled = borrower.recalled.saturating_sub(turns);
        borrower.recalled_since = borrower.recalled_since.filter(|_| borrower.recalled > 0);
        self.free += turns;
        Some(self.balance(now))
    }

    /// Time has passed: a turn of which several are due a part may be another's now.
    pub fn look(&mut self, now: Instant) -> Orders {
        self.settle(now);
        self.balance(now)
    }

    /// When a turn is to be passed on; `None` if that does not depend on the time.
    pub fn next_look(&self) -> Option<Instant> {
        let (borrowers, next) = self.expected();
        let taker = &borrowers[&next.filter(|next| borrowers[next].lacks())?];
        let holders = self.holders(&borrowers).map(|(_, holder)| holder);
        let wait_s = |holder: &Borrower| {
            // By this much a second, the one gets further behind the other.
            let rate = (taker.due - f64::from(taker.held(self.settled)))
                - (holder.due - f64::from(holder.held(self.settled)));
            let missing_s = BEHIND_S - (taker.behind_s - holder.behind_s);
            (rate > NEGLIGIBLE).then(|| (missing_s / rate).max(0.0))
        };
        let wait_s = holders.filter_map(wait_s).min_by(f64::total_cmp)?;
        // A little later, so that rounding does not make it too early.
        Some(self.settled + Duration::from_secs_f64(wait_s) + Duration::from_micros(50))
    }

    /// The number of turns that a process has, if they are scarce, so that it uses them all.
    pub fn in_use(&self, member: u64) -> Option<u32> {
        self.members.get(&member).filter(|_| self.is_scarce).map(|borrower| borrower.has)
    }

    /// The time of all turns that a process has had, which is the longest that it may have computed.
    pub fn time(&mut self, member: u64, now: Instant) -> Duration {
        self.settle(now);
        self.members.get(&member).map_or(Duration::ZERO, |borrower| borrower.time)
    }

    /// Adds the time since the last call; called before anything changes.
    fn settle(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.settled);
        self.settled = now.max(self.settled);
        self.members.values_mut().for_each(|borrower| borrower.settle(passed, now));
    }

    fn count(&self) -> u32 {
        self.free + self.members.values().map(|borrower| borrower.has).sum::<u32>()
    }

    fn balance(&mut self, now: Instant) -> Orders {
        self.note_dues();
        let mut orders = Orders::new();
        while self.free > 0 {
            let members = self.members.iter().map(|(member, borrower)| (*member, borrower));
            let Some(next) = first(members) else { break };
            let Some(borrower) = self.members.get_mut(&next) else { break };
            self.free -= 1;
            borrower.has += 1;
            borrower.waiting -= 1;
            self.last_ticket += 1;
            borrower.ticket = self.last_ticket;
            orders.push((next, TurnOrder::Lend(1)));
        }
        let is_scarce = self.members.values().any(|borrower| borrower.waiting > 0);
        if is_scarce && !self.is_scarce {
            // A process that had more while nobody waited owes nothing.
            let holders = self.members.values_mut().filter(|borrower| borrower.has > 0);
            holders.for_each(|borrower| borrower.behind_s = 0.0);
        }
        orders.extend(self.recall(now));
        if self.is_scarce != is_scarce {
            self.is_scarce = is_scarce;
            orders.extend(self.members.keys().map(|member| (*member, TurnOrder::Scarce(is_scarce))));
        }
        orders
    }

    fn note_dues(&mut self) {
        let claims: Vec<Claim> = (self.members.values())
            .map(|borrower| Claim { share: borrower.share, demand: borrower.demand().into() })
            .collect();
        let dues = dues(self.count().into(), &claims);
        for (borrower, due) in self.members.values_mut().zip(dues) {
            borrower.due = due;
        }
    }

    /// The processes as they will be when the turns that were recalled have come, and which is next then.
    fn expected(&self) -> (BTreeMap<u64, Borrower>, Option<u64>) {
        let mut borrowers = self.members.clone();
        let recalled: u32 = borrowers.values().map(|borrower| borrower.recalled).sum();
        let next = |borrowers: &BTreeMap<u64, Borrower>| {
            first(borrowers.iter().map(|(member, borrower)| (*member, borrower)))
        };
        for _ in 0..recalled {
            if let Some(taker) = next(&borrowers).and_then(|next| borrowers.get_mut(&next)) {
                taker.has += 1;
                taker.waiting -= 1;
            }
        }
        let next = next(&borrowers);
        (borrowers, next)
    }

    /// Those of the processes, as they are expected to be, from which a turn may be recalled. A turn that is still to come
    /// cannot be.
    fn holders<'a>(
        &self,
        expected: &'a BTreeMap<u64, Borrower>,
    ) -> impl Iterator<Item = (&'a u64, &'a Borrower)> {
        expected.iter().filter(|(member, one)| one.has_too_much() && self.members[member].keeps() > 0)
    }

    /// Recalls turns for those that are due them.
    fn recall(&mut self, now: Instant) -> Orders {
        let mut orders = Orders::new();
        loop {
            let (borrowers, next) = self.expected();
            let Some(next) = next.filter(|next| borrowers[next].lacks()) else { return orders };
            let taker = &borrowers[&next];
            // The one that is the furthest ahead; among equals, the one whose last turn is the oldest.
            let holder = self.holders(&borrowers).max_by(|(_, one), (_, other)| {
                (one.has_one_too_many().cmp(&other.has_one_too_many()))
                    .then(other.behind_s.total_cmp(&one.behind_s))
                    .then(other.ticket.cmp(&one.ticket))
            });
            let Some((member, holder)) = holder else { return orders };
            let is_time = taker.lacks_a_turn()
                || holder.has_one_too_many()
                || taker.behind_s - holder.behind_s >= BEHIND_S;
            let member = *member;
            let Some(holder) = self.members.get_mut(&member).filter(|_| is_time) else { return orders };
            holder.recalled += 1;
            holder.recalled_since.get_or_insert(now);
            orders.push((member, TurnOrder::Recall(1)));
        }
    }
}

#[cfg(test)]
mod tests;
