//! How a child's specification follows from the calls above it.

use sateen_protocol::{Bytes, JobKey, JobSpec, Mention};

/// What a call's children inherit from it. The call is a task's own job, or one that a task calls in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inherited {
    /// The call's spawns below the root.
    pub depth: u32,
    /// Whether it, or a job above it, was begun before.
    pub redone: bool,
    /// Whether nothing of it was lost then.
    pub given_back: bool,
    /// Descendants down to this depth are looked up.
    pub lookup_below: u32,
}

impl Inherited {
    /// What the children of a task inherit.
    pub fn of_task(spec: &JobSpec) -> Self {
        let JobSpec { depth, redone, given_back, lookup_below, .. } = *spec;
        Self { depth, redone, given_back, lookup_below }
    }

    /// The same for a child that is called in place, and was never exposed.
    pub fn in_place(&self) -> Self {
        Self { depth: self.depth + 1, ..*self }
    }

    /// The same for a child that was exposed with this specification, and is called in place: the deeper bound holds.
    pub fn taken_back(&self, spec: &JobSpec) -> Self {
        Self {
            depth: self.depth + 1,
            redone: spec.redone,
            given_back: spec.given_back,
            lookup_below: self.lookup_below.max(spec.lookup_below),
        }
    }

    /// The specification of a child. The task is the nearest job above with an instance of its own, and `within` are the
    /// calls in place between it and the child that will be recorded, the outermost first.
    pub fn child(
        &self,
        task: &JobSpec,
        within: impl IntoIterator<Item = JobKey>,
        key: JobKey,
        parameters: Bytes,
        objects: Vec<Mention>,
    ) -> JobSpec {
        let above = within.into_iter().fold(task.lineage.clone(), |above, call| above.child(&call));
        JobSpec {
            key,
            kind: 0,
            parameters,
            depth: self.depth + 1,
            // The task comes last.
            lineage: above.child(&task.key),
            redone: self.redone,
            given_back: self.given_back,
            // A child that was never exposed is in no lineage, but entries may be below it.
            lookup_below: self.lookup_below,
            objects,
        }
    }
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{Lineage, ROOT_KIND};

    use super::*;

    fn key(job: u8) -> JobKey {
        JobKey([job; 32])
    }

    fn task() -> JobSpec {
        JobSpec {
            key: key(1),
            kind: ROOT_KIND,
            parameters: Bytes::default(),
            depth: 3,
            lineage: Lineage(vec![key(0).tag()]),
            redone: true,
            given_back: true,
            lookup_below: 7,
            objects: Vec::new(),
        }
    }

    #[test]
    fn a_child_is_as_redone_and_looked_up_as_deep_as_its_parent() {
        let child = Inherited::of_task(&task()).child(&task(), [], key(2), b"2"[..].into(), Vec::new());
        assert_eq!((child.depth, child.redone, child.given_back, child.lookup_below), (4, true, true, 7));
        assert_eq!((child.kind, child.key, &child.parameters[..]), (0, key(2), &b"2"[..]));
    }

    #[test]
    fn the_task_is_the_last_in_a_lineage_and_recorded_calls_come_before() {
        let call = Inherited::of_task(&task()).in_place();
        let child = call.child(&task(), [key(2), key(3)], key(4), Bytes::default(), Vec::new());
        assert_eq!(child.lineage.0, [0, 2, 3, 1].map(|job| key(job).tag()));
        assert_eq!(child.depth, 5);
    }

    #[test]
    fn a_call_that_was_exposed_has_the_deeper_bound() {
        let outer = Inherited::of_task(&task());
        let mut spec = outer.child(&task(), [], key(2), Bytes::default(), Vec::new());
        for (own, is) in [(0, 7), (9, 9)] {
            spec.lookup_below = own;
            spec.given_back = false;
            let call = outer.taken_back(&spec);
            assert_eq!((call.depth, call.given_back, call.lookup_below), (4, false, is));
        }
    }
}
