//! The app `graph` as it would be without `#[prepare]`: each instance parses the input.

#[path = "../../graph/src/graph.rs"]
mod graph;

use std::cell::OnceCell;

use graph::Graph;
use sateen::prelude::*;

fn parsed<T>(read: impl FnOnce(&Result<Graph, BadInput>) -> T) -> T {
    thread_local! {
        static PARSED: OnceCell<Result<Graph, BadInput>> = const { OnceCell::new() };
    }
    PARSED.with(|parsed| read(parsed.get_or_init(Graph::read)))
}

/// As in the app `graph`.
#[job]
pub fn lengths(first: u64, sources: u64) -> u64 {
    parsed(|graph| graph.as_ref().expect("the root job has read it").lengths_from(first..first + sources))
}

/// As in the app `graph`.
///
/// # Errors
/// If the input is missing or not a graph.
#[main]
pub fn main(jobs: u64, sources: u64) -> Result<u64, BadInput> {
    parsed(|graph| graph.as_ref().map(|_| ()).map_err(Clone::clone))?;
    let mut set = JobSet::new();
    (0..jobs).for_each(|job| {
        lengths::spawn_in(&mut set, job * sources, sources);
    });
    Ok(graph::sum(set))
}
