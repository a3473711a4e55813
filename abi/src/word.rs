//! The control words in the guest's memory. Through them, a host interrupts a guest and notifies it of unsolicited
//! events. Each word has four bytes; its place is counted in bytes from the first word.

/// Where the stack of latent records ends, for the fast path of a spawn; 0 is an alarm. Hosts write it.
pub const LIMIT: usize = 0;
/// The oldest latent record, for the fast path of a sync; in an alarm, what the host wants. Hosts write it.
pub const FLOOR: usize = 4;
/// The number of nested calls in place that the guest is in. Hosts read it.
pub const DEPTH: usize = 8;
/// At depths below this value, the guest shows each spawn to the host. Hosts write it.
pub const LOOKUP_BELOW: usize = 12;
/// The length of the words that every guest has.
pub const BYTES_MIN: usize = 16;
/// At depths below this value, the guest asks its host before it calls a job of a set in place. Hosts write it, if the
/// guest imports `sync_any`.
pub const SHIELD_BELOW: usize = 16;
/// Changes whenever an update of a shared object has arrived. Hosts write it, if the guest has objects.
pub const NEWS: usize = 20;
/// At depths below this value, the guest reports spawns, calls and returns to a host that profiles. Hosts write it, if
/// the guest imports `measure`.
pub const MEASURE_BELOW: usize = 24;
/// The length of all words.
pub const BYTES: usize = 28;

/// `limit`: an alarm. `floor` says what the host wants.
pub const ALARM: u32 = 0;
/// `limit`: the fast paths are closed, without an alarm.
pub const CLOSED: u32 = 1;
/// `floor` in an alarm: the host wants the oldest latent job. Without an alarm: the fast path of a sync is closed.
pub const OLDEST: u32 = u32::MAX;
/// `floor` in an alarm: the host wants all latent jobs.
pub const ALL: u32 = u32::MAX - 1;
/// `measure_below`: the guest reports everything.
pub const MEASURE_ALL: u32 = u32::MAX;
