use super::*;

#[test]
fn no_numbers_of_a_host_make_a_sum_overflow() {
    let jobs = Jobs { spawned: u64::MAX, ..Jobs::default() };
    let absurd = Counts { jobs, busy: u32::MAX, ..Counts::default() };
    let mut sum = absurd;
    sum.add(&absurd);
    assert_eq!(sum, absurd);
}

fn spec(record_every_ms: u32) -> RunSpec {
    RunSpec { record_every_ms, ..RunSpec::new(BlobHash([1; 32])) }
}

#[test]
fn a_result_that_took_little_is_not_worth_an_entry() {
    assert_eq!(spec(100).recorded_work_ns_min(), 5_000_000);
    assert_eq!(spec(1_000).recorded_work_ns_min(), 20_000_000, "a crash loses far more");
}

#[test]
fn a_salt_depends_on_the_inputs_and_not_on_their_order() {
    let spec = |inputs: &[(&str, u8)]| RunSpec {
        inputs: inputs.iter().map(|(name, byte)| ((*name).to_owned(), BlobHash([*byte; 32]))).collect(),
        ..spec(100)
    };
    let salt = |inputs: &[(&str, u8)]| spec(inputs).salt();
    assert_eq!(salt(&[]), Vec::<u8>::new());
    assert_eq!(salt(&[("a", 1), ("b", 2)]), salt(&[("b", 2), ("a", 1)]));
    let others =
        [salt(&[]), salt(&[("a", 1)]), salt(&[("a", 2)]), salt(&[("b", 1)]), salt(&[("a", 1), ("b", 1)])];
    for (at, salt) in others.iter().enumerate() {
        assert!(!others[..at].contains(salt), "{at}");
    }
}

#[test]
fn every_count_of_a_sum_is_the_sum_of_the_hosts_counts() {
    let held =
        |number| HeldCounts { begun: number, done: number + 1, failed: number + 2, aborted: number + 3 };
    let one = Counts {
        jobs: Jobs {
            spawned: 1,
            exposed: 2,
            executed: 3,
            stolen_local: 4,
            stolen: 5,
            stolen_wide: 6,
            reused: 7,
            lost: 8,
            given_back: 12,
            adopted: 9,
            recorded: 10,
            aborted: 11,
        },
        steal_requests: 12,
        work_ns: 13,
        saved_work_ns: 14,
        redone_work_ns: 15,
        orphaned: 16,
        orphans_saved: 17,
        held: [held(20), held(30)],
        steals: Steals::default(),
        updates: 18,
        shared_bytes: 19,
        busy: 40,
        workers: 50,
        earlier: 60,
        earlier_work_ns: 70,
    };
    let mut sum = Counts::default();
    sum.add(&one);
    assert_eq!(sum, one);
    sum.add(&one);
    assert_eq!((sum.jobs.exposed, sum.held[1].aborted, sum.workers, sum.shared_bytes), (4, 66, 100, 38));
    assert!(one.began_anew_after(&sum) && !sum.began_anew_after(&one) && !one.began_anew_after(&one));
    let fewer = |counts: Counts| counts.began_anew_after(&one);
    assert!(fewer(Counts { work_ns: 12, ..one }) && fewer(Counts { steal_requests: 11, ..one }));
    assert!(fewer(Counts { jobs: Jobs { spawned: 0, ..one.jobs }, ..one }));
    let asked = Counts { steal_requests: 9, workers: 4, ..Counts::default() };
    assert!(one.has_computed() && !asked.has_computed());
}

#[test]
fn a_run_is_over_when_it_is_done_failed_or_cancelled() {
    use RunState::{Cancelled, Done, Failed, Queued, Running, Suspended, Suspending};
    assert!([Done, Failed, Cancelled].into_iter().all(RunState::is_over));
    assert!(![Queued, Running, Suspending, Suspended].into_iter().any(RunState::is_over));
}

#[test]
fn states_have_names_of_their_own() {
    let words = RunState::ALL.map(RunState::word);
    assert_eq!(words, ["queued", "running", "suspending", "suspended", "done", "failed", "cancelled"]);
    assert_eq!(words.map(RunState::parse), RunState::ALL.map(Some));
    assert_eq!(RunState::parse("Done"), None);
}
