//! What hosts have not been told yet, and which departures they have not answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::limits::{DEPARTURE_ANSWER_MAX, DEPARTURES_EXPIRED_AT_ONCE_MAX, NEWS, NEWS_AT_ONCE};
use crate::message::Departure;
use crate::{HostId, Time};

/// What a host has not been told yet.
pub struct News {
    pub(super) due: Time,
    pub(super) joined: BTreeSet<HostId>,
    pub(super) gone: Vec<(HostId, Departure)>,
}

/// What a host has not been told yet, and which departures it has to answer.
#[derive(Default)]
pub struct Mailbox {
    pub(super) news: Option<Box<News>>,
    /// It may be told of other hosts from then on, and what it was told is spread out until then.
    from: Time,
    paid: Time,
    /// By epoch; in order.
    owed: VecDeque<u64>,
}

impl Mailbox {
    /// Of a host that comes now.
    pub fn from(now: Time) -> Self {
        Self { from: now, paid: now, ..Self::default() }
    }

    /// When its host may be told something.
    pub(super) fn due(&self, now: Time) -> Time {
        now.max(self.from)
    }

    /// Its host is told all that there is. A few messages in a row go out at once, more of them at their distance.
    pub(super) fn pay(&mut self, now: Time) {
        self.paid = self.paid.max(now) + NEWS;
        let ahead = NEWS.saturating_mul(NEWS_AT_ONCE);
        self.from = Time(self.paid.0.saturating_sub(ahead.as_nanos() as u64));
    }

    /// How much its host has not been told.
    pub fn untold(&self) -> usize {
        self.news.as_ref().map_or(0, |news| 1 + news.joined.len())
    }

    /// Whether it is about to be told that another host is gone.
    pub(super) fn has_gone(&self, gone: HostId) -> bool {
        self.news.as_ref().is_some_and(|news| news.gone.iter().any(|(id, _)| *id == gone))
    }
}

/// When all hosts are told what they have not been told yet, and how many answers are missing.
#[derive(Default)]
pub struct Newsroom {
    pub(super) due: BTreeSet<(Time, HostId)>,
    /// Counts the departures.
    epoch: u64,
    /// How many hosts have to answer departures, by epoch.
    owed: BTreeMap<u64, Owed>,
    /// Up to this epoch nobody is waited for any more.
    expired: Option<u64>,
    /// Hosts that are being shown round; how often at once, if they came more than once.
    pub(super) shown: BTreeMap<HostId, usize>,
    /// Who is still to hear of hosts that are gone.
    pub(super) going: BTreeMap<HostId, Going>,
}

/// Answers to a departure that have not come.
struct Owed {
    /// How many, and what else holds the epoch.
    count: usize,
    /// When it was first told.
    since: Time,
}

/// A host that is gone, and whose circle is being told.
pub struct Going {
    pub(super) departure: Departure,
    /// When it went; not settled before all have been told.
    pub(super) epoch: u64,
    pub(super) untold: VecDeque<HostId>,
}

impl Newsroom {
    /// How many hosts have not been told all, or are not known by all who are to know that they came or went.
    pub fn untold(&self) -> usize {
        self.due.len() + self.shown.len() + self.going.len()
    }

    /// How many are still to hear that a host is gone.
    pub fn untold_of(&self, gone: HostId) -> usize {
        self.going.get(&gone).map_or(0, |going| going.untold.len())
    }

    /// The number of departures so far.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Some hosts are gone: returns the epoch of their departure.
    pub fn begin_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch
    }

    /// How many answers to departures are missing.
    pub fn owed(&self) -> usize {
        self.owed.values().map(|owed| owed.count).sum()
    }

    /// The first departure that somebody has not answered.
    pub fn unsettled(&self) -> u64 {
        self.owed.first_key_value().map_or(u64::MAX, |(epoch, _)| *epoch)
    }

    /// Whether all have answered all departures up to an epoch.
    pub fn has_settled(&self, epoch: u64) -> bool {
        self.unsettled() > epoch
    }

    /// A host is to answer when it has told all that it has of those that went at this epoch.
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

    /// An epoch is not settled before [`release`](Self::release), or has expired.
    pub fn hold(&mut self, now: Time, epoch: u64) {
        if Some(epoch) > self.expired {
            self.owed.entry(epoch).or_insert(Owed { count: 0, since: now }).count += 1;
        }
    }

    /// What held it is over.
    pub fn release(&mut self, epoch: u64) {
        if let Some(owed) = self.owed.get_mut(&epoch) {
            owed.count -= 1;
            if owed.count == 0 {
                self.owed.remove(&epoch);
            }
        }
    }

    /// When answers to the first departure are no longer waited for. Nothing was heard before `deaf_until`.
    pub fn next_expiry(&self, deaf_until: Time) -> Option<Time> {
        let (_, first) = self.owed.first_key_value()?;
        Some(first.since.max(deaf_until) + DEPARTURE_ANSWER_MAX)
    }

    /// How many departures have had the time for their answers.
    pub fn expired_len(&self, now: Time, deaf_until: Time) -> usize {
        let has_expired = |owed: &&Owed| now >= owed.since.max(deaf_until) + DEPARTURE_ANSWER_MAX;
        self.owed.values().take_while(has_expired).count()
    }

    /// Waits no longer for answers that have had their time: some now, the others in events that follow at once. A host
    /// that is silent is gone long before; one that is heard and does not answer delays all searches.
    pub fn expire(&mut self, now: Time, deaf_until: Time) {
        for _ in 0..DEPARTURES_EXPIRED_AT_ONCE_MAX {
            if self.next_expiry(deaf_until).is_none_or(|at| now < at) {
                break;
            }
            let first = self.owed.pop_first();
            self.expired = first.map(|(epoch, _)| epoch).max(self.expired);
        }
    }

    /// It has answered up to an epoch; all, if it is gone or has nothing to do with any of it.
    pub fn settle(&mut self, mailbox: &mut Mailbox, epoch: u64) {
        while let Some(first) = mailbox.owed.front().copied().filter(|first| *first <= epoch) {
            mailbox.owed.pop_front();
            self.release(first);
        }
    }

    /// What a host has not been told: it will not be, or is told in another way.
    pub fn drop(&mut self, host: HostId, mailbox: &mut Mailbox) {
        if let Some(news) = mailbox.news.take() {
            self.due.remove(&(news.due, host));
        }
    }

    /// When something is to be told.
    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|(time, _)| *time)
    }
}

#[cfg(test)]
mod tests;
