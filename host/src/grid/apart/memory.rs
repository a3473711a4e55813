//! The memory of all processes of guests: how much of the host's memory each may use.
//!
//! Each process has a lease, and reports how much of it it uses. A process that needs more gets it from what is free, then
//! from what others do not use. If that is not enough, only the *first* process gets more, from the others, whose youngest
//! instances are evicted. It is the one whose oldest instance is the oldest of all: so the oldest instance of a host
//! always continues, as in one process (`host/src/memory.rs`), except that it waits for the host's own part to become free.

use std::collections::BTreeMap;

use crate::memory::{Lease, MemoryNews};

/// A process gets more than it asks for by this part of the host's memory, if that is free.
const SPARE_PART: u64 = 16;

/// The memory of a host.
#[derive(Debug)]
pub struct MemoryPool {
    bytes_max: u64,
    /// The part that the host itself uses for its guests.
    reserved: u64,
    members: BTreeMap<u64, Share>,
    /// Counts the instances that became the oldest of their process.
    last_stamp: u64,
}

#[derive(Debug, Default)]
struct Share {
    lease: u64,
    uses: u64,
    /// The number of its oldest instance, and the stamp of that.
    oldest: Option<(u64, u64)>,
    /// The last question that it asked.
    question: u64,
}

/// Leases, each with the process that it is for.
pub type Leases = Vec<(u64, Lease)>;

