//! Replicas without a network: updates and replicas are passed between portions late, in any order, and some
//! of them twice.

use std::collections::BTreeMap;

use sateen_host::{Notice, Portion, RunCommand};
use sateen_protocol::shared::{Change, Installed, Log, ObjectId, Replica, Shown, Snapshot, Writer};
use sateen_protocol::{Bytes, HostId};
use sateen_tests::random::Random;

/// A message in transit.
enum Mail {
    Update { to: usize, object: ObjectId, writer: Writer, seq: u64, bytes: Bytes },
    Replica { to: usize, object: ObjectId },
}

/// What a host's state machine has of an object.
#[derive(Default)]
struct Kept {
    replica: Option<Replica>,
    shown: Option<Shown>,
}

impl Kept {
    /// Passes the portion a change.
    fn show(
        &mut self,
        portion: &Portion,
        object: ObjectId,
        tell: impl FnOnce(&mut Shown, &Replica) -> Change,
    ) {
        if let (Some(shown), Some(replica)) = (&mut self.shown, &self.replica) {
            let (place, change) = (shown.place(), tell(shown, replica));
            portion.handle(RunCommand::Replica { object, place, change });
        }
    }
}

/// The replicas of all hosts.
#[derive(Default)]
pub struct Sharing {
    kept: BTreeMap<(ObjectId, usize), Kept>,
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
    pub fn add(&mut self) {
        self.hosts += 1;
    }

    /// Handles notices about shared objects; returns other notices.
    pub fn note(&mut self, host: usize, portion: &Portion, notice: Notice) -> Option<Notice> {
        match notice {
            Notice::Shared { object, place, initial } => {
                let kept = Kept { replica: Some(Replica::new(initial)), shown: Some(Shown::new(place)) };
                self.kept.insert((object, host), kept);
            }
            Notice::Updated { object, bytes } => {
                let kept = self.kept.get_mut(&(object, host)).expect("it is open");
                let (replica, shown) = (kept.replica.as_mut(), kept.shown.as_mut());
                let (replica, shown) = replica.zip(shown).expect("the portion has a replica");
                let (writer, seq) = replica.append_local(name(host), bytes.clone()).expect("room");
                assert_eq!(writer.host, name(host));
                if shown.note_own(&bytes, true) {
                    kept.show(portion, object, Shown::more);
                }
                for to in (0..self.hosts).filter(|to| *to != host) {
                    self.mail.push(Mail::Update { to, object, writer, seq, bytes: bytes.clone() });
                }
            }
            Notice::Based { object, new } => {
                let kept = self.kept.get_mut(&(object, host)).expect("it is open");
                let (replica, shown) = (kept.replica.as_mut(), kept.shown.as_mut());
                let (replica, shown) = replica.zip(shown).expect("the portion has a replica");
                if let Some(contained) = shown.set_base(&new) {
                    replica.set_base(new.base, &contained);
                }
            }
            Notice::Opened { object, place } => {
                let kept = self.kept.entry((object, host)).or_default();
                kept.shown = Some(Shown::new(place));
                if kept.replica.is_some() {
                    kept.show(portion, object, Shown::whole);
                } else {
                    self.mail.push(Mail::Replica { to: host, object });
                }
            }
            Notice::Closed { object } => {
                self.kept.get_mut(&(object, host)).expect("it is open").shown = None;
            }
            Notice::Refetch { object, .. } => {
                self.refetched += 1;
                self.mail.push(Mail::Replica { to: host, object });
            }
            other => return Some(other),
        }
        None
    }

    /// A snapshot from another host that has one.
    fn snapshot(&self, object: ObjectId, except: usize, random: &mut Random) -> Option<Snapshot> {
        let all: Vec<Snapshot> = (self.kept.range((object, 0)..=(object, usize::MAX)))
            .filter(|((_, host), _)| *host != except)
            .filter_map(|(_, kept)| kept.replica.as_ref().map(Replica::snapshot))
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
            if !self.kept.contains_key(&(object, to)) {
                // It may be delivered later.
                self.mail.push(mail);
                continue;
            }
            let snapshot = match &mail {
                Mail::Update { .. } => None,
                Mail::Replica { .. } => self.snapshot(object, to, random),
            };
            let kept = self.kept.get_mut(&(object, to)).expect("it is known");
            let is_done = match (&mail, &mut kept.replica, snapshot) {
                (Mail::Update { writer, seq, bytes, .. }, Some(replica), _) => {
                    replica.receive(*writer, *seq, std::slice::from_ref(bytes));
                    kept.show(portion, object, Shown::more);
                    random.below(4) > 0
                }
                (Mail::Update { .. }, None, _) | (Mail::Replica { .. }, _, None) => false,
                (Mail::Replica { .. }, Some(replica), Some(snapshot)) => {
                    match replica.install(snapshot, 1) {
                        Installed::Replaced { .. } => kept.show(portion, object, Shown::whole),
                        Installed::Merged | Installed::Nothing => kept.show(portion, object, Shown::more),
                    }
                    true
                }
                (Mail::Replica { .. }, place, Some(snapshot)) => {
                    *place = Replica::from_snapshot(snapshot, Log::new(1));
                    kept.show(portion, object, Shown::whole);
                    true
                }
            };
            if !is_done {
                self.mail.push(mail);
            }
        }
    }

    /// The host's replicas are gone, and the messages to it.
    pub fn crash(&mut self, host: usize) {
        self.kept.retain(|(_, of), _| *of != host);
        self.mail.retain(|mail| match mail {
            Mail::Update { to, .. } | Mail::Replica { to, .. } => *to != host,
        });
    }
}
