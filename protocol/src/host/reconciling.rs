//! Hosts report to one another which jobs they hold, so that lost messages are noticed and sent again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::limits::RECONCILE;
use crate::message::{Departure, PeerMessage};
use crate::{HeldId, HostId, JobKey, JobSpec, LoanId, RunId, StealId, Time};

use super::held::{Held, Owner};
use super::lent::LoanState;
use super::parting::Parting;
use super::run::HostRun;
use super::serving::answer;
use super::{Host, Receiver, Repeated};

impl Host {
    pub(super) fn next_reconcile(&self, host_run: &HostRun) -> Option<(Time, &'static str)> {
        (!host_run.loans.is_empty() || !host_run.held.is_empty() || host_run.reporting.verdict().is_some())
            .then_some((host_run.next_reconcile, "hosts report to one another which jobs they hold"))
    }

    pub(super) fn reconcile(&mut self, now: Time, run: RunId) {
        let Some(host_run) = self.runs.get_mut(&run) else { return };
        if now < host_run.next_reconcile {
            return;
        }
        host_run.next_reconcile = now + RECONCILE;
        let mut owners: Vec<HostId> = (host_run.held.values())
            .filter(|held| now >= held.since() + RECONCILE)
            .flat_map(Held::owners)
            .filter_map(|owner| match owner {
                Owner::Host(host, _) => Some(*host),
                Owner::Coordinator(_) | Owner::Here(_) => None,
            })
            .collect();
        owners.sort_unstable();
        owners.dedup();
        let again: Vec<HeldId> = (host_run.held.iter())
            .filter(|(_, held)| held.finished().is_some() && now >= held.since() + RECONCILE)
            .map(|(id, _)| id)
            .collect();
        let mut silent: Vec<HostId> = Vec::new();
        let mut asked = Vec::new();
        for (number, loan) in host_run.loans.iter() {
            if now >= loan.heard + RECONCILE * 2 {
                match loan.state {
                    LoanState::Asked => asked.push((loan.thief(), number, loan.spec().key)),
                    LoanState::Given(_) | LoanState::Agreed => silent.push(loan.thief()),
                }
            }
        }
        silent.sort_unstable();
        silent.dedup();
        if self.repeats.is_due(now, Receiver::Coordinator, Repeated::Verdict(run), RECONCILE) {
            self.repeat_verdict(run);
        }
        for id in again {
            self.deliver(run, id);
        }
        for owner in owners {
            if self.repeats.is_due(now, Receiver::Peer(owner), Repeated::Holding(run), RECONCILE) {
                self.send_holding(run, owner);
            }
        }
        for thief in silent {
            if self.repeats.is_due(now, Receiver::Peer(thief), Repeated::Lending(run), RECONCILE) {
                self.ask_what_is_held(now, run, thief);
            }
        }
        for (host, number, key) in asked {
            if self.repeats.is_due(now, Receiver::Peer(host), Repeated::Adopt(run, number), RECONCILE) {
                self.ask_for_adoption(now, run, host, number, key);
            }
        }
    }

    pub(super) fn ask_what_is_held(&mut self, now: Time, run: RunId, thief: HostId) {
        self.repeats.note(now, Receiver::Peer(thief), Repeated::Lending(run));
        self.tell_peer(thief, PeerMessage::Lending { run });
    }

    pub(super) fn ask_for_adoption(
        &mut self,
        now: Time,
        run: RunId,
        host: HostId,
        number: LoanId,
        key: JobKey,
    ) {
        self.repeats.note(now, Receiver::Peer(host), Repeated::Adopt(run, number));
        self.tell_peer(host, PeerMessage::Adopt { run, number, key });
    }

    /// Reports to an owner which of its jobs this host holds.
    pub(super) fn send_holding(&mut self, run: RunId, owner: HostId) {
        let Some(host_run) = self.runs.get_mut(&run) else {
            // This host has no part of the run, so it holds nothing.
            let (held, pending) = (Vec::new(), Vec::new());
            let message =
                PeerMessage::Holding { run, holding: u64::MAX, next_steal: StealId(u64::MAX), held, pending };
            return self.tell_peer(owner, message);
        };
        self.repeats.note(self.latest, Receiver::Peer(owner), Repeated::Holding(run));
        let holding = host_run.numbers.new_holding();
        let held = host_run.held.of_host(owner).map(|(number, _)| number).collect();
        let pending = (host_run.thief.requests())
            .filter(|(_, request)| request.victim == owner)
            .map(|(steal, _)| steal)
            .collect();
        let message =
            PeerMessage::Holding { run, holding, next_steal: host_run.numbers.next_steal(), held, pending };
        self.tell_peer(owner, message);
    }

