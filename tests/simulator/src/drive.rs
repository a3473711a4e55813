//! The drivers of both machines: they drain commands, execute them, and report the outcomes.

use std::rc::Rc;

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::host::{Command, Event as HostEvent, Notice, RunCommand};
use sateen_protocol::message::{PeerMessage, ToHost};
use sateen_protocol::{HostId, Outcome, Time, coordinator};

use crate::event::{Event, ProcessIndex};
use crate::faults::ability::KILLED;
use crate::faults::disks::Change;
use crate::network::Way;
use crate::pipes::{Load, Pipe};
use crate::process::Input;
use crate::runtime::Dropping;
use crate::sometimes::GAVE_WAY;
use crate::world::{VIOLATIONS_MAX, World};

/// Maximum inputs of a machine without time passing; more mean an endless loop.
const TURNS_MAX: usize = 100_000;

impl World {
    /// Executes all commands of a host, and reports the consequences to it, one at a time.
    pub(crate) fn settle_host(&mut self, index: ProcessIndex) {
        let now = self.now;
        let local = self.processes[index as usize].clock.read(now);
        let mut turns = 0;
        loop {
            turns += 1;
            if turns > TURNS_MAX {
                self.violations.push(format!("host {index} does not become idle"));
                self.violations.resize(VIOLATIONS_MAX, String::new());
                break;
            }
            loop {
                let host = &mut self.processes[index as usize].host;
                if let Some(transmit) = host.poll_transmit() {
                    self.transmit(index, transmit);
                } else if let Some(command) = host.poll_command() {
                    self.obey(index, command);
                } else if let Some(event) = host.poll_event() {
                    self.observe_host_event(index, &event);
                } else if let Some(transmit) = self.poll_bulk(index) {
                    self.transmit(index, transmit);
                } else {
                    break;
                }
            }
            let process = &mut self.processes[index as usize];
            if !process.is_alive {
                return;
            }
            if process.listed != process.host.id() {
                self.relist(index);
            }
            let process = &mut self.processes[index as usize];
            process.runtime.dispatch(now);
            for wake in process.runtime.wakes.drain(..) {
                let event =
                    Event::Worker { process: index, worker: wake.worker, generation: wake.generation };
                self.queue.push(wake.at, event);
            }
            self.note_rare(index);
            let process = &mut self.processes[index as usize];
            while let Some((run, notice)) = process.runtime.poll_notice() {
                if matches!(notice, Notice::Abandoned { .. }) {
                    self.sometimes.hit("a job was aborted that was away");
                }
                if let Notice::Begun { held, .. } = notice
                    && self.config.is_observed
                    && let Some(key) = process.runtime.key_of(run, held)
                {
                    self.remembered.note_begun(index, run, key);
                }
                process.inputs.push_back(Input::Notice(run, notice));
            }
            let input = process.inputs.pop_front();
            if let Some(input) = &input {
                self.write(|| format!("input of host {index}: {input:?}"));
            }
            let process = &mut self.processes[index as usize];
            match input {
                None => break,
                Some(Input::Notice(run, notice @ Notice::Refetch { .. })) => {
                    self.sometimes.hit("a guard asked for the updates of others");
                    process.host.handle_notice(local, run, notice);
                }
                Some(Input::Notice(run, notice)) => process.notify(local, run, notice),
                Some(Input::Offered(run, job)) => process.host.handle_offered(local, run, job),
                Some(Input::Stopped(run, last)) => {
                    process.host.handle_stopped(local, run, last.map(|last| *last));
                }
                Some(Input::PeerLost(peer)) => process.host.handle_peer_lost(local, peer),
                Some(Input::Loaded(run, entries)) => {
                    process.inputs.push_front(Input::Ready(run));
                    process.host.handle_restored(local, run, entries);
                }
                Some(Input::Ready(run)) if !process.apps.allow(run) => {
                    self.sometimes.hit("a host could not load an app");
                    let reason = "its memory is too small".to_owned();
                    process.host.handle_loaded(local, run, Err(reason));
                }
                Some(Input::Ready(run)) => process.host.handle_loaded(local, run, Ok(())),
            }
        }
        let process = &mut self.processes[index as usize];
        if let Some(at) = process.host.poll_timeout().map(|(at, _)| process.clock.when(at))
            && at < process.timer_at
        {
            process.timer_at = at.max(now);
            self.queue.push(process.timer_at, Event::HostTimer(index));
        }
    }

    fn relist(&mut self, index: ProcessIndex) {
        let process = &mut self.processes[index as usize];
        if let Some(was) = process.listed.take() {
            self.directory.remove(was);
        }
        if let Some(is) = process.host.id() {
            if process.uplink.take_updated() {
                self.sometimes.hit("a host joined when it was updated");
            }
            process.listed = Some(is);
            self.directory.insert(is, index);
        }
    }

    /// Notes the rare states that a host's runtime has reached.
    fn note_rare(&mut self, index: ProcessIndex) {
        for portion in self.processes[index as usize].runtime.portions.values_mut() {
            portion.remarks.take_rare().into_iter().for_each(|name| self.sometimes.hit(name));
        }
    }

