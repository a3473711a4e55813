//! Hosts of a neighbouring version of the protocol: told so, they try again, and do no harm.

use sateen_protocol::codec::{Decoder, PROTOCOL_VERSION, encode};
use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{Random, Time};

use crate::event::Event;
use crate::process::HostPlan;
use crate::world::World;

/// How often such a host dials, and how long it waits.
const DIALS_MAX: u32 = 20;
const WAIT_NS: u64 = 700_000_000;

/// A host of another version dials, again and again.
#[derive(Debug, Clone, Copy)]
pub struct Stranger {
    version: u8,
    dials: u32,
}

pub(crate) fn draw(random: &mut Random) -> Stranger {
    let version = [PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1, 0, u8::MAX][random.below(4)];
    Stranger { version, dials: 1 + random.below(DIALS_MAX as usize) as u32 }
}

impl World {
    pub(crate) fn dial_as_stranger(&mut self, stranger: Stranger) {
        if stranger.dials > 1 {
            let again = Stranger { dials: stranger.dials - 1, ..stranger };
            self.queue.push(Time(self.now.0 + WAIT_NS), Event::Stranger(again));
        }
        if self.server.machine.is_none() || self.server.waiting.is_some() {
            return;
        }
        // A process that never ran is at the other end: nothing sent to it matters.
        let plan = HostPlan { site: 0, workers: 1, speed_percent: 100 };
        let process = self.add_ghost(plan);
        let link = self.network.open(process, self.now);
        let greeting = ToCoordinator::Pong { ping: 1 };
        let frames = encode(&greeting).unwrap_or_default();
        for mut frame in frames {
            frame[0] = stranger.version;
            match Decoder::default().decode::<ToCoordinator>(&frame) {
                Err(error) => {
                    self.sometimes.hit("a host of another version was refused");
                    let (now, reason) = (self.now, error.to_string());
                    self.with_coordinator(|machine| machine.handle_misbehaviour(now, link, reason));
                }
                Ok(_) => self.violations.push("a frame of another version was decoded".to_owned()),
            }
        }
    }
}
