//! The commands that talk to a coordinator.

mod access;
mod apps;
mod checked;
mod client;
mod columns;
mod credentials;
mod earlier;
mod ended;
mod follow;
mod hosts;
mod keys;
mod parts;
mod patience;
mod refusal;
mod release;
mod replay;
mod runs;
mod status;
mod submit;
mod tree;
mod url;
mod view;
mod watch;

pub use access::{audit, token};
pub use apps::{apps, publish, unpublish};
pub use credentials::{login, logout};
pub use hosts::hosts;
pub use keys::host_keys;
pub use replay::replay;
pub use runs::{cancel, ps, remove, result, resume, suspend, wait};
pub use status::status;
pub use submit::submit;
pub use tree::tree;
pub use url::url_of;
pub use watch::watch;
