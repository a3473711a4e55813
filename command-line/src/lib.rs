//! Shared parts of the command lines of Sateen's programs: values of flags and their ranges, errors in one line,
//! local times, names of machines, text that fits a terminal, the system's errors with their remedies, completions and man
//! pages; and a setting of their memory allocator.
#![deny(unsafe_code)] // except one call, whose reason is beside it

mod allocator;
mod generate;
mod machine;
mod moment;
mod parse;
mod range;
mod system;
mod usage;
pub mod wrap;

pub use allocator::free_at_once;
pub use generate::Generate;
pub use machine::{is_machine_name, machine_address, without_port};
pub use moment::{local, local_with_zone, localised, time_of_day};
pub use parse::{parsed, socket_address};
pub use range::{name, number, size, time};
pub use system::{explained, refused};
pub use usage::one_line;
