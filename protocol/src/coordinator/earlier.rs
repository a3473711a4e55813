//! Results of a submitter's earlier runs of the same app, which another run may find.
//!
//! They are entries of the run's table from the start, below its root. So its hosts find them as they find those of a run that
//! was suspended: by their keys, wherever a job with the same parameters occurs. All that the run computes itself is saved for
//! later runs, also what its own table no longer needs.

use crate::{
    Entry, EntryState, Finished, HostId, JobKey, Lineage, Outcome, RunEnd, RunId, RunSpec, RunState, Table,
    Time, root_job,
};

use super::answers::Answer;
use super::root::state_of;
use super::slices::Slice;
use super::{Command, Coordinator};

/// Results of earlier runs, ready to be used by another.
#[derive(Debug, Default)]
pub struct Earlier(Table);

impl Earlier {
    /// What the entries of earlier runs say of a run, in a table of about `bytes_max`. Each must be of the same app.
    pub fn new(spec: &RunSpec, bytes_max: usize, entries: impl IntoIterator<Item = Entry>) -> Self {
        let root = root_job(spec).key;
        let mut table = Table::new(bytes_max);
        let output_max =
            spec.limits.output_bytes_max.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
        for entry in entries.into_iter().filter_map(|entry| below(root, entry)) {
            // The run exceeds its limit, as it would without earlier results.
            if entry.depth > 0 || entry.result_bytes() <= output_max {
                table.insert(entry);
            }
        }
        Self(table)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry with which a run's result is kept, if there is one that later runs may have.
    pub fn of_root(spec: &RunSpec, finished: &Finished) -> Option<Entry> {
        let entry = Entry {
            key: root_job(spec).key,
            depth: 0,
            lineage: Lineage::default(),
            state: EntryState::Done(finished.clone()),
            is_earlier: false,
        };
        (state_of(finished) == RunState::Done).then_some(entry)
    }
}

/// Whether later runs may find an entry: a result, which this run has computed. What failed is tried again.
pub fn may_be_kept(entry: &Entry) -> bool {
    let is_result = matches!(&entry.state, EntryState::Done(Finished { outcome: Outcome::Done(_), .. }));
    is_result && !entry.is_earlier
}

/// The entry of an earlier run, as one below the root of this run. `None` if no job of this run can find it.
fn below(root: JobKey, mut entry: Entry) -> Option<Entry> {
    if !may_be_kept(&entry) || (entry.depth == 0 && entry.key != root) {
        return None;
    }
    if entry.depth > 0 {
        // The first is the root of the earlier run, or, far below it, another job that is too far away to matter.
        match entry.lineage.0.first_mut() {
            Some(first) => *first = root.tag(),
            None => entry.lineage.0.push(root.tag()),
        }
    }
    entry.is_earlier = true;
    Some(entry)
}

impl Coordinator {
    /// A run may use these results of earlier runs. If its own is among them, it is over.
    pub fn use_earlier(&mut self, now: Time, run: RunId, earlier: Earlier) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        if earlier.is_empty() || !coordinator_run.spec.reuse || coordinator_run.spec.trust.is_checked() {
            return;
        }
        coordinator_run.ledger.add_earlier(earlier.0);
        if coordinator_run.ledger.begin_sweep() {
            self.in_slices(now, Slice::Sweep(run));
        }
        self.runs.keep_tables_to_bound(self.config.table_bytes_max);
        self.use_earlier_result(now, run);
    }

