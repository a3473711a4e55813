//! A grid that is open to others, as its operator, its submitters and its volunteers use it: real processes, TLS, tokens and
//! join keys; and the message that each of them gets when something is wrong.

#![cfg(unix)]

mod certificates;
mod grid;
mod refusals;
mod tls;
mod whole;
