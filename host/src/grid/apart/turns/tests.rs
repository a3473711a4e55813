use sateen_protocol::Priority;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn share(submitter: u64, weight: u16) -> Share {
    Share { submitter, weight, priority: Priority::Normal }
}

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

/// A pool with processes of as many submitters, all with the same weight.
fn pool(turns: u32, members: u64, now: Instant) -> TurnPool {
    let mut pool = TurnPool::new(turns, now);
    (1..=members).for_each(|member| assert_eq!(pool.join(member, share(member, 1)), []));
    pool
}

#[test]
fn a_run_alone_gets_all_turns_and_others_take_turns_one_by_one() {
    let now = Instant::now();
    let mut pool = pool(1, 3, now);
    assert_eq!(pool.wait(1, 1, now), [lend(1)]);
    assert_eq!(given(pool.wait(2, 1, now)), [recall(1)], "a process that comes anew does not wait");
    assert_eq!(pool.wait(3, 1, now), [], "there is one turn");
    assert_eq!(pool.next_look(), None, "until it is given back, time changes nothing");
    assert_eq!(pool.give_back(1, 1, now), Some(vec![lend(2)]));
    assert_eq!(pool.wait(1, 1, now), []);
    let at = pool.next_look().expect("it depends on the time");
    assert_eq!(pool.look(at), [recall(2)]);
    assert_eq!(pool.give_back(2, 1, at), Some(vec![lend(3)]));
    assert_eq!(pool.wait(2, 1, at), []);
    let at = pool.next_look().expect("it depends on the time");
    assert_eq!(pool.look(at), [recall(3)]);
    assert_eq!(pool.give_back(3, 1, at), Some(vec![lend(1)]));
    assert_eq!(pool.leave(1, at)[0], lend(2));
    assert_eq!(pool.leave(2, at), []);
    assert_eq!((pool.free, pool.count(), pool.next_look()), (1, 1, None));
}

#[test]
fn processes_with_enough_work_have_what_they_are_due_and_keep_it() {
    let now = Instant::now();
    let mut pool = pool(2, 2, now);
    assert_eq!(pool.wait(1, 2, now), [lend(1), lend(1)]);
    assert_eq!(given(pool.wait(2, 9, now)), [recall(1)]);
    assert_eq!(pool.give_back(1, 1, now + 90 * MS), Some(vec![lend(2)]));
    assert_eq!(pool.wait(1, 1, now + 91 * MS), [], "each has one");
    assert_eq!(pool.next_look(), None);
    assert_eq!(pool.look(now + 900 * MS), [], "the one that got its turn late gets no more for it");
    assert_eq!(pool.give_back(1, 2, now + 900 * MS), None, "it does not have as many");
}

#[test]
fn processes_are_notified_when_others_wait() {
    let now = Instant::now();
    let mut pool = pool(1, 2, now);
    pool.wait(1, 1, now);
    let scarce = |is_scarce| [1, 2].map(|member| (member, TurnOrder::Scarce(is_scarce)));
    assert_eq!(pool.wait(2, 1, now)[1..], scarce(true));
    assert_eq!(pool.join(3, share(3, 1)), [(3, TurnOrder::Scarce(true))]);
    pool.leave(3, now);
    assert_eq!(pool.give_back(1, 1, now).expect("it has it")[1..], scarce(false));
}

#[test]
fn others_get_the_turns_of_a_process_that_was_asked_to_stop_at_once() {
    let now = Instant::now();
    let mut pool = pool(2, 2, now);
    pool.wait(1, 2, now);
    pool.wait(2, 2, now);
    assert_eq!(given(pool.end(1, now)), [lend(2), lend(2)]);
    // What it still says is late, but not wrong.
    assert_eq!(pool.give_back(1, 1, now), Some(vec![]));
    assert_eq!(pool.wait(1, 2, now), []);
    assert_eq!(given(pool.leave(1, now)), []);
    assert_eq!((pool.count(), pool.in_use(2)), (2, None));
}

