//! Hosts that pause and resume.

use crate::limits::{UNPAUSE_EVERY, UNPAUSES_AT_ONCE_MAX};
use crate::{HostId, Time};

use super::Coordinator;
use super::slices::Slice;

impl Coordinator {
    /// Resuming is costly: the host is announced to its circle, and given all runs. So a host that does it repeatedly
    /// has to wait in between.
    pub(super) fn on_paused(&mut self, now: Time, host: HostId, reason: Option<String>) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        let was_paused = state.paused.is_some();
        if reason.is_some() {
            state.paused = reason;
            // Its `Leaving` follows, since it gives everything back, and it comes back under its id.
            state.pausing.rests = !was_paused;
            self.stop_unpausing(host);
            if !was_paused {
                self.note_pause(host);
                self.in_slices(now, Slice::Unlist { after: None, host });
                self.close_mailbox(host);
                self.circles.step_aside(host);
            }
        } else if was_paused && state.pausing.unpauses_at.is_none() {
            if state.paces.unpauses.take(now, UNPAUSE_EVERY, UNPAUSES_AT_ONCE_MAX) {
                self.unpause(now, host);
            } else {
                let at = now + UNPAUSE_EVERY;
                state.pausing.unpauses_at = Some(at);
                self.working.resume_at(at, host);
            }
        }
    }

    /// Its guests stand still for a moment, and keep their jobs; or compute again.
    pub(super) fn on_holds(&mut self, host: HostId, reason: Option<String>) {
        if let Some(state) = self.hosts.get_mut(&host) {
            state.pausing.holds = reason;
        }
    }

    fn unpause(&mut self, now: Time, host: HostId) {
        let Some(state) = self.hosts.get_mut(&host) else { return };
        state.paused = None;
        state.pausing.rests = false;
        self.note_pause(host);
        self.show_round(now, host);
        self.tell_circle(now, host);
        self.tell_news(now);
        self.start_runs_at(now, host, true);
        self.wake_turns(now);
    }

    /// The host no longer waits for its time to resume.
    pub(super) fn stop_unpausing(&mut self, host: HostId) {
        if let Some(at) = self.hosts.get_mut(&host).and_then(|state| state.pausing.unpauses_at.take()) {
            self.working.stop_resuming(at, host);
        }
    }

    pub(super) fn next_unpausing(&self) -> Option<(Time, &'static str)> {
        let (at, _) = self.working.next_resuming()?;
        Some((at, "a host that paused too often works again"))
    }

    pub(super) fn time_out_unpausing(&mut self, now: Time) {
        while let Some((at, host)) = self.working.next_resuming().filter(|(at, _)| now >= *at) {
            self.working.stop_resuming(at, host);
            if let Some(state) = self.hosts.get_mut(&host) {
                state.pausing.unpauses_at = None;
                state.paces.unpauses.take(now, UNPAUSE_EVERY, UNPAUSES_AT_ONCE_MAX);
                self.unpause(now, host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Grid;
    use crate::RunId;
    use crate::coordinator::Event;
    use crate::limits::IDENTITY_KEPT;
    use crate::message::{Departure, HostReport, ToCoordinator, ToHost};

    const RUN: RunId = RunId(1);

    /// Sends the coordinator a message and returns the events that follow.
    fn events(grid: &mut Grid, link: super::super::LinkId, messages: Vec<ToCoordinator>) -> Vec<Event> {
        for message in messages {
            grid.machine.handle_message(grid.now, link, message);
        }
        std::iter::from_fn(|| grid.machine.poll_event()).collect()
    }

    #[test]
    fn a_host_whose_guests_stand_still_for_a_moment_keeps_all_that_it_has() {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (link, identity) = grid.join();
        let holds =
            |grid: &Grid| grid.machine.hosts().find(|view| view.id == identity.0).and_then(|view| view.holds);
        let reason = Some("somebody uses the machine".to_owned());
        let said = events(&mut grid, link, vec![ToCoordinator::Holds { reason: reason.clone() }]);
        assert_eq!((said, holds(&grid)), (Vec::new(), reason.clone()));
        assert_eq!(events(&mut grid, link, vec![ToCoordinator::Holds { reason: None }]), Vec::new());
        assert_eq!(holds(&grid), None);
        events(&mut grid, link, vec![ToCoordinator::Holds { reason }]);
        // After a break, it says again what holds.
        grid.cut(link);
        grid.hello(Some(identity), Vec::new());
        assert_eq!(holds(&grid), None);
    }

    fn pauses() -> Vec<ToCoordinator> {
        let reason = Some("its user works".to_owned());
        vec![ToCoordinator::Paused { reason }, ToCoordinator::Leaving]
    }

    fn report() -> HostReport {
        HostReport {
            name: "one".to_owned(),
            site: "here".to_owned(),
            threads: 1,
            version: "0".to_owned(),
            direct: None,
            key: Default::default(),
        }
    }

    #[test]
    fn a_host_that_pauses_is_the_same_afterwards_and_neither_left_nor_joined() {
        let mut grid = Grid::new();
        grid.submit(RUN);
        let (link, identity) = grid.join();
        let (other, _) = grid.join();
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        grid.advance(3_000, &[link, other]);
        let root = grid.root(link).expect("it has the root");

        let said = events(&mut grid, link, pauses());
        assert!(said.contains(&Event::HostPaused(identity.0)), "{said:?}");
        let is_presence = |event: &Event| {
            matches!(
                event,
                Event::HostGone(..)
                    | Event::HostJoined(_)
                    | Event::HostReturned(_)
                    | Event::HostReborn { .. }
            )
        };
        assert!(!said.iter().any(is_presence), "{said:?}");
        let shown = |grid: &Grid| {
            let hosts = grid.machine.hosts().map(|host| (host.id, host.connected));
            hosts.filter(|(host, _)| *host == identity.0).collect::<Vec<_>>()
        };
        assert_eq!(shown(&grid), [(identity.0, false)], "it is away for a moment");
        assert!(grid.machine.hosts().is_sorted_by_key(|host| host.id));
        grid.drain();
        let has_left = |message: &ToHost| match message {
            ToHost::Hosts { gone, .. } => Some(gone.contains(&(identity.0, Departure::Left))),
            _ => None,
        };
        assert_eq!(grid.last(other, has_left), Some(true), "others are notified as of one that leaves");

        let back = super::super::LinkId(99);
        let (report, paused) = (report(), Some("its user works".to_owned()));
        let hello =
            ToCoordinator::Hello { report, was: Some(identity), incarnation: 0, roots: Vec::new(), paused };
        let said = events(&mut grid, back, vec![hello]);
        assert!(!said.iter().any(is_presence), "{said:?}");
        grid.drain();
        assert_eq!(grid.identity(back).0, identity.0);
        assert_eq!(shown(&grid), [(identity.0, true)]);
        // It has nothing: its root is assigned to another host.
        grid.tell(other, ToCoordinator::Ready { run: RUN });
        grid.advance(3_000, &[back, other]);
        assert_ne!(grid.root(other).map(|claim| claim.number), Some(root.number));
        assert!(grid.root(other).is_some());
        // It resumes, and leaves.
        let said = events(&mut grid, back, vec![ToCoordinator::Paused { reason: None }]);
        assert!(!said.iter().any(is_presence), "{said:?}");
        assert!(grid.machine.working.contains(identity.0));
        let said = events(&mut grid, back, vec![ToCoordinator::Leaving]);
        assert!(said.contains(&Event::HostGone(identity.0, Departure::Left)), "{said:?}");
    }

    #[test]
    fn a_paused_host_that_leaves_has_left() {
        let mut grid = Grid::new();
        let (link, identity) = grid.join();
        events(&mut grid, link, pauses());
        grid.drain();
        let back = super::super::LinkId(99);
        let (report, paused) = (report(), Some("its user works".to_owned()));
        let hello =
            ToCoordinator::Hello { report, was: Some(identity), incarnation: 0, roots: Vec::new(), paused };
        events(&mut grid, back, vec![hello]);
        let said = events(&mut grid, back, vec![ToCoordinator::Leaving]);
        assert!(said.contains(&Event::HostGone(identity.0, Departure::Left)), "{said:?}");
    }

    #[test]
    fn a_host_that_does_not_come_back_from_a_pause_has_left() {
        let mut grid = Grid::new();
        let (link, identity) = grid.join();
        let said = events(&mut grid, link, pauses());
        assert!(!said.contains(&Event::HostGone(identity.0, Departure::Left)));
        let mut said = Vec::new();
        let until = grid.now + IDENTITY_KEPT;
        while let Some((at, _)) = grid.machine.poll_timeout().filter(|(at, _)| *at <= until) {
            grid.machine.handle_timeout(at);
            said.extend(std::iter::from_fn(|| grid.machine.poll_event()));
        }
        assert_eq!(said.iter().filter(|event| matches!(event, Event::HostGone(..))).count(), 1, "{said:?}");
    }
}
