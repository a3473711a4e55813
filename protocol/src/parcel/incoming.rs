//! The receiver's half of parcels.
//!
//! Memory grows with the bytes that arrive, not with those that are announced. A few parcels are pulled at once; the
//! others wait their turn and take no memory.

mod arriving;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use thiserror::Error;

use super::{Contents, ParcelId, ParcelMessage};
use crate::limits::{
    CHUNK_BYTES_MAX, PARCEL_BYTES_MAX, PARCELS_INCOMING_BYTES_MAX, PARCELS_PULLED_MAX,
    PARCELS_PULLED_PER_PEER_MAX, PARCELS_WITH_PEER_MAX, REFUSAL_EVERY, REFUSALS_AT_ONCE_MAX,
};
use crate::pace::Pace;
use crate::{RunId, Time};
use arriving::{Arriving, Due};

/// A message about a parcel that no honest sender sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it sent a parcel that breaks the rules")]
pub struct Unsound;

/// The effect of a chunk.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// More bytes are missing.
    Part,
    /// The parcel is unknown, and the sender is to be notified.
    Unknown,
    /// The parcel is unknown, and the sender was notified too often that its parcels are.
    Ignored,
    /// All bytes have arrived.
    Whole(Contents, Vec<u8>),
}

/// Maximum senders whose refusals are counted.
const REFUSED_SENDERS_MAX: usize = 1024;

type Name<K> = (K, ParcelId);

/// Parcels in transit to this receiver; `K` identifies senders.
#[derive(Debug)]
pub struct Incoming<K> {
    parcels: BTreeMap<Name<K>, Arriving>,
    by_contents: BTreeMap<(K, Contents), ParcelId>,
    /// Parcels that are announced and not pulled at present.
    waiting: VecDeque<Name<K>>,
    pulled: BTreeSet<Name<K>>,
    /// Parcels, pulled or waiting, some bytes of which may have arrived; and their announced bytes.
    begun: BTreeSet<Name<K>>,
    begun_bytes: usize,
    messages: VecDeque<(K, ParcelMessage)>,
    /// How often each sender was notified that a parcel is unknown.
    refusals: BTreeMap<K, Pace>,
}

impl<K> Default for Incoming<K> {
    fn default() -> Self {
        Self {
            parcels: BTreeMap::new(),
            by_contents: BTreeMap::new(),
            waiting: VecDeque::new(),
            pulled: BTreeSet::new(),
            begun: BTreeSet::new(),
            begun_bytes: 0,
            messages: VecDeque::new(),
            refusals: BTreeMap::new(),
        }
    }
}

impl<K: Copy + Ord> Incoming<K> {
    /// Whether these contents were announced by this sender, so that they need not be asked for again.
    pub fn has(&self, from: K, contents: Contents) -> bool {
        self.by_contents.contains_key(&(from, contents))
    }

    /// Whether any contents that satisfy `is_such` were announced.
    pub fn has_any(&self, is_such: impl Fn(&Contents) -> bool) -> bool {
        self.by_contents.keys().any(|(_, contents)| is_such(contents))
    }

    /// Announced contents that satisfy `is_such`, if any: their sender, the bytes that have arrived, and the total.
    pub fn find(&self, is_such: impl Fn(&Contents) -> bool) -> Option<(K, usize, usize)> {
        let ((from, _), parcel) = self.by_contents.iter().find(|((_, contents), _)| is_such(contents))?;
        let arriving = self.parcels.get(&(*from, *parcel))?;
        Some((*from, arriving.held_bytes(), arriving.total))
    }

    /// All senders that have announced contents that satisfy `is_such`.
    pub fn senders(&self, is_such: impl Fn(&Contents) -> bool) -> BTreeSet<K> {
        let with_such = self.by_contents.keys().filter(|(_, contents)| is_such(contents));
        with_such.map(|(from, _)| *from).collect()
    }