#[test]
fn a_turn_that_is_not_given_back_in_time_counts_no_more() {
    let now = Instant::now();
    let mut pool = pool(1, 2, now);
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

/// Processes whose workers always want turns, and give one back after a slice if it was recalled.
struct Host {
    pool: TurnPool,
    now: Instant,
    /// The turns of each process, with their begins.
    turns: BTreeMap<u64, Vec<Instant>>,
    owed: BTreeMap<u64, u32>,
    /// The number of recalls.
    recalls: u32,
}

impl Host {
    /// One with as many workers for each run as it has turns.
    fn start(count: u32, shares: &[Share]) -> Self {
        let now = Instant::now();
        let pool = TurnPool::new(count, now);
        let mut host = Self { pool, now, turns: BTreeMap::new(), owed: BTreeMap::new(), recalls: 0 };
        for (member, share) in (1..).zip(shares) {
            host.turns.insert(member, Vec::new());
            host.owed.insert(member, 0);
            let orders = host.pool.join(member, *share);
            host.obey(orders);
            let orders = host.pool.wait(member, count, now);
            host.obey(orders);
        }
        host
    }

    fn obey(&mut self, orders: Orders) {
        for (member, order) in orders {
            match order {
                TurnOrder::Lend(count) => {
                    let turns = self.turns.get_mut(&member).expect("it takes part");
                    turns.extend((0..count).map(|_| self.now));
                }
                TurnOrder::Recall(count) => {
                    *self.owed.get_mut(&member).expect("it takes part") += count;
                    self.recalls += count;
                }
                TurnOrder::Scarce(_) => {}
            }
        }
    }

    /// The time of each process in parts of all, after this time from now.
    fn parts_after(&mut self, time: Duration) -> Vec<f64> {
        let members: Vec<u64> = self.turns.keys().copied().collect();
        let times = |host: &mut Self| -> Vec<Duration> {
            members.iter().map(|member| host.pool.time(*member, host.now)).collect()
        };
        let before = times(self);
        let end = self.now + time;
        while self.now < end {
            self.now += MS / 4;
            if self.pool.next_look().is_some_and(|at| at <= self.now) {
                let orders = self.pool.look(self.now);
                self.obey(orders);
            }
            for member in &members {
                let turns = self.turns.get_mut(member).expect("it takes part");
                let over = turns.iter().position(|since| self.now.duration_since(*since) >= SLICE);
                let owed = self.owed.get_mut(member).expect("it takes part");
                if let Some(over) = over.filter(|_| *owed > 0) {
                    turns.swap_remove(over);
                    *owed -= 1;
                    let orders = self.pool.give_back(*member, 1, self.now).expect("it had it");
                    self.obey(orders);
                    let waiting = self.pool.count() - self.turns[member].len() as u32;
                    let orders = self.pool.wait(*member, waiting, self.now);
                    self.obey(orders);
                }
            }
        }
        let parts = times(self).into_iter().zip(before).map(|(after, before)| (after - before).as_secs_f64());
        let parts: Vec<f64> = parts.collect();
        let all: f64 = parts.iter().sum();
        parts.iter().map(|part| part / all).collect()
    }
}

#[test]
fn every_process_gets_its_share_of_the_time() {
    let of = |submitter, weight, priority| Share { submitter, weight, priority };
    let (low, normal, high) = (Priority::Low, Priority::Normal, Priority::High);
    for shares in [
        vec![share(1, 1), share(2, 1)],
        vec![share(1, 1), share(2, 1), share(3, 2)],
        vec![share(1, 1), share(1, 1), share(1, 1), share(2, 1)],
        vec![of(1, 1, low), of(1, 1, normal), of(1, 1, high)],
        vec![share(1, 100), share(2, 1)],
        (1..=8).map(|submitter| share(submitter, submitter as u16)).collect(),
    ] {
        for turns in [1, 2, 3, 8] {
            let due = sateen_protocol::due(&shares);
            let mut host = Host::start(turns, &shares);
            host.parts_after(Duration::from_secs(1));
            for (got, due) in host.parts_after(Duration::from_secs(30)).iter().zip(&due) {
                assert!((got - due).abs() < 0.01, "{turns} turns, {shares:?}: {got} of {due}");
            }
        }
    }
}

#[test]
fn turns_are_passed_on_no_more_often_than_shares_require() {
    let mut host = Host::start(4, &[share(1, 1), share(2, 1)]);
    host.parts_after(Duration::from_secs(5));
    assert_eq!(host.recalls, 2, "each has two, and keeps them");
    let mut host = Host::start(1, &[share(1, 1), share(2, 1)]);
    host.parts_after(Duration::from_secs(4));
    assert!((150..=210).contains(&host.recalls), "a turn lasts for a slice: {}", host.recalls);
}

#[test]
fn a_process_that_wanted_nothing_for_a_while_has_no_claim_to_the_past() {
    let now = Instant::now();
    let mut pool = pool(1, 2, now);
    pool.wait(1, 1, now);
    pool.wait(2, 1, now);
    // It has its turn for long, and then no work.
    let orders = pool.give_back(1, 1, now + 90 * MS);
    assert_eq!(orders.map(given), Some(vec![lend(2)]));
    pool.give_back(2, 1, now + 900 * MS);
    pool.look(now + 900 * MS);
    assert_eq!(pool.wait(1, 1, now + 2000 * MS), [lend(1)]);
    assert_eq!(given(pool.wait(2, 1, now + 3000 * MS)), [recall(1)]);
    pool.give_back(1, 1, now + 3000 * MS);
    pool.wait(1, 1, now + 3000 * MS);
    let at = pool.next_look().expect("it depends on the time");
    let soon = Duration::from_secs_f64(3.0 * BEHIND_S);
    assert!(at - (now + 3000 * MS) <= soon, "{:?}", at - (now + 3000 * MS));
}
