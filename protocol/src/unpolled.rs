//! A machine's outputs that its driver has not polled.

use std::collections::VecDeque;

/// Messages, commands and events, each in the order in which they are polled.
#[derive(Debug)]
pub struct Unpolled<Transmit, Command, Event> {
    transmits: VecDeque<Transmit>,
    commands: VecDeque<Command>,
    events: VecDeque<Event>,
}

impl<Transmit, Command, Event> Default for Unpolled<Transmit, Command, Event> {
    fn default() -> Self {
        Self { transmits: VecDeque::new(), commands: VecDeque::new(), events: VecDeque::new() }
    }
}

impl<Transmit, Command, Event> Unpolled<Transmit, Command, Event> {
    /// Adds a message that the driver is to send.
    pub fn transmit(&mut self, transmit: Transmit) {
        self.transmits.push_back(transmit);
    }

    /// Adds a command to the driver.
    pub fn command(&mut self, command: Command) {
        self.commands.push_back(command);
    }

    /// Adds an event.
    pub fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// The next message.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
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

    /// The number of messages, commands and events together.
    pub fn len(&self) -> usize {
        self.transmits.len() + self.commands.len() + self.events.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_polled_in_order() {
        let mut unpolled: Unpolled<u8, char, &str> = Unpolled::default();
        for (transmit, command, event) in [(1, 'a', "one"), (2, 'b', "two")] {
            unpolled.transmit(transmit);
            unpolled.command(command);
            unpolled.event(event);
        }
        assert_eq!(unpolled.len(), 6);
        assert!(std::iter::from_fn(|| unpolled.poll_transmit()).eq([1, 2]));
        assert_eq!(unpolled.len(), 4);
        assert!(std::iter::from_fn(|| unpolled.poll_command()).eq(['a', 'b']));
        assert_eq!(unpolled.len(), 2);
        assert!(std::iter::from_fn(|| unpolled.poll_event()).eq(["one", "two"]));
        assert_eq!(unpolled.len(), 0);
    }

    #[test]
    fn what_is_added_later_is_polled_after_what_is_left() {
        let mut unpolled: Unpolled<u8, char, &str> = Unpolled::default();
        unpolled.transmit(1);
        unpolled.transmit(2);
        assert_eq!(unpolled.poll_transmit(), Some(1));
        unpolled.transmit(3);
        assert!(std::iter::from_fn(|| unpolled.poll_transmit()).eq([2, 3]));
    }
}
