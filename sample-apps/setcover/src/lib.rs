//! Set cover by branch and bound: which columns cover all rows at the least cost?
//!
//! `parse` reads an [`Instance`], which drops superfluous rows and columns; `relaxation` computes bounds, `opening`
//! good prices for them and a cover to begin with, and `search` proves that the cover is the best or finds a
//! better one.
//!
//! A job visits some nodes. If that was not enough, each remaining node becomes a job.
//! As in `knapsack`, jobs do not share the best cover found: each receives the best that is known when it
//! is spawned, and when a job finds a better cover, those after it are aborted and spawned again. So every
//! node is visited with the bound that it would have without spawns, and the cover is the same for any
//! number of workers.

mod instance;
mod opening;
mod parse;
mod relaxation;
mod search;

pub use instance::{Cover, Instance};

pub use parse::parse;
use sateen::prelude::*;
use search::{Node, Search};

/// Nodes that a job visits before it spawns the rest: half a millisecond of work. In unit tests so
/// few that small instances are divided many times.
const PLAIN_NODES: u64 = if cfg!(test) { 3 } else { 20 };

/// `sateen run setcover.wasm --input scp=FILE`: the least cost, and on a second line the columns, from 1.
///
/// # Errors
/// When the input is missing or is not a set cover instance.
#[main]
pub fn main() -> Result<String, BadInput> {
    let instance = read()?;
    let opening = opening::open(instance);
    let whole = Node::whole(instance, &opening);
    let better = best_below(whole, opening.cost);
    Ok(better.unwrap_or_else(|| instance.cover(&opening.cover)).to_string())
}

/// The same without spawns: the baseline of the spawning version.
///
/// # Errors
/// As [`main()`].
#[main]
pub fn plain() -> Result<String, BadInput> {
    Ok(solve_reduced(read()?).to_string())
}

/// The best cover of `instance`, found without spawns.
pub fn solve_plain(instance: &Instance) -> Cover {
    solve_reduced(&instance.reduced())
}

fn solve_reduced(instance: &Instance) -> Cover {
    let opening = opening::open(instance);
    let mut search = Search::new(instance, Node::whole(instance, &opening), opening.cost);
    search.run(u64::MAX);
    instance.cover(&search.best().unwrap_or(opening.cover))
}

/// The best cover below `node` that costs less than `ceiling`, if any.
#[job]
fn best_below(node: Node, ceiling: i64) -> Option<Cover> {
    let instance = kept();
    let mut search = Search::new(instance, node, ceiling);
    search.run(PLAIN_NODES);
    let mut best = search.best().map(|columns| instance.cover(&columns));
    let mut ceiling = search.ceiling();
    let mut nodes = search.into_nodes();

    // The next node is spawned last and synced first.
    let spawn = |nodes: &[Node], ceiling| -> Vec<Spawned<_>> {
        nodes.iter().map(|node| best_below::spawn(node.clone(), ceiling)).collect()
    };
    let mut waiting = spawn(&nodes, ceiling);
    while let Some(next) = waiting.pop() {
        nodes.pop();
        let Some(better) = next.sync() else { continue };
        ceiling = better.cost;
        best = Some(better);
        waiting.clear();
        waiting = spawn(&nodes, ceiling);
    }
    best
}

/// The reduced instance.
#[prepare]
fn read() -> Result<Instance, BadInput> {
    Ok(parse(&sateen::input_text("scp")?)?.reduced())
}

/// The instance, in a job: the root job has read the same input, and returned if that failed.
fn kept() -> &'static Instance {
    read().expect("the input was read before")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::Opening;

    #[test]
    fn nodes_that_find_better_covers_change_nothing_but_the_bound() {
        for seed in 1..40_u64 {
            let mut state = seed;
            let mut random = move |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let (rows, columns) = (12 + random(12), 20 + random(20));
            let mut text = format!("{rows} {columns}\n");
            (0..columns).for_each(|_| text += &format!("{} ", 1 + random(9)));
            for _ in 0..rows {
                let count = 2 + random(5);
                text += &format!("\n{count}");
                (0..count).for_each(|_| text += &format!(" {}", 1 + random(columns)));
            }
            sateen::testing::set_input("scp", text);
            let instance = kept();
            // Without a good cover to begin with, the search finds better ones repeatedly.
            let ceiling = instance.costs.iter().sum::<i64>() + 1;
            let opening = Opening { prices: vec![0; instance.covers.len()], cover: vec![], cost: ceiling };
            let whole = Node::whole(instance, &opening);
            let mut search = Search::new(instance, whole.clone(), ceiling);
            search.run(u64::MAX);
            let expected = search.best().map(|columns| instance.cover(&columns)).expect("a cover");
            assert_eq!(best_below(whole, ceiling), Some(expected.clone()), "seed {seed}");
            assert_eq!(solve_plain(instance).cost, expected.cost, "seed {seed}");
        }
    }
}
