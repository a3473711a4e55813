//! This host's standing with the coordinator: its identity there, and whether it takes work.

use crate::message::{HostReport, RootClaim, ToCoordinator};
use crate::{GridId, HostId, RunId};

use super::surface::Event;

/// A host's id, the secret that proves it, and the grid that it is part of.
type Identity = (HostId, u64, GridId);

/// What the welcome changes.
#[derive(Debug, PartialEq, Eq)]
pub struct Welcomed {
    /// What happened to this host, if anything did besides that its link is back.
    pub event: Option<Event>,
    /// All others have forgotten what they had to do with this host.
    pub is_given_up: bool,
    /// It was part of another grid.
    pub is_other_grid: bool,
    /// The coordinator refused the hello before, and takes this host for another one.
    pub is_disowned: bool,
}

/// This host's identity at the coordinator, how far it is with its greeting, and why it takes no work.
#[derive(Default)]
pub struct Standing {
    /// Its id, the secret that proves it, and its grid.
    identity: Option<Identity>,
    /// Changes when all others have given it up.
    incarnation: u32,
    /// The coordinator has said welcome on the link that is open.
    is_connected: bool,
    /// Between `handle_connected` and the welcome.
    is_greeting: bool,
    /// Its identity before it paused.
    former: Option<Identity>,
    /// Why it takes no work.
    paused: Option<String>,
    /// Why its guests stand still for a moment.
    holds: Option<String>,
    /// The coordinator refused its last hello.
    is_disowned: bool,
    /// Why it was paused, as its last hello said.
    greeted_as_paused: Option<String>,
    /// Runs whose root jobs the last hello claimed, until it is answered.
    greeted_with_roots_of: Vec<RunId>,
}

impl Standing {
    // ---- getters ----

    /// Its id, once the coordinator has assigned one.
    pub fn id(&self) -> Option<HostId> {
        self.identity.map(|(id, ..)| id)
    }

    /// The grid that it is part of.
    pub fn grid(&self) -> Option<GridId> {
        self.identity.map(|(.., grid)| grid)
    }

    /// Whether the coordinator hears it.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Why it takes no work.
    pub fn paused(&self) -> Option<&str> {
        self.paused.as_deref()
    }

    /// Whether it is part of a grid and is not paused.
    pub fn may_work(&self) -> bool {
        self.identity.is_some() && self.paused.is_none()
    }

    // ---- the link ----

    /// The link to the coordinator is open. Returns the hello, which claims these root jobs.
    pub fn greet(&mut self, report: HostReport, roots: Vec<RootClaim>) -> ToCoordinator {
        (self.is_greeting, self.is_connected) = (true, false);
        let paused = self.paused.clone();
        self.greeted_as_paused.clone_from(&paused);
        // What a former one counted is this process's, too.
        let (was, incarnation) = (self.identity.or(self.former), self.incarnation);
        let (was, roots) = if self.is_disowned { (None, Vec::new()) } else { (was, roots) };
        self.greeted_with_roots_of = roots.iter().map(|claim| claim.run).collect();
        ToCoordinator::Hello { report, was, incarnation, roots, paused }
    }

    /// The link to the coordinator broke.
    pub fn disconnect(&mut self) {
        (self.is_greeting, self.is_connected) = (false, false);
    }

    /// The coordinator refused something. What the hello said of this host may be the reason: the next one says
    /// nothing.
    pub fn note_refusal(&mut self) {
        self.is_disowned |= self.is_greeting;
    }

    /// The coordinator answers the hello; `None` if there was none.
    pub fn welcome(&mut self, identity: Identity, incarnation: u32) -> Option<Welcomed> {
        if !std::mem::take(&mut self.is_greeting) {
            return None;
        }
        self.is_connected = true;
        let was = self.identity.replace(identity);
        let before = std::mem::replace(&mut self.incarnation, incarnation);
        let is_reborn = was.is_some_and(|(id, ..)| id != identity.0);
        let is_given_up = is_reborn || (was.is_some() && before != incarnation);
        let event = match was {
            None if self.former.take().is_some_and(|(id, ..)| id == identity.0) => {
                Some(Event::Paused(identity.0))
            }
            None => Some(Event::Joined(identity.0)),
            Some(_) if is_reborn => Some(Event::Reborn(identity.0)),
            Some(_) if is_given_up => Some(Event::Returned(identity.0)),
            Some(_) => None,
        };
        Some(Welcomed {
            event,
            is_given_up,
            is_other_grid: was.is_some_and(|(.., grid)| grid != identity.2),
            is_disowned: std::mem::take(&mut self.is_disowned),
        })
    }

    /// The message that corrects the hello, if this host was paused or resumed between the hello and the welcome.
    pub fn pause_since_hello(&self) -> Option<ToCoordinator> {
        (self.paused != self.greeted_as_paused).then(|| ToCoordinator::Paused { reason: self.paused.clone() })
    }

    /// The runs whose root jobs the last hello claimed, once.
    pub fn take_claimed(&mut self) -> Vec<RunId> {
        std::mem::take(&mut self.greeted_with_roots_of)
    }

    /// This host is not part of the grid any more. After a farewell, the next hello names its id, and the coordinator may
    /// give it back; otherwise the hello names none.
    pub fn leave(&mut self, has_farewell: bool) {
        self.former = self.identity.take().filter(|_| has_farewell);
        self.is_connected = false;
    }

    // ---- whether it takes work ----

    /// Its guests stand still for this reason, or compute; returns whether that is news.
    pub fn hold(&mut self, reason: Option<String>) -> bool {
        std::mem::replace(&mut self.holds, reason) != self.holds
    }

