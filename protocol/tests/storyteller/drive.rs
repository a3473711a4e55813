//! The drivers of both state machines: drain their outputs, obey them and show them, until there are none.

use sateen_protocol::coordinator::{Command as CoordinatorCommand, Event as CoordinatorEvent, LinkId};
use sateen_protocol::host::{Event, Transmit};
use sateen_protocol::message::{PeerMessage, ToHost};
use sateen_protocol::{Entry, EntryState, RunEnd};
use sateen_protocol_harness::{coordinator, host};

use crate::entries::{list, value};
use crate::messages;
use crate::world::{COORDINATOR, Envelope, Server, Wire, World};

/// Maximum messages at one moment of a story.
const ARRIVALS_MAX: usize = 10_000;
/// Maximum outputs of a state machine at once.
const OUTPUTS_MAX: usize = 10_000;

impl World {
    /// Lets everything happen that needs no time, except for messages on held routes.
    ///
    /// # Panics
    /// When messages have no end.
    pub fn settle(&mut self) {
        for _ in 0..ARRIVALS_MAX {
            self.drain_coordinator();
            let names: Vec<String> = self.processes.keys().cloned().collect();
            for name in names {
                self.drain_host(&name);
            }
            let free = self.wires.iter().position(|envelope| !self.is_held(&envelope.from, &envelope.to));
            match free.and_then(|index| self.wires.remove(index)) {
                Some(envelope) => self.arrive(envelope),
                None => return,
            }
        }
        let last = self.lines.iter().rev().take(12).rev().cloned().collect::<Vec<_>>().join("\n");
        panic!("messages have no end, the last of them:\n{last}");
    }

    /// Delivers a message, if its receiver is running.
    pub fn arrive(&mut self, envelope: Envelope) {
        let now = self.now;
        match envelope.wire {
            Wire::Up(link, message) => {
                let input = coordinator::Input::Message(link.0, message);
                if let Some(server) = &mut self.coordinator {
                    // Only commands are answered.
                    let _ = server.tell(now, input);
                }
            }
            Wire::Down(link, message) => {
                if let Some(process) = self.processes.get_mut(&envelope.to)
                    && process.link == Some(link)
                {
                    process.tell(now, host::Input::FromCoordinator(message));
                }
            }
            Wire::Peer(from, to, message) => {
                let process = self.processes.values_mut().find(|process| process.host.id() == Some(to));
                match process.filter(|process| process.is_alive) {
                    Some(process) => process.tell(now, host::Input::FromPeer(from, message)),
                    None => self.say(format!("   (the receiver is gone: {})", envelope.text)),
                }
            }
            Wire::Close(link) => {
                if let Some(name) = self.links.get(&link).cloned() {
                    self.hang_up(&name);
                }
            }
        }
    }

    fn drain_host(&mut self, name: &str) {
        for _ in 0..OUTPUTS_MAX {
            let now = self.now;
            let Some(process) = self.processes.get_mut(name) else { return };
            if !process.is_alive {
                return;
            }
            process.known_as = process.host.id().or(process.known_as);
            if let Some(transmit) = process.host.poll_transmit() {
                self.transmit(name, transmit);
            } else if let Some(command) = process.host.poll_command() {
                self.obey(name, command);
            } else if let Some(event) = process.host.poll_event() {
                self.observe(name, &event);
            } else if let Some(input) = process.inputs.pop_front() {
                process.tell(now, input);
            } else if let Some(transmit) = process.host.poll_bulk(|_| true) {
                self.transmit(name, transmit);
            } else {
                return;
            }
        }
        panic!("the outputs of {name} have no end: {:?}", self.lines.last());
    }

    fn transmit(&mut self, name: &str, transmit: Transmit) {
        let Some(process) = self.processes.get(name) else { return };
        match transmit {
            Transmit::ToCoordinator(message) => {
                let Some(link) = process.link else { return };
                let text = messages::up(&self.names, &message);
                self.send(name, COORDINATOR, Wire::Up(link, message), text);
            }
            Transmit::ToPeer(to, message) => {
                let Some(from) = process.host.id().or(process.known_as) else { return };
                match &message {
                    PeerMessage::Job { number, spec, .. } => self.names.lend(name, *number, &spec.key),
                    PeerMessage::Jobs { jobs, .. } => {
                        jobs.iter().for_each(|(number, spec)| self.names.lend(name, *number, &spec.key));
                    }
                    _ => {}
                }
                if let PeerMessage::Adopt { number, key, .. } = &message {
                    self.names.lend(name, *number, key);
                }
                let to_name = self.names.host(to);
                let receiver = to_name.trim_end_matches('′').to_owned();
                let text = messages::peer(&self.names, name, &receiver, &message);
                self.send(name, &receiver, Wire::Peer(from, to, message), Some(text));
            }
        }
    }

    pub fn send(&mut self, from: &str, to: &str, wire: Wire, text: Option<String>) {
        let text = text.map(|text| format!("{from}→{to} {text}"));
        if let Some(text) = &text {
            self.say(text.clone());
        }
        self.seeds.frame(&wire);
        let text = text.unwrap_or_default();
        self.wires.push_back(Envelope { from: from.to_owned(), to: to.to_owned(), wire, text });
    }