    fn obey(&mut self, index: ProcessIndex, command: Command) {
        let now = self.now;
        self.write(|| format!("host {index}: {command:?}"));
        let process = &mut self.processes[index as usize];
        match command {
            Command::Load { run, spec } => {
                process.apps.load(run, spec);
                self.queue.push(Time(now.0 + self.config.load_ns), Event::Loaded(index, run));
            }
            Command::Run { run, command } => {
                let is_asked = matches!(command, RunCommand::Offer { .. });
                let is_abort = matches!(command, RunCommand::Abort { .. });
                let offered = match is_abort && self.server.is_at_rest(run) {
                    true => process.runtime.handle_at_rest(now, run, command),
                    false => process.runtime.handle(now, run, command),
                };
                if is_asked {
                    process.inputs.push_back(Input::Offered(run, offered));
                }
                self.note_rare(index);
            }
            Command::Stop { run, forget } => {
                process.apps.take(run);
                process.inputs.retain(|input| input.run() != Some(run));
                let why = if self.server.is_at_rest(run) { Dropping::Suspended } else { Dropping::Departed };
                let last = process.runtime.stop(now, run, why);
                process.inputs.push_back(Input::Stopped(run, last.map(Box::new)));
                if forget {
                    process.store.forget(run);
                }
            }
            Command::Save { run, entry } => {
                let name = process.store.save(now, run, entry);
                name.into_iter().for_each(|name| self.sometimes.hit(name));
            }
            Command::CutOff { peer } => {
                let name = process.host.id().map_or_else(|| "a host".into(), |id| id.to_string());
                self.violations.push(format!("{name} cut {peer} off, which obeys the protocol"));
            }
            Command::Reconnect => {
                if let Some(link) = process.uplink.close() {
                    self.hang_up(link);
                }
                self.queue.push(now, Event::Dial(index));
            }
            Command::Left => {
                self.drop_written(index, true);
                if let Some(link) = self.processes[index as usize].uplink.close() {
                    self.hang_up(link);
                }
                self.end_process(index);
            }
        }
    }

    /// A host closes its link.
    pub(crate) fn hang_up(&mut self, link: LinkId) {
        self.network.link_mut(link).open_at_host = false;
        self.network.pipes.drop_bulk(Pipe::Up(link));
        self.carry(link, Way::Up, Load::control(0, Event::CoordinatorClosed(link)));
    }

    pub(crate) fn end_process(&mut self, index: ProcessIndex) {
        let now = self.now;
        self.note_back(index);
        let process = &mut self.processes[index as usize];
        process.is_alive = false;
        self.disturbances.note_lost(&process.plan);
        process.frozen = None;
        process.inputs.clear();
        process.uplink.close();
        let was = process.listed.take();
        for complaint in process.runtime.complaints() {
            self.violations.push(complaint.clone());
        }
        process.runtime.stop_all(now);
        if let Some(was) = was {
            self.directory.remove(was);
        }
    }

    /// Executes all commands of the coordinator.
    pub(crate) fn settle_coordinator(&mut self) {
        let now = self.now;
        loop {
            let Some(machine) = self.server.machine.as_mut() else { return };
            if let Some((link, message)) = machine.poll_transmit() {
                if self.network.link(link).open_at_coordinator {
                    if matches!(message, ToHost::Withdraw { .. }) {
                        self.sometimes.hit("a root went back to the host that had it");
                    }
                    self.send_down_if_saved(link, message);
                }
            } else if let Some(command) = machine.poll_command() {
                self.obey_coordinator(command);
            } else if let Some(event) = machine.poll_event() {
                self.observe_coordinator_event(&event);
            } else {
                break;
            }
        }
        let Some(machine) = self.server.machine.as_ref() else { return };
        if let Some((at, _)) = machine.poll_timeout()
            && at < self.server.timer_at
        {
            self.server.timer_at = at.max(now);
            self.queue.push(self.server.timer_at, Event::CoordinatorTimer);
        }
    }

    fn obey_coordinator(&mut self, command: coordinator::Command) {
        use coordinator::Command;
        let now = self.now;
        self.write(|| format!("coordinator: {command:?}"));
        match command {
            Command::Identified { link, host } => {
                let state = self.network.link_mut(link);
                state.host = Some(host);
                let process = state.process as usize;
                self.server.links.insert(host, link);
                if self.processes[process].host.id() == Some(host) {
                    self.processes[process].absence.end_unheard();
                }
            }
            Command::Close { link, reason } => {
                if reason.contains("come back on another link") {
                    self.sometimes.hit("a host came back while its old link seemed open");
                }
                let state = self.network.link_mut(link);
                if !std::mem::take(&mut state.open_at_coordinator) {
                    return;
                }
                let process = state.process;
                if let Some(host) = state.host
                    && self.server.links.get(host) == Some(link)
                {
                    self.server.links.remove(host);
                }
                // The driver's own end is closed at once, and the machine is notified.
                if let Some(machine) = &mut self.server.machine {
                    machine.handle_closed(now, link);
                }
                self.network.pipes.drop_bulk(Pipe::Down(link));
                self.carry(link, Way::Down, Load::control(0, Event::HostClosed(process, link)));
            }
            Command::SaveState { run, state } => self.save(Change::State(run, state)),
            Command::SaveEnd { run, end } => self.save(Change::End(run, end)),
            Command::SaveCounts { run, counts, account } => {
                self.sometimes.note_earlier(&counts, &account);
                self.server.save_counts(run, *counts, *account);
            }
            Command::SaveEntries { run, entries, superfluous } => {
                self.server.save_entries(now, run, entries, superfluous);
            }
        }
    }

