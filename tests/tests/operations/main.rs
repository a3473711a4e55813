//! Everything that operators rely on, checked against real processes: metrics, the files under `ops/`, logs,
//! `sateen watch`, and the host's own page.

#![cfg(unix)]

mod exposition;
mod files;
mod logs;
mod metrics;
mod page;
mod pauses;
mod terminal;
mod watch;
