mod given_back;

use sateen_protocol::ROOT_KIND;

use super::*;
use crate::limits::TREE_NODES_MAX;

fn note(job: u64, parent: Option<u64>, depth: u32, what: NoteKind) -> JobNote {
    JobNote {
        job: JobTag(job),
        parent: parent.map(JobTag),
        kind: 0,
        depth,
        what,
        ago_ms: 0,
        parameters: None,
        shares: false,
    }
}

const BEGUN: NoteKind = NoteKind::Begun { victim: None, redone: false, worker: 1 };

fn begun(job: u64, parent: Option<u64>, depth: u32) -> JobNote {
    let kind = if parent.is_none() { ROOT_KIND } else { 0 };
    JobNote { kind, ..note(job, parent, depth, BEGUN) }
}

fn tree() -> Tree {
    let mut tree = Tree::default();
    tree.host(HostId(1), "one", "here");
    tree
}

fn total(tree: &Tree) -> DepthCounts {
    tree.depths().values().fold(DepthCounts::default(), |sum, counts| DepthCounts {
        running: sum.running + counts.running,
        done: sum.done + counts.done,
        other: sum.other + counts.other,
    })
}

#[test]
fn a_job_is_as_small_as_it_can_be() {
    assert_eq!(size_of::<Node>(), 48);
}

#[test]
fn children_that_come_before_their_parents_are_linked() {
    let mut tree = tree();
    tree.note(0, 5, &begun(3, Some(2), 2));
    assert_eq!((tree.get(0).map(|node| node.parent), tree.parent_tag(0)), (Some(NOWHERE), Some(JobTag(2))));
    tree.note(0, 6, &begun(2, Some(1), 1));
    tree.note(0, 7, &begun(1, None, 0));
    assert_eq!(tree.get(0).map(|node| node.parent), Some(1));
    assert_eq!(tree.get(1).map(|node| node.parent), Some(2));
    assert!(tree.unlinked.is_empty());
}

#[test]
fn links_lead_to_the_top_whatever_hosts_report() {
    let mut tree = tree();
    tree.note(0, 0, &begun(1, Some(1), 3));
    tree.note(0, 0, &begun(2, Some(3), 3));
    tree.note(0, 0, &begun(3, Some(2), 3));
    for (job, parent) in [(4, 5), (5, 6), (6, 4)] {
        tree.note(0, 0, &begun(job, Some(parent), u32::MAX));
    }
    for place in 0..tree.len() as u32 {
        let mut steps = 0;
        let mut at = place;
        while let Some(node) = tree.get(at) {
            at = node.parent;
            steps += 1;
            assert!(steps < 10, "a circle from {place}");
        }
    }
}

#[test]
fn counts_follow_states() {
    let mut tree = tree();
    tree.note(0, 0, &begun(1, None, 0));
    for job in 2..6 {
        tree.note(0, 1, &begun(job, Some(1), 1));
    }
    tree.note(0, 2, &note(2, Some(1), 1, NoteKind::Done { work_ns: 7 }));
    tree.note(0, 2, &note(3, Some(1), 1, NoteKind::Failed));
    tree.note(0, 2, &note(4, Some(1), 1, NoteKind::Lost));
    assert_eq!(tree.depths()[&1], DepthCounts { running: 1, done: 1, other: 2 });
    let again = NoteKind::Begun { victim: None, redone: true, worker: 0 };
    tree.note(0, 3, &note(4, Some(1), 1, again));
    assert_eq!(tree.depths()[&1], DepthCounts { running: 2, done: 1, other: 1 });
    // Late and repeated.
    tree.note(0, 3, &note(2, Some(1), 1, NoteKind::Aborted));
    tree.note(0, 3, &note(2, Some(1), 1, NoteKind::Adopted));
    assert_eq!(tree.depths()[&1], DepthCounts { running: 2, done: 1, other: 1 });
    assert_eq!(tree.lose_host(HostId(1), 9, false), 3);
    while tree.end_some(1) {}
    assert_eq!(total(&tree), DepthCounts { running: 0, done: 1, other: 4 });
    assert!(tree.get(0).is_some_and(|root| root.state == JobState::Lost && root.ended_ms == 9));
}

