//! `peers-kernel spin TURNS SEED`, `queens SIZE ROWS PREFIX` or `uts TREE DEPTH PATH`: a task of HyperQueue, which prints its result.

use std::io::Write;
use std::process::ExitCode;

use peers_kernel::{NO_TREE, peers_queens, peers_spin, peers_uts};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(result) = result(&words) else {
        eprintln!(
            "peers-kernel: expected `spin TURNS SEED`, `queens SIZE ROWS PREFIX` or `uts TREE DEPTH PATH`, got {words:?}"
        );
        return ExitCode::from(2);
    };
    // A task whose result cannot be written has failed.
    match writeln!(std::io::stdout(), "{result}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn result(words: &[String]) -> Option<u64> {
    let (command, numbers) = words.split_first()?;
    let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    match (command.as_str(), &numbers[..]) {
        ("spin", &[turns, seed]) => Some(peers_spin(turns, seed)),
        ("queens", &[size, rows, prefix]) => {
            Some(peers_queens(size.try_into().ok()?, rows.try_into().ok()?, prefix))
        }
        ("uts", &[tree, depth, path]) => {
            Some(peers_uts(tree, depth.try_into().ok()?, path)).filter(|nodes| *nodes != NO_TREE)
        }
        _ => None,
    }
}
