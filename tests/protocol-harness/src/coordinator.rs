//! The coordinator's machine.

use sateen_protocol::coordinator::{
    Circle, Coordinator, CoordinatorConfig, LinkId, Standing, StoredRun, Submitter,
};
use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{Entry, GridId, RunId, RunSpec, RunState, Time};
use serde::{Deserialize, Serialize};

/// The bound on each run's table; small, so that it is reached.
pub const TABLE_BYTES_MAX: usize = 1 << 16;

/// The initial state of a coordinator: its runs with their entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Start {
    /// Its random seed.
    pub seed: u64,
    /// The number of others that each host knows; not part of a record.
    #[serde(skip, default = "usual_circle")]
    pub circle: Circle,
    /// Whether it ran before.
    pub restarted: bool,
    /// Its stored runs.
    pub runs: Vec<(RunId, RunSpec, RunState, Vec<Entry>)>,
}

fn usual_circle() -> Circle {
    sateen_protocol::limits::CIRCLE
}

impl Start {
    /// The machine.
    pub fn coordinator(&self, now: Time) -> Coordinator {
        let config = CoordinatorConfig {
            grid: GridId(7),
            secret: [7; 32],
            seed: self.seed,
            table_bytes_max: TABLE_BYTES_MAX,
            circle: self.circle,
            place_kept: sateen_protocol::limits::PLACE_KEPT_MIN,
            restarted: self.restarted,
        };
        let stored = |(run, spec, state, entries): &(RunId, RunSpec, RunState, Vec<Entry>)| StoredRun {
            run: *run,
            submitter: submitter(*run),
            spec: spec.clone(),
            state: *state,
            entries: entries.clone(),
            standing: Standing::default(),
        };
        Coordinator::new(config, self.runs.iter().filter(|run| !run.2.is_over()).map(stored).collect(), now)
    }
}

/// One of three.
fn submitter(run: RunId) -> Submitter {
    Submitter(u128::from(run.0 % 3))
}

/// All inputs of the coordinator's machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(missing_docs, reason = "one for each method of the machine")]
pub enum Input {
    Timeout,
    Message(u64, ToCoordinator),
    Misbehaviour(u64, String),
    Closed(u64),
    Submit(RunId, RunSpec),
    Cancel(RunId),
    Suspend(RunId),
    Resume(RunId),
}

impl Input {
    /// Passes it to the machine; returns a command's answer.
    ///
    /// # Errors
    /// When the machine refuses the command.
    pub fn tell(self, coordinator: &mut Coordinator, now: Time) -> Result<(), String> {
        let answer = match self {
            Self::Timeout => {
                coordinator.handle_timeout(now);
                Ok(())
            }
            Self::Message(link, message) => {
                coordinator.handle_message(now, LinkId(link), message);
                Ok(())
            }
            Self::Misbehaviour(link, reason) => {
                coordinator.handle_misbehaviour(now, LinkId(link), reason);
                Ok(())
            }
            Self::Closed(link) => {
                coordinator.handle_closed(now, LinkId(link));
                Ok(())
            }
            Self::Submit(run, spec) => {
                coordinator.submit(now, run, submitter(run), spec);
                Ok(())
            }
            Self::Cancel(run) => coordinator.cancel(now, run),
            Self::Suspend(run) => coordinator.suspend(now, run),
            Self::Resume(run) => coordinator.resume(now, run),
        };
        answer.map_err(|error| error.to_string())
    }
}

/// Drives a coordinator with the inputs in `bytes`; returns the number of outputs.
pub fn drive(mut bytes: &[u8]) -> u64 {
    let Some(start) = crate::next::<Start>(&mut bytes) else { return 0 };
    let mut now = Time::default();
    let mut coordinator = start.coordinator(now);
    let mut outputs = drain(&mut coordinator) as u64;
    while let Some((passed_ns, input)) = crate::next::<(u64, Input)>(&mut bytes) {
        // An hour at most, so that the clock does not overflow.
        now = Time(now.0.saturating_add(passed_ns.min(3_600_000_000_000)));
        let is_timeout = matches!(input, Input::Timeout);
        let size = size(&coordinator) + postcard::to_allocvec(&input).map_or(0, |bytes| bytes.len());
        let _ = input.tell(&mut coordinator, now);
        let drained = drain(&mut coordinator);
        assert!(drained <= 64 + 16 * size, "{drained} outputs of a machine of the size {size}");
        outputs += drained as u64;
        if is_timeout {
            outputs += check_timers(&mut coordinator, now);
        }
        check(&coordinator);
    }
    outputs
}

fn drain(coordinator: &mut Coordinator) -> usize {
    let transmits = std::iter::from_fn(|| coordinator.poll_transmit()).count();
    let commands = std::iter::from_fn(|| coordinator.poll_command()).count();
    let events = std::iter::from_fn(|| coordinator.poll_event()).count();
    transmits + commands + events
}

/// The size to which outputs may be proportional: each departure is announced to each host.
fn size(coordinator: &Coordinator) -> usize {
    let hosts = coordinator.hosts().count() + 1;
    let entries: usize = coordinator.runs().map(|run| run.table().0).sum();
    hosts * (hosts + coordinator.runs().count() + entries + 1)
}

/// A timer must not fire again at the same time for ever: each time, less work must be left.
fn check_timers(coordinator: &mut Coordinator, now: Time) -> u64 {
    let mut outputs = 0;
    while let Some((_, why)) = coordinator.poll_timeout().filter(|(time, _)| *time <= now) {
        let before = coordinator.backlog(now);
        coordinator.handle_timeout(now);
        outputs += drain(coordinator) as u64;
        let after = coordinator.backlog(now);
        assert!(after < before, "a timer is due and no work is done: {why}; {after:?} is left of {before:?}");
    }
    outputs
}

fn check(coordinator: &Coordinator) {
    for run in coordinator.runs() {
        assert!(run.table().1 <= TABLE_BYTES_MAX, "a table of {} bytes", run.table().1);
    }
}
