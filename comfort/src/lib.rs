//! A volunteer's comfort: when a host may compute, how much, and why it does not.
//!
//! ```text
//! defaults, file, environment, flags ──► preferences ─┐
//! terminals, X, logind, /proc, sensors ──► sense ─────┴─► decision ──► governor ──► brakes of guests
//!                                                            │
//!                                                            └──► a sentence: status, page, coordinator
//! ```
//!
//! * [`preferences`] are given in layers; each value knows where it comes from.
//! * [`sense`] reads the machine. Each sense is a trait with a real source; a missing one is reported once.
//! * [`decision`] is a pure function from preferences and readings to a state, with its reason.
//! * [`governor`] carries the state out on a thread of its own: it holds a share of the processors, and takes guests off
//!   them when the user comes back.
//! * [`consent`] records what the owner agreed to, and [`service`] has the files with which the system starts a host.
#![forbid(unsafe_code)]

pub mod consent;
pub mod decision;
pub mod governor;
pub mod preferences;
pub mod sense;
pub mod service;
