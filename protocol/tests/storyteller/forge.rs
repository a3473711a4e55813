//! Messages that no honest host sends.

use sateen_protocol::coordinator::LinkId;
use sateen_protocol::message::{HostReport, PeerMessage, ToCoordinator};
use sateen_protocol::shared::Writer;
use sateen_protocol::{
    AssignmentId, Bytes, Entry, EntryState, GridId, HostId, JobSpec, Lineage, LoanId, StealId,
};

use crate::entries::finished;
use crate::messages;
use crate::world::{COORDINATOR, RUN, Wire, World};

/// A number greater than those of all loans and requests.
const NEVER: u64 = 1_000_000;

impl World {
    /// Makes `from` send `to` a message of the kind `what`.
    pub fn forge(&mut self, from: &str, to: &str, what: &[&str]) -> Result<(), String> {
        if to == COORDINATOR {
            return self.forge_up(from, what);
        }
        let (Some(sender), Some(receiver)) = (self.names.id(from), self.names.id(to)) else {
            return Err("no host of that name".to_owned());
        };
        let flood = if let ["flood"] = what { 65 } else { 1 };
        for count in 0..flood {
            let message = self.forged(what, count)?;
            let text = messages::peer(&self.names, from, to, &message);
            if count == 0 || count + 1 == flood {
                self.send(from, to, Wire::Peer(sender, receiver, message), Some(text));
            } else {
                self.send(from, to, Wire::Peer(sender, receiver, message), None);
            }
        }
        Ok(())
    }

    fn forged(&mut self, what: &[&str], count: u64) -> Result<PeerMessage, String> {
        let (run, number, steal) = (RUN, LoanId(NEVER), StealId(NEVER));
        Ok(match what {
            ["nothing"] => PeerMessage::Nothing { run, steal },
            ["job", name] => PeerMessage::Job { run, steal, number, spec: self.forged_job(name) },
            ["result"] => PeerMessage::Result { run, number, finished: finished(9, 0) },
            // The first loan of a host has the number of the first job that it holds or lends.
            ["result", number] => {
                let number = LoanId(number.parse().map_err(|_| "a number, please")?);
                PeerMessage::Result { run, number, finished: finished(9, 0) }
            }
            ["adopted"] => PeerMessage::Adopted { run, number, holding: 0 },
            ["flood"] => {
                PeerMessage::Steal { run, steal: StealId(NEVER + count), holding: 0, ahead: false, more: 0 }
            }
            ["entries", name] => {
                let spec = self.forged_job(name);
                let entry = Entry {
                    key: spec.key,
                    depth: 1,
                    lineage: Lineage::default(),
                    state: EntryState::Running(HostId(0)),
                    is_earlier: false,
                };
                PeerMessage::Entries { run, entries: vec![entry; 257] }
            }
            ["update", object, host, number, content] => {
                let parse = |text: &str| text.parse::<u8>().map_err(|_| "numbers, please");
                let host = self.names.id(host).ok_or("no host of that name")?;
                let writer = Writer { host, incarnation: 0 };
                let (object, first) = (crate::objects::id(object), parse(number)?.into());
                let updates = vec![vec![parse(content)?].into()];
                PeerMessage::Updates { run, object, writer, first, updates }
            }
            ["refused"] => PeerMessage::Refused { reason: "é".repeat(200) },
            _ => return Err(format!("cannot forge {what:?}")),
        })
    }

    fn forged_job(&mut self, name: &str) -> JobSpec {
        JobSpec {
            key: self.names.key(name),
            kind: 0,
            parameters: Bytes::default(),
            depth: 1,
            lineage: Lineage::default(),
            redone: false,
            given_back: false,
            lookup_below: 0,
            objects: Vec::new(),
        }
    }

    fn forge_up(&mut self, from: &str, what: &[&str]) -> Result<(), String> {
        let link = self.processes.get(from).and_then(|process| process.link).unwrap_or(LinkId(NEVER));
        let message = match what {
            ["root"] => ToCoordinator::RootFinished {
                run: RUN,
                number: AssignmentId(NEVER),
                finished: finished(9, 0),
            },
            ["hello", as_whom] => {
                let was = self.names.id(as_whom).map(|id| (id, 1, GridId(7)));
                let report = HostReport {
                    name: "evil".to_owned(),
                    site: "west".to_owned(),
                    threads: 1,
                    version: "1".to_owned(),
                    direct: None,
                    key: Default::default(),
                };
                ToCoordinator::Hello { report, was, incarnation: 0, roots: Vec::new(), paused: None }
            }
            ["done", name] => {
                let spec = self.forged_job(name);
                let state = EntryState::Done(finished(9, 0));
                let entry =
                    Entry { key: spec.key, depth: 0, lineage: Lineage::default(), state, is_earlier: false };
                ToCoordinator::Entries { run: RUN, entries: vec![entry] }
            }
            ["running", name, at] => {
                let spec = self.forged_job(name);
                let host = self.names.id(at).ok_or("no host of that name")?;
                let state = EntryState::Running(host);
                let entry =
                    Entry { key: spec.key, depth: 1, lineage: Lineage::default(), state, is_earlier: false };
                ToCoordinator::Entries { run: RUN, entries: vec![entry] }
            }
            _ => return Err(format!("cannot forge {what:?}")),
        };
        self.links.entry(link).or_insert_with(|| from.to_owned());
        let text = messages::up(&self.names, &message);
        self.send(from, COORDINATOR, Wire::Up(link, message), text);
        Ok(())
    }
}
