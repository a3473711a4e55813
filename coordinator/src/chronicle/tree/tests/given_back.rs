//! Jobs that were given back.

use super::*;

/// They were shown as lost, in a run of which the counts said that nothing was lost.
#[test]
fn what_was_given_back_is_not_lost() {
    let mut tree = tree();
    for job in 1..=3 {
        tree.note(0, 0, &begun(job, None, 0));
    }
    let state = |tree: &Tree, place| tree.get(place).map(|node| node.state);
    tree.note(0, 1, &note(2, None, 0, NoteKind::GivenBack));
    assert_eq!(state(&tree, 1), Some(JobState::GivenBack));
    tree.rest(5);
    while tree.end_some(1) {}
    assert_eq!([0, 2].map(|place| state(&tree, place)), [Some(JobState::GivenBack); 2]);
    // Older versions saved a flag.
    let mut saved = tree.saved(0).expect("it is kept");
    (saved.state, saved.flags) = (JobState::Lost, saved.flags | 128);
    let restored = Tree::restore(&tree.summary(), 0, std::iter::once(saved));
    assert_eq!(state(&restored, 0), Some(JobState::GivenBack));
    tree.note(0, 6, &begun(2, None, 0));
    assert_eq!(state(&tree, 1), Some(JobState::Running));
}