    /// Whether no parcel is announced.
    pub fn is_empty(&self) -> bool {
        self.parcels.is_empty()
    }

    /// The number of announced parcels.
    pub fn len(&self) -> usize {
        self.parcels.len()
    }

    /// The bytes of these parcels that have arrived so far.
    pub fn held_bytes(&self) -> usize {
        self.parcels.values().map(Arriving::held_bytes).sum()
    }

    /// Whether this sender has announced a parcel with this number.
    pub fn knows(&self, from: K, parcel: ParcelId) -> bool {
        self.parcels.contains_key(&(from, parcel))
    }

    /// A sender has announced a parcel that is wanted, for the first time or again.
    ///
    /// # Errors
    /// When no honest sender would announce it.
    pub fn announce(
        &mut self,
        now: Time,
        from: K,
        parcel: ParcelId,
        contents: Contents,
        bytes: u64,
    ) -> Result<(), Unsound> {
        let total = usize::try_from(bytes).ok().filter(|total| (1..=PARCEL_BYTES_MAX).contains(total));
        let total = total.ok_or(Unsound)?;
        let name = (from, parcel);
        if let Some(known) = self.parcels.get(&name) {
            return if (known.contents, known.total) == (contents, total) { Ok(()) } else { Err(Unsound) };
        }
        // The sender has given up its first attempt, or has replaced it.
        let before = self.by_contents.get(&(from, contents)).map(|before| (from, *before));
        if let Some(before) = before
            && self.renew(now, before, parcel, total)
        {
            return Ok(());
        }
        let place = before.and_then(|before| self.waiting.iter().position(|waiting| *waiting == before));
        if let Some(before) = before {
            self.remove(before);
        }
        let of_peer = self.parcels.range((from, ParcelId(0))..=(from, ParcelId(u64::MAX))).count();
        if of_peer < PARCELS_WITH_PEER_MAX {
            self.parcels.insert(name, Arriving::new(now, contents, total));
            self.by_contents.insert((from, contents), parcel);
            // It takes the turn of the one before it.
            self.waiting.insert(place.unwrap_or(self.waiting.len()).min(self.waiting.len()), name);
            self.pull(now);
        }
        Ok(())
    }

    /// A sender has replaced a parcel by another with the same contents. If the first is being pulled and nothing of it
    /// has come, the other is pulled instead, in the time that was left for the first. Returns whether it is.
    fn renew(&mut self, now: Time, before: Name<K>, parcel: ParcelId, total: usize) -> bool {
        // The bytes of one that is not pulled are not among those that have begun.
        if !self.pulled.contains(&before) {
            return false;
        }
        let Some(arriving) = self.parcels.get(&before).filter(|arriving| arriving.held_bytes() == 0) else {
            return false;
        };
        if self.begun_bytes - arriving.total + total > PARCELS_INCOMING_BYTES_MAX {
            return false;
        }
        let Some(mut arriving) = self.remove(before) else { return false };
        let name = (before.0, parcel);
        let (from, until) = arriving.renew(now, total);
        self.messages.push_back((name.0, ParcelMessage::Pull { parcel, from, until }));
        self.by_contents.insert((name.0, arriving.contents), parcel);
        self.parcels.insert(name, arriving);
        self.pulled.insert(name);
        self.begun.insert(name);
        self.begun_bytes += total;
        true
    }

    /// A chunk has arrived.
    ///
    /// # Errors
    /// When no honest sender would send it.
    pub fn on_chunk(
        &mut self,
        now: Time,
        from: K,
        parcel: ParcelId,
        offset: u64,
        bytes: &[u8],
    ) -> Result<Arrival, Unsound> {
        let name = (from, parcel);
        if bytes.is_empty() || bytes.len() > CHUNK_BYTES_MAX {
            return Err(Unsound);
        }
        let Some(arriving) = self.parcels.get_mut(&name) else { return Ok(self.unknown(now, from)) };
        arriving.add(now, offset, bytes)?;
        if arriving.is_whole() {
            let Some(arriving) = self.remove(name) else { return Ok(Arrival::Unknown) };
            self.messages.push_back((from, ParcelMessage::Received { parcel }));
            self.pull(now);
            return Ok(Arrival::Whole(arriving.contents, arriving.bytes));
        }
        if self.pulled.contains(&name)
            && let Some((from_byte, until)) = arriving.next_credit(now)
        {
            self.messages.push_back((from, ParcelMessage::Pull { parcel, from: from_byte, until }));
        }
        Ok(Arrival::Part)
    }