    /// Why its guests stand still.
    pub fn holds(&self) -> Option<&str> {
        self.holds.as_deref()
    }

    /// It takes no work, for this reason.
    pub fn pause(&mut self, reason: String) {
        self.paused = Some(reason);
    }

    /// It takes work again; whether it did not.
    pub fn resume(&mut self) -> bool {
        self.paused.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::info;
    use super::*;
    use crate::AssignmentId;

    const ME: Identity = (HostId(10), 5, GridId(7));
    const RUN: RunId = RunId(1);

    /// What a hello says: this host's former identity, whether it claims a root, and why it is paused.
    fn greet(standing: &mut Standing) -> (Option<Identity>, bool, Option<String>) {
        let report = (*info(HostId(10)).report).clone();
        let claim = RootClaim { run: RUN, number: AssignmentId(1), proof: 9 };
        let ToCoordinator::Hello { was, roots, paused, .. } = standing.greet(report, vec![claim]) else {
            panic!("it is a hello");
        };
        (was, !roots.is_empty(), paused)
    }

    /// What happened, and whether others have given this host up, it was in another grid, and was disowned.
    fn welcome(standing: &mut Standing, identity: Identity, incarnation: u32) -> (Option<Event>, [bool; 3]) {
        let welcomed = standing.welcome(identity, incarnation).expect("it greets");
        (welcomed.event, [welcomed.is_given_up, welcomed.is_other_grid, welcomed.is_disowned])
    }

    fn joined() -> Standing {
        let mut standing = Standing::default();
        assert_eq!(greet(&mut standing), (None, true, None));
        assert_eq!(welcome(&mut standing, ME, 0), (Some(Event::Joined(ME.0)), [false; 3]));
        standing
    }

    #[test]
    fn a_host_is_connected_from_the_welcome_until_the_link_breaks() {
        let mut standing = Standing::default();
        assert_eq!(standing.welcome(ME, 0), None, "it has not greeted");
        assert_eq!((standing.id(), standing.grid(), standing.may_work()), (None, None, false));
        let mut standing = joined();
        assert_eq!((standing.id(), standing.grid()), (Some(ME.0), Some(ME.2)));
        assert!(standing.is_connected() && standing.may_work());
        assert_eq!(standing.welcome((HostId(11), 6, GridId(7)), 1), None, "it was welcomed");
        standing.disconnect();
        assert!(!standing.is_connected() && standing.may_work());
        greet(&mut standing);
        assert!(!standing.is_connected(), "it waits for the welcome");
        standing.disconnect();
        assert_eq!(standing.welcome(ME, 0), None, "that link is gone");
    }

    #[test]
    fn a_welcome_says_what_became_of_the_host() {
        let cases = [
            (ME, 0, None, [false, false, false]),
            (ME, 1, Some(Event::Returned(ME.0)), [true, false, false]),
            ((HostId(11), 6, GridId(7)), 0, Some(Event::Reborn(HostId(11))), [true, false, false]),
            ((HostId(10), 6, GridId(8)), 0, None, [false, true, false]),
        ];
        for (identity, incarnation, event, flags) in cases {
            let mut standing = joined();
            assert_eq!(greet(&mut standing).0, Some(ME));
            assert_eq!(welcome(&mut standing, identity, incarnation), (event, flags));
            assert_eq!(standing.id(), Some(identity.0));
        }
    }

    #[test]
    fn a_host_that_was_refused_says_nothing_of_itself_the_next_time() {
        let mut standing = joined();
        standing.note_refusal();
        assert!(greet(&mut standing).1, "no hello was refused");
        standing.note_refusal();
        assert_eq!(greet(&mut standing), (None, false, None));
        assert_eq!(standing.take_claimed(), []);
        assert_eq!(welcome(&mut standing, ME, 0), (None, [false, false, true]));
        assert_eq!(greet(&mut standing), (Some(ME), true, None));
        assert_eq!((standing.take_claimed(), standing.take_claimed()), (vec![RUN], Vec::new()));
        assert_eq!(welcome(&mut standing, ME, 0), (None, [false; 3]), "once");
    }

    #[test]
    fn a_host_that_left_with_a_farewell_is_known_when_it_comes_back() {
        for (has_farewell, was, event) in
            [(true, Some(ME), Event::Paused(ME.0)), (false, None, Event::Joined(ME.0))]
        {
            let mut standing = joined();
            standing.leave(has_farewell);
            assert!(standing.id().is_none() && !standing.is_connected());
            standing.pause("its user works".to_owned());
            assert_eq!(greet(&mut standing), (was, true, Some("its user works".to_owned())));
            assert_eq!(welcome(&mut standing, ME, 0), (Some(event), [false; 3]));
            assert!(!standing.may_work());
        }
        // It is another one.
        let mut standing = joined();
        standing.leave(true);
        greet(&mut standing);
        let other = (HostId(11), 6, GridId(7));
        assert_eq!(welcome(&mut standing, other, 0), (Some(Event::Joined(other.0)), [false; 3]));
    }

    #[test]
    fn a_pause_while_the_hello_is_in_transit_is_reported_afterwards() {
        let mut standing = joined();
        standing.pause("its user works".to_owned());
        greet(&mut standing);
        assert_eq!(standing.pause_since_hello(), None);
        assert!(standing.resume() && !standing.resume());
        assert_eq!(standing.pause_since_hello(), Some(ToCoordinator::Paused { reason: None }));
        greet(&mut standing);
        standing.pause("it is on battery".to_owned());
        let reason = Some("it is on battery".to_owned());
        assert_eq!(standing.paused(), reason.as_deref());
        assert_eq!(standing.pause_since_hello(), Some(ToCoordinator::Paused { reason }));
    }
}
