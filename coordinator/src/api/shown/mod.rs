//! Converts the coordinator's types to the API's: the only module that knows both, so that neither the driver, the
//! store nor the chronicles change with the API.

mod chronicle;
mod figures;
mod job;
mod tree;

pub use chronicle::{depths, events, log, series, timeline};
pub use job::{hex, job};
pub use tree::{critical_path, host_at, host_of_tree, table, tree};

/// Converts one of the coordinator's enums to the API's enum with the same variants.
macro_rules! alike {
    ($ours:ty => $shown:ty: $($variant:ident),* $(,)?) => {
        impl From<$ours> for $shown {
            fn from(ours: $ours) -> Self {
                match ours {
                    $(<$ours>::$variant => Self::$variant,)*
                }
            }
        }
    };
}
use alike;
