//! The control words in the guest's memory, by which its host makes it look up and tells it what it does not ask for. Each
//! has four bytes, and its place is counted from the first.

/// The stack of latent records ends there, for the guest's fast path; 0 is an alarm. Hosts write it.
pub const LIMIT: usize = 0;
/// The oldest latent record, for the guest's fast path; in an alarm, what is wanted. Hosts write it.
pub const FLOOR: usize = 4;
/// In how many calls in place the guest is. Hosts read it.
pub const DEPTH: usize = 8;
/// While the depth is less, the host is shown each spawn. Hosts write it.
pub const LOOKUP_BELOW: usize = 12;
/// The length of the words that a guest has at least.
pub const BYTES_MIN: usize = 16;
/// Jobs of sets that are spawned from less than this depth are not called in place without asking. Hosts write it, in a
/// guest that imports `sync_any`.
pub const SHIELD_BELOW: usize = 16;
/// Another number whenever something has come to a shared object. Hosts write it, in a guest that has objects.
pub const NEWS: usize = 20;
/// While the depth is less, a host that profiles is told of spawns, calls and returns. Hosts write it, in a guest that
/// imports `measure`.
pub const MEASURE_BELOW: usize = 24;
/// The length of all.
pub const BYTES: usize = 28;

/// `limit`: an alarm. `floor` says what is wanted.
pub const ALARM: u32 = 0;
/// `limit`: the fast paths are closed, and it is no alarm.
pub const CLOSED: u32 = 1;
/// `floor` in an alarm: the oldest latent job. Otherwise: no record is that old, and the fast path of a sync is closed.
pub const OLDEST: u32 = u32::MAX;
/// `floor` in an alarm: all that is latent.
pub const ALL: u32 = u32::MAX - 1;
/// `measure_below`: all is told.
pub const MEASURE_ALL: u32 = u32::MAX;
