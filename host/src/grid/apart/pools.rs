//! What all processes of guests of a host share: turns and memory. The host decides, and tells each of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::member::Member;
use super::memory::{Leases, MemoryPool};
use super::turns::{Orders, TurnOrder, TurnPool};
use super::wire::ToGuests;
use crate::HostMemory;
use crate::memory::MemoryNews;
use crate::scheduler::TurnNews;

/// The processes of a host, and what they share.
pub struct Pools {
    members: Mutex<BTreeMap<u64, Arc<Member>>>,
    joined: Condvar,
    /// Processor time of those that are gone.
    processor_before: Mutex<Duration>,
    turns: Mutex<TurnPool>,
    memory: Option<Mutex<MemoryPool>>,
    /// What the host itself uses for its guests, if their memory is limited.
    pub host_memory: Option<HostMemory>,
}

impl Pools {
    /// Pools with a turn for each thread and, if it is limited, the memory of `host_memory`.
    pub fn new(threads: usize, host_memory: Option<HostMemory>) -> Arc<Self> {
        let memory = host_memory.as_ref().map(|memory| Mutex::new(MemoryPool::new(memory.bytes_max())));
        Arc::new(Self {
            members: Mutex::default(),
            joined: Condvar::new(),
            processor_before: Mutex::default(),
            turns: Mutex::new(TurnPool::new(u32::try_from(threads).unwrap_or(u32::MAX))),
            memory,
            host_memory,
        })
    }

    /// A process takes part.
    pub fn join(&self, member: &Arc<Member>) {
        self.members.lock().insert(member.id, member.clone());
        let mut turns = self.turns.lock();
        let orders = turns.join(member.id, Instant::now());
        self.order(&orders);
        drop(turns);
        if let Some(memory) = &self.memory {
            memory.lock().join(member.id);
        }
        self.joined.notify_all();
    }

    /// A process is gone.
    pub fn leave(&self, member: &Member) {
        let member = member.id;
        if let Some(member) = self.members.lock().remove(&member) {
            *self.processor_before.lock() += member.process.processor_time();
        }
        let mut turns = self.turns.lock();
        let orders = turns.leave(member, Instant::now());
        self.order(&orders);
        drop(turns);
        if let Some(memory) = &self.memory {
            memory.lock().leave(member);
        }
    }

    /// The processes; waits for one if there is none.
    pub fn wait_for_members(&self) -> Vec<Arc<Member>> {
        let mut members = self.members.lock();
        while members.is_empty() {
            self.joined.wait(&mut members);
        }
        members.values().cloned().collect()
    }

    /// Processor time of all processes that there were.
    pub fn processor_time(&self) -> Duration {
        let members: Vec<Arc<Member>> = self.members.lock().values().cloned().collect();
        let now: Duration = members.iter().map(|member| member.process.processor_time()).sum();
        *self.processor_before.lock() + now
    }

    /// A process has news about its turns; an error if it lies.
    pub fn hear_of_turns(&self, member: u64, news: TurnNews) -> Result<(), &'static str> {
        let (mut turns, now) = (self.turns.lock(), Instant::now());
        let orders = match news {
            TurnNews::Waiting(waiting) => turns.wait(member, waiting, now),
            TurnNews::Returned(count) => {
                turns.give_back(member, count, now).ok_or("it gave back turns that it did not have")?
            }
        };
        self.order(&orders);
        Ok(())
    }

    /// A process has news about its memory.
    pub fn hear_of_memory(&self, member: u64, news: MemoryNews) {
        if let Some(memory) = &self.memory {
            let mut memory = memory.lock();
            let leases = memory.hear(member, news);
            self.lend(&leases);
        }
    }

    /// What the host itself uses for its guests has changed.
    pub fn reserve(&self) {
        if let (Some(memory), Some(host)) = (&self.memory, &self.host_memory) {
            let mut memory = memory.lock();
            let leases = memory.reserve(host.passing_bytes() as u64);
            self.lend(&leases);
        }
    }

    /// The number of turns with which a process computes, if they are scarce: otherwise, it may have some that it does not
    /// use.
    pub fn turns_in_use(&self, member: u64) -> Option<u32> {
        self.turns.lock().in_use(member)
    }

    /// The time of all turns that a process has had, and its memory in bytes, if that is limited.
    pub fn granted(&self, member: u64) -> (Duration, Option<u64>) {
        let time = self.turns.lock().time(member, Instant::now());
        (time, self.memory.as_ref().map(|memory| memory.lock().lease(member)))
    }

    /// Sends orders in their order: the turns are locked.
    fn order(&self, orders: &Orders) {
        for (member, order) in orders {
            self.post(
                *member,
                &match order {
                    TurnOrder::Lend(count) => ToGuests::Lend(*count),
                    TurnOrder::Recall(count) => ToGuests::Recall(*count),
                    TurnOrder::Scarce(is_scarce) => ToGuests::Scarce(*is_scarce),
                },
            );
        }
    }

    fn lend(&self, leases: &Leases) {
        for (member, lease) in leases {
            self.post(*member, &ToGuests::Lease(*lease));
        }
    }

    fn post(&self, member: u64, message: &ToGuests) {
        let member = self.members.lock().get(&member).cloned();
        member.iter().for_each(|member| member.post(message));
    }
}
