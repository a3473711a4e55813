//! Hosts that have no memory for what they stole: they drop it where it stands, and hand it back.

use sateen_protocol::host::Notice;
use sateen_protocol::{JobNumber, ROOT_KIND, Random, RunId};

use crate::process::Input;
use crate::runtime::Portion;
use crate::world::World;

/// A host evicts jobs of others.
#[derive(Debug, Clone)]
pub struct Eviction {
    draw: u64,
    /// Of all that it holds, in percent.
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
        let evicted: Vec<(RunId, JobNumber)> = (state.runtime.portions.iter())
            .flat_map(|(run, portion)| stolen(portion).map(|held| (*run, held)))
            .filter(|_| random.below(100) < eviction.percent)
            .collect();
        for (run, held) in &evicted {
            state.runtime.abort(self.now, *run, *held);
            state.inputs.push_back(Input::Notice(*run, Notice::HandedBack { held: *held }));
        }
        if !evicted.is_empty() {
            self.sometimes.hit("a stolen job was evicted");
            self.upset_workers += evicted.len() as u64;
            self.settle_host(process);
            self.disturb();
        }
    }
}

/// The jobs of other hosts that have begun.
fn stolen(portion: &Portion) -> impl Iterator<Item = JobNumber> {
    (portion.held.iter())
        .filter(|(_, task)| portion.tasks.get(task).is_some_and(|task| task.spec.kind != ROOT_KIND))
        .map(|(held, _)| *held)
}