#[test]
fn jobs_without_room_are_counted() {
    let mut tree = tree();
    tree.note(0, 0, &begun(1, None, 0));
    for job in 2..=TREE_NODES_MAX as u64 {
        tree.note(0, 0, &begun(job, Some(1), 1));
    }
    assert_eq!(tree.len(), TREE_NODES_MAX);
    for job in 0..100_u64 {
        let tag = 10_000_000 + job;
        // The second half is below the first, which is not kept.
        let parent = if job < 50 { 7 } else { tag - 50 };
        tree.note(0, 0, &begun(tag, Some(parent), 2 + u32::from(job >= 50)));
    }
    assert_eq!((tree.len(), tree.without_room()), (TREE_NODES_MAX, 100));
    let place = tree.place(JobTag(7)).expect("kept");
    assert_eq!(tree.get(place).map(|node| node.rolled), Some(100));
    for job in 0..30_u64 {
        tree.note(0, 1, &note(10_000_000 + job, Some(7), 2, NoteKind::Done { work_ns: 1 }));
    }
    assert_eq!(tree.depths()[&2], DepthCounts { running: 20, done: 30, other: 0 });
    assert_eq!(total(&tree).total(), TREE_NODES_MAX as u64 + 100);
    tree.abort_all(5);
    assert!(tree.end_some(TREE_NODES_MAX / 2) && !tree.end_some(TREE_NODES_MAX));
    assert_eq!(total(&tree), DepthCounts { running: 0, done: 30, other: TREE_NODES_MAX as u64 + 70 });
}

/// The counts of a tree must add up.
#[track_caller]
fn assert_sums(tree: &Tree, jobs: u64) {
    assert_eq!(total(tree).total(), jobs);
    assert_eq!(tree.len() as u64 + tree.without_room(), jobs);
    assert_eq!(tree.nodes().map(|node| u64::from(node.rolled)).sum::<u64>(), tree.without_room());
    assert_eq!(tree.nodes.found(), tree.len());
}

#[test]
fn jobs_that_have_ended_make_room() {
    let mut tree = Tree::with_room_for(4);
    tree.host(HostId(1), "one", "here");
    tree.note(0, 0, &begun(1, None, 0));
    for job in [2, 3] {
        tree.note(0, 1, &begun(job, Some(1), 1));
    }
    tree.note(0, 2, &JobNote { parameters: Some(vec![7]), ..begun(4, Some(2), 2) });
    let done = |job, parent, depth| note(job, Some(parent), depth, NoteKind::Done { work_ns: 1 });
    // It has ended, and the jobs below it have not.
    tree.note(0, 3, &done(2, 1, 1));
    tree.note(0, 4, &begun(5, Some(3), 2));
    assert!(tree.place(JobTag(5)).is_none(), "nobody can go");
    assert_sums(&tree, 5);
    tree.note(0, 5, &done(4, 2, 2));
    tree.note(0, 6, &begun(6, Some(3), 2));
    let kept: Vec<u64> = tree.nodes().map(|node| node.tag.0).collect();
    assert_eq!(kept, [1, 2, 3, 6], "4 has made room for 6");
    assert_eq!(tree.parameters.size(), (0, 0));
    assert_sums(&tree, 6);
    // With no job below it any more, 2 is next, along with the jobs rolled up there.
    tree.note(0, 7, &begun(7, Some(3), 2));
    assert!(tree.place(JobTag(2)).is_none() && tree.place(JobTag(7)).is_some());
    assert_eq!(tree.get(0).map(|root| root.rolled), Some(2));
    assert_sums(&tree, 7);
    // A rolled-up job comes back when it begins again, and only then. Late notes change nothing.
    for late in [NoteKind::Aborted, NoteKind::Adopted, NoteKind::Done { work_ns: 1 }] {
        tree.note(0, 8, &note(4, Some(2), 2, late));
    }
    assert!(tree.place(JobTag(4)).is_none());
    assert_eq!(tree.depths()[&2], DepthCounts { running: 3, done: 1, other: 0 });
    tree.note(0, 9, &done(6, 3, 2));
    tree.note(0, 10, &begun(4, Some(2), 2));
    assert!(tree.place(JobTag(4)).is_some());
    assert_eq!(tree.depths()[&2], DepthCounts { running: 3, done: 1, other: 0 });
    assert_sums(&tree, 7);
}

