//! A volunteer's host as others see it: its command, its store after a kill, two hosts that steal.
#![cfg(unix)]

mod comfort;
mod command;
mod elsewhere;
mod kill;
mod mini_coordinator;
mod steal;
mod unfit;
