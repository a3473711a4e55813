//! What a worker without a task does next.

use sateen_protocol::host::Notice;

use super::portion::Portion;
use super::task::{Child, Doing, Source, TaskId};

impl Portion {
    /// Whether a worker may find a task.
    pub fn has_work(&self) -> bool {
        let is_any = self.exchange.open().len() > 0 || self.tasks.has_incoming() || self.tasks.has_resumed();
        is_any && !self.exchange.is_draining() && !self.is_halted
    }

    /// The next task for a worker.
    pub fn pick(&mut self, worker: usize) -> Option<TaskId> {
        if self.exchange.is_draining() || self.is_halted {
            return None;
        }
        if !self.tasks.has_resumed() {
            self.ask_before_beginning(worker);
        }
        let id = if let Some(id) = self.tasks.next_resumed() {
            id
        } else if let Some(index) = self.exchange.newest_of(worker) {
            self.take(index)?
        } else if let Some(id) = self.tasks.next_incoming() {
            if let Some(Source::Held(held)) = self.tasks.get(id).map(|task| task.source) {
                self.exchange.notify(Notice::Begun { held, worker: worker as u32, late_ns: 0 });
            }
            if self.is_held_back(id) {
                return self.pick(worker);
            }
            id
        } else if self.exchange.open().len() > 0 {
            self.figures.jobs_mut().stolen_local += 1;
            self.take(0)?
        } else {
            return None;
        };
        self.tasks.get_mut(id)?.doing = Doing::Running(worker);
        Some(id)
    }

    /// Looks up the jobs that this worker would begin next, as they may be known elsewhere by now.
    fn ask_before_beginning(&mut self, worker: usize) {
        loop {
            let has_open = self.exchange.open().len() > 0;
            let next =
                self.exchange.newest_of(worker).or((!self.tasks.has_incoming() && has_open).then_some(0));
            if !next.is_some_and(|next| self.ask_first(next)) {
                break;
            }
        }
    }

    fn take(&mut self, index: usize) -> Option<TaskId> {
        let open = self.exchange.take(index)?;
        let node = self.node_of(&open.spec)?;
        let id = self.begin(open.spec, node, Source::Local(open.place));
        self.tasks.set(open.place, Child::Local(id));
        Some(id)
    }
}
