//! A volunteer's host: everything that this machine needs to take part in a grid.
//!
//! One thread, `sateen-net`, owns the protocol's state machine and all sockets ([`driver`](self)). Operations
//! that may block run on other threads and send messages to it:
//!
//! ```text
//! coordinator ◄─ws─► transport ◄──► driver ──► Portion: workers, guests     (runtime)
//!                                      │        in a process of their own   (apart)
//! peers       ◄─ws─►                   ├─────► fetch, compile               (load)
//! status, pause, leave ─socket─► control       ├─────► sled                 (store)
//! a browser on this machine ─► page             └─────► contributed.json     (contribution)
//! ```
//!
//! Everything is bounded. The host's own limits are beside the code that they limit; the limits on which hosts must
//! agree are in `sateen_protocol::limits`.

mod address;
#[cfg(target_os = "linux")]
mod apart;
mod cancel;
mod clock;
mod contribution;
pub mod control;
mod driver;
mod folder;
mod holder;
mod identity;
mod load;
mod page;
mod portion_runtime;
mod runtime;
pub mod store;
mod threads;
mod transport;

pub use address::CoordinatorAddress;
#[cfg(target_os = "linux")]
pub use apart::{Apart, GUESTS_COMMAND, run_guests};
pub use driver::{ComfortOptions, Handle, Health, Options, Reread, StartError, Stopped, start};
pub use folder::{DataFolder, FolderError};
pub use holder::Holder;
pub use identity::{HostKey, KeyError};
pub use page::PageListen;
pub use portion_runtime::Workers;
pub use runtime::{Cancel, Loading, Notify, RunningPortion, Runtime};
pub use transport::DirectListen;
