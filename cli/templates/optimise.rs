//! N people do N tasks, and each pair has its own cost: which assignment is the cheapest?
//!
//! An optimisation: branch and bound, with the best plan known so far shared by all hosts.
//!
//! The shared object keeps the plan itself, not only its cost, and each job returns the best plan it knows. So
//! a part of the search is closed when nothing in it precedes the known plan. With only the cost in the object,
//! the search would have to continue wherever a part could be *as good*, because no other job may return the
//! plan that set the cost: 2 to 24 times as many nodes.

use sateen::SplitMix64;
use sateen::prelude::*;
use serde::{Deserialize, Serialize};

/// People whose tasks are searched for without spawning.
const PLAIN_PEOPLE: usize = 8;

/// A task for each person. Of two plans, the one that costs less precedes the other; of equals, the one with
/// the smaller tasks, so that the answer does not depend on which was found first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Plan {
    cost: u64,
    tasks: Vec<u8>,
}

impl Plan {
    /// Whether a part of the search may hold a plan that precedes this one: those that begin with `tasks` and
    /// cost `bound` at least.
    fn may_follow(&self, bound: u64, tasks: &[u8]) -> bool {
        (bound, tasks) <= (self.cost, &self.tasks[..tasks.len()])
    }
}

/// The best plan that any host knows. Every host has a replica, which takes nanoseconds to read.
#[derive(Debug, Serialize, Deserialize)]
struct Best {
    plan: Plan,
}

#[shared]
impl Best {
    /// The better of two plans stays, whichever comes first and however often.
    #[update]
    fn improve(&mut self, plan: Plan) {
        if plan < self.plan {
            self.plan = plan;
        }
    }
}

/// The cost of each task for each person: made only from `n`, so that every job has the same.
fn costs(n: usize) -> Vec<Vec<u64>> {
    let mut random = SplitMix64(n as u64);
    (0..n).map(|_| (0..n).map(|_| 1 + random.below(99)).collect()).collect()
}

/// The tasks that the next person may do, with the least cost of a plan that continues so.
fn children(costs: &[Vec<u64>], tasks: &[u8]) -> Vec<(u64, u8)> {
    let n = costs.len();
    let so_far: u64 = tasks.iter().zip(costs).map(|(task, row)| row[usize::from(*task)]).sum();
    let free = |taken: u8| move |task: &u8| *task != taken && !tasks.contains(task);
    let of_next = (0..n as u8).filter(free(u8::MAX));
    let mut children: Vec<(u64, u8)> = of_next
        .map(|next| {
            // Each of the others does the task that is cheapest for them.
            let rest = costs[tasks.len() + 1..].iter();
            let rest: u64 = rest
                .filter_map(|row| (0..n as u8).filter(free(next)).map(|task| row[usize::from(task)]).min())
                .sum();
            (so_far + costs[tasks.len()][usize::from(next)] + rest, next)
        })
        .collect();
    children.sort_unstable();
    children
}

/// Searches all plans that begin with `tasks`, and returns the best plan it knows, which may come from elsewhere.
#[job]
fn below(n: u8, tasks: Vec<u8>, best: Shared<Best>) -> Plan {
    let costs = costs(usize::from(n));
    if tasks.len() + PLAIN_PEOPLE >= costs.len() {
        search(&costs, &mut tasks.clone(), &best);
        return best.read().plan.clone();
    }
    // The most promising job is spawned last, and so synced first; idle hosts may take the others meanwhile.
    let mut waiting = Vec::new();
    for (bound, task) in children(&costs, &tasks).into_iter().rev() {
        let child = [&tasks[..], &[task]].concat();
        let job = below::spawn(n, child.clone(), best.clone());
        waiting.push((bound, child, job));
    }
    while let Some((bound, child, job)) = waiting.pop() {
        // A job whose handle is dropped is aborted, wherever it runs.
        let is_open = best.read().plan.may_follow(bound, &child);
        if is_open {
            offer(&best, job.sync());
        }
    }
    best.read().plan.clone()
}

/// Reports a plan to all hosts, if it is better.
fn offer(best: &Shared<Best>, plan: Plan) {
    let is_better = plan < best.read().plan;
    if is_better {
        best.improve(plan);
    }
}

/// The same without spawning.
fn search(costs: &[Vec<u64>], tasks: &mut Vec<u8>, best: &Shared<Best>) {
    if tasks.len() == costs.len() {
        let cost = tasks.iter().zip(costs).map(|(task, row)| row[usize::from(*task)]).sum();
        return offer(best, Plan { cost, tasks: tasks.clone() });
    }
    for (bound, task) in children(costs, tasks) {
        tasks.push(task);
        let is_open = best.read().plan.may_follow(bound, tasks);
        if is_open {
            search(costs, tasks, best);
        }
        tasks.pop();
    }
}

/// The entry point: the least cost, and the task of each person.
#[main]
fn main(n: u8) -> Result<String, BadInput> {
    if !(1..=40).contains(&n) {
        return Err(BadInput(format!("1 to 40 people share tasks, not {n}")));
    }
    // A plan to begin with: everybody does the task of the same number.
    let (costs, tasks) = (costs(usize::from(n)), (0..n).collect::<Vec<u8>>());
    let cost = (0..usize::from(n)).map(|person| costs[person][person]).sum();
    let best = Shared::new(Best { plan: Plan { cost, tasks } });
    let Plan { cost, tasks } = below(n, Vec::new(), best);
    Ok(format!("{cost}: {tasks:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All plans, one after another.
    fn cheapest(costs: &[Vec<u64>], tasks: &mut Vec<u8>) -> u64 {
        let Some(row) = costs.get(tasks.len()) else { return 0 };
        let mut least = u64::MAX;
        for task in 0..costs.len() as u8 {
            if !tasks.contains(&task) {
                tasks.push(task);
                least = least.min(row[usize::from(task)] + cheapest(costs, tasks));
                tasks.pop();
            }
        }
        least
    }

    /// `sateen test` runs it in sandboxes as well.
    #[sateen::test]
    fn known_answers() {
        for n in 1..=7 {
            let expected = cheapest(&costs(usize::from(n)), &mut Vec::new());
            assert!(main(n).is_ok_and(|found| found.starts_with(&format!("{expected}: "))), "{n} people");
        }
    }

    #[test]
    fn jobs_find_what_a_plain_search_finds() {
        let n = PLAIN_PEOPLE + 2;
        let costs = costs(n);
        let tasks: Vec<u8> = (0..n as u8).collect();
        let best = Shared::new(Best { plan: Plan { cost: u64::MAX, tasks } });
        search(&costs, &mut Vec::new(), &best);
        let plan = best.read().plan.clone();
        assert_eq!(main(n as u8), Ok(format!("{}: {:?}", plan.cost, plan.tasks)));
    }

    #[test]
    fn too_many_people_are_refused() {
        assert!(main(0).is_err() && main(41).is_err());
    }
}
