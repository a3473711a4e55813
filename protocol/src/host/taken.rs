//! What a held job took from elsewhere.

use crate::limits::UNIT_CHILDREN_MAX;
use crate::{Finished, JobSpec, UnitChild};

/// The results that a held job, and the jobs below it that ran here, took from elsewhere.
#[derive(Debug, Default)]
pub struct Taken {
    children: Vec<UnitChild>,
    /// Processor time of all of them.
    work_ns: u64,
}

impl Taken {
    /// Adds a result.
    pub fn take(&mut self, spec: &JobSpec, finished: &Finished) {
        self.work_ns = self.work_ns.saturating_add(finished.work_ns);
        let (key, depth) = (spec.key, spec.depth);
        if self.children.len() < UNIT_CHILDREN_MAX && !self.children.iter().any(|child| child.key == key) {
            self.children.push(UnitChild { key, depth, result: finished.outcome.hash() });
        }
    }

    /// The results, and the processor time that they took, in nanoseconds.
    pub fn into_parts(self) -> (Vec<UnitChild>, u64) {
        (self.children, self.work_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bonds::job;
    use super::*;
    use crate::Outcome;

    #[test]
    fn children_are_bounded_and_named_once() {
        let finished = |work_ns| Finished { outcome: Outcome::Done(vec![1].into()), work_ns, span_ns: 1 };
        let mut taken = Taken::default();
        for number in 0..2 * UNIT_CHILDREN_MAX as u64 {
            let mut spec = job(1);
            spec.key.0[..8].copy_from_slice(&number.to_le_bytes());
            taken.take(&spec, &finished(2));
            taken.take(&spec, &finished(0));
        }
        let (children, work_ns) = taken.into_parts();
        assert_eq!((children.len(), work_ns), (UNIT_CHILDREN_MAX, 4 * UNIT_CHILDREN_MAX as u64));
    }
}
