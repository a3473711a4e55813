//! Why the run waits, and waited.

use std::time::Duration;

use sateen_protocol::HostId;

use super::{Chronicle, EventKind, Idle};
use crate::limits::IDLE_REASONS_MAX;

/// Why a suspended run is idle.
pub const SUSPENDED: &str = "the run is suspended until it is resumed";
/// The machine's reason until the hosts from before a restart are back: they may compute meanwhile, so it is not a reason for
/// which nothing was done.
pub const RESTARTED: &str = "the coordinator was started again and waits for its hosts";

/// The end of the reason of a run whose root job waits at its host.
pub const NOT_BEGUN: &str = " has the root job and has not begun it";

/// Hosts report twice a second, so it is not known whether a shorter time was without the reason.
const BETWEEN_MS_MAX: u32 = 500;

/// Why nothing happens with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waits {
    /// In a sentence.
    pub why: String,
    /// The same without figures that change, as the run's chronicle has it.
    pub reason: String,
}

/// Ends of reasons that say what to do, or what is next. They are not kept: they are false once the wait is over.
const ADVICE: [&str; 3] = [
    "; start one with `sateen-host`",
    " (it is tried again in a while, or when another host joins)",
    " (it waits for its turn to be tried again)",
];

/// Beginnings of reasons behind which figures follow, after a colon.
const COUNTED: [&str; 2] = ["its result is being checked", "its result is to be checked"];

/// A reason without advice, and without figures that change while it stays the same.
pub fn without_advice(why: &str) -> &str {
    if COUNTED.iter().any(|begin| why.starts_with(begin)) {
        return why.split_once(": ").map_or(why, |(reason, _)| reason);
    }
    ADVICE.iter().find_map(|advice| why.strip_suffix(advice)).unwrap_or(why)
}

/// A reason for which nothing is known to be done.
pub fn known(why: Option<&str>) -> Option<&str> {
    why.filter(|why| *why != RESTARTED)
}

/// Whether next to no time is between two times.
fn adjoin(one: &Idle, other: &Idle) -> bool {
    let reaches = |earlier: &Idle, later: &Idle| {
        earlier.to_ms.is_none_or(|to_ms| later.from_ms <= to_ms.saturating_add(BETWEEN_MS_MAX))
    };
    reaches(one, other) && reaches(other, one)
}

/// Why nothing was done around a restart of the coordinator that no host survived.
pub const NONE_CAME_BACK: &str = "the coordinator was started again, and none of the run's hosts came back";

/// The time after a restart of the coordinator in which hosts come back.
#[derive(Debug)]
pub struct Settles {
    /// All returning hosts are back by then.
    pub by_ms: u32,
    /// Nothing was heard of the run since then.
    pub quiet_since_ms: Option<u32>,
    /// Nothing was done for it since then, as far as hosts have reported.
    pub idle_since_ms: Option<u32>,
    /// The number of hosts that had taken part by then. What others report says nothing of the time in between.
    pub hosts: usize,
}

impl Chronicle {
    /// Why the run is and was idle. What was noted several times in a row for one reason is one time.
    pub fn idle_times(&self) -> Vec<Idle> {
        let mut times: Vec<Idle> = Vec::new();
        for idle in self.idle.iter().filter(|idle| idle.to_ms != Some(idle.from_ms)) {
            let last = times.iter_mut().rfind(|last| last.host == idle.host);
            match last.filter(|last| last.text == idle.text && adjoin(last, idle)) {
                Some(last) => {
                    last.from_ms = last.from_ms.min(idle.from_ms);
                    last.to_ms = last.to_ms.zip(idle.to_ms).map(|(one, other)| one.max(other));
                }
                None => times.push(idle.clone()),
            }
        }
        times
    }

    /// The host with this place has reported what it does.
    pub(super) fn is_heard(&mut self, host: u32) {
        if let Some(settles) = self.settles.as_mut().filter(|settles| (host as usize) < settles.hosts) {
            settles.quiet_since_ms = None;
        }
    }

