//! Notifications that hosts have not been sent, and departures that they have not acknowledged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::limits::{DEPARTURE_ANSWER_MAX, DEPARTURES_EXPIRED_AT_ONCE_MAX, NEWS, NEWS_AT_ONCE};
use crate::message::Departure;
use crate::{HostId, Time};

/// A host's pending notification.
pub struct News {
    /// When it is sent.
    pub(super) due: Time,
    /// Hosts that joined.
    pub(super) joined: BTreeSet<HostId>,
    /// Hosts that are gone.
    pub(super) gone: Vec<(HostId, Departure)>,
}

/// A host's pending notification, and the departures that it has to acknowledge.
#[derive(Default)]
pub struct Mailbox {
    pub(super) news: Option<Box<News>>,
    /// Earliest time of the next notification; those already sent are paced until then.
    from: Time,
    /// When the notifications already sent would all have been sent at intervals of `NEWS`.
    paid: Time,
    /// Epochs whose departures the host has to acknowledge, in order.
    owed: VecDeque<u64>,
}

impl Mailbox {
    /// The mailbox of a host that joins now.
    pub fn from(now: Time) -> Self {
        Self { from: now, paid: now, ..Self::default() }
    }

    /// When the host may be sent its next notification.
    pub(super) fn due(&self, now: Time) -> Time {
        now.max(self.from)
    }

    /// Counts a notification as sent: a few may follow at once, further ones are spaced by `NEWS`.
    pub(super) fn pay(&mut self, now: Time) {
        self.paid = self.paid.max(now) + NEWS;
        let ahead = NEWS.saturating_mul(NEWS_AT_ONCE);
        self.from = Time(self.paid.0.saturating_sub(ahead.as_nanos() as u64));
    }

    /// The size of the pending notification.
    pub fn untold(&self) -> usize {
        self.news.as_ref().map_or(0, |news| 1 + news.joined.len())
    }

    /// Whether the pending notification says that another host is gone.
    pub(super) fn has_gone(&self, gone: HostId) -> bool {
        self.news.as_ref().is_some_and(|news| news.gone.iter().any(|(id, _)| *id == gone))
    }
}

/// When all pending notifications are sent, and how many acknowledgements are missing.
#[derive(Default)]
pub struct Newsroom {
    /// The hosts with a pending notification, by the time when it is sent.
    pub(super) due: BTreeSet<(Time, HostId)>,
    /// The number of departures so far.
    epoch: u64,
    /// Acknowledgements that are missing, by epoch.
    owed: BTreeMap<u64, Owed>,
    /// Departures up to this epoch are settled, acknowledged or not.
    expired: Option<u64>,
    /// Hosts that joined and whose acquaintances are not all notified; how often at once, if they joined more than once.
    pub(super) shown: BTreeMap<HostId, usize>,
    /// Departed hosts whose acquaintances are not all notified.
    pub(super) going: BTreeMap<HostId, Going>,
}

/// An epoch that is not settled.
struct Owed {
    /// The number of missing acknowledgements and other holds on the epoch.
    count: usize,
    /// When the first of them began.
    since: Time,
}

/// A departed host whose acquaintances are being notified.
pub struct Going {
    pub(super) departure: Departure,
    /// The epoch of its departure, which is held until all are notified.
    pub(super) epoch: u64,
    /// Acquaintances that are not notified yet.
    pub(super) untold: VecDeque<HostId>,
}

impl Newsroom {
    /// The number of hosts with a pending notification, and of arrivals and departures of which not all acquaintances are
    /// notified.
    pub fn untold(&self) -> usize {
        self.due.len() + self.shown.len() + self.going.len()
    }

    /// The number of acquaintances that are not notified of a host's departure yet.
    pub fn untold_of(&self, gone: HostId) -> usize {
        self.going.get(&gone).map_or(0, |going| going.untold.len())
    }

    /// The number of departures so far.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Begins the epoch of a departure, and returns it.
    pub fn begin_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// The number of missing acknowledgements and other holds, over all epochs.
    pub fn owed(&self) -> usize {
        self.owed.values().map(|owed| owed.count).sum()
    }

    /// The first epoch that is not settled; `u64::MAX` if all are.
    pub fn unsettled(&self) -> u64 {
        self.owed.first_key_value().map_or(u64::MAX, |(epoch, _)| *epoch)
    }

    /// Whether all epochs up to this one are settled.
    pub fn has_settled(&self, epoch: u64) -> bool {
        self.unsettled() > epoch
    }

    /// The host must acknowledge this epoch's departures once it has sent its entries of the departed hosts.
    pub fn owe(&mut self, now: Time, mailbox: &mut Mailbox, epoch: u64) {
        while mailbox.owed.front().is_some_and(|first| Some(*first) <= self.expired) {
            mailbox.owed.pop_front();
        }
        if Some(epoch) > self.expired
            && let Err(place) = mailbox.owed.binary_search(&epoch)
        {
            mailbox.owed.insert(place, epoch);
            self.hold(now, epoch);
        }
    }

    /// Holds an epoch: it is not settled before [`release`](Self::release), unless it expires.
    pub fn hold(&mut self, now: Time, epoch: u64) {
        if Some(epoch) > self.expired {
            self.owed.entry(epoch).or_insert(Owed { count: 0, since: now }).count += 1;
        }
    }

    /// Removes one hold on the epoch.
    pub fn release(&mut self, epoch: u64) {
        if let Some(owed) = self.owed.get_mut(&epoch) {
            owed.count -= 1;
            if owed.count == 0 {
                self.owed.remove(&epoch);
            }
        }
    }

    /// When the first epoch expires. The coordinator received nothing before `deaf_until`.
    pub fn next_expiry(&self, deaf_until: Time) -> Option<Time> {
        let (_, first) = self.owed.first_key_value()?;
        Some(first.since.max(deaf_until) + DEPARTURE_ANSWER_MAX)
    }

    /// The number of epochs that have expired by now.
    pub fn expired_len(&self, now: Time, deaf_until: Time) -> usize {
        let has_expired = |owed: &&Owed| now >= owed.since.max(deaf_until) + DEPARTURE_ANSWER_MAX;
        self.owed.values().take_while(has_expired).count()
    }

    /// Settles epochs that have expired: some now, the others in events that follow at once. A silent host is given up
    /// long before. A host that sends messages but no acknowledgement would delay all searches.
    pub fn expire(&mut self, now: Time, deaf_until: Time) {
        for _ in 0..DEPARTURES_EXPIRED_AT_ONCE_MAX {
            if self.next_expiry(deaf_until).is_none_or(|at| now < at) {
                break;
            }
            let first = self.owed.pop_first();
            self.expired = first.map(|(epoch, _)| epoch).max(self.expired);
        }
    }

    /// Acknowledges a host's departures up to an epoch: all of them, if the host is gone or none concerns it.
    pub fn settle(&mut self, mailbox: &mut Mailbox, epoch: u64) {
        while let Some(first) = mailbox.owed.front().copied().filter(|first| *first <= epoch) {
            mailbox.owed.pop_front();
            self.release(first);
        }
    }

    /// Discards a host's pending notifications.
    pub fn drop(&mut self, host: HostId, mailbox: &mut Mailbox) {
        if let Some(news) = mailbox.news.take() {
            self.due.remove(&(news.due, host));
        }
    }

    /// When the next notification is sent.
    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests;
