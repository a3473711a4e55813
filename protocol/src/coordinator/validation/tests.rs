//! The order of checks, and what becomes of wrong results.

use super::*;
use crate::limits::{CHECKED_RESULT_BYTES_MAX, REFUSALS_MAX};
use crate::{Finished, Outcome, PublicKey};

const ROOT: u8 = 0;

pub fn owner(number: u8) -> Owner {
    PublicKey([number; 32])
}

pub fn host(number: u8) -> HostId {
    HostId(number.into())
}

pub fn job(number: u8, depth: u32) -> JobSpec {
    JobSpec { depth, ..JobSpec::new(JobKey([number; 32]), 0, vec![number]) }
}

pub fn outcome(value: u8) -> Outcome {
    Outcome::Done(vec![value].into())
}

pub fn end(value: u8) -> RunEnd {
    RunEnd::Finished(Finished { outcome: outcome(value), work_ns: 1, span_ns: 1 })
}

/// A unit whose result is `value`, and whose children have the results named with them.
pub fn unit(number: u8, depth: u32, value: u8, children: &[(u8, u8)]) -> Unit {
    let child = |(number, value): &(u8, u8)| UnitChild {
        key: JobKey([*number; 32]),
        depth: depth + 1,
        result: outcome(*value).hash(),
    };
    let children = children.iter().map(child).collect();
    Unit { job: job(number, depth), result: outcome(value).hash(), work_ns: 10, children, outcome: None }
}

/// The checking of a run that needs two owners.
fn validation() -> Validation {
    Validation::new(Trust::Quorum(2), job(ROOT, 0)).expect("it is checked")
}

pub fn hungry(validation: &Validation) -> Vec<u8> {
    validation.hungry(99).iter().map(|key| key.0[0]).collect()
}

/// An owner checks a unit, and finds `value`.
fn check(validation: &mut Validation, number: u8, by: u8, value: u8) {
    let key = JobKey([number; 32]);
    validation.begin_check(&key, owner(by));
    validation.answer(key, (owner(by), host(by)), end(value));
}

#[test]
fn units_are_checked_from_the_leaves_up_once_the_root_has_a_result() {
    let mut validation = validation();
    validation.claim((owner(1), host(1)), unit(2, 1, 22, &[(3, 33)]), 0);
    validation.claim((owner(2), host(2)), unit(3, 2, 33, &[]), 0);
    validation.claim((owner(3), host(3)), unit(9, 2, 99, &[]), 0);
    validation.claim((owner(1), host(1)), unit(ROOT, 0, 11, &[(2, 22)]), 0);
    assert!(hungry(&validation).is_empty() && !validation.is_checking());
    assert_eq!((validation.checked().units, validation.checked().is_checking), (4, false));
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(11));
    assert_eq!((hungry(&validation), validation.awaits_until()), (vec![3], None), "all are known");
    assert_eq!(validation.checked().units, 3, "one of them is of no use");
    check(&mut validation, 3, 4, 33);
    assert_eq!(hungry(&validation), [2]);
    let (known, deepest) = validation.known_below(validation.unit(&JobKey([2; 32])).expect("it is known"));
    assert_eq!((known.len(), known[0].key, deepest), (1, JobKey([3; 32]), 2));
    assert_eq!(known[0].lineage.0, [JobKey([2; 32]).tag()]);
    check(&mut validation, 2, 4, 22);
    assert_eq!((hungry(&validation), validation.end()), (vec![ROOT], None));
    check(&mut validation, ROOT, 4, 11);
    assert_eq!((hungry(&validation), validation.end()), (vec![], Some(&Verified::Is(end(11)))));
    let checked = validation.checked();
    assert_eq!((checked.units_checked, checked.checks, checked.work_ns), (3, 3, 30));
    validation.stop(true);
    assert!(!validation.shrink(99));
    assert_eq!(validation.checked(), Checked { is_checking: false, ..checked });
}

