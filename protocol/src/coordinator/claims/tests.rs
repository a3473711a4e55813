//! Votes on one unit.

use super::*;
use crate::{Finished, JobKey, Outcome};

fn owner(number: u8) -> Owner {
    PublicKey([number; 32])
}

fn end(value: u8) -> RunEnd {
    RunEnd::Finished(Finished { outcome: Outcome::Done(vec![value].into()), work_ns: 1, span_ns: 1 })
}

fn hash(value: u8) -> BlobHash {
    Outcome::Done(vec![value].into()).hash()
}

fn job(number: u8, depth: u32) -> JobSpec {
    JobSpec { depth, ..JobSpec::new(JobKey([number; 32]), 0, vec![number]) }
}

fn unit(value: u8, children: Vec<UnitChild>) -> Unit {
    Unit { job: job(1, 1), result: hash(value), work_ns: 7, children, outcome: None }
}

fn child(number: u8, depth: u32) -> UnitChild {
    UnitChild { key: JobKey([number; 32]), depth, result: hash(number) }
}

#[test]
fn an_outcome_is_verified_when_the_first_executor_and_enough_checkers_agree() {
    let mut claims = Claims::new(job(1, 1));
    assert_eq!(claims.checks_needed(2), 2);
    assert!(claims.claim(owner(1), HostId(1), unit(5, Vec::new())));
    assert!(!claims.claim(owner(1), HostId(1), unit(6, Vec::new())), "an owner has one vote");
    assert!(claims.claim(owner(2), HostId(2), unit(5, Vec::new())));
    assert!(!claims.settle(2), "a second executor counts only if it is drawn as a checker");
    assert_eq!((claims.checks_needed(2), claims.votes_len()), (1, 1));
    assert!(claims.may_be_checked_by(&owner(2)));
    claims.begin_check(owner(3));
    assert_eq!(claims.checks_needed(2), 0);
    claims.note_late(&owner(3));
    assert_eq!(claims.checks_needed(2), 1);
    assert!([1, 3].iter().all(|number| !claims.may_be_checked_by(&owner(*number))));
    claims.answer(owner(3), HostId(3), end(5));
    assert!(claims.settle(2) && !claims.settle(2));
    assert_eq!(claims.verified(), Some(&Verified::Is(end(5))));
    assert_eq!((claims.checks_needed(2), claims.liars(|_| true), claims.work_ns()), (0, Vec::new(), 7));
}

#[test]
fn an_outvoted_owner_lies_unless_it_was_given_something_wrong() {
    for (is_right, liars) in [(true, vec![(owner(1), HostId(1))]), (false, vec![])] {
        let mut claims = Claims::new(job(1, 1));
        claims.claim(owner(1), HostId(1), unit(9, vec![child(4, 2)]));
        claims.answer(owner(2), HostId(2), end(5));
        assert_eq!((claims.checks_needed(2), claims.answers_len()), (1, 2));
        claims.answer(owner(3), HostId(3), end(5));
        assert!(claims.settle(2));
        assert_eq!(claims.liars(|_| is_right), liars);
    }
    // A checker was given verified results only; a limit is not a lie.
    let mut claims = Claims::new(job(1, 1));
    claims.answer(owner(1), HostId(1), end(6));
    claims.answer(owner(2), HostId(2), RunEnd::Limit("memory".to_owned()));
    claims.answer(owner(3), HostId(3), end(5));
    claims.answer(owner(4), HostId(4), end(5));
    assert!(claims.settle(2));
    assert_eq!(claims.liars(|_| false), [(owner(1), HostId(1))]);
}

#[test]
fn a_liars_vote_is_void_and_two_that_agree_are_less_than_three() {
    let mut claims = Claims::new(job(1, 1));
    claims.claim(owner(1), HostId(1), unit(9, Vec::new()));
    claims.answer(owner(2), HostId(2), end(9));
    assert!(!claims.settle(3));
    claims.forget(&owner(1));
    assert_eq!((claims.checks_needed(3), claims.votes_len()), (2, 1));
    assert!(claims.claim(owner(9), HostId(9), unit(5, Vec::new())));
    for number in 3..5 {
        claims.answer(owner(number), HostId(3), end(5));
    }
    assert!(claims.settle(3));
    assert_eq!(claims.liars(|_| true), [(owner(2), HostId(2))]);
}

#[test]
fn a_unit_that_too_many_cannot_compute_has_no_outcome() {
    let mut claims = Claims::new(job(1, 1));
    for by in [1, 2] {
        for _ in 0..REFUSALS_MAX {
            assert!(claims.verified().is_none() && claims.may_be_checked_by(&owner(by)));
            claims.begin_check(owner(by));
            claims.refuse(owner(by), 2);
        }
        assert!(!claims.may_be_checked_by(&owner(by)));
    }
    assert_eq!(claims.verified(), Some(&Verified::Unknown));
}

#[test]
fn children_are_below_their_unit() {
    let mut claims = Claims::new(job(1, 1));
    claims.claim(owner(1), HostId(1), unit(5, vec![child(2, 1), child(3, 2)]));
    assert_eq!(claims.children().collect::<Vec<_>>(), [&child(3, 2)]);
}
