use super::super::bonds::job;
use super::*;
use crate::Outcome;

const NOW: Time = Time(3);
const VICTIM: HostId = HostId(20);
const OTHER: HostId = HostId(21);

fn lender(host: HostId, number: u64) -> Owner {
    Owner::Host(host, LoanId(number))
}

/// The job of this number, lent under the same.
fn held(number: u8, host: HostId) -> Held {
    Held::new(NOW, job(number), lender(host, number.into()))
}

/// The root of this number, assigned under the same.
fn root(number: u8) -> Held {
    Held::new(NOW, job(number), Owner::Coordinator(AssignmentId(number.into())))
}

/// Checks that the indexes name all held jobs and nothing else.
fn check(jobs: &HeldJobs) {
    for (token, held) in jobs.iter() {
        let same = jobs.of_key(&held.spec().key).expect("it has a key");
        assert_eq!(jobs.get(same).expect("it is held").spec().key, held.spec().key);
        assert_eq!(jobs.nearest(&[held.spec().key.tag()]), Some(same));
        assert!(held.owners().iter().all(|owner| jobs.of_owner(*owner) == Some(token)));
    }
    for (owner, token) in &jobs.by_owner {
        assert!(jobs.get(*token).expect("it is held").owners().contains(owner));
    }
    let keys: Vec<HeldId> = jobs.by_key.values().chain(jobs.by_tag.values()).copied().collect();
    assert!(keys.iter().all(|token| jobs.get(*token).is_some()), "{keys:?}");
    assert!(jobs.indexed_len() <= jobs.len());
}

#[test]
fn held_jobs_are_found_by_key_tag_and_number_until_they_are_forgotten() {
    let mut jobs = HeldJobs::default();
    for number in 1..=3 {
        jobs.hold(HeldId(100 + u64::from(number)), held(number, VICTIM));
        check(&jobs);
    }
    assert_eq!((jobs.len(), jobs.indexed_len()), (3, 3));
    assert_eq!(jobs.nearest(&[1, 2, 9].map(|number| job(number).key.tag())), Some(HeldId(102)));
    assert_eq!(jobs.forget(HeldId(102)).expect("it is held").into_owners().1, job(2));
    check(&jobs);
    assert_eq!(jobs.of_key(&job(2).key), None);
    assert_eq!(jobs.of_owner(lender(VICTIM, 2)), None);
    assert!(jobs.forget(HeldId(102)).is_none());
    assert_eq!(jobs.tokens().collect::<Vec<_>>(), [101, 103].map(HeldId));
    for token in [101, 103] {
        jobs.forget(HeldId(token));
    }
    assert_eq!((jobs.is_empty(), jobs.indexed_len()), (true, 0));
}

#[test]
fn the_last_of_equal_jobs_is_found_by_its_key() {
    let mut jobs = HeldJobs::default();
    jobs.hold(HeldId(1), held(1, VICTIM));
    jobs.hold(HeldId(2), held(1, OTHER));
    check(&jobs);
    assert_eq!(jobs.of_key(&job(1).key), Some(HeldId(2)));
    jobs.forget(HeldId(1));
    check(&jobs);
    assert_eq!(jobs.of_key(&job(1).key), Some(HeldId(2)), "the other is held still");
}

#[test]
fn owners_are_added_and_removed() {
    let mut jobs = HeldJobs::default();
    let token = HeldId(7);
    jobs.hold(token, held(1, VICTIM));
    for _ in 0..2 {
        jobs.add_owner(token, lender(OTHER, 5));
    }
    jobs.add_owner(HeldId(8), lender(OTHER, 6));
    check(&jobs);
    assert_eq!(jobs.get(token).expect("it is held").owners().len(), 2);
    assert_eq!(jobs.of_host(OTHER).collect::<Vec<_>>(), [(LoanId(5), token)]);
    assert!(!jobs.by_owner.keys().any(|owner| matches!(owner, Owner::Here(_))));
    assert_eq!(jobs.remove_owner(lender(OTHER, 6)), None, "it does not wait for it");
    assert_eq!(jobs.remove_owner(lender(VICTIM, 1)), Some(token));
    assert!(!jobs.get(token).expect("it is held").is_orphan());
    assert_eq!(jobs.remove_owner(lender(OTHER, 5)), Some(token));
    check(&jobs);
    assert!(jobs.get(token).expect("it is held").is_orphan());
}

#[test]
fn roots_are_proven_while_they_are_held() {
    let mut jobs = HeldJobs::default();
    let proven = |jobs: &HeldJobs| jobs.proven_roots().collect::<Vec<_>>();
    jobs.note_root(AssignmentId(1), 11);
    assert_eq!(proven(&jobs), [], "it has not come yet");
    jobs.hold(HeldId(101), root(1));
    jobs.hold(HeldId(102), root(2));
    assert_eq!(proven(&jobs), [(AssignmentId(1), 11)], "the other has no proof");
    jobs.forget(HeldId(101));
    assert_eq!(proven(&jobs), []);
    jobs.note_root(AssignmentId(2), 12);
    assert_eq!((proven(&jobs), jobs.root_proofs.len()), (vec![(AssignmentId(2), 12)], 1));
}

#[test]
fn a_job_that_is_done_before_it_begins_has_no_lender() {
    let finished = Finished { outcome: Outcome::Done(vec![1].into()), work_ns: 1, span_ns: 1 };
    let done = Held::done(NOW, job(1), lender(VICTIM, 1), finished.clone());
    assert_eq!((done.lender(), done.begun, done.finished), (None, true, Some(finished)));
    let new = held(1, VICTIM);
    assert_eq!((new.lender(), new.begun, new.since()), (Some(HostId(20)), false, NOW));
    assert_eq!(Held::new(NOW, job(1), Owner::Here(RuntimeJobId(1))).lender(), None);
}

#[test]
fn jobs_wait_until_they_are_begun_known_or_gone() {
    let mut jobs = HeldJobs::default();
    let finished = Finished { outcome: Outcome::Done(Vec::new().into()), work_ns: 1, span_ns: 1 };
    (0..4).for_each(|number| jobs.hold(HeldId(number.into()), held(number, VICTIM)));
    assert_eq!(jobs.waiting(), 4);
    jobs.begin(HeldId(0));
    jobs.begin(HeldId(0));
    assert_eq!(jobs.waiting(), 3);
    jobs.finish(HeldId(0), finished.clone());
    jobs.finish(HeldId(1), finished);
    assert_eq!(jobs.waiting(), 2, "one is known, another was begun before");
    jobs.forget(HeldId(1));
    jobs.forget(HeldId(2));
    assert_eq!(jobs.waiting(), 1);
}