/// The same run in a tree with little room and in one with room for all: both have the same counts, and all jobs that are
/// alive.
#[test]
fn a_full_tree_counts_as_an_unbounded_one_and_shows_what_is_alive() {
    const ROOM: usize = 200;
    const ALIVE_MAX: usize = 24;
    const DEPTH_MAX: u32 = 7;
    let (mut small, mut large) = (Tree::with_room_for(ROOM), Tree::default());
    for tree in [&mut small, &mut large] {
        tree.host(HostId(1), "one", "here");
    }
    let mut random = 12_345_u64;
    let mut below = |limit: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % limit
    };
    let mut told = |notes: &[JobNote], t_ms: u32| {
        for note in notes {
            small.note(0, t_ms, note);
            large.note(0, t_ms, note);
        }
        assert_eq!(small.depths(), large.depths());
        let last = notes.last().and_then(|note| large.get(large.place(note.job)?));
        last.is_some_and(|node| node.state.group() == Group::Running)
    };
    told(&[begun(1, None, 0)], 0);
    // Tag, parent and depth of the jobs that run besides the root, and of those that have ended.
    let mut alive: Vec<(u64, u64, u32)> = Vec::new();
    let mut ended = Vec::new();
    let mut jobs = 1;
    for t_ms in 1..20_000 {
        let (job, parent, depth) = match below(10) {
            0..5 if alive.len() < ALIVE_MAX => {
                jobs += 1;
                let above = alive.get(below(alive.len() + 1));
                let (parent, _, depth) =
                    above.copied().filter(|above| above.2 < DEPTH_MAX).unwrap_or((1, 0, 0));
                alive.push((jobs, parent, depth + 1));
                told(&[begun(jobs, Some(parent), depth + 1)], t_ms);
                continue;
            }
            // After a crash, some jobs that ended long ago begin again, continue, or are known.
            5 if !ended.is_empty() && alive.len() < ALIVE_MAX => {
                let again = ended.swap_remove(below(ended.len()));
                let (job, parent, depth) = again;
                let redone = NoteKind::Begun { victim: None, redone: true, worker: 0 };
                let what = [NoteKind::Reused, NoteKind::Adopted, redone][below(3)];
                let runs = told(&[note(job, Some(parent), depth, what)], t_ms);
                if runs { &mut alive } else { &mut ended }.push(again);
                continue;
            }
            _ if !alive.is_empty() => alive.swap_remove(below(alive.len())),
            _ => continue,
        };
        let how = match below(8) {
            0 => NoteKind::Failed,
            1 => NoteKind::Lost,
            2 => NoteKind::Aborted,
            _ => NoteKind::Done { work_ns: 5 },
        };
        ended.push((job, parent, depth));
        told(&[note(job, Some(parent), depth, how)], t_ms);
    }
    assert!(jobs > 20 * ROOM as u64, "{jobs}");
    assert_eq!((small.len(), large.len() as u64), (ROOM, jobs));
    assert_sums(&small, jobs);
    for (job, ..) in alive {
        let kept = small.place(JobTag(job)).and_then(|place| small.get(place));
        assert!(kept.is_some_and(|node| node.state == JobState::Running), "{job} is not shown");
    }
    // And after a restart.
    let saved = (0..ROOM as u32).filter_map(|place| small.saved(place));
    let restored = Tree::restore(&small.summary(), 0, saved);
    assert_eq!(restored.depths(), small.depths());
    let parents = |tree: &Tree| (0..ROOM as u32).map(|place| tree.parent_tag(place)).collect::<Vec<_>>();
    assert_eq!(parents(&restored), parents(&small));
}

