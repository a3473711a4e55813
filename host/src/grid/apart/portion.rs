//! A host's portion of a run whose guests are in a process of their own.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use sateen_protocol::Counts;
use sateen_protocol::host::{FinalCounts, Notice, RunCommand};

use super::member::{Member, Stage};
use super::pools::Pools;
use super::reader::GuestProcess;
use super::wire::ToGuests;
use crate::grid::runtime::{Notify, RunningPortion};

/// How long a process may take to stop its guests and report its last counts; then it is killed.
const STOP_MAX: Duration = Duration::from_secs(2);

/// A portion in another process.
pub struct PortionApart {
    member: Arc<Member>,
    pools: Arc<Pools>,
    ending: mpsc::Receiver<GuestProcess>,
    notify: Notify,
}

impl PortionApart {
    /// That of a process that has started. `ending` is what its reader leaves to the thread that stops it.
    pub fn new(
        member: Arc<Member>,
        pools: Arc<Pools>,
        ending: mpsc::Receiver<GuestProcess>,
        notify: Notify,
    ) -> Self {
        Self { member, pools, ending, notify }
    }
}

impl RunningPortion for PortionApart {
    fn handle(&mut self, command: RunCommand) {
        match command {
            RunCommand::Offer { more } => {
                let spares = self.member.stock.take(more);
                if !spares.is_empty() {
                    return self.member.lend(spares, more, &self.notify);
                }
            }
            RunCommand::Drain => self.member.give_back(self.member.stock.close()),
            _ => {}
        }
        self.member.command(command);
    }

    fn flush(&mut self) {
        self.member.flush();
    }

    /// While several runs take turns, these change more often than a process counts.
    fn counts(&self) -> Counts {
        let counts = self.member.counts();
        match self.pools.turns_in_use(self.member.id) {
            Some(busy) if !self.member.check.is_draining() => {
                Counts { busy: busy.min(counts.workers), ..counts }
            }
            _ => counts,
        }
    }

    fn activity(&self) -> Option<Notice> {
        Some(self.member.take_activity())
    }

    fn notice_taken(&self, notice: &Notice) {
        self.member.note_taken(notice);
    }

    fn stop(self: Box<Self>) -> FinalCounts {
        let mut last = None;
        if self.member.advance(Stage::Stopping).is_some() {
            self.member.post(&ToGuests::Stop);
            self.pools.end_turns(self.member.id);
            if let Stage::Stopped(counts) =
                self.member.wait(|stage| matches!(stage, Stage::Stopping), STOP_MAX)
            {
                last = Some(*counts);
            }
        }
        self.member.process.kill();
        // Its end is awaited here, or by a thread that has begun to: nothing is reported after the counts.
        drop(self.ending.recv_timeout(STOP_MAX));
        self.member.final_counts(last)
    }
}

impl Drop for PortionApart {
    fn drop(&mut self) {
        self.member.process.kill();
    }
}
