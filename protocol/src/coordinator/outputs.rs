//! What the driver is to do: messages to send, commands, and events, each in order.

use std::collections::VecDeque;

use crate::message::ToHost;

use super::{Command, Event, LinkId};

/// Outputs that were not polled.
#[derive(Default)]
pub struct Outputs {
    transmits: VecDeque<(LinkId, ToHost)>,
    commands: VecDeque<Command>,
    events: VecDeque<Event>,
}

impl Outputs {
    /// A message is sent on a link.
    pub fn transmit(&mut self, link: LinkId, message: ToHost) {
        self.transmits.push_back((link, message));
    }

    /// The driver is to do something.
    pub fn command(&mut self, command: Command) {
        self.commands.push_back(command);
    }

    /// Something has happened.
    pub fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// The next message to send, and its link.
    pub fn poll_transmit(&mut self) -> Option<(LinkId, ToHost)> {
        self.transmits.pop_front()
    }

    /// The next command.
    pub fn poll_command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// How many there are of all kinds.
    pub fn len(&self) -> usize {
        self.transmits.len() + self.commands.len() + self.events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;

    #[test]
    fn each_kind_is_polled_in_order() {
        let (one, other) = (LinkId(1), LinkId(2));
        let mut outputs = Outputs::default();
        for link in [one, other] {
            outputs.transmit(link, ToHost::Farewell);
            outputs.command(Command::Close { link, reason: String::new() });
            outputs.event(Event::HostJoined(HostId(link.0)));
        }
        assert_eq!(outputs.len(), 6);
        for link in [one, other] {
            assert!(outputs.poll_transmit().is_some_and(|(on, _)| on == link));
            let command = outputs.poll_command();
            assert!(matches!(command, Some(Command::Close { link: closed, .. }) if closed == link));
            assert_eq!(outputs.poll_event(), Some(Event::HostJoined(HostId(link.0))));
        }
        assert_eq!(outputs.len(), 0);
        assert!(outputs.poll_transmit().is_none() && outputs.poll_command().is_none());
    }
}
