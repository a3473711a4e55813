//! How a run takes turns with others, of which it is in [`super::turns`].

use crate::Time;

/// Which hosts are asked to load a run at its next turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Asked {
    /// All: none of them has it.
    #[default]
    All,
    /// All, and those that could not load it forget that first.
    Again,
    /// Hosts that have not reported that they cannot.
    New,
}

/// How a run takes turns with others.
#[derive(Debug, Default)]
pub struct Turn {
    /// How often it gave its turn up.
    pub(super) yields: u32,
    /// It gave its turn up, and gets no other before this time.
    pub rests_until: Option<Time>,
    pub(super) asked: Asked,
    /// The number of the turn.
    pub(super) number: u32,
    /// When this turn began.
    pub(super) since: Time,
    /// All hosts may be unable now.
    pub is_in_doubt: bool,
}

impl Turn {
    /// A run that was given to no host since.
    pub fn anew(&self) -> Self {
        Self { number: self.number, ..Self::default() }
    }

    /// How often it gave its turn up.
    pub fn yields(&self) -> u32 {
        self.yields
    }

    /// When this turn began.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Which turn it is, counted from 1; 0 before the first.
    pub fn number(&self) -> u32 {
        self.number
    }
}
