//! What a host wants to be done and nobody has polled yet.

use std::collections::VecDeque;

use super::surface::{Command, Event, Transmit};

/// Messages, commands and events, each in the order in which they are to be polled.
#[derive(Debug, Default)]
pub struct Unpolled {
    transmits: VecDeque<Transmit>,
    commands: VecDeque<Command>,
    events: VecDeque<Event>,
}

impl Unpolled {
    /// A message is to be sent, after all others.
    pub fn transmit(&mut self, transmit: Transmit) {
        self.transmits.push_back(transmit);
    }

    /// The runtime or the driver is to do something, after all else.
    pub fn command(&mut self, command: Command) {
        self.commands.push_back(command);
    }

    /// Something happened.
    pub fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// The next message to be sent.
    pub fn next_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next thing to be done.
    pub fn next_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next thing that happened.
    pub fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The number of all that nobody has polled.
    pub fn len(&self) -> usize {
        self.transmits.len() + self.commands.len() + self.events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToCoordinator;
    use crate::{HostId, RunId};

    #[test]
    fn what_comes_first_is_polled_first() {
        let mut unpolled = Unpolled::default();
        let transmits = [1, 2].map(|run| Transmit::ToCoordinator(ToCoordinator::Ready { run: RunId(run) }));
        let commands = [1, 2].map(|peer| Command::CutOff { peer: HostId(peer) });
        let events = [1, 2].map(|run| Event::RunEnded(RunId(run)));
        transmits.iter().cloned().for_each(|transmit| unpolled.transmit(transmit));
        commands.iter().cloned().for_each(|command| unpolled.command(command));
        events.iter().cloned().for_each(|event| unpolled.event(event));
        assert_eq!(unpolled.len(), 6);
        assert!(std::iter::from_fn(|| unpolled.next_transmit()).eq(transmits));
        assert_eq!(unpolled.len(), 4);
        let polled: Vec<HostId> = std::iter::from_fn(|| unpolled.next_command())
            .filter_map(|command| match command {
                Command::CutOff { peer } => Some(peer),
                _ => None,
            })
            .collect();
        assert_eq!(polled, [1, 2].map(HostId));
        assert!(std::iter::from_fn(|| unpolled.next_event()).eq(events));
        assert_eq!(unpolled.len(), 0);
    }
}
