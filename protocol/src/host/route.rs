//! Handles the loss of a route to a peer while another works: messages on it may be lost, which is checked now and not
//! only when their answers are overdue.

use crate::{HeldId, HostId, JobKey, LoanId, RunId, Time};

use super::lent::LoanState;
use super::{Host, Receiver};

/// The loans and requests of a run that connect this host and a peer.
#[derive(Default)]
struct Between {
    /// This host holds jobs of the peer, or waits for its answer to a steal.
    holds: bool,
    /// The peer holds jobs of this host.
    lends: bool,
    finished: Vec<HeldId>,
    asked: Vec<(LoanId, JobKey)>,
}

impl Host {
    /// Messages to and from the peer may have been lost with a link, and another route to it works: sends messages
    /// again that were in transit, and asks for the peer's.
    pub fn handle_route_lost(&mut self, now: Time, peer: HostId) {
        self.latest = now;
        if !self.peers.contains(peer) {
            return;
        }
        self.repeats.on_new_link(Receiver::Peer(peer));
        let runs: Vec<RunId> = self.runs.keys().copied().collect();
        for run in runs {
            let between = self.between(run, peer);
            if let Some(host_run) = self.runs.get_mut(&run) {
                host_run.loans.doubt(peer);
            }
            if between.holds {
                self.send_holding(run, peer);
            }
            for id in between.finished {
                self.deliver(run, id);
            }
            if between.lends {
                self.ask_what_is_held(now, run, peer);
            }
            for (number, key) in between.asked {
                self.ask_for_adoption(now, run, peer, number, key);
            }
            self.compare_soon_with(now, run, peer);
        }
    }

    fn between(&self, run: RunId, peer: HostId) -> Between {
        let mut between = Between::default();
        let Some(host_run) = self.runs.get(&run) else { return between };
        for (_, id) in host_run.held.of_host(peer) {
            between.holds = true;
            if host_run.held.get(id).is_some_and(|held| held.finished().is_some()) {
                between.finished.push(id);
            }
        }
        between.holds |= host_run.thief.asks(peer);
        for number in host_run.loans.to(peer) {
            let Some(loan) = host_run.loans.get(number) else { continue };
            match loan.state {
                LoanState::Asked => between.asked.push((number, loan.spec().key)),
                LoanState::Given(_) | LoanState::Agreed => between.lends = true,
            }
        }
        between
    }
}
