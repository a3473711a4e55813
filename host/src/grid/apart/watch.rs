//! Looks after the processes of guests: how much memory and time they take, and whether they read. A process that takes
//! more than it was given is killed, whatever its guests do. Each process gets signs of life of its host.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::member::{Member, Stage};
use super::pools::Pools;
use super::wire::{ALIVE_EVERY, ToGuests};
use crate::limits::RESIDENT_LOOK;
use crate::memory::warn_unless_known;

/// How often processes are looked at, if their memory is not limited.
const LOOK: Duration = Duration::from_millis(250);
/// How often their processor time is compared with their turns.
const TIMED_EVERY: Duration = Duration::from_millis(250);
/// A process may use this part of a processor's time without turns: to send, to receive and to keep time.
const UNTURNED_PART: u32 = 4;
/// Beyond that, this much processor time without turns ends it.
const UNTURNED_MAX: Duration = Duration::from_secs(3);
/// A process that reads nothing for this time is ended.
const UNREAD_MAX: Duration = Duration::from_secs(30);
/// A process may exceed its lease of memory for a moment: by this number of bytes, or by one part in this many of all
/// memory if that is more.
const BEYOND_BYTES_MIN: u64 = 128 << 20;
const BEYOND_PART: u64 = 4;
/// How long a process may have more than that.
const BEYOND_MAX: Duration = Duration::from_secs(2);
/// A process is sent how much memory it has when that has changed by this number of bytes. If it has more than half of what
/// it was lent, it is sent at each look: it then decides by this figure, which must not be old.
const TOLD_BYTES: u64 = 1 << 20;

/// Starts the thread that looks after them; it ends with the host.
///
/// # Errors
/// If it cannot be started.
pub fn start(pools: &Arc<Pools>, bytes_max: Option<u64>) -> io::Result<()> {
    if bytes_max.is_some() {
        warn_unless_known();
    }
    let pools = Arc::downgrade(pools);
    std::thread::Builder::new()
        .name("sateen-watch".to_owned())
        .spawn(move || watch(&pools, bytes_max))
        .map(drop)
}

fn watch(pools: &Weak<Pools>, bytes_max: Option<u64>) {
    let mut seen: BTreeMap<u64, Seen> = BTreeMap::new();
    while let Some(pools) = pools.upgrade() {
        let members = pools.wait_for_members();
        pools.reserve();
        seen.retain(|id, _| members.iter().any(|member| member.id == *id));
        for member in &members {
            let now = Instant::now();
            let seen = seen.entry(member.id).or_insert_with(|| Seen::new(now));
            if let Some(why) = seen.look(member, &pools, bytes_max, now) {
                member.process.condemn(why);
            }
        }
        drop((members, pools));
        std::thread::sleep(if bytes_max.is_some() { RESIDENT_LOOK } else { LOOK });
    }
}

/// What was seen of a process.
struct Seen {
    /// When it was last sent a sign of life.
    greeted: Option<Instant>,
    told_bytes: u64,
    beyond_since: Option<Instant>,
    timed: Instant,
    processor: Duration,
    granted: Duration,
    /// Processor time without turns.
    unturned: Duration,
}

impl Seen {
    fn new(now: Instant) -> Self {
        Self {
            greeted: None,
            told_bytes: 0,
            beyond_since: None,
            timed: now,
            processor: Duration::ZERO,
            granted: Duration::ZERO,
            unturned: Duration::ZERO,
        }
    }

    /// Looks at a process; returns why it is to be killed, if it is.
    fn look(
        &mut self,
        member: &Member,
        pools: &Pools,
        bytes_max: Option<u64>,
        now: Instant,
    ) -> Option<String> {
        let unread = member.mailbox.unread_for();
        if unread.is_some_and(|unread| unread >= UNREAD_MAX) {
            return Some(format!("it read nothing for {} s", UNREAD_MAX.as_secs()));
        }
        if !matches!(member.stage(), Stage::Started) {
            return None;
        }
        if unread.is_none() && self.greeted.is_none_or(|last| now.duration_since(last) >= ALIVE_EVERY) {
            self.greeted = Some(now);
            member.post(&ToGuests::Alive);
        }
        let (granted, lease) = pools.granted(member.id);
        let over = bytes_max.zip(lease).and_then(|(most, lease)| self.weigh(member, most, lease, now));
        over.or_else(|| self.time(member, granted, now))
    }

    fn weigh(&mut self, member: &Member, bytes_max: u64, lease: u64, now: Instant) -> Option<String> {
        let guests = member.process.guests_bytes()?;
        if guests.abs_diff(self.told_bytes) >= TOLD_BYTES || guests > lease / 2 {
            self.told_bytes = guests;
            member.post(&ToGuests::Resident(guests));
        }
        let most = lease.saturating_add(BEYOND_BYTES_MIN.max(bytes_max / BEYOND_PART));
        if guests <= most {
            self.beyond_since = None;
            return None;
        }
        let since = *self.beyond_since.get_or_insert(now);
        (now.duration_since(since) >= BEYOND_MAX).then(|| {
            let [guests, lease] = [guests, lease].map(crate::size);
            format!("its guests took {guests} of memory, and it had {lease} for them")
        })
    }

    fn time(&mut self, member: &Member, granted: Duration, now: Instant) -> Option<String> {
        let passed = now.duration_since(self.timed);
        if passed < TIMED_EVERY {
            return None;
        }
        let used = member.process.processor_time();
        let more = used.saturating_sub(self.processor);
        let is_first = self.processor.is_zero();
        let turns = granted.saturating_sub(self.granted);
        (self.timed, self.processor, self.granted) = (now, used, granted);
        if is_first || member.check.is_draining() {
            return None;
        }
        let allowed = turns + passed / UNTURNED_PART;
        self.unturned = (self.unturned + more).saturating_sub(allowed);
        (self.unturned > UNTURNED_MAX).then(|| "it computed although it was not its turn".to_owned())
    }
}