    /// After a restart of the coordinator, hosts of the run were given up. If none is back, none has done anything of it since
    /// the run was last heard of.
    pub fn nobody_is_back(&mut self) {
        let quiet_since_ms = self.settles.as_mut().and_then(|settles| settles.quiet_since_ms.take());
        if quiet_since_ms.is_some() {
            self.is_done();
        }
        let Some(from_ms) = quiet_since_ms.filter(|_| !self.is_over && !self.was_suspended) else { return };
        if self.tree.hosts().is_empty() {
            return;
        }
        let now_ms = self.now_ms();
        self.idle_because(None, Some(NONE_CAME_BACK), from_ms);
        self.idle_because(None, None, now_ms);
    }

    /// The run waits for this reason from now on, unless it did before.
    pub fn waits_because(&mut self, reason: &str) {
        if !self.is_over {
            self.idle_because(None, known(Some(reason)), self.now_ms());
        }
    }

    /// The coordinator was started again: what waits were under way at this time, when the run was last heard of, are not
    /// known to have lasted. A suspended run stays suspended.
    pub(super) fn interrupt_waits(&mut self, last_ms: u32) {
        for idle in self.idle.iter_mut().filter(|idle| idle.to_ms.is_none() && idle.text != SUSPENDED) {
            idle.to_ms = Some(last_ms.max(idle.from_ms));
        }
    }

    /// A host has done something.
    pub(super) fn is_done(&mut self) {
        if let Some(settles) = &mut self.settles {
            settles.idle_since_ms = None;
        }
    }

    /// After a restart of the coordinator, it is known by now why the run waits, or a host gets the root job, and none was
    /// known to have it: nothing was done meanwhile.
    fn waited_for_hosts(&mut self, t_ms: u32) {
        let since_ms = self.settles.as_mut().and_then(|settles| settles.idle_since_ms.take());
        if let Some(from_ms) = since_ms.filter(|from_ms| *from_ms < t_ms && !self.was_suspended) {
            self.add_idle(Idle { from_ms, to_ms: Some(t_ms), host: None, text: RESTARTED.to_owned() });
        }
    }

    /// A host gets the root job: nothing is waited for.
    pub(super) fn end_waits(&mut self, t_ms: u32) {
        self.waited_for_hosts(t_ms);
        self.idle_because(None, None, t_ms);
    }

    pub(super) fn idle_because(&mut self, host: Option<HostId>, why: Option<&str>, t_ms: u32) {
        let why = why.map(without_advice);
        if why.is_some() && host.is_none() && !self.has_begun() {
            self.waited_for_hosts(t_ms);
        }
        let open = self.idle.iter_mut().rfind(|idle| idle.to_ms.is_none() && idle.host == host);
        match (open, why) {
            (Some(open), Some(why)) if open.text == why => return,
            (Some(open), _) => open.to_ms = Some(t_ms),
            (None, None) => return,
            (None, Some(_)) => {}
        }
        if let Some(why) = why {
            // It is known only later that a root was not begun at once.
            let from_ms = if why.ends_with(NOT_BEGUN) { self.root_given_ms().min(t_ms) } else { t_ms };
            self.add_idle(Idle { from_ms, to_ms: None, host, text: why.to_owned() });
        }
    }

    /// Whether a host has had the root job.
    pub(super) fn has_begun(&self) -> bool {
        self.tree.len() > 0 || self.events.last_ms(EventKind::Started).is_some()
    }

    /// When a host got the root job last, or a wait ended since.
    fn root_given_ms(&self) -> u32 {
        let waits = self.idle.iter().filter(|idle| idle.host.is_none()).filter_map(|idle| idle.to_ms);
        waits.chain(self.events.last_ms(EventKind::Started)).max().unwrap_or_default()
    }

    /// For how long a host has had the root job.
    pub fn root_given_for(&self) -> Duration {
        let given_ms = self.events.last_ms(EventKind::Started).unwrap_or_default();
        Duration::from_millis(self.now_ms().saturating_sub(given_ms).into())
    }

    /// A host began the root job at this time.
    pub(super) fn root_begins(&mut self, t_ms: u32) {
        let waits = |idle: &&mut Idle| idle.to_ms.is_none() && idle.text.ends_with(NOT_BEGUN);
        for idle in self.idle.iter_mut().filter(waits) {
            idle.to_ms = Some(t_ms.max(idle.from_ms));
        }
    }

    pub(super) fn add_idle(&mut self, idle: Idle) {
        if self.idle.len() >= IDLE_REASONS_MAX {
            self.idle.remove(0);
        }
        self.idle.push(idle);
    }
}