    /// A thief lists the jobs that it holds: loans that are missing were lost in transit.
    pub(super) fn on_holding(
        &mut self,
        now: Time,
        from: HostId,
        run: RunId,
        (holding, next_steal): (u64, StealId),
        held: &[LoanId],
        pending: &[StealId],
    ) {
        if self.is_given_up(now, from) {
            // The jobs that it holds keep running, and will soon be orphans.
            return;
        }
        // The thief may have sent this before our question reached it.
        self.repeats.forget(Receiver::Peer(from), Repeated::Lending(run));
        let repeats = &self.repeats;
        let Some(host_run) = self.runs.get_mut(&run) else {
            if !held.is_empty() {
                self.tell_peer(from, PeerMessage::Unknown { run, numbers: held.to_vec() });
            }
            return;
        };
        let held_set: BTreeSet<LoanId> = held.iter().copied().collect();
        let pending: BTreeSet<StealId> = pending.iter().copied().collect();
        let mut again: BTreeMap<StealId, Vec<(LoanId, JobSpec)>> = BTreeMap::new();
        let (mut lost, mut agreed) = (Vec::new(), Vec::new());
        for number in host_run.loans.to(from).collect::<Vec<_>>() {
            if held_set.contains(&number) {
                let Some(loan) = host_run.loans.get_mut(number) else { continue };
                loan.heard = now;
                loan.is_heard = true;
                // Its answer was lost.
                if loan.state == LoanState::Asked {
                    agreed.push(number);
                }
                continue;
            }
            let Some(loan) = host_run.loans.get(number) else { continue };
            match loan.state {
                LoanState::Given(steal) if pending.contains(&steal) => {
                    let spec = loan.spec();
                    let wait = repeats.wait(Receiver::Peer(from), Duration::ZERO, spec.parameters.len());
                    // Nothing is to be done for a job that may still be in transit.
                    if !host_run.loans.is_on_its_way(number, now, wait) {
                        again.entry(steal).or_default().push((number, spec.clone()));
                        host_run.loans.note_sent(now, number);
                    }
                }
                LoanState::Given(steal) if steal < next_steal && holding > loan.holding => lost.push(number),
                LoanState::Agreed if holding > loan.holding => lost.push(number),
                _ => {}
            }
        }
        let unknown: Vec<LoanId> =
            held_set.into_iter().filter(|number| !host_run.loans.contains(*number)).collect();
        let parked: BTreeSet<StealId> = host_run.victim.of(from).collect();
        let lent: BTreeSet<StealId> = host_run.loans.lent_for(from);
        let refused: Vec<StealId> =
            pending.into_iter().filter(|steal| !parked.contains(steal) && !lent.contains(steal)).collect();
        for number in agreed {
            self.agree(now, run, number, holding);
        }
        for message in again.into_iter().filter_map(|(steal, jobs)| answer(run, steal, jobs)) {
            self.repeats.note_repeat(now, Receiver::Peer(from));
            self.tell_peer(from, message);
        }
        for steal in refused {
            self.tell_peer(from, PeerMessage::Nothing { run, steal });
        }
        if !unknown.is_empty() {
            self.tell_peer(from, PeerMessage::Unknown { run, numbers: unknown });
        }
        for number in lost {
            if let Some(loan) = self.runs.get_mut(&run).and_then(|run| run.loans.end(number)) {
                match loan.state {
                    // It never began.
                    LoanState::Given(_) if !loan.is_heard => self.requeue(run, loan.number(), loan.spec()),
                    _ => self.resolve(
                        now,
                        run,
                        loan.number(),
                        (Some(from), Parting::Departed(Departure::Crashed)),
                        loan.into_spec(),
                    ),
                }
            }
        }
    }
}
