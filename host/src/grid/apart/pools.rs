//! What all processes of guests of a host share: turns and memory. The host decides, and notifies each of them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sateen_protocol::Share;

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
    turns: Mutex<Turns>,
    /// The thread that passes turns on is to look earlier.
    looks_earlier: Condvar,
    memory: Option<Mutex<MemoryPool>>,
    /// What the host itself uses for its guests, if their memory is limited.
    pub host_memory: Option<HostMemory>,
}

/// The turns, and the thread that passes them on.
struct Turns {
    pool: TurnPool,
    /// When that thread looks next, if it waits for a time.
    looks_at: Option<Instant>,
}

/// Starts the thread that passes turns on; it ends with the host.
///
/// # Errors
/// If it cannot be started.
pub fn start_passing_on(pools: &Arc<Pools>) -> io::Result<()> {
    let pools = Arc::downgrade(pools);
    let pass_on = move || {
        while let Some(pools) = pools.upgrade() {
            pools.pass_on_turns();
        }
    };
    std::thread::Builder::new().name("sateen-turns".to_owned()).spawn(pass_on).map(drop)
}

impl Pools {
    /// Pools with a turn for each thread and, if it is limited, the memory of `host_memory`.
    pub fn new(threads: usize, host_memory: Option<HostMemory>) -> Arc<Self> {
        let memory = host_memory.as_ref().map(|memory| Mutex::new(MemoryPool::new(memory.bytes_max())));
        Arc::new(Self {
            members: Mutex::default(),
            joined: Condvar::new(),
            processor_before: Mutex::default(),
            turns: Mutex::new(Turns {
                pool: TurnPool::new(u32::try_from(threads).unwrap_or(u32::MAX), Instant::now()),
                looks_at: None,
            }),
            looks_earlier: Condvar::new(),
            memory,
            host_memory,
        })
    }

    /// A process takes part, in a run with this share.
    pub fn join(&self, member: &Arc<Member>, share: Share) {
        self.members.lock().insert(member.id, member.clone());
        let mut turns = self.turns.lock();
        let orders = turns.pool.join(member.id, share);
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
        let orders = turns.pool.leave(member, Instant::now());
        self.order(&orders);
        self.plan_look(&turns);
        drop(turns);
        if let Some(memory) = &self.memory {
            memory.lock().leave(member);
        }
    }

    /// A process was asked to stop: others get its turns.
    pub fn end_turns(&self, member: u64) {
        let mut turns = self.turns.lock();
        let orders = turns.pool.end(member, Instant::now());
        self.order(&orders);
        self.plan_look(&turns);
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
            TurnNews::Waiting(waiting) => turns.pool.wait(member, waiting, now),
            TurnNews::Returned(count) => {
                let orders = turns.pool.give_back(member, count, now);
                orders.ok_or("it gave back turns that it did not have")?
            }
        };
        self.order(&orders);
        self.plan_look(&turns);
        Ok(())
    }

    /// Wakes the thread that passes turns on if it would look too late.
    fn plan_look(&self, turns: &Turns) {
        let next = turns.pool.next_look();
        if next.is_some_and(|next| turns.looks_at.is_none_or(|at| next < at)) {
            self.looks_earlier.notify_one();
        }
    }

    /// Waits until a turn is another's, and passes it on.
    fn pass_on_turns(&self) {
        let mut turns = self.turns.lock();
        turns.looks_at = turns.pool.next_look();
        match turns.looks_at {
            Some(at) => drop(self.looks_earlier.wait_until(&mut turns, at)),
            None => self.looks_earlier.wait(&mut turns),
        }
        let orders = turns.pool.look(Instant::now());
        self.order(&orders);
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
        self.turns.lock().pool.in_use(member)
    }

    /// The time of all turns that a process has had, and its memory in bytes, if that is limited.
    pub fn granted(&self, member: u64) -> (Duration, Option<u64>) {
        let time = self.turns.lock().pool.time(member, Instant::now());
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
