//! What the coordinator's machine is told, written down for those who have the real driver follow it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use sateen_protocol::coordinator::{CommandError, Coordinator, CoordinatorConfig, LinkId, StoredRun};
use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{HostId, RunId, RunSpec, Time};

/// Something that the coordinator's process was told, or that became of it.
#[derive(Debug, Clone)]
pub enum Told {
    /// The process has started, on these runs.
    Started(CoordinatorConfig, Vec<StoredRun>),
    /// It was killed.
    Crashed,
    /// A run was submitted.
    Submitted(RunId, Box<RunSpec>),
    /// Somebody wants a run to end.
    Cancelled(RunId),
    /// Somebody wants a run to rest.
    Suspended(RunId),
    /// Somebody wants a run to go on.
    Resumed(RunId),
    /// A message has come.
    Message(LinkId, Box<ToCoordinator>),
    /// A peer broke the rules.
    Misbehaved(LinkId, String),
    /// A link is closed.
    Closed(LinkId),
    /// Bytes have come from a host, at this time, that the machine does not see.
    Heard(Time, HostId),
    /// A timer has gone off.
    TimedOut,
    /// The process was held up.
    Stalled,
}

/// All of that, each with its time, until somebody takes it.
pub type Record = Rc<RefCell<Vec<(Time, Told)>>>;

/// The coordinator's machine. What it is told is written down, if that is wanted.
pub struct Machine {
    machine: Coordinator,
    record: Option<Record>,
}

impl Machine {
    /// One that starts now.
    pub fn start(
        config: CoordinatorConfig,
        stored: Vec<StoredRun>,
        now: Time,
        record: Option<Record>,
    ) -> Self {
        if let Some(record) = &record {
            record.borrow_mut().push((now, Told::Started(config.clone(), stored.clone())));
        }
        Self { machine: Coordinator::new(config, stored, now), record }
    }

    /// What it is told from now on is written down.
    pub fn record(&mut self, record: Record) {
        self.record = Some(record);
    }

    fn write(&self, now: Time, told: impl FnOnce() -> Told) {
        if let Some(record) = &self.record {
            record.borrow_mut().push((now, told()));
        }
    }

    /// See [`Coordinator::submit`].
    pub fn submit(&mut self, now: Time, run: RunId, spec: RunSpec) {
        self.write(now, || Told::Submitted(run, Box::new(spec.clone())));
        self.machine.submit(now, run, spec);
    }

    /// See [`Coordinator::cancel`].
    ///
    /// # Errors
    /// Those of the machine.
    pub fn cancel(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        self.write(now, || Told::Cancelled(run));
        self.machine.cancel(now, run)
    }

    /// See [`Coordinator::suspend`].
    ///
    /// # Errors
    /// Those of the machine.
    pub fn suspend(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        self.write(now, || Told::Suspended(run));
        self.machine.suspend(now, run)
    }

    /// See [`Coordinator::resume`].
    ///
    /// # Errors
    /// Those of the machine.
    pub fn resume(&mut self, now: Time, run: RunId) -> Result<(), CommandError> {
        self.write(now, || Told::Resumed(run));
        self.machine.resume(now, run)
    }

    /// See [`Coordinator::handle_message`].
    pub fn handle_message(&mut self, now: Time, link: LinkId, message: ToCoordinator) {
        self.write(now, || Told::Message(link, Box::new(message.clone())));
        self.machine.handle_message(now, link, message);
    }

    /// See [`Coordinator::handle_misbehaviour`].
    pub fn handle_misbehaviour(&mut self, now: Time, link: LinkId, reason: String) {
        self.write(now, || Told::Misbehaved(link, reason.clone()));
        self.machine.handle_misbehaviour(now, link, reason);
    }

    /// See [`Coordinator::handle_closed`].
    pub fn handle_closed(&mut self, now: Time, link: LinkId) {
        self.write(now, || Told::Closed(link));
        self.machine.handle_closed(now, link);
    }

    /// See [`Coordinator::handle_heard`]; it is told so at `now`.
    pub fn handle_heard(&mut self, now: Time, when: Time, host: HostId) {
        self.write(now, || Told::Heard(when, host));
        self.machine.handle_heard(when, host);
    }

    /// See [`Coordinator::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Time) {
        self.write(now, || Told::TimedOut);
        self.machine.handle_timeout(now);
    }

    /// See [`Coordinator::handle_stall`].
    pub fn handle_stall(&mut self, now: Time) {
        self.write(now, || Told::Stalled);
        self.machine.handle_stall(now);
    }
}

impl Deref for Machine {
    type Target = Coordinator;

    fn deref(&self) -> &Coordinator {
        &self.machine
    }
}

/// To take what the machine wants; all that it can be told is above.
impl DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut Coordinator {
        &mut self.machine
    }
}