    fn unknown(&mut self, now: Time, from: K) -> Arrival {
        if self.refusals.len() >= REFUSED_SENDERS_MAX {
            self.refusals.retain(|_, pace| !pace.is_at_rest(now));
        }
        let is_known = self.refusals.contains_key(&from) || self.refusals.len() < REFUSED_SENDERS_MAX;
        let may =
            is_known && self.refusals.entry(from).or_default().take(now, REFUSAL_EVERY, REFUSALS_AT_ONCE_MAX);
        if may { Arrival::Unknown } else { Arrival::Ignored }
    }

    /// The sender has withdrawn a parcel. Returns its contents.
    pub fn on_withdrawn(&mut self, now: Time, from: K, parcel: ParcelId) -> Option<Contents> {
        let arriving = self.remove((from, parcel));
        self.pull(now);
        arriving.map(|arriving| arriving.contents)
    }

    /// Contents of a sender that satisfy `is_such` are no longer wanted. Returns their parcels.
    pub fn refuse_all(&mut self, now: Time, from: K, is_such: impl Fn(&Contents) -> bool) -> Vec<ParcelId> {
        let of_sender = self.parcels.range((from, ParcelId(0))..=(from, ParcelId(u64::MAX)));
        let parcels: Vec<ParcelId> = of_sender
            .filter(|(_, arriving)| is_such(&arriving.contents))
            .map(|((_, parcel), _)| *parcel)
            .collect();
        for parcel in &parcels {
            self.remove((from, *parcel));
        }
        self.pull(now);
        parcels
    }

    /// These contents are no longer wanted. Returns their parcel.
    pub fn refuse(&mut self, now: Time, from: K, contents: Contents) -> Option<ParcelId> {
        let parcel = *self.by_contents.get(&(from, contents))?;
        self.remove((from, parcel));
        self.pull(now);
        Some(parcel)
    }

    /// Whether a parcel from this sender is announced.
    pub fn has_peer(&self, from: K) -> bool {
        self.parcels.range((from, ParcelId(0))..).next().is_some_and(|((sender, _), _)| *sender == from)
    }

    /// The announced bytes of a sender's parcels that have begun to arrive.
    fn bytes_begun_by(&self, from: K) -> usize {
        let begun = self.begun.range((from, ParcelId(0))..=(from, ParcelId(u64::MAX)));
        begun.filter_map(|name| self.parcels.get(name)).map(|arriving| arriving.total).sum()
    }

