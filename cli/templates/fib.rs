//! Fibonacci numbers: the smallest app there is.

use sateen::prelude::*;

/// The job: an ordinary recursive function. `fib::spawn` lets a call run elsewhere.
#[job]
fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let left = fib::spawn(n - 1); // may be stolen from here on
    let right = fib(n - 2); // an ordinary call
    left.sync() + right
}

/// The entry point: its parameters come from the command line, its result is the output.
#[main]
fn main(n: u64) -> u64 {
    fib(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `sateen test` runs it in sandboxes as well.
    #[sateen::test]
    fn known_answers() {
        assert_eq!(main(10), 55);
        assert_eq!(main(20), 6765);
    }
}
