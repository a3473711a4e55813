//! The contract with the state machine: pass one event, then carry out all its commands.

use sateen_protocol::host::{Command, Event, Host, RunCommand, Transmit};
use sateen_protocol::limits::shortened;
use sateen_protocol::{RunId, Time};
use tracing::{debug, info, warn};

use super::{Driver, Stopped};

impl Driver {
    /// Passes one event to the state machine and carries out its commands.
    pub(super) fn tell(&mut self, what: impl FnOnce(&mut Host, Time)) {
        what(&mut self.machine, self.clock.now());
        self.drain();
        // Commands are carried out in their order; events that occur meanwhile are passed separately.
        while let Some(command) = self.commands.pop_front() {
            self.perform(command);
        }
    }

    /// Passes one event to the state machine in the middle of its commands: new commands come after the current
    /// ones.
    pub(super) fn answer(&mut self, what: impl FnOnce(&mut Host, Time)) {
        what(&mut self.machine, self.clock.now());
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(transmit) = self.machine.poll_transmit() {
            match transmit {
                Transmit::ToCoordinator(message) => self.coordinator.push(&message),
                Transmit::ToPeer(peer, message) => self.push_to_peer(peer, &message),
            }
        }
        while let Some(command) = self.machine.poll_command() {
            self.commands.push_back(command);
        }
        while let Some(event) = self.machine.poll_event() {
            self.on_event(event);
        }
    }

    fn perform(&mut self, command: Command) {
        match command {
            Command::Load { run, spec } => self.load(run, spec),
            Command::Run { run, command } => self.hand_over(run, command),
            Command::Stop { run, forget } => self.stop(run, forget),
            Command::Save { run, entry } => self.save(run, entry),
            Command::CutOff { peer } => self.cut_off(peer),
            Command::Reconnect => self.reconnect(),
            Command::Left => self.ended = Some(Stopped::Left),
        }
    }

    /// Hands a command to the run's portion, if there is one: a run that has ended needs nothing.
    fn hand_over(&mut self, run: RunId, command: RunCommand) {
        match self.portion(run) {
            Some(portion) => {
                portion.handle(command);
                self.runs.note_commanded(run);
            }
            // A thief waits for this answer.
            None if matches!(command, RunCommand::Offer { .. }) => {
                self.answer(|machine, now| machine.handle_offered(now, run, None));
            }
            None => {}
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Joined(id) => {
                info!(
                    coordinator = %self.options.coordinator,
                    host = %id,
                    site = self.options.site,
                    "joined the grid"
                );
                self.forget_all_peers();
            }
            Event::Reborn(id) => {
                warn!(host = %id, "the coordinator had given this host up; it continues under a new id");
                self.forget_all_peers();
            }
            Event::Returned(id) => {
                warn!(host = %id, "the coordinator had given this host up for a moment; it continues");
                self.forget_all_peers();
            }
            Event::Paused(id) => info!(host = %id, "has given back its jobs"),
            Event::Refused(why) => self.on_refused(why),
            Event::RefusedBy(peer, why) => {
                warn!(%peer, why = shortened(&why), "peer rejected this host");
            }
            Event::PeerJoined(id) => match self.machine.peer(id) {
                Some(info) => {
                    info!(peer = %id, name = info.report.name, site = info.report.site, "peer joined");
                }
                None => info!(peer = %id, "peer joined"),
            },
            Event::PeerGone(id) => {
                info!(peer = %id, "peer left or crashed");
                self.forget_peer(id);
            }
            Event::RunStarted(run) => info!(run = run.0, "takes part in run"),
            Event::RunEnded(run) => info!(run = run.0, "run ended here"),
            Event::Stolen { arrived_ns, begun_ns, .. } => self.runs.note_steal(arrived_ns, begun_ns),
            Event::Lost(run, key) => {
                debug!(run = run.0, job = %key, "job was lost");
                self.losses.add(run);
            }
            Event::Reused(run, key) => debug!(run = run.0, job = %key, "lost job has a result already"),
            Event::Adopted(run, key) => {
                debug!(run = run.0, job = %key, "lost job is still running elsewhere and is adopted");
            }
            Event::Orphaned(run, key) => debug!(run = run.0, job = %key, "job is an orphan"),
            Event::UpdatesLost(run, object, count) => {
                warn!(run = run.0, %object, count, "updates of a shared object are given up");
            }
            Event::Diverged(run, object, peer) => {
                warn!(run = run.0, %object, %peer, "replica of a shared object has diverged from another host's and is replaced by it");
            }
            Event::Entrusted(run, object, count) => {
                warn!(run = run.0, %object, count, "unused shared object is forgotten before other hosts have confirmed its updates");
            }
            Event::Misbehaved(peer, how) => warn!(%peer, %how, "peer was cut off"),
        }
    }
}
