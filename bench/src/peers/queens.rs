//! N-queens: a tree whose branches take different time.

use anyhow::Result;

use super::rounds::{self, Rounds};
use super::system::{Kind, Queens, System};
use crate::figure::Figure;

const ROUNDS: usize = 7;
/// Tasks of this depth are short, and Ray and Dask take ten times as long as the work.
const DEEP_ROUNDS: usize = 3;
/// A few hundred tasks: what a user of Ray or Dask makes of this problem by hand.
const BY_HAND: Queens = Queens { size: 16, rows: 2, answer: 14_772_512 };
/// Ten thousand tasks and more.
const DEEP: Queens = Queens { size: 15, rows: 4, answer: 2_279_184 };
const TIME: &str = "time";

/// Tasks cut by hand, a few hundred.
pub fn by_hand() -> Result<Vec<Figure>> {
    let about = format!("{} queens, tasks below {} rows", BY_HAND.size, BY_HAND.rows);
    let rounds = rounds::measure("queens", &Kind::ALL, ROUNDS, |_, system| seconds(system, &BY_HAND))?;
    let mut figures = raw(&rounds, &about);
    for kind in [Kind::Process, Kind::Grid] {
        let native = rounds.ratio(kind, Kind::Rayon, TIME, &about)?;
        figures.extend(native.map(|figure| figure.goal(1.3, 1.1)));
        for peer in [Kind::Ray, Kind::Dask, Kind::HyperQueue] {
            figures.extend(rounds.ratio(kind, peer, TIME, &about)?);
        }
    }
    Ok(figures)
}

/// Tasks of spawn depth 4. HyperQueue is left out: it starts a process for each.
pub fn deep() -> Result<Vec<Figure>> {
    const SYSTEMS: [Kind; 5] = [Kind::Rayon, Kind::Process, Kind::Grid, Kind::Ray, Kind::Dask];
    let about = format!("{} queens, tasks below {} rows", DEEP.size, DEEP.rows);
    let rounds = rounds::measure("deep", &SYSTEMS, DEEP_ROUNDS, |_, system| seconds(system, &DEEP))?;
    let mut figures = raw(&rounds, &about);
    for kind in [Kind::Process, Kind::Grid] {
        figures.extend(rounds.ratio(kind, Kind::Rayon, TIME, &about)?);
        for peer in [Kind::Ray, Kind::Dask] {
            let ratio = rounds.ratio(kind, peer, TIME, &about)?;
            figures.extend(ratio.map(|figure| figure.goal(1.0, 0.5)));
        }
    }
    Ok(figures)
}

fn seconds(system: &mut System, queens: &Queens) -> Result<Vec<(&'static str, f64)>> {
    Ok(vec![(TIME, system.queens(queens)?)])
}

fn raw(rounds: &Rounds, about: &str) -> Vec<Figure> {
    rounds.raw(TIME, "s", |kind| format!("{about}: {}", kind.name()))
}
