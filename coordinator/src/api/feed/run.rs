//! The topic `run/N`.

use std::sync::Arc;

use sateen_protocol::RunId;

use super::value::Value;
use crate::api::{Api, Problem, details};

/// Series are long and change with every tick, so they are sent every this many ticks.
const SERIES_EVERY: u64 = 8;

/// A run as sent to pages.
pub struct RunFeed {
    run: RunId,
    ticks: u64,
    /// A finished run is looked at less often.
    is_over: bool,
    value: Value,
}

impl RunFeed {
    /// Nothing yet.
    pub fn new(run: RunId) -> Self {
        Self { run, ticks: 0, is_over: false, value: Value::default() }
    }

    /// The changes since the last tick.
    pub async fn next(&mut self, api: &Api) -> Result<Option<Arc<Value>>, Problem> {
        self.ticks += 1;
        if self.is_over && !self.ticks.is_multiple_of(SERIES_EVERY) {
            return Ok(None);
        }
        let details = details(api, self.run).await?;
        let was_over = std::mem::replace(&mut self.is_over, details.run.is_over());
        let are_series_due = self.ticks % SERIES_EVERY == 1 || (self.is_over && !was_over);
        self.value.begin();
        for (name, json) in [
            ("run", json(&details.run)),
            ("depths", json(&details.depths)),
            ("remaining", json(&details.remaining)),
            ("remaining_why", json(&details.remaining_why)),
            ("mean_busy", json(&details.mean_busy)),
            ("critical_path", json(&details.critical_path)),
            ("events", json(&details.events)),
            ("kinds", json(&details.kinds)),
            ("is_kept", json(&details.is_kept)),
        ] {
            self.value.set(name, json);
        }
        if are_series_due {
            self.value.set("series", json(&details.series));
        }
        Ok(self.value.is_new().then(|| Arc::new(self.value.clone())))
    }
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    // Plain structs always encode.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
