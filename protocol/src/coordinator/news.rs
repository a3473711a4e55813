//! Notifies hosts of acquaintances that came and went. News of the same moment goes out in one message; `newsroom` keeps
//! the news that is not sent yet, and the answers that are missing.

mod newsroom;

use std::collections::{BTreeSet, VecDeque};

use crate::limits::{
    INTRODUCTION_EVERY, INTRODUCTIONS_AT_ONCE_MAX, JOINED_PER_MESSAGE_MAX, NEWS_AT_A_TIME_MAX, PING,
    SHARERS_PER_MESSAGE_MAX, SHOWN_AT_ONCE_MAX,
};
use crate::message::{Departure, HostInfo, ToHost};
use crate::{HostId, Time};

use super::circles::Parted;
use super::slices::Slice;
use super::{Coordinator, Misbehaviour};
use newsroom::{Going, News};

pub use newsroom::{Mailbox, Newsroom};

impl Coordinator {
    fn news_of(&mut self, now: Time, host: HostId) -> Option<&mut News> {
        let state = self.hosts.get_mut(&host)?;
        if state.link.is_none() || state.paused.is_some() {
            // The next welcome includes all of it.
            return None;
        }
        let due = state.mailbox.due(now);
        let room = &mut self.newsroom;
        Some(state.mailbox.news.get_or_insert_with(|| {
            room.due.insert((due, host));
            Box::new(News { due, joined: BTreeSet::new(), gone: Vec::new() })
        }))
    }

    pub(super) fn tell_joined(&mut self, now: Time, host: HostId, joined: HostId) {
        if self.hosts.get(&host).is_some_and(|state| state.mailbox.has_gone(joined)) {
            // It has come back: one message would say that it came and went.
            self.tell_news_to(now, host, None);
        }
        if let Some(news) = self.news_of(now, host) {
            news.joined.insert(joined);
        }
    }

    /// All acquaintances of a host are to be notified that it is gone, and to answer.
    pub(super) fn tell_all_gone(
        &mut self,
        now: Time,
        host: HostId,
        departure: Departure,
        untold: VecDeque<HostId>,
    ) {
        while self.tell_some_gone(now, host) {}
        let epoch = self.newsroom.epoch();
        self.newsroom.hold(now, epoch);
        self.newsroom.going.insert(host, Going { departure, epoch, untold });
        self.in_slices(now, Slice::TellGone(host));
    }

    /// Notifies some acquaintances of a host that it is gone; returns whether there are more.
    pub(super) fn tell_some_gone(&mut self, now: Time, host: HostId) -> bool {
        let Some(mut going) = self.newsroom.going.remove(&host) else { return false };
        for _ in 0..SHOWN_AT_ONCE_MAX {
            let Some(other) = going.untold.pop_front() else {
                self.newsroom.release(going.epoch);
                return false;
            };
            self.circles.part(other, host);
            self.tell_gone(now, other, host, &going);
        }
        self.newsroom.going.insert(host, going);
        true
    }

    fn tell_gone(&mut self, now: Time, host: HostId, gone: HostId, going: &Going) {
        let Some(state) = self.hosts.get_mut(&host).filter(|state| state.paused.is_none()) else { return };
        state.is_told_gone(gone);
        self.newsroom.owe(now, &mut state.mailbox, going.epoch);
        if let Some(news) = self.news_of(now, host) {
            news.joined.remove(&gone);
            news.gone.push((gone, going.departure));
        }
    }

    /// A host that works again is sent its acquaintances: some now, the others in events that follow at once.
    pub(super) fn tell_circle(&mut self, now: Time, host: HostId) {
        let circle = self.ids_of_circle(host);
        if let Some(news) = self.news_of(now, host) {
            news.joined.extend(circle);
            self.tell_news_to(now, host, None);
        }
    }

    /// Sends news that are due; some now, the rest in events that follow at once.
    pub(super) fn tell_news(&mut self, now: Time) {
        let mut told = 0;
        while told < NEWS_AT_A_TIME_MAX {
            let due = self.newsroom.due.first().copied().filter(|(due, _)| now >= *due);
            let Some((_, host)) = due else { break };
            let news = self.hosts.get(&host).and_then(|state| state.mailbox.news.as_ref());
            told += 1 + news.map_or(0, |news| news.joined.len().min(JOINED_PER_MESSAGE_MAX));
            self.tell_news_to(now, host, None);
        }
    }

    /// A host no longer has to answer anything, and is sent no news.
    pub(super) fn close_mailbox(&mut self, host: HostId) {
        if let Some(state) = self.hosts.get_mut(&host) {
            self.newsroom.drop(host, &mut state.mailbox);
            self.newsroom.settle(&mut state.mailbox, u64::MAX);
        }
    }

    /// Sends a host its news, due or not: departures, and as many new hosts as one message may
    /// have, `first` before the others.
    pub(super) fn tell_news_to(&mut self, now: Time, host: HostId, first: Option<HostId>) {
        let news = self.hosts.get_mut(&host).and_then(|state| state.mailbox.news.take());
        let Some(mut news) = news else { return };
        self.newsroom.due.remove(&(news.due, host));
        let gone = std::mem::take(&mut news.gone);
        let mut joined: Vec<HostId> = first.into_iter().filter(|id| news.joined.remove(id)).collect();
        while joined.len() < JOINED_PER_MESSAGE_MAX
            && let Some(id) = news.joined.pop_first()
        {
            joined.push(id);
        }
        joined.sort_unstable();
        let joined: Vec<HostInfo> = joined.into_iter().filter_map(|id| self.info(id)).collect();
        let is_all = news.joined.is_empty();
        if let Some(state) = self.hosts.get_mut(&host).filter(|_| !is_all) {
            news.due = now;
            self.newsroom.due.insert((now, host));
            state.mailbox.news = Some(news);
        }
        if joined.is_empty() && gone.is_empty() {
            return;
        }
        if let Some(state) = self.hosts.get_mut(&host).filter(|_| is_all) {
            state.mailbox.pay(now);
        }
        self.send(host, ToHost::Hosts { epoch: self.newsroom.epoch(), joined, gone });
    }