    fn observe(&mut self, name: &str, event: &Event) {
        let names = &self.names;
        let text = match event {
            Event::Reborn(id) => {
                self.names.identify(name, *id);
                format!("is {} now", self.names.host(*id))
            }
            Event::Returned(_) => "has returned".to_owned(),
            Event::Paused(_) => "has paused".to_owned(),
            Event::Refused(reason) => format!("is refused: {reason}"),
            Event::RefusedBy(peer, reason) => format!("is refused by {}: {reason}", names.host(*peer)),
            Event::Lost(_, key) => format!("has lost {}", names.job(key)),
            Event::Reused(_, key) => format!("reuses {}", names.job(key)),
            Event::Adopted(_, key) => format!("adopts {}", names.job(key)),
            Event::Orphaned(_, key) => format!("keeps running the orphan {}", names.job(key)),
            Event::UpdatesLost(_, object, count) => {
                format!("gives {count} updates of {} up", crate::objects::name(*object))
            }
            Event::Diverged(_, object, peer) => {
                format!("has another {} than {}", crate::objects::name(*object), names.host(*peer))
            }
            Event::Entrusted(_, object, count) => {
                format!("sends {count} updates of {} once more and forgets it", crate::objects::name(*object))
            }
            Event::Misbehaved(peer, misbehaviour) => format!("says of {}: {misbehaviour}", names.host(*peer)),
            _ => return,
        };
        self.say(format!("{name} {text}"));
    }

    fn drain_coordinator(&mut self) {
        loop {
            let Some(Server { machine: coordinator, .. }) = &mut self.coordinator else { return };
            // Data that is to be saved is saved before later messages are sent.
            if let Some(command) = coordinator.poll_command() {
                self.obey_coordinator(command);
            } else if let Some((link, message)) = coordinator.poll_transmit() {
                self.send_down(link, message);
            } else if let Some(event) = coordinator.poll_event() {
                self.observe_coordinator(&event);
            } else {
                return;
            }
        }
    }

    fn send_down(&mut self, link: LinkId, message: ToHost) {
        let Some(name) = self.links.get(&link).cloned() else { return };
        if let ToHost::Welcome { host, .. } = &message {
            self.names.identify(&name, *host);
        }
        if let ToHost::Assign { spec, .. } = &message {
            self.names.learn(spec);
        }
        let text = messages::down(&self.names, &message);
        self.send(COORDINATOR, &name, Wire::Down(link, message), text);
    }

    fn obey_coordinator(&mut self, command: CoordinatorCommand) {
        use CoordinatorCommand as Command;
        match command {
            Command::Identified { link, host } => {
                if let Some(name) = self.links.get(&link) {
                    self.names.identify(name, host);
                }
            }
            Command::Close { link, reason } => {
                let Some(name) = self.links.get(&link).cloned() else { return };
                self.say(format!("C closes the link of {name}: {reason}"));
                // Behind what was sent before, which is drained after commands.
                while let Some((link, message)) =
                    self.coordinator.as_mut().and_then(|server| server.machine.poll_transmit())
                {
                    self.send_down(link, message);
                }
                self.send(COORDINATOR, &name, Wire::Close(link), None);
            }
            Command::SaveState { state, .. } => {
                if let Some(stored) = &mut self.stored {
                    stored.state = state;
                }
            }
            Command::SaveCounts { .. } => {}
            Command::SaveEnd { end, .. } => {
                self.is_over = true;
                self.stored = None;
                let text = match end {
                    RunEnd::Finished(finished) => self.judge(value(&finished)),
                    RunEnd::Limit(reason) => format!("C ends the run: {reason}"),
                    RunEnd::Failed(failure) => format!("C ends the run: {}", failure.message),
                    RunEnd::Unable(reason) => format!("C ends the run, which no host can run: {reason}"),
                    RunEnd::Cancelled => "C ends the run: cancelled".to_owned(),
                    RunEnd::Unverified(reason) => format!("C ends the run: {reason}"),
                };
                self.say(text);
                self.is_quiet |= self.completes;
            }
            Command::SaveEntries { entries, superfluous, .. } => {
                let shown = list(&self.names, &entries);
                if let Some(stored) = &mut self.stored {
                    let is_replaced = |known: &Entry| entries.iter().any(|entry| entry.key == known.key);
                    stored.entries.retain(|known| !superfluous.contains(&known.key) && !is_replaced(known));
                    stored.entries.extend(entries);
                    stored.entries.retain(|entry| !matches!(entry.state, EntryState::Running(_)));
                }
                if !shown.is_empty() {
                    self.say(format!("C saves {shown}"));
                }
            }
        }
    }

    /// What the answer is, and what was run more than once.
    fn judge(&self, answer: Option<u64>) -> String {
        let right = self.tree.values().map(|children| children.len() as u64).sum::<u64>() + 1;
        let again: Vec<String> = (self.executed.iter())
            .filter(|(_, times)| **times > 1)
            .map(|(job, times)| format!("{job} {times} times"))
            .collect();
        let again = if again.is_empty() { "no job twice".to_owned() } else { again.join(", ") };
        match answer {
            Some(answer) if answer == right => format!("C has the answer, {answer}; run: {again}"),
            answer => format!("WRONG: the answer is {answer:?} and should be {right}"),
        }
    }

    fn observe_coordinator(&mut self, event: &CoordinatorEvent) {
        use CoordinatorEvent as Event;
        let names = &self.names;
        let text = match event {
            Event::HostGone(host, how) => format!("gives {} up: {how:?}", names.host(*host)),
            Event::HostReborn { was, is } => format!("knows {} as {} now", names.host(*was), names.host(*is)),
            Event::HostPaused(host) => format!("has {} give back all", names.host(*host)),
            Event::HostReturned(host) => format!("has {} again", names.host(*host)),
            Event::RootLost(_, host) => format!("has lost the root with {}", names.host(*host)),
            Event::RunChanged(_, state) => format!("has the run as {state:?}"),
            Event::Misbehaved { by, host, reason } => {
                format!("is told about {} by {}: {reason}", names.host(*host), names.host(*by))
            }
            _ => return,
        };
        self.say(format!("C {text}"));
    }
}
