//! A cause that fluctuates.

/// How long a cause must hold before it counts, and must be gone before it counts no more.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    pub trips_after_s: i64,
    pub clears_after_s: i64,
}

/// Whether the cause counts, and since when its readings say the opposite, in seconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trip {
    on: bool,
    differs_since_s: Option<i64>,
}

impl Trip {
    pub fn is_on(self) -> bool {
        self.on
    }

    /// After a reading: `is_above` the limit, or `is_gone` by the margin, or neither.
    pub fn next(self, level: Level, is_above: bool, is_gone: bool, now_s: i64) -> Self {
        let (differs, after_s) =
            if self.on { (is_gone, level.clears_after_s) } else { (is_above, level.trips_after_s) };
        if !differs {
            return Self { on: self.on, differs_since_s: None };
        }
        // A clock that was set back begins the time anew.
        let since_s = self.differs_since_s.filter(|since_s| *since_s <= now_s).unwrap_or(now_s);
        if now_s - since_s >= after_s {
            return Self { on: !self.on, differs_since_s: None };
        }
        Self { on: self.on, differs_since_s: Some(since_s) }
    }
}
