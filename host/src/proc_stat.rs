//! What Linux says of a process or thread in its file `stat`.

use std::path::Path;
use std::time::Duration;

/// Its processor time, in steps of a hundredth of a second; 0 if there is no such process or thread.
pub fn processor_time(stat: impl AsRef<Path>) -> Duration {
    /// Linux counts processor time for programs in hundredths of a second, whatever its own ticks are.
    const TICK: Duration = Duration::from_millis(10);
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    // The name is in parentheses and may be anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let times = fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok());
    TICK.saturating_mul(times.fold(0_u32, u32::saturating_add))
}
