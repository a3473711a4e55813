//! Which runs are given to hosts: a few at a time, and none for ever that no host can load.
//!
//! A run that every working host has declared itself unable to run gives its turn up to others. It gets
//! another when a host comes, which alone is asked then, and after a while, when all are asked again.

use crate::limits::{RUNS_ACTIVE_MAX, SETTLE_MAX, UNREADY_REST_MAX, UNREADY_REST_MIN};
use crate::message::ToHost;
use crate::{RunId, RunState, Time};

use super::Coordinator;

/// Which hosts are to load a run at its next turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Asked {
    /// All: none of them has it.
    #[default]
    All,
    /// All, and those that could not load it forget that first.
    Again,
    /// Those that have not said that they cannot.
    New,
}

/// How a run takes turns with others.
#[derive(Debug, Default)]
pub struct Turn {
    /// How often it gave its turn up.
    yields: u32,
    /// It gave its turn up, and is not given another before then.
    pub rests_until: Option<Time>,
    asked: Asked,
    /// Hosts may all be unable now.
    is_in_doubt: bool,
}

impl Coordinator {
    /// Gives runs that wait their turn to the hosts, as far as there is room.
    pub(super) fn activate(&mut self, now: Time) {
        let active = self.runs.values().filter(|part| part.is_active).count();
        let room = RUNS_ACTIVE_MAX.saturating_sub(active);
        if room == 0 {
            return;
        }
        let mut waiting: Vec<(u32, RunId)> = (self.runs.iter())
            .filter(|(_, part)| !part.is_active && matches!(part.state, RunState::Queued | RunState::Running))
            .filter(|(_, part)| part.turn.rests_until.is_none())
            .map(|(run, part)| (part.turn.yields, *run))
            .collect();
        // Those that hosts could not load have had their turn.
        waiting.sort_unstable();
        for (_, run) in waiting.into_iter().take(room) {
            self.begin_turn(now, run);
        }
    }

    fn begin_turn(&mut self, now: Time, run: RunId) {
        let epoch = self.epoch;
        let Some(part) = self.runs.get_mut(&run) else { return };
        part.is_active = true;
        part.settles = (epoch, now + SETTLE_MAX);
        part.turn.is_in_doubt = true;
        let asked = part.turn.asked;
        let spec = part.spec.clone();
        if !std::mem::replace(&mut part.was_active, true) {
            // No host has said anything of it before.
            return self.broadcast(now, ToHost::StartRun { run, spec });
        }
        for host in self.hosts.values_mut() {
            host.ready.remove(&run);
            let was_unready = host.unready.contains_key(&run);
            if asked != Asked::New {
                host.unready.remove(&run);
            }
            let Some(link) = host.link.filter(|_| host.paused.is_none()) else { continue };
            match asked {
                Asked::New if was_unready => continue,
                Asked::Again if was_unready => self.transmits.push_back((link, ToHost::SuspendRun { run })),
                _ => {}
            }
            self.transmits.push_back((link, ToHost::StartRun { run, spec: spec.clone() }));
        }
    }

    /// Some host cannot run it, or one that could is gone.
    pub(super) fn note_unready(&mut self, run: RunId) {
        if let Some(part) = self.runs.get_mut(&run) {
            part.turn.is_in_doubt = true;
        }
    }

    /// Runs that no working host can load give their turns up.
    pub(super) fn yield_turns(&mut self, now: Time) {
        let doubtful: Vec<RunId> = (self.runs.iter())
            .filter(|(_, part)| part.is_active && part.assigned.is_none() && part.turn.is_in_doubt)
            .map(|(run, _)| *run)
            .collect();
        let mut have_yielded = false;
        for run in doubtful {
            let is_unable = self.is_unable_everywhere(run);
            let Some(part) = self.runs.get_mut(&run) else { continue };
            part.turn.is_in_doubt = false;
            if is_unable {
                let rest = UNREADY_REST_MIN.saturating_mul(1 << part.turn.yields.min(16));
                part.is_active = false;
                part.turn.yields = part.turn.yields.saturating_add(1);
                part.turn.rests_until = Some(now + rest.min(UNREADY_REST_MAX));
                part.turn.asked = Asked::New;
                have_yielded = true;
            }
        }
        if have_yielded {
            self.activate(now);
        }
    }

    /// A host has come: it may be able to run what others cannot.
    pub(super) fn wake_turns(&mut self, now: Time) {
        let resting = self.runs.values_mut().filter(|part| part.turn.rests_until.is_some());
        let woken = resting.map(|part| part.turn.rests_until = None).count();
        if woken > 0 {
            self.activate(now);
        }
    }

    /// Runs that have rested long enough are tried again, by all.
    pub(super) fn time_out_turns(&mut self, now: Time) {
        let is_due = |turn: &Turn| turn.rests_until.is_some_and(|until| now >= until);
        let mut is_any = false;
        for part in self.runs.values_mut().filter(|part| is_due(&part.turn)) {
            part.turn.rests_until = None;
            part.turn.asked = Asked::Again;
            is_any = true;
        }
        if is_any {
            self.activate(now);
        }
    }

    fn is_unable_everywhere(&self, run: RunId) -> bool {
        let mut working = self.hosts.values().filter(|host| host.paused.is_none()).peekable();
        working.peek().is_some() && working.all(|host| host.unready.contains_key(&run))
    }

    /// Why no host can run it, if none can.
    pub(super) fn why_unable(&self, run: RunId) -> Option<String> {
        if !self.is_unable_everywhere(run) {
            return None;
        }
        let working = self.hosts.values().filter(|host| host.paused.is_none());
        let (name, reason) =
            { working }.find_map(|host| Some((&host.report.name, host.unready.get(&run)?)))?;
        Some(format!("no host can run it; {name} says: {reason}"))
    }

    /// Why a run that gave its turn up has not got another.
    pub(super) fn reason_to_rest(&self, run: RunId) -> Option<String> {
        let part = self.runs.get(&run).filter(|part| !part.is_active && part.turn.yields > 0)?;
        let why = self.why_unable(run)?;
        Some(match part.turn.rests_until {
            Some(_) => format!("{why} (it is tried again in a while, or when another host joins)"),
            None => format!("{why} (it waits for its turn to be tried again)"),
        })
    }
}
