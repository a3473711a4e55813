//! Counts that others have found, and refused arguments.

use nqueens::{main, plain};
use sateen::BadInput;

/// OEIS A000170.
const SOLUTIONS: [u64; 14] = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14_200, 73_712, 365_596];

#[test]
fn both_versions_find_the_published_counts() {
    for (n, expected) in (1..).zip(SOLUTIONS) {
        assert_eq!(plain(n), Ok(expected), "{n} queens, without spawns");
        assert_eq!(main(n), Ok(expected), "{n} queens, with spawns");
    }
}

#[test]
fn sizes_out_of_range_are_refused() {
    for n in [0, 28, u64::MAX] {
        let refused = BadInput(format!("n is {n}, but boards have 1 to 27 rows"));
        assert_eq!(main(n), Err(refused.clone()));
        assert_eq!(plain(n), Err(refused));
    }
}