    /// Begins to pull waiting parcels, as far as the limits allow.
    fn pull(&mut self, now: Time) {
        let mut still = VecDeque::new();
        let of_pulled = self.pulled.iter().filter_map(|name| self.parcels.get(name));
        let patience = of_pulled.map(Arriving::patience).max().unwrap_or_default();
        while self.pulled.len() < PARCELS_PULLED_MAX
            && let Some(name) = self.waiting.pop_front()
        {
            let Some(arriving) = self.parcels.get(&name) else { continue };
            let (contents, total) = (arriving.contents, arriving.total);
            let of_peer = self.pulled.iter().filter(|(from, _)| *from == name.0).count();
            let is_new = !self.begun.contains(&name);
            let begun = self.bytes_begun_by(name.0);
            let is_too_much = is_new
                && ((!self.begun.is_empty() && self.begun_bytes + total > PARCELS_INCOMING_BYTES_MAX)
                    || (begun > 0 && begun + total > PARCELS_INCOMING_BYTES_MAX / 2));
            if of_peer >= PARCELS_PULLED_PER_PEER_MAX
                || is_too_much
                || (self.pulled.iter())
                    .filter_map(|name| self.parcels.get(name))
                    .any(|pulled| pulled.contents.is_same_from_all() && pulled.contents == contents)
            {
                still.push_back(name);
                continue;
            }
            let Some(arriving) = self.parcels.get_mut(&name) else { continue };
            if is_new {
                self.begun.insert(name);
                self.begun_bytes += total;
            }
            let (from, until) = arriving.begin(now, patience);
            self.pulled.insert(name);
            self.messages.push_back((name.0, ParcelMessage::Pull { parcel: name.1, from, until }));
        }
        still.append(&mut self.waiting);
        self.waiting = still;
    }

    fn remove(&mut self, name: Name<K>) -> Option<Arriving> {
        let arriving = self.parcels.remove(&name)?;
        self.by_contents.remove(&(name.0, arriving.contents));
        if self.begun.remove(&name) {
            self.begun_bytes -= arriving.total;
        }
        if !self.pulled.remove(&name) {
            self.waiting.retain(|waiting| *waiting != name);
        }
        Some(arriving)
    }

    fn forget(&mut self, now: Time, is_forgotten: impl Fn(&Name<K>, &Arriving) -> bool) {
        let forgotten: Vec<Name<K>> = (self.parcels.iter())
            .filter(|(name, arriving)| is_forgotten(name, arriving))
            .map(|(name, _)| *name)
            .collect();
        for name in forgotten {
            self.remove(name);
        }
        self.pull(now);
    }

    /// A sender is gone.
    pub fn forget_peer(&mut self, now: Time, from: K) {
        self.messages.retain(|(to, _)| *to != from);
        self.forget(now, |(sender, _), _| *sender == from);
    }

    /// A run is over.
    pub fn forget_run(&mut self, now: Time, run: RunId) {
        self.forget(now, |_, arriving| arriving.contents.run() == run);
    }

    /// The link to a sender was replaced, and chunks on the old one are lost: asks for them again at once.
    pub fn on_new_link(&mut self, now: Time, from: K) {
        for name in self.pulled.iter().filter(|(sender, _)| *sender == from) {
            if let Some(arriving) = self.parcels.get_mut(name) {
                arriving.nudge(now);
            }
        }
        self.handle_timeout(now);
    }

    /// The next message to a sender.
    pub fn poll_message(&mut self) -> Option<(K, ParcelMessage)> {
        self.messages.pop_front()
    }

    /// The time at which [`Self::handle_timeout`] is to be called.
    pub fn next_timeout(&self) -> Option<Time> {
        let due = self.begun.iter().filter_map(|name| {
            let arriving = self.parcels.get(name)?;
            Some(if self.pulled.contains(name) { arriving.due() } else { arriving.stale_at() })
        });
        due.min()
    }

    /// Asks again for bytes that have not come, and gives up parcels of which nothing comes.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.next_timeout().is_none_or(|due| now < due) {
            return;
        }
        for name in self.begun.iter().copied().collect::<Vec<_>>() {
            let has_waiting = !self.waiting.is_empty();
            let is_pulled = self.pulled.contains(&name);
            let Some(arriving) = self.parcels.get_mut(&name) else { continue };
            match arriving.time_out(now, is_pulled, has_waiting) {
                Due::Nothing => {}
                Due::Ask(from, until) => {
                    self.messages.push_back((name.0, ParcelMessage::Pull { parcel: name.1, from, until }));
                }
                Due::StepAside => {
                    self.pulled.remove(&name);
                    self.waiting.push_back(name);
                }
                Due::GiveUp => {
                    self.remove(name);
                }
            }
        }
        self.pull(now);
    }
}