#[test]
fn rolled_up_jobs_are_not_lost_when_the_run_is_suspended() {
    for (rests, redone) in [(false, 1), (true, 0)] {
        let mut tree = Tree::with_room_for(2);
        let host = tree.host(HostId(1), "one", "here");
        let begun = |redone| NoteKind::Begun { victim: None, redone, worker: 0 };
        tree.note(host, 0, &note(1, None, 0, begun(false)));
        tree.note(host, 1, &note(2, Some(1), 1, begun(false)));
        tree.note(host, 2, &note(3, Some(1), 1, begun(false)));
        assert!(tree.place(JobTag(3)).is_none(), "there is no room for it");
        if rests {
            tree.go_on(10);
        }
        tree.note(host, 11, &note(2, Some(1), 1, NoteKind::Done { work_ns: 1 }));
        tree.note(host, 12, &note(3, Some(1), 1, begun(true)));
        assert_eq!(tree.redone(), redone);
        // A job that is lost after that is.
        tree.note(host, 13, &note(4, Some(1), 1, begun(false)));
        tree.note(host, 14, &note(3, Some(1), 1, NoteKind::Lost));
        tree.note(host, 15, &note(3, Some(1), 1, begun(true)));
        assert_eq!(tree.redone(), 1);
    }
}

#[test]
fn the_critical_path_follows_the_child_that_ended_last() {
    let mut tree = tree();
    tree.note(0, 0, &begun(1, None, 0));
    for (job, parent, depth) in [(2, 1, 1), (3, 1, 1), (4, 2, 2), (5, 3, 2)] {
        tree.note(0, 1, &begun(job, Some(parent), depth));
    }
    for (job, parent, depth, end) in [(5, 3, 2, 5), (3, 1, 1, 6), (4, 2, 2, 8), (2, 1, 1, 9)] {
        tree.note(0, end, &note(job, Some(parent), depth, NoteKind::Done { work_ns: 1 }));
    }
    let path: Vec<u64> =
        tree.critical_path(9).into_iter().filter_map(|place| Some(tree.get(place)?.tag.0)).collect();
    assert_eq!(path, [1, 2, 4]);
}

#[test]
fn a_saved_tree_is_restored() {
    let mut tree = tree();
    tree.host(HostId(2), "two", "there");
    tree.note(0, 0, &begun(1, None, 0));
    tree.note(1, 4, &JobNote { parameters: Some(vec![1, 2]), shares: true, ..begun(2, Some(1), 1) });
    tree.note(1, 9, &note(2, Some(1), 1, NoteKind::Done { work_ns: 77 }));
    tree.note(1, 9, &begun(3, Some(99), 4));
    let places = tree.take_unsaved(2);
    assert_eq!(places, [0, 1], "the oldest first, so that no place is missing");
    assert_eq!(tree.take_unsaved(9), [2]);
    let other = Tree::restore(&tree.summary(), 0, (0..3).filter_map(|place| tree.saved(place)));
    assert!(!other.is_unsaved());
    assert_eq!((other.depths(), other.hosts().len()), (tree.depths(), 2));
    for place in 0..3 {
        let bytes = |tree: &Tree| postcard::to_allocvec(&tree.saved(place)).expect("encodes");
        assert_eq!(bytes(&other), bytes(&tree));
    }
    assert_eq!(other.parameters(1), Ok([1, 2].as_slice()));
    assert_eq!([0, 1].map(|place| other.get(place).map(Node::shares)), [Some(false), Some(true)]);
}