impl MemoryPool {
    /// A pool of this number of bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max: bytes_max as u64, reserved: 0, members: BTreeMap::new(), last_stamp: 0 }
    }

    /// A process takes part.
    pub fn join(&mut self, member: u64) {
        self.members.insert(member, Share::default());
    }

    /// A process is gone.
    pub fn leave(&mut self, member: u64) {
        self.members.remove(&member);
    }

    /// The lease of a process, in bytes.
    pub fn lease(&self, member: u64) -> u64 {
        self.members.get(&member).map_or(0, |share| share.lease)
    }

    /// The host itself now uses this number of bytes for its guests: the youngest processes make room.
    pub fn reserve(&mut self, bytes: u64) -> Leases {
        let grows = bytes > self.reserved;
        self.reserved = bytes;
        let mut leases = Leases::new();
        if grows && self.leased() > self.room() {
            let first = self.first();
            self.make_room(0, first, self.room(), &mut leases);
        }
        leases
    }

    /// News of a process.
    pub fn hear(&mut self, member: u64, news: MemoryNews) -> Leases {
        let stamp = self.last_stamp + 1;
        let Some(share) = self.members.get_mut(&member) else { return Leases::new() };
        share.uses = news.uses;
        let before = share.oldest;
        share.oldest = news.oldest.map(|number| match before {
            Some((known, stamp)) if known == number => (known, stamp),
            _ => (number, stamp),
        });
        if share.oldest.is_some_and(|(_, given)| given == stamp) {
            self.last_stamp = stamp;
        }
        let mut leases = Leases::new();
        if news.question > 0 {
            share.question = news.question;
            self.answer(member, news.needs, &mut leases);
        }
        leases
    }

    fn answer(&mut self, member: u64, needs: u64, leases: &mut Leases) {
        let first = self.first();
        let room = self.room();
        let needs = needs.min(self.bytes_max);
        // What the host itself uses becomes free by itself, so even the first process waits for it.
        let has_room = self.reserved == 0 || needs <= room;
        let is_first = has_room && first.is_none_or(|first| first == member);
        let spared = needs.saturating_add(self.bytes_max / SPARE_PART);
        let free = |pool: &Self| room.saturating_sub(pool.leased_by_others(member));
        if free(self) < needs {
            self.take_unused(member, needs, leases);
        }
        if free(self) < needs && is_first {
            self.make_room(member, Some(member), room.saturating_sub(needs), leases);
        }
        let free = free(self);
        let Some(share) = self.members.get_mut(&member) else { return };
        // One that is refused keeps what it has.
        let least = if is_first { needs } else { share.lease.min(free) };
        share.lease = spared.min(free).max(least);
        leases.push((member, Lease { bytes: share.lease, is_first, answers: share.question }));
    }

    /// Takes from others what they do not use, until a process can have what it needs.
    fn take_unused(&mut self, member: u64, needs: u64, leases: &mut Leases) {
        let mut missing = needs.saturating_sub(self.room().saturating_sub(self.leased_by_others(member)));
        let first = self.first();
        for (other, share) in self.members.iter_mut().filter(|(other, _)| **other != member) {
            let unused = share.lease.saturating_sub(share.uses).min(missing);
            if unused > 0 {
                missing -= unused;
                share.lease -= unused;
                let is_first = first == Some(*other);
                leases.push((*other, Lease { bytes: share.lease, is_first, answers: 0 }));
            }
        }
    }

    /// Makes the leases of all except `member` smaller until they are at most `most` together, the youngest first. `kept`
    /// comes last.
    fn make_room(&mut self, member: u64, kept: Option<u64>, most: u64, leases: &mut Leases) {
        let mut excess = self.leased_by_others(member).saturating_sub(most);
        let age = |share: &Share| share.oldest.map_or(u64::MAX, |(_, stamp)| stamp);
        let mut by_age: Vec<(u64, u64)> = (self.members.iter())
            .filter(|(other, _)| **other != member && Some(**other) != kept)
            .map(|(other, share)| (age(share), *other))
            .collect();
        by_age.sort_unstable();
        let kept = kept.filter(|kept| *kept != member);
        for other in by_age.into_iter().rev().map(|(_, other)| other).chain(kept) {
            let Some(share) = self.members.get_mut(&other).filter(|share| share.lease > 0) else { continue };
            if excess == 0 {
                break;
            }
            let taken = share.lease.min(excess);
            excess -= taken;
            share.lease -= taken;
            let is_first = kept == Some(other);
            leases.push((other, Lease { bytes: share.lease, is_first, answers: 0 }));
        }
    }

    fn first(&self) -> Option<u64> {
        let with_instances =
            self.members.iter().filter_map(|(member, share)| Some((share.oldest?.1, *member)));
        with_instances.min().map(|(_, member)| member)
    }

    fn room(&self) -> u64 {
        self.bytes_max.saturating_sub(self.reserved)
    }

    fn leased(&self) -> u64 {
        self.members.values().map(|share| share.lease).sum()
    }

    fn leased_by_others(&self, member: u64) -> u64 {
        self.leased() - self.lease(member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(question: u64, needs: u64, uses: u64, oldest: Option<u64>) -> MemoryNews {
        MemoryNews { question, needs, uses, oldest }
    }

    fn lease(bytes: u64, is_first: bool, answers: u64) -> Lease {
        Lease { bytes, is_first, answers }
    }

    fn pool() -> MemoryPool {
        let mut pool = MemoryPool::new(1600);
        pool.join(1);
        pool.join(2);
        pool
    }

    #[test]
    fn a_process_alone_gets_what_it_asks_for_and_a_little_more() {
        let mut pool = pool();
        assert_eq!(pool.hear(1, asks(1, 100, 0, None)), [(1, lease(200, true, 1))]);
        assert_eq!(pool.hear(1, asks(0, 100, 100, Some(1))), []);
        assert_eq!(pool.hear(1, asks(2, 1600, 100, Some(1))), [(1, lease(1600, true, 2))]);
        assert_eq!(pool.hear(1, asks(3, 9999, 100, Some(1))), [(1, lease(1600, true, 3))]);
    }

    #[test]
    fn what_is_not_used_goes_to_others_and_what_is_used_only_to_the_first() {
        let mut pool = pool();
        pool.hear(1, asks(1, 1500, 0, None));
        pool.hear(1, asks(0, 1000, 1000, Some(1)));
        assert_eq!(
            pool.hear(2, asks(1, 500, 0, None)),
            [(1, lease(1100, true, 0)), (2, lease(500, false, 1))]
        );
        pool.hear(2, asks(0, 500, 500, Some(1)));
        // It gets what the first does not use, and no more.
        assert_eq!(
            pool.hear(2, asks(2, 700, 500, Some(1))),
            [(1, lease(1000, true, 0)), (2, lease(600, false, 2))]
        );
        // The first gets all that it needs.
        assert_eq!(
            pool.hear(1, asks(2, 1400, 1000, Some(1))),
            [(2, lease(500, false, 0)), (2, lease(200, false, 0)), (1, lease(1400, true, 2))]
        );
        // When its oldest instance has ended, the other one is first.
        pool.hear(1, asks(0, 900, 900, Some(2)));
        assert_eq!(
            pool.hear(2, asks(3, 900, 200, Some(1))),
            [(1, lease(900, false, 0)), (1, lease(700, false, 0)), (2, lease(900, true, 3))]
        );
        pool.leave(2);
        assert_eq!(pool.hear(1, asks(3, 1500, 700, Some(2))), [(1, lease(1600, true, 3))]);
    }

    #[test]
    fn what_the_host_itself_uses_is_taken_from_the_youngest() {
        let mut pool = pool();
        pool.hear(1, asks(1, 700, 700, Some(1)));
        pool.hear(2, asks(1, 700, 700, Some(1)));
        assert_eq!((pool.lease(1), pool.lease(2)), (800, 800));
        assert_eq!(pool.reserve(100), [(2, lease(700, false, 0))]);
        assert_eq!(pool.reserve(1000), [(2, lease(0, false, 0)), (1, lease(600, true, 0))]);
        // Not even the oldest instance takes what the host still uses; when that is free, it continues.
        pool.hear(2, asks(0, 0, 0, None));
        assert_eq!(pool.hear(1, asks(2, 700, 600, Some(1))), [(1, lease(600, false, 2))]);
        assert_eq!(pool.reserve(0), []);
        assert_eq!(pool.hear(1, asks(3, 700, 0, Some(2))), [(1, lease(800, true, 3))]);
    }
}
