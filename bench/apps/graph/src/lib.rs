//! Shortest ways in a graph that is an input: each job needs the whole graph, which each host parses once.

mod graph;

use graph::Graph;
use sateen::prelude::*;

#[prepare]
fn parsed() -> Result<Graph, BadInput> {
    Graph::read()
}

/// The sum of the lengths of all shortest ways from `sources` nodes.
#[job]
pub fn lengths(first: u64, sources: u64) -> u64 {
    let graph = parsed().expect("the root job has read it");
    graph.lengths_from(first..first + sources)
}

/// Spawns `jobs` jobs, each for `sources` nodes of the input `graph`, in a set: each gets an instance of its own if others
/// may take it.
///
/// # Errors
/// If the input is missing or not a graph.
#[main]
pub fn main(jobs: u64, sources: u64) -> Result<u64, BadInput> {
    parsed()?;
    let mut set = JobSet::new();
    (0..jobs).for_each(|job| {
        lengths::spawn_in(&mut set, job * sources, sources);
    });
    Ok(graph::sum(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_the_shortest() {
        sateen::testing::set_input("graph", "a b 1\nb c 2\na c 9\nc d 1\n");
        // From a: 0, 1, 3, 4. From b: 1, 0, 2, 3.
        assert_eq!(main(2, 1), Ok(8 + 6));
        assert_eq!(main(1, 2), Ok(8 + 6));
        sateen::testing::set_input("graph", "a b 1\nb c x\n");
        let error = main(1, 1).expect_err("the weight is not a number");
        assert_eq!(error.0, "input `graph`, line 2: its weight is not a number");
    }
}