    fn observe_host_event(&mut self, index: ProcessIndex, event: &HostEvent) {
        self.write(|| format!("host {index}: event {event:?}"));
        if matches!(event, HostEvent::Reborn(_) | HostEvent::Returned(_) | HostEvent::Paused(_)) {
            self.note_back(index);
        }
        if matches!(event, HostEvent::Reborn(_) | HostEvent::Returned(_)) {
            self.note_begun_elsewhere(index);
        }
        let name = match event {
            HostEvent::Reborn(_) => "a host came back under a new id",
            HostEvent::Returned(_) => "a host that was given up came back under its id",
            HostEvent::Paused(_) => "a host that paused kept its id",
            HostEvent::Lost(..) => "a job was lost with its thief",
            HostEvent::Reused(..) => "a redone job was reused",
            HostEvent::Adopted(..) => "a redone job was adopted",
            HostEvent::Orphaned(..) => "an orphan was left",
            HostEvent::UpdatesLost(run, object, _) => {
                // No host can have them any more, even those that had them a moment ago.
                self.remembered.forget_replicas();
                self.processes[index as usize].forget_lost_updates(*run, *object);
                "updates were given up"
            }
            HostEvent::Entrusted(..) => "an object was forgotten before its updates were confirmed",
            HostEvent::Diverged(run, object, other) => {
                let violation =
                    format!("{object} of run {run} at host {index} has diverged from that of {other}");
                self.violations.push(violation);
                return;
            }
            HostEvent::Refused(reason) => {
                self.violations.push(format!("host {index} was refused: {reason}"));
                return;
            }
            HostEvent::RefusedBy(host, reason) => {
                self.violations.push(format!("host {index} was refused by {host}: {reason}"));
                return;
            }
            HostEvent::Misbehaved(host, misbehaviour) => {
                self.violations.push(format!("host {index} says of {host}: {misbehaviour}"));
                return;
            }
            _ => return,
        };
        self.sometimes.hit(name);
    }

    fn observe_coordinator_event(&mut self, event: &coordinator::Event) {
        self.write(|| format!("coordinator: event {event:?}"));
        use coordinator::Event;
        match event {
            Event::HostGone(host, _) | Event::HostPaused(host) => self.note_gone(*host),
            Event::RootLost(..) => self.sometimes.hit("a root was lost"),
            Event::GaveWay(_) => {
                self.sometimes.hit(GAVE_WAY);
                // It is suspended like any other.
                self.upset_all();
                self.disturb();
            }
            Event::Misbehaved { by, host, reason } => {
                self.violations.push(format!("{by} says of {host}: {reason}"));
            }
            Event::Unready(run, host, reason) => {
                // A host that has departed meanwhile may have been unable.
                let index = self.directory.get(*host).filter(|_| reason != KILLED);
                if index.is_none_or(|index| !self.processes[index as usize].apps.allow(*run)) {
                    return self.sometimes.hit("a host reported that it cannot take part");
                }
                self.violations.push(format!("{host} cannot take part in run {run}: {reason}"));
            }
            _ => {}
        }
    }

    pub(crate) fn observe_peer_message(&mut self, to: ProcessIndex, from: HostId, message: &PeerMessage) {
        if !self.config.is_observed {
            return;
        }
        if let PeerMessage::Result { finished, .. } = message
            && matches!(finished.outcome, Outcome::Failed(_))
        {
            self.sometimes.hit("a failed job's result travelled");
        }
        self.remembered.note_lent(from, message);
        let thief = self.directory.get(from);
        let owner = self.processes[to as usize].host.id();
        if let (Some(owner), Some(thief)) = (owner, thief)
            && self.remembered.is_unbegun(owner, thief, message)
        {
            self.violations.push(format!("{from} says that it had begun a job, and had not: {message:?}"));
        }
        match message {
            PeerMessage::Returned { .. } => self.sometimes.hit("a late job was returned"),
            PeerMessage::Result { run, number, .. }
                if self.remembered.is_repeated(to, from, *run, *number) =>
            {
                self.sometimes.hit("a result came twice");
            }
            _ => {}
        }
    }

    /// The tree of a run.
    pub fn tree(&self, run: sateen_protocol::RunId) -> Option<Rc<crate::tree::Tree>> {
        self.trees.get(&run).map(Rc::clone)
    }
}
