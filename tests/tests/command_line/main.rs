//! The command `sateen` as a user runs it: real processes, their output and their exit codes.

#![cfg(unix)]

mod apps;
mod bad_input;
mod build;
mod cache;
mod check;
mod compare;
mod flags;
mod generate;
mod grid;
mod interrupt;
mod json;
mod limits;
mod log;
mod new;
mod output;