#[test]
fn what_was_built_on_a_lie_is_computed_with_the_right_result_and_only_the_liar_is_barred() {
    let mut validation = validation();
    // Owner 2 lies of 3, and its victim believes it.
    validation.claim((owner(2), host(2)), unit(3, 1, 66, &[]), 0);
    validation.claim((owner(2), host(2)), unit(4, 1, 44, &[]), 0);
    validation.claim((owner(1), host(1)), unit(ROOT, 0, 77, &[(3, 66), (4, 44)]), 0);
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(77));
    assert_eq!(hungry(&validation), [3, 4]);
    check(&mut validation, 3, 5, 33);
    assert!(validation.checked().barred.is_empty(), "it is one against one");
    check(&mut validation, 3, 6, 33);
    assert_eq!(validation.checked().barred, [(host(2), owner(2))]);
    assert!(validation.is_liar(&owner(2)));
    // Its other claim is void, although it is true.
    check(&mut validation, 4, 5, 44);
    assert_eq!(hungry(&validation), [4]);
    validation.claim((owner(2), host(2)), unit(4, 1, 44, &[]), 0);
    assert_eq!(hungry(&validation), [4], "it is not heard any more");
    check(&mut validation, 4, 6, 44);
    check(&mut validation, ROOT, 5, 11);
    assert_eq!(validation.end(), None, "the first result of the root is another");
    check(&mut validation, ROOT, 6, 11);
    assert_eq!(validation.end(), Some(&Verified::Is(end(11))));
    assert_eq!(validation.checked().barred, [(host(2), owner(2))], "its victim has not lied");
}

#[test]
fn units_that_were_not_reported_are_waited_for_and_then_found_again_with_the_one_above() {
    for is_reported in [true, false] {
        let mut validation = validation();
        validation.claim((owner(1), host(1)), unit(ROOT, 0, 11, &[(2, 22)]), 0);
        validation.deliver_root(Time(0), Some((owner(1), host(1))), end(11));
        let until = validation.awaits_until().expect("it waits");
        assert!(hungry(&validation).is_empty() && validation.is_checking());
        if is_reported {
            validation.claim((owner(2), host(2)), unit(2, 1, 22, &[(3, 33)]), 0);
            assert_eq!(validation.awaits_until(), Some(until), "another is missing below it");
            validation.claim((owner(2), host(2)), unit(3, 2, 33, &[]), 0);
            assert_eq!((validation.awaits_until(), hungry(&validation)), (None, vec![3]));
        } else {
            validation.time_out(Time(until.0 - 1));
            assert!(hungry(&validation).is_empty());
            validation.time_out(until);
            assert_eq!((validation.awaits_until(), hungry(&validation)), (None, vec![ROOT]));
            validation.claim((owner(2), host(2)), unit(2, 1, 22, &[]), 0);
            assert_eq!(hungry(&validation), [ROOT], "it is too late");
        }
    }
}

#[test]
fn of_a_large_result_only_the_hash_is_kept_and_it_is_found_again_with_the_unit_above() {
    let large = || {
        let outcome = Outcome::Done(vec![7; CHECKED_RESULT_BYTES_MAX + 1].into());
        RunEnd::Finished(Finished { outcome, work_ns: 1, span_ns: 1 })
    };
    let Answer::Outcome(hash) = Answer::of(&large()) else { panic!("it is an outcome") };
    let mut validation = validation();
    let mut leaf = unit(2, 1, 22, &[]);
    leaf.result = hash;
    validation.claim((owner(2), host(2)), leaf, 0);
    let mut root = unit(ROOT, 0, 11, &[(2, 22)]);
    root.children[0].result = hash;
    validation.claim((owner(1), host(1)), root, 0);
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(11));
    let key = JobKey([2; 32]);
    validation.begin_check(&key, owner(3));
    validation.answer(key, (owner(3), host(3)), large());
    let verified = validation.unit(&key).and_then(Claims::verified);
    assert_eq!(verified, Some(&Verified::Known(Answer::Outcome(hash))));
    assert_eq!((hungry(&validation), validation.checked().units_checked), (vec![ROOT], 1));
    let root = validation.unit(&JobKey([ROOT; 32])).expect("it is known");
    assert_eq!(validation.known_below(root), (Vec::new(), 0));
    // A wrong result of the root is its executor's lie all the same.
    for by in [3, 4] {
        check(&mut validation, ROOT, by, 12);
    }
    assert_eq!(validation.checked().barred, [(host(1), owner(1))]);
}