    /// What is reported to others of a host, if it is working.
    fn info(&self, host: HostId) -> Option<HostInfo> {
        let state = self.hosts.get(&host).filter(|state| state.paused.is_none())?;
        let incarnation = state.comings.incarnation();
        Some(HostInfo { id: host, report: state.report.clone(), incarnation })
    }

    /// Itself and its acquaintances, if it is working.
    pub(super) fn circle_of(&self, host: HostId) -> Vec<HostInfo> {
        self.ids_of_circle(host).into_iter().filter_map(|id| self.info(id)).collect()
    }

    /// In order: itself and its acquaintances.
    pub(super) fn ids_of_circle(&self, host: HostId) -> Vec<HostId> {
        let mut ids: Vec<HostId> = self.circles.of(host).collect();
        if let Err(place) = ids.binary_search(&host) {
            ids.insert(place, host);
        }
        ids
    }

    pub(super) fn works(&self, host: HostId) -> bool {
        self.hosts.get(&host).is_some_and(|state| state.paused.is_none())
    }

    /// A host that has joined, or works again, is announced to its circle, but not to itself.
    pub(super) fn show_round(&mut self, now: Time, host: HostId) {
        let Some(state) = self.hosts.get(&host) else { return };
        self.circles.enter(host, &state.report.site);
        for other in self.circles.draw(host) {
            self.circles.connect(host, other);
        }
        *self.newsroom.shown.entry(host).or_default() += 1;
        self.in_slices(now, Slice::ShowRound { after: None, host });
    }

    /// Announces a host to some of its circle, from the one after `after` on: returns the last of them, if there may be more.
    pub(super) fn show_some(&mut self, now: Time, host: HostId, after: Option<HostId>) -> Option<HostId> {
        let others: Vec<HostId> = match self.works(host) {
            true => self.circles.of_after(host, after).take(SHOWN_AT_ONCE_MAX).collect(),
            false => Vec::new(),
        };
        for other in &others {
            self.tell_joined(now, *other, host);
        }
        let last = others.last().copied().filter(|_| others.len() == SHOWN_AT_ONCE_MAX);
        if last.is_none()
            && let Some(times) = self.newsroom.shown.get_mut(&host)
        {
            *times -= 1;
            if *times == 0 {
                self.newsroom.shown.remove(&host);
            }
        }
        last
    }

    /// Makes two hosts acquainted that have to deal with one another, and notifies them at once.
    pub(super) fn introduce(&mut self, now: Time, one: HostId, other: HostId) {
        if one != other && self.works(one) && self.works(other) {
            let is_news = self.circles.connect(one, other);
            // A host that is being announced may not have been announced to the other yet.
            for (whom, of) in [(one, other), (other, one)] {
                if is_news || self.newsroom.shown.contains_key(&of) {
                    self.tell_joined(now, whom, of);
                }
            }
        }
        // Messages that follow must find them acquainted.
        self.tell_news_to(now, other, Some(one));
        self.tell_news_to(now, one, Some(other));
    }

    /// A host has heard of others that have replicas.
    pub(super) fn on_meet(&mut self, now: Time, host: HostId, others: &[HostId]) -> Result<(), Misbehaviour> {
        if others.len() > SHARERS_PER_MESSAGE_MAX {
            return Err(Misbehaviour::TooMuch);
        }
        let Some(state) = self.hosts.get_mut(&host) else { return Ok(()) };
        let pace = &mut state.paces.introductions;
        let others = others.iter().copied();
        let others: VecDeque<HostId> =
            others.filter(|_| pace.take(now, INTRODUCTION_EVERY, INTRODUCTIONS_AT_ONCE_MAX)).collect();
        if !others.is_empty() {
            self.in_slices(now, Slice::Meet { host, others });
        }
        Ok(())
    }

    /// Some circles are renewed at every ping.
    pub(super) fn renew_circles(&mut self, now: Time) {
        let hosts = self.circles.turns(PING);
        if !hosts.is_empty() {
            self.in_slices(now, Slice::Renew(hosts.into()));
        }
    }

    pub(super) fn renew_circle(&mut self, now: Time, host: HostId) {
        let (come, go) = self.circles.renew(host);
        for other in come {
            if self.circles.connect(host, other) {
                self.tell_joined(now, host, other);
                self.tell_joined(now, other, host);
            }
        }
        for other in go {
            let hear = |host| self.hosts.get(&host).is_some_and(|state| state.link.is_some());
            if hear(host)
                && hear(other)
                && let Some(ask) = self.circles.ask_to_part(host, other)
            {
                // In order: they may have been made acquainted only now.
                self.tell_news_to(now, host, Some(other));
                self.tell_news_to(now, other, Some(host));
                self.send(host, ToHost::Forget { ask, host: other });
                self.send(other, ToHost::Forget { ask, host });
            }
        }
    }

    pub(super) fn on_forgot(&mut self, now: Time, host: HostId, ask: u64, other: HostId, forgotten: bool) {
        match self.circles.on_forgot(host, ask, other, forgotten) {
            Parted::Nothing => {}
            Parted::Remind(whom, of) => self.tell_joined(now, whom, of),
        }
    }
}

#[cfg(test)]
mod tests;
