//! The grid's problems, and their answers.

use std::sync::OnceLock;

use sateen_tests::command::{app, run};

/// A few seconds of two cores: time enough to disturb it. OEIS A000045.
pub const FIB: (&str, &[&str], &str) = ("fib", &["43"], "433494437\n");
/// Twice as long, and with few enough jobs to count them. OEIS A000170.
pub const QUEENS: (&str, &[&str], &str) = ("nqueens", &["16"], "14772512\n");
/// Finished at once. OEIS A000170.
pub const FEW_QUEENS: (&str, &[&str], &str) = ("nqueens", &["12"], "14200\n");
/// Long enough for silence to be noticed and reported: half a minute of one core. OEIS A000045.
pub const LONG_FIB: (&str, &[&str], &str) = ("fib", &["46"], "1836311903\n");
/// A minute and a half of one core. OEIS A000170.
pub const MANY_QUEENS: (&str, &[&str], &str) = ("nqueens", &["17"], "95815104\n");
/// Ten pigeons, nine holes.
pub const PIGEONS: (&str, &[&str], &str) = ("sat", &["holes", "9"], "s UNSATISFIABLE\n");
/// An irregular tree.
pub const KNAPSACK: (&str, &[&str]) = ("knapsack", &["500", "5"]);

/// The answer to [`KNAPSACK`] on a single machine; the grid's must have the same bytes.
pub fn knapsack() -> &'static str {
    static ANSWER: OnceLock<String> = OnceLock::new();
    ANSWER.get_or_init(|| {
        let module = app(KNAPSACK.0).display().to_string();
        let ended = run([&["run", module.as_str()], KNAPSACK.1].concat());
        ended.result().to_owned()
    })
}