#[test]
fn units_that_name_one_another_in_a_circle_are_checked_all_the_same() {
    let mut validation = validation();
    validation.claim((owner(1), host(1)), unit(ROOT, 0, 11, &[(2, 22)]), 0);
    validation.claim((owner(2), host(2)), unit(2, 1, 22, &[(3, 33)]), 0);
    let mut circle = unit(3, 2, 33, &[(2, 22)]);
    circle.children[0].depth = u32::MAX;
    validation.claim((owner(2), host(2)), circle, 0);
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(11));
    for number in [3, 2, ROOT] {
        assert_eq!(hungry(&validation), [number]);
        check(&mut validation, number, 4, if number == ROOT { 11 } else { 11 * number });
    }
    assert_eq!(validation.end(), Some(&Verified::Is(end(11))));
}

#[test]
fn a_unit_that_no_owner_can_check_waits_for_others() {
    let mut validation = validation();
    validation.claim((owner(1), host(1)), unit(ROOT, 0, 11, &[]), 0);
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(11));
    let root = JobKey([ROOT; 32]);
    validation.starve(Time(0), root);
    let retry_at = validation.retries_at().expect("it is tried again");
    validation.time_out(retry_at);
    assert_eq!((hungry(&validation), validation.retries_at()), (vec![ROOT], None));
    validation.starve(Time(0), root);
    assert_eq!((hungry(&validation), validation.starved_len()), (vec![], 1));
    validation.feed();
    assert_eq!((hungry(&validation), validation.starved_len()), (vec![ROOT], 0));
    validation.begin_check(&root, owner(2));
    assert!(hungry(&validation).is_empty());
    validation.note_late(&root, &owner(2));
    assert_eq!(hungry(&validation), [ROOT], "another may be faster");
    validation.end_check(&root, &owner(2));
    for by in [2, 3].repeat(REFUSALS_MAX as usize) {
        validation.begin_check(&root, owner(by));
        validation.refuse(root, owner(by));
    }
    assert_eq!((hungry(&validation), validation.end()), (vec![], Some(&Verified::Unknown)));
}

#[test]
fn an_end_of_the_run_needs_as_many_owners_as_a_result() {
    let mut validation = validation();
    let limit = || RunEnd::Limit("memory".to_owned());
    assert_eq!(validation.judge(owner(1), limit()), None);
    assert_eq!(validation.judge(owner(1), limit()), None, "it has said so");
    assert_eq!(validation.judge(owner(2), end(1)), None, "that is another end");
    assert!(validation.has_verdict(&owner(1)) && !validation.has_verdict(&owner(3)));
    assert_eq!(validation.judge(owner(3), limit()), Some(limit()));
}

#[test]
fn owners_that_cannot_agree_are_noticed() {
    let mut validation = validation();
    validation.claim((owner(1), host(1)), unit(ROOT, 0, 1, &[]), 0);
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(1));
    for by in 2..=5 {
        assert!(validation.disputed(&JobKey([ROOT; 32])).is_none());
        check(&mut validation, ROOT, by, by);
    }
    let disputed = validation.disputed(&JobKey([ROOT; 32])).expect("five have five results");
    assert_eq!((disputed.votes_len(), disputed.answers_len()), (5, 5));
}

#[test]
fn a_suspended_run_keeps_what_is_verified() {
    let mut validation = validation();
    validation.claim((owner(1), host(1)), unit(2, 1, 22, &[]), 0);
    validation.claim((owner(1), host(1)), unit(ROOT, 0, 11, &[(2, 22)]), 0);
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(11));
    check(&mut validation, 2, 3, 22);
    validation.begin_check(&JobKey([ROOT; 32]), owner(3));
    validation.stop(false);
    assert!(!validation.is_checking() && hungry(&validation).is_empty());
    validation.deliver_root(Time(9), None, end(11));
    assert_eq!(hungry(&validation), [ROOT]);
    assert_eq!(validation.checked().units_checked, 1);
}
