//! Which host has the root job.

use super::{Chronicle, EventKind, Source};

impl Chronicle {
    /// A host has the root job: nothing is waited for.
    pub fn root_given(&mut self, source: Source<'_>) {
        let text = format!("{} has the root job", self.named(source));
        self.root_is_at(source, text);
    }

    /// A host that had the root job before is back and keeps it, so that the other host drops it.
    pub fn root_kept(&mut self, source: Source<'_>, dropped_by: Source<'_>) {
        let (named, other) = (self.named(source), self.named(dropped_by));
        self.root_is_at(source, format!("{named} is back and keeps the root job; {other} drops it"));
    }

    fn root_is_at(&mut self, source: Source<'_>, text: String) {
        let now_ms = self.now_ms();
        self.end_waits(now_ms);
        // Its first report comes later, and it may be lost before.
        if !self.tree.has_host(source.id) {
            self.host(source, now_ms);
        }
        self.tree.root_given(source.id);
        self.timeline.begin_at(now_ms);
        self.add_event(EventKind::Started, Some(source.id), text);
    }
}
