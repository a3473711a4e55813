//! A grid that is open to others, as its operator, its submitters and its volunteers use it: real processes, TLS, tokens and
//! join keys; and what each of them is told when something is wrong.

#![cfg(unix)]

mod certificates;
mod grid;
mod refusals;
mod tls;
mod whole;