/// A million jobs: their size, and that no operation on them takes long.
#[test]
fn a_million_jobs_have_room() {
    let mut tree = tree();
    tree.watch(true);
    tree.note(0, 0, &begun(1, None, 0));
    // Tags are digits of hashes.
    let tag = |job: u64| job.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 2;
    for job in 1..TREE_NODES_MAX as u64 {
        let parent = if job < 8 { 1 } else { tag(job / 8) };
        tree.note(0, job as u32, &begun(tag(job), Some(parent), 1 + job.ilog2() / 3));
    }
    assert!(tree.len() > TREE_NODES_MAX * 99 / 100);
    let mut shown = 0;
    loop {
        let places = tree.take_fresh(16_384);
        if places.is_empty() {
            break;
        }
        shown += places.len();
    }
    assert_eq!(shown, tree.len());
    let bytes = tree.nodes.bytes();
    assert!(bytes < 64 * tree.len(), "{} bytes a job", bytes / tree.len());
}

/// Hosts send notes from just before a run's end when it is over.
#[test]
fn late_notes_do_not_run_jobs_after_the_end() {
    let mut tree = Tree::default();
    let begun = NoteKind::Begun { victim: None, redone: false, worker: 0 };
    tree.note(0, 1, &note(1, None, 0, begun));
    tree.note(0, 1, &note(2, Some(1), 1, begun));
    tree.abort_all(5);
    while tree.end_some(10) {}
    tree.note(0, 6, &note(2, Some(1), 1, NoteKind::Adopted));
    tree.note(0, 6, &note(3, Some(1), 1, begun));
    assert_eq!(total(&tree), DepthCounts { running: 0, done: 0, other: 3 });
    tree.note(0, 7, &note(3, Some(1), 1, NoteKind::Done { work_ns: 1 }));
    assert_eq!(total(&tree), DepthCounts { running: 0, done: 1, other: 2 });
}

/// A host that was given up came back and had the root job again: the tree named the host that had it meanwhile.
#[test]
fn the_root_is_of_the_host_that_ended_it() {
    for is_told in [true, false] {
        let mut tree = tree();
        let two = tree.host(HostId(2), "two", "here");
        tree.note(0, 100, &begun(1, None, 0));
        tree.lose_host(HostId(1), 7000, false);
        tree.end_some(9);
        let again = NoteKind::Begun { victim: None, redone: true, worker: 3 };
        tree.note(two, 7900, &JobNote { what: again, ..begun(1, None, 0) });
        let root = |tree: &Tree| tree.get(0).map(|node| (node.host, node.begun_ms, node.worker, node.state));
        assert_eq!(root(&tree), Some((two, 7900, 3, JobState::Running)));
        if is_told {
            tree.root_given(HostId(1));
            assert_eq!(root(&tree), Some((0, 100, 1, JobState::Running)));
            tree.note(two, 10_000, &JobNote { kind: ROOT_KIND, ..note(1, None, 0, NoteKind::Aborted) });
            assert_eq!(root(&tree), Some((0, 100, 1, JobState::Running)));
        }
        let done = NoteKind::Done { work_ns: 7 };
        tree.note(0, 36_000, &JobNote { kind: ROOT_KIND, ..note(1, None, 0, done) });
        assert_eq!(root(&tree), Some((0, 100, 1, JobState::Done)));
        let redone = |tree: &Tree| tree.hosts().iter().map(|host| host.redone).collect::<Vec<_>>();
        assert_eq!((redone(&tree), tree.redone()), (vec![0, 1], 1), "the first host began it once");
        assert_eq!(tree.running.count_at(0) + tree.running.count_at(two), 0);
        // The saved root names the host that has it, and not the one that began it again.
        let saved = [tree.saved(0).expect("the root")];
        let mut restored = Tree::restore(&tree.summary(), 0, saved.clone().into_iter());
        assert_eq!((redone(&restored), restored.redone()), (vec![0, 0], 1));
        let twice = Tree::restore(&restored.summary(), 0, restored.saved(0).into_iter());
        assert_eq!((redone(&twice), twice.redone()), (vec![0, 0], 1));
        restored.note(two, 40_000, &JobNote { what: again, ..begun(1, None, 0) });
        assert_eq!(
            (redone(&restored), restored.redone()),
            (vec![0, 1], 1),
            "it counts at its last host again"
        );
    }
}
