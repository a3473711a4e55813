//! UTS: trees whose shape cannot be known before they are searched.

use anyhow::Result;

use super::rounds;
use super::system::Kind;
use crate::figure::Figure;

const ROUNDS: usize = 5;
/// Trees by number, the depth of the subtrees that are tasks of others, and the name of a tree's time.
///
/// T1 has some hundreds of nodes at depth 4; T3's root has 2000 children.
const TREES: [(u64, u32, &str); 2] = [(1, 4, "T1"), (3, 1, "T3")];

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let rounds = rounds::measure("uts", &Kind::ALL, ROUNDS, |_, system| {
        TREES.iter().map(|(number, depth, what)| Ok((*what, system.uts(*number, *depth)?))).collect()
    })?;
    let mut figures = Vec::new();
    for (_, depth, what) in TREES {
        let about = format!("UTS {what}, tasks at depth {depth}");
        figures.extend(rounds.raw(what, "s", |kind| format!("{about}: {}", kind.name())));
        for kind in [Kind::Process, Kind::Grid] {
            let native = rounds.ratio(kind, Kind::Rayon, what, &about)?;
            figures.extend(native.map(|figure| figure.goal(1.3, 1.1)));
            for peer in [Kind::Ray, Kind::Dask] {
                let ratio = rounds.ratio(kind, peer, what, &about)?;
                figures.extend(ratio.map(|figure| figure.goal(1.0, 0.5)));
            }
            figures.extend(rounds.ratio(kind, Kind::HyperQueue, what, &about)?);
        }
    }
    Ok(figures)
}
