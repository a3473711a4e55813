//! The service as a process: its API, hosts' websockets, its data folder, its shutdown.

mod access;
mod api;
mod attacks;
mod damage;
mod doors;
mod exports;
mod folder;
mod guarded;
mod host;
mod keys;
mod links;
mod listing;
mod log;
mod metrics;
mod names;
mod openapi;
mod pages;
mod proxied;
mod quotas;
mod release;
mod restart;
mod runs;
mod server;
mod shares;
mod sharing;
mod watch;