    /// A host is ready: unless there are too many, it is sent all results of earlier runs, so that it finds them below any job that
    /// it steals. A victim sends a bounded part of those that do not name the job. The root waits until its host has them.
    pub(super) fn send_earlier(&mut self, now: Time, host: HostId, run: RunId) {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return };
        let key = coordinator_run.root.spec().key;
        if coordinator_run.ledger.sends_earlier(coordinator_run.readiness.ready().len()) {
            self.send_once(now, host, Answer::of_earlier(run, key));
        }
    }

    /// Saves entries of a run that is over, if later runs may use its results.
    pub(super) fn keep_late(&mut self, host: HostId, run: RunId, entries: Vec<Entry>) {
        let Some(over) = self.over.get(&run) else { return };
        let root = over.coordinator_run.root.spec().key;
        if over.coordinator_run.spec.reuse && self.has_taken_part(host, run) && !self.is_out(host, run) {
            let entries = entries.into_iter().filter(|entry| entry.key != root).collect();
            self.outputs.command(Command::SaveEntries { run, entries, superfluous: Vec::new() });
        }
    }

    /// Ends a run whose result an earlier run has. Returns whether that is so.
    pub(super) fn use_earlier_result(&mut self, now: Time, run: RunId) -> bool {
        let Some(coordinator_run) = self.runs.get_mut(&run) else { return false };
        let entry = coordinator_run.ledger.table().get(&coordinator_run.root.spec().key);
        let Some(Entry { state: EntryState::Done(finished), is_earlier: true, .. }) = entry else {
            return false;
        };
        let finished = finished.clone();
        coordinator_run.found_earlier_ns = Some(finished.work_ns);
        let state = state_of(&finished);
        self.end(now, run, RunEnd::Finished(finished), state);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::root_job::RootJob;
    use super::super::tests::{Grid, spec};
    use super::super::{LinkId, RunView};
    use super::*;
    use crate::limits::INLINE_RESULT_BYTES_MAX;
    use crate::message::{ToCoordinator, ToHost};
    use crate::{JobSpec, RunLimits};

    const RUN: RunId = RunId(1);

    fn reusing() -> RunSpec {
        RunSpec { reuse: true, ..spec() }
    }

    fn finished(bytes: &[u8], work_ns: u64) -> Finished {
        Finished { outcome: Outcome::Done(bytes.to_vec().into()), work_ns, span_ns: 1 }
    }

    fn text() -> Finished {
        finished(&[0, 0], 700)
    }

    /// An entry below a root with the key 9 and these other jobs.
    fn entry(job: u8, within: &[u8], state: EntryState) -> Entry {
        let above = [9].iter().chain(within).map(|above| JobKey([*above; 32]).tag());
        let lineage = Lineage(above.collect());
        Entry { key: JobKey([job; 32]), depth: 1 + within.len() as u32, lineage, state, is_earlier: false }
    }

    fn done(job: u8, within: &[u8]) -> Entry {
        entry(job, within, EntryState::Done(finished(&[job], 100)))
    }

    fn submit(grid: &mut Grid, spec: RunSpec, entries: Vec<Entry>) {
        let earlier = Earlier::new(&spec, 1 << 20, entries);
        grid.machine.submit(grid.now, RUN, Default::default(), spec);
        grid.machine.use_earlier(grid.now, RUN, earlier);
        grid.drain();
    }

    /// The root job and the entries that its host was sent.
    fn root_at(grid: &mut Grid, link: LinkId) -> (JobSpec, Vec<Entry>) {
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        let root = grid.last(link, |message| match message {
            ToHost::Assign { spec, .. } => Some(spec.clone()),
            _ => None,
        });
        let entries = grid.said[&link].iter().filter_map(|message| match message {
            ToHost::Entries { entries, .. } => Some(entries.clone()),
            _ => None,
        });
        (root.expect("the root"), entries.flatten().collect())
    }

    #[test]
    fn the_roots_host_is_sent_results_of_earlier_runs_before_the_root() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        let failed =
            entry(5, &[], EntryState::Done(Finished { outcome: Outcome::Failed(vec![1].into()), ..text() }));
        let old_root = Entry { depth: 0, lineage: Lineage::default(), ..done(9, &[]) };
        // The result of job 1 does not make that of job 2 superfluous, as job 1 may have other parameters now.
        let all = vec![
            done(1, &[]),
            done(2, &[1]),
            old_root,
            failed,
            entry(6, &[], EntryState::Running(HostId(3))),
        ];
        submit(&mut grid, reusing(), all);
        let (root, entries) = root_at(&mut grid, link);
        assert_eq!((root.redone, root.given_back, root.lookup_below), (true, true, 2), "nothing was lost");
        let tag = root_job(&reusing()).key.tag();
        let mut sent: Vec<_> =
            entries.iter().map(|entry| (entry.key.0[0], entry.is_earlier, entry.lineage.0.clone())).collect();
        sent.sort();
        let of_one = vec![tag, JobKey([1; 32]).tag()];
        assert_eq!(sent, [(1, true, vec![tag]), (2, true, of_one)], "each once");
        assert_eq!(grid.ends, []);
    }

    #[test]
    fn a_root_waits_until_its_host_has_all_earlier_results() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        let large = |job: u8| {
            let bytes = vec![job; INLINE_RESULT_BYTES_MAX];
            entry(job, &[], EntryState::Done(finished(&bytes, 100)))
        };
        let many: Vec<Entry> = (10..=190).map(large).collect();
        let count = many.len();
        submit(&mut grid, reusing(), many);
        grid.tell(link, ToCoordinator::Ready { run: RUN });
        assert!(grid.root(link).is_none(), "not all can be sent at once");
        grid.advance(100, &[link]);
        let mut sent = 0;
        for message in &grid.said[&link] {
            match message {
                ToHost::Entries { entries, .. } => sent += entries.len(),
                ToHost::Assign { .. } => assert_eq!(sent, count, "it has all when it begins"),
                _ => {}
            }
        }
        assert!(grid.root(link).is_some() && sent == count, "{sent} of {count}");
    }

    #[test]
    fn other_hosts_are_sent_earlier_results_and_no_new_ones() {
        let mut grid = Grid::new();
        let links = [grid.join().0, grid.join().0];
        let many: Vec<Entry> = (1..=40).map(|job| done(job, &[])).collect();
        submit(&mut grid, reusing(), many);
        for link in links {
            grid.tell(link, ToCoordinator::Ready { run: RUN });
        }
        grid.advance(500, &links);
        let keys = |grid: &Grid, link: LinkId| -> BTreeSet<u8> {
            let entries = grid.said[&link].iter().filter_map(|message| match message {
                ToHost::Entries { entries, .. } => {
                    Some(entries.iter().map(|entry| entry.key.0[0]).collect::<Vec<_>>())
                }
                _ => None,
            });
            entries.flatten().collect()
        };
        let all: BTreeSet<u8> = (1..=40).collect();
        let (with_root, other) = if grid.root(links[0]).is_some() { (0, 1) } else { (1, 0) };
        assert_eq!(keys(&grid, links[other]), all);
        grid.tell(links[with_root], ToCoordinator::Entries { run: RUN, entries: vec![done(99, &[])] });
        grid.advance(500, &links);
        assert_eq!(keys(&grid, links[other]), all);
    }

    #[test]
    fn a_run_whose_result_is_known_is_over_at_once() {
        let mut grid = Grid::new();
        let root = Earlier::of_root(&reusing(), &text()).expect("a result");
        submit(&mut grid, reusing(), vec![done(1, &[]), root]);
        assert_eq!(grid.ends, [(RUN, RunEnd::Finished(text()))]);
    }

    #[test]
    fn an_earlier_result_that_exceeds_the_limit_of_output_is_not_used() {
        for (bytes_max, is_used) in [(1, false), (2, true)] {
            let limits = RunLimits { output_bytes_max: Some(bytes_max), ..RunLimits::default() };
            let spec = RunSpec { limits, ..reusing() };
            let root = Earlier::of_root(&spec, &text()).expect("a result");
            let mut grid = Grid::new();
            submit(&mut grid, spec, vec![root]);
            assert_eq!(!grid.ends.is_empty(), is_used, "{bytes_max}");
        }
    }

    #[test]
    fn the_work_of_a_result_that_was_found_is_counted() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        grid.submit(RunId(2));
        grid.tell(link, ToCoordinator::Ready { run: RunId(2) });
        let root = Earlier::of_root(&reusing(), &text()).expect("a result");
        let (now, spec) = (grid.now, reusing());
        let earlier = Earlier::new(&spec, 1 << 20, [root]);
        grid.machine.submit(now, RUN, Default::default(), spec);
        grid.machine.use_earlier(now, RUN, earlier);
        let counts = |view: RunView<'_>| (view.counts().earlier, view.counts().earlier_work_ns);
        let saved = std::iter::from_fn(|| grid.machine.poll_command()).find_map(|command| match command {
            Command::SaveCounts { run: RUN, counts, .. } => Some((counts.earlier, counts.earlier_work_ns)),
            _ => None,
        });
        assert_eq!(saved.or_else(|| grid.machine.run_over(RUN).map(counts)), Some((1, 700)));
    }

    #[test]
    fn only_results_are_kept() {
        assert!(Earlier::of_root(&reusing(), &finished(&[99], 1)).is_none(), "an error");
        let failed = Finished { outcome: Outcome::Failed(vec![0].into()), ..text() };
        assert!(Earlier::of_root(&reusing(), &failed).is_none());
        let earlier = Entry { is_earlier: true, ..done(1, &[]) };
        assert!(may_be_kept(&done(1, &[])) && !may_be_kept(&earlier), "it is kept already");
    }

    #[test]
    fn runs_that_do_not_ask_for_earlier_results_or_check_theirs_get_none() {
        let checked = RunSpec { trust: crate::Trust::Quorum(2), ..reusing() };
        for spec in [spec(), checked] {
            let mut grid = Grid::new();
            let (link, _) = grid.join();
            let root = Earlier::of_root(&spec, &text()).expect("a result");
            submit(&mut grid, spec, vec![done(1, &[]), root]);
            assert_eq!(grid.ends, []);
            let (root, entries) = root_at(&mut grid, link);
            assert_eq!((root.redone, entries), (false, Vec::new()));
        }
    }

    /// All results are saved: also those that a result above them makes superfluous at once, those that wait to be saved when
    /// the run ends, and those that come a moment later.
    #[test]
    fn every_result_of_a_run_that_is_reused_is_saved() {
        let mut grid = Grid::new();
        let (link, _) = grid.join();
        submit(&mut grid, reusing(), Vec::new());
        root_at(&mut grid, link);
        let claim = grid.root(link).expect("the root");
        let mut saved = Vec::new();
        let mut tell = |message| {
            grid.machine.handle_message(grid.now, link, message);
            while let Some(command) = grid.machine.poll_command() {
                if let Command::SaveEntries { run: RUN, entries, .. } = command {
                    saved.extend(entries.iter().map(|entry| entry.key.0[0]));
                }
            }
        };
        let forged = Entry { is_earlier: true, ..done(4, &[]) };
        tell(ToCoordinator::Entries { run: RUN, entries: vec![done(2, &[1]), forged] });
        tell(ToCoordinator::Entries { run: RUN, entries: vec![done(1, &[])] });
        tell(ToCoordinator::RootFinished { run: RUN, number: claim.number, finished: text() });
        tell(ToCoordinator::Entries { run: RUN, entries: vec![done(3, &[])] });
        saved.sort_unstable();
        assert_eq!(saved, [1, 2, 3]);
    }

    #[test]
    fn a_root_below_which_something_is_known_was_begun_in_this_run_or_an_earlier_one() {
        for (known, expected) in
            [(&[][..], (false, false)), (&[true], (true, true)), (&[true, false], (true, false))]
        {
            let mut table = Table::new(1 << 20);
            for (job, is_earlier) in known.iter().enumerate() {
                table.insert(Entry { is_earlier: *is_earlier, ..done(job as u8, &[]) });
            }
            let (_, spec) = RootJob::new(&spec(), Time(0)).assign(HostId(1), &table);
            assert_eq!((spec.redone, spec.given_back), expected, "{known:?}");
        }
    }
}
