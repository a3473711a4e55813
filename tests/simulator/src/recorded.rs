//! Records the inputs of the coordinator's machine, so that the real driver can follow it.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use sateen_protocol::coordinator::{
    CommandError, Coordinator, CoordinatorConfig, LinkId, StoredRun, Submitter,
};
use sateen_protocol::message::ToCoordinator;
use sateen_protocol::{HostId, RunId, RunSpec, Time};

/// An input of the coordinator's process, or a change of its state.
#[derive(Debug, Clone)]
pub enum Told {
    /// The process has started, on these runs.
    Started(CoordinatorConfig, Vec<StoredRun>),
    /// It was killed.
    Crashed,
    /// A run was submitted.
    Submitted(RunId, Submitter, Box<RunSpec>),
    /// A user cancels a run.
    Cancelled(RunId),
    /// A user suspends a run.
    Suspended(RunId),
    /// A user resumes a run.
    Resumed(RunId),
    /// A message has arrived.
    Message(LinkId, Box<ToCoordinator>),
    /// A peer broke the rules.
    Misbehaved(LinkId, String),
    /// A link is closed.
    Closed(LinkId),
    /// Bytes have arrived from a host, at this time, that the machine does not see.
    Heard(Time, HostId),
    /// A timer has fired.
    TimedOut,
    /// The process was stalled.
    Stalled,
}

/// Recorded inputs, each with its time, until they are taken.
pub type Record = Rc<RefCell<Vec<(Time, Told)>>>;

/// The coordinator's machine. Its inputs are recorded on request.
pub struct Machine {
    machine: Coordinator,
    record: Option<Record>,
}

impl Machine {
    /// Starts a machine now.
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

    /// Records inputs from now on.
    pub fn record(&mut self, record: Record) {
        self.record = Some(record);
    }

    fn write(&self, now: Time, told: impl FnOnce() -> Told) {
        if let Some(record) = &self.record {
            record.borrow_mut().push((now, told()));
        }
    }

    /// See [`Coordinator::submit`].
    pub fn submit(&mut self, now: Time, run: RunId, submitter: Submitter, spec: RunSpec) {
        self.write(now, || Told::Submitted(run, submitter, Box::new(spec.clone())));
        self.machine.submit(now, run, submitter, spec);
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

    /// See [`Coordinator::handle_heard`]; the call is at `now`.
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

/// For draining the machine; all its inputs are above.
impl DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut Coordinator {
        &mut self.machine
    }
}
