//! Limits of how results are checked.

use std::time::Duration;

/// Maximum children that a unit names. Further ones are computed again when the unit is checked.
pub const UNIT_CHILDREN_MAX: usize = 4096;
/// Maximum size of the parameters of a unit's job. A job with larger ones is not reported as a unit: it is computed again when
/// the job above it is checked.
pub const UNIT_PARAMETERS_BYTES_MAX: usize = 256 << 10;
/// Maximum size of a verified result that is given to the checkers of the job above it; a larger one is computed again.
pub const CHECKED_RESULT_BYTES_MAX: usize = 256 << 10;
/// Maximum units of a run that the coordinator keeps, and that a host keeps to report them again. Further ones are not
/// reported: they are computed again when the jobs above them are checked.
pub const UNITS_MAX: usize = 16 * 1024;
/// The same in bytes; on the coordinator, this includes the verified results.
pub const UNITS_BYTES_MAX: usize = 64 << 20;
/// Maximum checks that one host has at a time, for each run.
pub const CHECKS_PER_HOST_MAX: usize = 4;
/// How often an owner is asked to compute a unit that it could not compute.
pub const REFUSALS_MAX: u32 = 3;
/// Hosts among which a checker is drawn, if more are connected.
pub const CHECKER_CANDIDATES_MAX: usize = 64;
/// Units that wait for a check and that one event of the coordinator looks at.
pub const UNITS_LOOKED_AT_ONCE_MAX: usize = 256;
/// Time for which the coordinator waits for units that others name as their children and that have not been reported.
pub const UNITS_LATE_MAX: Duration = Duration::from_secs(2);
/// Time after which a unit that a checker has not computed is given to another as well, besides the time that the unit has
/// taken before, multiplied by [`CHECK_SLOWNESS`].
pub const CHECK_LATE_MIN: Duration = Duration::from_secs(10);
/// Time after which hosts that could not check a unit are asked again, if no other host can.
pub const STARVED_REST: Duration = Duration::from_secs(30);
/// See [`CHECK_LATE_MIN`].
pub const CHECK_SLOWNESS: u32 = 8;
/// Units of an owner that are all checked by audits before others are drawn.
pub const FIRST_UNITS_AUDITED: u64 = 20;
/// Units of each owner in a run that are checked before its result is accepted, if the owner has as many.
pub const UNITS_SETTLED_MIN: usize = 2;
/// Owners that must agree on a unit of an audit once two have found different results, if this many are connected.
pub const DISPUTE_QUORUM: usize = 3;
/// Maximum owners whose standing the coordinator keeps; further ones have none.
pub const STANDINGS_MAX: usize = 64 * 1024;
/// Maximum runs in which hosts have checked units, and of which counts may still come.
pub const ENDED_CHECK_RUNS_MAX: usize = 1024;
