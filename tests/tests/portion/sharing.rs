//! Replicas without a network: updates and replicas are passed between portions late, in any order, and some
//! of them twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use sateen_host::{Notice, Portion, RunCommand};
use sateen_protocol::shared::{Log, ObjectId, Replica, SharedReplica, Snapshot, Writer};
use sateen_protocol::{Bytes, HostId, JobSpec};
use sateen_tests::random::Random;

/// A message in transit.
enum Mail {
    Update { to: usize, object: ObjectId, writer: Writer, seq: u64, bytes: Bytes },
    Replica { to: usize, object: ObjectId },
}

/// The replicas of all hosts.
#[derive(Default)]
pub struct Sharing {
    replicas: BTreeMap<(ObjectId, usize), Arc<SharedReplica>>,
    mail: Vec<Mail>,
    hosts: usize,
    /// The number of guards that have waited for long.
    pub refetched: usize,
}

/// The name of host number `index` in updates.
pub fn name(index: usize) -> HostId {
    HostId(index as u64 + 1)
}

impl Sharing {
    pub fn add(&mut self, portion: &Portion) {
        portion.handle(RunCommand::Identify { origin: name(self.hosts) });
        self.hosts += 1;
    }

    /// Handles notices about shared objects; returns other notices.
    pub fn note(&mut self, host: usize, notice: Notice) -> Option<Notice> {
        match notice {
            Notice::Shared { object, replica } => {
                self.replicas.insert((object, host), replica);
            }
            Notice::Updated { object, writer, seq, bytes } => {
                assert_eq!(writer.host, name(host));
                for to in (0..self.hosts).filter(|to| *to != host) {
                    self.mail.push(Mail::Update { to, object, writer, seq, bytes: bytes.clone() });
                }
            }
            Notice::Opened { object, replica } => {
                self.replicas.insert((object, host), replica);
                self.mail.push(Mail::Replica { to: host, object });
            }
            Notice::Refetch { object, .. } => {
                self.refetched += 1;
                self.mail.push(Mail::Replica { to: host, object });
            }
            other => return Some(other),
        }
        None
    }

    /// A job moves to `thief`; the replicas of the objects that it mentions follow.
    pub fn open(&mut self, thief: usize, portion: &Portion, spec: &JobSpec) {
        for mention in &spec.objects {
            let place = (mention.creation, thief);
            if !self.replicas.contains_key(&place) {
                self.mail.push(Mail::Replica { to: thief, object: mention.creation });
            }
            let replica = self.replicas.entry(place).or_default().clone();
            portion.handle(RunCommand::Opened { object: mention.creation, replica });
        }
    }

    /// A snapshot from another host that has one.
    fn snapshot(&self, object: ObjectId, except: usize, random: &mut Random) -> Option<Snapshot> {
        let all: Vec<Snapshot> = (self.replicas.range((object, 0)..=(object, usize::MAX)))
            .filter(|((_, host), _)| *host != except)
            .filter_map(|(_, replica)| replica.with(|place| place.as_ref().map(Replica::snapshot)))
            .collect();
        let at = random.below(all.len().max(1));
        all.into_iter().nth(at)
    }

    /// Delivers some messages.
    pub fn deliver<'a>(&mut self, random: &mut Random, portion: impl Fn(usize) -> Option<&'a Portion>) {
        for _ in 0..random.below(2 * self.mail.len() + 2) {
            if self.mail.is_empty() {
                return;
            }
            let at = random.below(self.mail.len());
            let mail = self.mail.swap_remove(at);
            let (to, object) = match &mail {
                Mail::Update { to, object, .. } | Mail::Replica { to, object } => (*to, *object),
            };
            let Some(portion) = portion(to) else { continue };
            let Some(replica) = self.replicas.get(&(object, to)).cloned() else {
                // It may be delivered later.
                self.mail.push(mail);
                continue;
            };
            let is_done = match &mail {
                Mail::Update { writer, seq, bytes, .. } => replica.with(|place| match place {
                    Some(replica) => {
                        replica.receive(*writer, *seq, std::slice::from_ref(bytes));
                        random.below(4) > 0
                    }
                    None => false,
                }),
                Mail::Replica { .. } => match self.snapshot(object, to, random) {
                    None => false,
                    Some(snapshot) => replica.with(|place| {
                        match place {
                            Some(replica) => {
                                replica.install(snapshot, 1);
                            }
                            None => *place = Replica::from_snapshot(snapshot, Log::new(1)),
                        }
                        true
                    }),
                },
            };
            portion.handle(RunCommand::Replica { object });
            if !is_done {
                self.mail.push(mail);
            }
        }
    }

    /// The host's replicas are gone, and the messages to it.
    pub fn crash(&mut self, host: usize) {
        self.replicas.retain(|(_, of), _| *of != host);
        self.mail.retain(|mail| match mail {
            Mail::Update { to, .. } | Mail::Replica { to, .. } => *to != host,
        });
    }
}
