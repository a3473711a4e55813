//! The service as a process: its API, hosts' websockets, its data folder, its ends.

mod api;
mod folder;
mod host;
mod links;
mod metrics;
mod restart;
mod runs;
mod server;
