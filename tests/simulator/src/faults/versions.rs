//! Hosts of another version of the protocol: they are refused, try again, and do no harm. Strangers only dial;
//! neighbours are ordinary hosts of the version before or after, and are updated after a while.

use serde::Serialize;
use serde::de::DeserializeOwned;

use sateen_protocol::codec::{Decoder, FrameError, PROTOCOL_VERSION, encode};
use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::{ToCoordinator, ToHost};
use sateen_protocol::{Random, Time};

use crate::event::{Event, ProcessIndex, Undo};
use crate::process::HostPlan;
use crate::schedule::Fault;
use crate::world::World;

/// Maximum dials of such a host, and the pause after each.
const DIALS_MAX: u32 = 20;
const WAIT_NS: u64 = 700_000_000;
/// Unit of the time after which a neighbour is updated.
const UPDATED_NS: u64 = 400_000_000;

/// A host of another version dials repeatedly.
#[derive(Debug, Clone, Copy)]
pub struct Stranger {
    version: u8,
    dials: u32,
}

/// A host of a neighbouring version dials, and is updated.
#[derive(Debug, Clone, Copy)]
pub struct Neighbour {
    version: u8,
    for_ns: u64,
}

pub(crate) fn draw(random: &mut Random) -> Fault {
    let version = [PROTOCOL_VERSION - 1, PROTOCOL_VERSION + 1, 0, u8::MAX][random.below(4)];
    let dials = 1 + random.below(DIALS_MAX as usize) as u32;
    if version.abs_diff(PROTOCOL_VERSION) > 1 {
        return Fault::Stranger(Stranger { version, dials });
    }
    Fault::Neighbour(Neighbour { version, for_ns: u64::from(dials) * UPDATED_NS })
}

/// Decodes a message of version `by` as a peer of this version.
fn read_of_version<M>(by: u8, message: &M) -> Result<Vec<M>, FrameError>
where
    M: Serialize + DeserializeOwned,
{
    let mut decoder = Decoder::default();
    let mut messages = Vec::new();
    for mut frame in encode(message).unwrap_or_default() {
        frame[0] = by;
        messages.extend(decoder.decode(&frame)?);
    }
    Ok(messages)
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
        // A process that never runs is at the other end: messages to it do not matter.
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

    pub(crate) fn add_neighbour(&mut self, neighbour: Neighbour) {
        let process = self.add_host(HostPlan { site: 0, workers: 1, speed_percent: 100 });
        self.processes[process as usize].uplink.begin_with(neighbour.version);
        self.queue.push(Time(self.now.0 + neighbour.for_ns), Event::Undo(Undo::Update(process)));
    }

    /// The host uses this version from its next link on.
    pub(crate) fn update_host(&mut self, process: ProcessIndex) {
        self.processes[process as usize].uplink.update();
    }

    /// Whether the coordinator understands a message from a link; otherwise it refuses the host.
    pub(crate) fn is_understood(&mut self, link: LinkId, message: &ToCoordinator) -> bool {
        let version = self.network.link(link).version;
        if version == PROTOCOL_VERSION {
            return true;
        }
        match read_of_version(version, message) {
            Ok(_) => self.violations.push(format!("a frame of version {version} was decoded")),
            Err(error) => {
                self.sometimes.hit("a host of another version was refused");
                if self.network.link(link).open_at_coordinator {
                    let (now, reason) = (self.now, error.to_string());
                    self.with_coordinator(|machine| machine.handle_misbehaviour(now, link, reason));
                }
            }
        }
        false
    }

    /// Whether a host understands a message from its link. If not, it closes the link, reports what must be updated,
    /// and pauses before it tries again.
    pub(crate) fn understands(&mut self, link: LinkId, message: &ToHost) -> bool {
        let state = self.network.link(link);
        let (version, process) = (state.version, state.process);
        if version == PROTOCOL_VERSION {
            return true;
        }
        // For a host of the next version, the coordinator is of the previous version.
        let seen = PROTOCOL_VERSION.wrapping_add(PROTOCOL_VERSION.wrapping_sub(version));
        let advice = match read_of_version(seen, message) {
            Ok(_) => None,
            Err(error) => error.advice("sateen-host", "0.1.0", "sateen-coordinator"),
        };
        match advice {
            Some(_) => self.sometimes.hit("a refused host was told what to update"),
            None => self.violations.push(format!("host {process} of version {version} was given no advice")),
        }
        let state = &mut self.processes[process as usize];
        if state.uplink.uses(link) {
            state.uplink.close();
            let rest_ns = state.uplink.rest_after_refusal();
            state.host.handle_disconnected(state.clock.read(self.now));
            self.hang_up(link);
            self.settle_host(process);
            self.queue.push(Time(self.now.0 + rest_ns), Event::Dial(process));
        }
        false
    }
}
