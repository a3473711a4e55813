//! What the coordinator does by and by, a bounded part in each event. One event does one of these, so that none takes long;
//! where several are due, they take turns.

use crate::Time;

use super::Coordinator;

/// What there is to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Chore {
    /// What was begun and is done in slices.
    Slices,
    /// Hosts are pinged, and circles renewed.
    Pings,
    /// Hosts that are silent, or whose link is down, are given up.
    Silence,
    /// Hosts are told who came and who went.
    #[default]
    News,
}

impl Chore {
    /// The one that is next in turn.
    fn next(self) -> Self {
        match self {
            Self::Slices => Self::Pings,
            Self::Pings => Self::Silence,
            Self::Silence => Self::News,
            Self::News => Self::Slices,
        }
    }
}

impl Coordinator {
    /// Does the chore whose turn it is of those that are due; the others follow in events of their own.
    pub(super) fn do_a_chore(&mut self, now: Time) {
        let last = self.slices.last_chore;
        let turns = std::iter::successors(Some(last.next()), |chore| (*chore != last).then(|| chore.next()));
        let Some(chore) = turns.take(4).find(|chore| self.is_due(now, *chore)) else { return };
        self.slices.last_chore = chore;
        match chore {
            Chore::Slices => self.do_next_slice(now),
            Chore::Pings => self.ping_all(now),
            Chore::Silence => self.give_up_silent(now),
            Chore::News => self.tell_news(now),
        }
        if chore != Chore::Silence && self.is_due(now, Chore::Silence) {
            self.silence.fall_behind();
        }
    }

    fn is_due(&self, now: Time, chore: Chore) -> bool {
        let due = match chore {
            Chore::Slices => self.slices.next(),
            Chore::Pings => Some(self.next_ping),
            Chore::Silence => self.silence.next_check().into_iter().chain(self.next_down()).min(),
            Chore::News => self.newsroom.next(),
        };
        due.is_some_and(|due| now >= due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turn() {
        let mut chore = Chore::default();
        let turns: Vec<Chore> = std::iter::repeat_with(|| {
            chore = chore.next();
            chore
        })
        .take(5)
        .collect();
        assert_eq!(turns, [Chore::Slices, Chore::Pings, Chore::Silence, Chore::News, Chore::Slices]);
    }
}
