//! Hosts that have no memory for stolen jobs: they drop them as they are, and hand them back.

use sateen_protocol::host::Notice;
use sateen_protocol::{HeldId, JobTag, ROOT_KIND, Random, RunId};

use crate::process::{Input, Process};
use crate::runtime::Portion;
use crate::world::World;

/// A host evicts jobs of others.
#[derive(Debug, Clone)]
pub struct Eviction {
    draw: u64,
    /// The evicted part of the jobs that it holds, in percent.
    percent: usize,
}

pub(crate) fn draw(random: &mut Random) -> Eviction {
    Eviction { draw: random.next_u64(), percent: [30, 100][random.below(2)] }
}

impl World {
    pub(crate) fn evict(&mut self, eviction: &Eviction) {
        let Some(process) = self.draw(eviction.draw) else { return };
        let mut random = Random::new(eviction.draw);
        let state = &mut self.processes[process as usize];
        let evicted: Vec<(RunId, HeldId)> = (state.runtime.portions.iter())
            .flat_map(|(run, portion)| stolen(portion).map(|held| (*run, held)))
            .filter(|_| random.below(100) < eviction.percent)
            .collect();
        // Jobs below an evicted job are aborted with it, on any host, and lose their present work.
        let tags: Vec<(RunId, JobTag)> = (evicted.iter())
            .filter_map(|(run, held)| {
                let portion = &state.runtime.portions[run];
                Some((*run, portion.tasks.get(portion.exchange.task_of(*held)?)?.spec.key.tag()))
            })
            .collect();
        let upset: u64 = tags.iter().map(|(run, tag)| self.begun_below(*run, *tag)).sum();
        let state = &mut self.processes[process as usize];
        for (run, held) in &evicted {
            state.runtime.evict(self.now, *run, *held);
            state.inputs.push_back(Input::Notice(*run, Notice::HandedBack { held: *held }));
            // Some that come next find no memory, either.
            let turned_away = random.below(4);
            if let Some(portion) = state.runtime.portions.get_mut(run) {
                portion.turns_away = turned_away;
            }
        }
        if !evicted.is_empty() {
            self.sometimes.hit("a stolen job was evicted");
            self.disturbances.upset(upset);
            self.settle_host(process);
            self.disturb();
        }
    }

    /// The number of begun jobs at or below a job, counted as workers of the usual speed.
    fn begun_below(&self, run: RunId, tag: JobTag) -> u64 {
        let of_process = |process: &Process| {
            let tasks =
                process.runtime.portions.get(&run).into_iter().flat_map(|portion| portion.tasks.values());
            let below =
                tasks.filter(|task| task.spec.key.tag() == tag || task.spec.lineage.0.contains(&tag)).count();
            (below as u64 * process.plan.speed_percent.max(100)).div_ceil(100)
        };
        self.alive().map(|(_, process)| of_process(process)).sum()
    }
}

/// The jobs of other hosts that have begun.
fn stolen(portion: &Portion) -> impl Iterator<Item = HeldId> {
    (portion.exchange.held())
        .filter(|(_, task)| portion.tasks.get(*task).is_some_and(|task| task.spec.kind != ROOT_KIND))
        .map(|(held, _)| held)
}
