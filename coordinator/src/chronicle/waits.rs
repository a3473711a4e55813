//! Why the run waits, and waited.

use sateen_protocol::HostId;

use super::{Chronicle, Idle};
use crate::limits::IDLE_REASONS_MAX;

/// Why a suspended run is idle.
pub const SUSPENDED: &str = "the run is suspended until it is resumed";

impl Chronicle {
    pub(super) fn idle_because(&mut self, host: Option<HostId>, why: Option<&str>, t_ms: u32) {
        let open = self.idle.iter_mut().rfind(|idle| idle.to_ms.is_none() && idle.host == host);
        match (open, why) {
            (Some(open), Some(why)) if open.text == why => return,
            (Some(open), _) => open.to_ms = Some(t_ms),
            (None, None) => return,
            (None, Some(_)) => {}
        }
        if let Some(why) = why {
            if self.idle.len() >= IDLE_REASONS_MAX {
                self.idle.remove(0);
            }
            self.idle.push(Idle { from_ms: t_ms, to_ms: None, host, text: why.to_owned() });
        }
    }
}
