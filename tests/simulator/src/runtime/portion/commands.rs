//! Commands of the state machine to a host's part of a run.

use sateen_protocol::host::{Notice, RunCommand};
use sateen_protocol::shared::{Change, ObjectId};
use sateen_protocol::{Again, Finished, HeldId, JobSpec, Outcome, ROOT_KIND, RuntimeJobId};
use sateen_protocol_harness::runtime::{Among, Offer, Unwanted};

use super::Portion;
use super::answers::read_answer;
use crate::runtime::task::{Answer, Child, Source};

impl Portion {
    /// Obeys a command. Returns the jobs that it gives up, if asked for some.
    pub fn handle(&mut self, command: RunCommand) -> Vec<(RuntimeJobId, JobSpec)> {
        match command {
            RunCommand::Inject { held, spec, .. } => self.inject(held, spec),
            RunCommand::Replica { object, place, change } => {
                self.change_object((object, place), change);
            }
            RunCommand::Want { thieves } => {
                self.exchange.want(thieves);
            }
            RunCommand::Offer { more } => return self.offer(more),
            RunCommand::Complete { number, finished, .. } => self.complete(number, &finished),
            RunCommand::Requeue { number, again } => self.requeue(number, again),
            RunCommand::Lookups { jobs } => self.exchange.lookups_mut().tell(jobs),
            RunCommand::Abort { held } => {
                if self.abort_held(held) {
                    self.remarks.hit("an abort stopped a job of another host");
                }
            }
            RunCommand::Drain => self.exchange.drain(),
        }
        Vec::new()
    }

    /// Takes a job of the machine's.
    pub(in crate::runtime) fn inject(&mut self, held: HeldId, spec: JobSpec) {
        if self.exchange.task_of(held).is_some() {
            self.remarks.complain(format!("job {} was injected twice", held.0));
            return;
        }
        if self.turns_away > 0 && spec.kind != ROOT_KIND {
            self.turns_away -= 1;
            self.told.forget_idle();
            self.remarks.hit("a stolen job found no room");
            return self.exchange.notify(Notice::HandedBack { held });
        }
        let Some(node) = self.node_of(&spec) else {
            self.remarks.complain(format!("job {} has parameters that no job has", held.0));
            return;
        };
        self.use_objects(&spec);
        let task = self.begin(spec, node, Source::Held(held));
        self.exchange.hold(held, task);
        self.tasks.receive(task);
    }

    /// Gives the oldest open job up, and at most `more` like it.
    fn offer(&mut self, more: usize) -> Vec<(RuntimeJobId, JobSpec)> {
        let Offer { looked_up, lent } = self.exchange.offer(more);
        looked_up.into_iter().for_each(|(place, number)| self.note_asked(place, number));
        if lent.len() > 1 {
            self.remarks.hit("several jobs were lent at once");
        }
        let lent = lent.into_iter().map(|(place, number, spec)| {
            self.tasks.set(place, Child::Away(number));
            (number, spec)
        });
        lent.collect()
    }

    /// A child that the machine had has this result.
    fn complete(&mut self, number: RuntimeJobId, finished: &Finished) {
        let (place, spec) = match self.exchange.complete(number) {
            Ok(away) => away,
            Err(Unwanted::Abandoned) => return,
            Err(Unwanted::Unknown) => {
                self.remarks.complain(format!("job {} got a result that nobody waits for", number.0));
                return;
            }
        };
        let expected = self.node_of(&spec).map(|node| self.tree.node(node).answer);
        let value = read_answer(&finished.outcome);
        let is_whole = self.node_of(&spec).is_some_and(|node| {
            let is_done = matches!(finished.outcome, Outcome::Done(_));
            !is_done || finished.outcome.bytes().len() == self.tree.result_bytes(node).max(8)
        });
        if value.is_none() || !is_whole || value != expected && !self.lies.are_expected {
            self.remarks.complain(format!("job {} ({:?}) got a wrong result", number.0, spec.key));
        }
        let (work_ns, span_ns) = (finished.work_ns, finished.span_ns);
        self.fill(place, Answer { value: value.unwrap_or(0), work_ns, span_ns, unrecorded_ns: 0 });
    }

    /// A child that the machine had is to be run here.
    fn requeue(&mut self, number: RuntimeJobId, again: Again) {
        let returned = match self.exchange.requeue(number, again, Among::Newest) {
            Ok(returned) => returned,
            Err(Unwanted::Abandoned) => return,
            Err(Unwanted::Unknown) => {
                self.remarks
                    .complain(format!("job {} is to be run again, and nobody waits for it", number.0));
                return;
            }
        };
        if !returned.was_redone && !again.redone {
            self.remarks.hit("a job was lost, without a crash, and taken back");
        }
        self.figures.tally_mut().requeued += 1;
        self.tasks.set(returned.place, Child::Open);
        // Its parent may take it back.
        self.wake(returned.place);
    }

    fn change_object(&mut self, (object, place): (ObjectId, u64), change: Change) {
        let is_confirmation = matches!(&change, Change::More { updates, .. } if updates.is_empty());
        if !is_confirmation {
            self.remarks.hit("something came to a replica");
        }
        let based = self.objects.change((object, place), change, &mut self.remarks);
        self.tell_of_base(object, based);
        self.free_tasks();
    }

    /// Stops a job that came from elsewhere; false if it has ended already.
    pub(in crate::runtime) fn abort_held(&mut self, held: HeldId) -> bool {
        let Some(task) = self.exchange.task_of(held) else { return false };
        let workers = self.abort(task);
        self.tasks.interrupt(workers);
        true
    }
}
