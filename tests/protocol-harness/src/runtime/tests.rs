//! Jobs come and go.

use sateen_protocol::{Bytes, JobKey, JobTag, Outcome};

use super::*;

/// A job of a task, both by numbers.
type At = (u8, u8);

impl Place for At {
    type Task = u8;

    fn task(&self) -> u8 {
        self.0
    }
}

fn spec(job: u8, redone: bool) -> JobSpec {
    JobSpec { depth: 1, redone, ..JobSpec::new(JobKey([job; 32]), 0, Vec::new()) }
}

fn finished() -> Finished {
    Finished { outcome: Outcome::Done(Bytes::default()), work_ns: 1, span_ns: 1 }
}

/// Jobs that worker 0 has exposed, in the task 1.
fn exchange(jobs: &[u8], are_redone: bool) -> Exchange<At> {
    let mut exchange = Exchange::numbered_from(1);
    for job in jobs {
        exchange.expose((1, *job), Some(0), spec(*job, are_redone));
    }
    exchange
}

fn open(exchange: &Exchange<At>) -> Vec<u8> {
    exchange.open().map(|open| open.place.1).collect()
}

fn notices(exchange: &mut Exchange<At>) -> Vec<String> {
    std::iter::from_fn(|| exchange.poll_notice())
        .map(|notice| match notice {
            Notice::Lookup { number, .. } => format!("look {} up", number.0),
            Notice::Abandoned { number } => format!("{} is abandoned", number.0),
            Notice::Finished { held, .. } => format!("{} has finished", held.0),
            Notice::Recorded { .. } => "recorded".to_owned(),
            Notice::Exposed => "exposed".to_owned(),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn tag(job: u8) -> JobTag {
    spec(job, false).key.tag()
}

const AGAIN: Again = Again { redone: true, begun: true, given_back: false, lookup_below: 5 };

#[test]
fn the_oldest_is_lent_and_a_worker_takes_back_its_newest() {
    let mut exchange = exchange(&[1, 2, 3], false);
    exchange.expose((1, 4), Some(1), spec(4, false));
    let lent = exchange.offer(0).lent;
    assert_eq!(lent.iter().map(|(place, number, _)| (*place, number.0)).collect::<Vec<_>>(), [((1, 1), 1)]);
    assert_eq!(exchange.newest_of(0), Some(1));
    assert_eq!(exchange.take(1).map(|open| open.place), Some((1, 3)));
    assert_eq!(exchange.newest_of(2), None);
    assert_eq!(open(&exchange), [2, 4]);
}

#[test]
fn a_thief_of_short_jobs_gets_the_newest_as_well_and_half_of_them_stay() {
    let mut exchange = exchange(&[1, 2, 3, 4, 5], false);
    exchange.expose((2, 6), None, spec(6, false));
    exchange.expose((1, 7), None, spec(7, true));
    let lent = |exchange: &mut Exchange<At>, more| {
        exchange.offer(more).lent.iter().map(|(place, ..)| *place).collect::<Vec<_>>()
    };
    assert_eq!(lent(&mut exchange, 1), [(1, 1), (1, 5)]);
    assert_eq!(lent(&mut exchange, 9), [(1, 2), (1, 4), (1, 3)]);
    assert_eq!(lent(&mut exchange, 9), [(2, 6)], "the other is not a sibling, and is redone");
}

#[test]
fn a_thief_that_waits_is_notified_of_open_jobs() {
    let mut exchange = exchange(&[1], false);
    assert_eq!(notices(&mut exchange), [""; 0], "nobody waits");
    assert_eq!(exchange.want(2), 0);
    exchange.expose((1, 2), None, spec(2, false));
    let (_, number, _) = exchange.offer(0).lent.pop().expect("a job is open");
    assert!(exchange.requeue(number, AGAIN, Among::Newest).is_ok());
    assert_eq!(notices(&mut exchange), ["exposed"; 3]);
    exchange.withdraw_all(1);
    assert_eq!(exchange.want(1), 2);
    assert_eq!(notices(&mut exchange), [""; 0], "nothing is open");
}

#[test]
fn a_job_that_comes_back_is_open_as_the_machine_says() {
    for (among, expected) in [(Among::Oldest, [1, 2, 3]), (Among::Newest, [2, 3, 1])] {
        let mut exchange = exchange(&[1, 2, 3], false);
        let (_, number, _) = exchange.offer(0).lent.pop().expect("a job is open");
        assert_eq!(exchange.away().len(), 1);
        let returned = exchange.requeue(number, AGAIN, among).expect("it is away");
        assert_eq!((returned.place, returned.was_redone), ((1, 1), false));
        assert_eq!((open(&exchange), exchange.away().len()), (expected.to_vec(), 0));
        let back = exchange.withdraw(&(1, 1)).expect("it is open");
        assert_eq!((back.redone, back.lookup_below), (true, 5));
    }
}

#[test]
fn a_redone_job_stays_so_and_is_given_back_only_as_the_machine_says_last() {
    let mut exchange = exchange(&[1], true);
    for given_back in [true, false] {
        let (_, number, _) = exchange.offer(0).lent.pop().expect("a job is open");
        let again = Again { redone: false, begun: false, given_back, lookup_below: 0 };
        assert!(exchange.requeue(number, again, Among::Newest).is_ok_and(|returned| returned.was_redone));
        let job = exchange.open().next().expect("it is open");
        assert_eq!((job.spec.redone, job.spec.given_back), (true, given_back));
    }
}

#[test]
fn a_redone_job_is_looked_up_before_it_begins_if_there_was_news_of_it() {
    let mut exchange = exchange(&[1, 2], true);
    assert!(exchange.ask_first(0).is_none(), "there was none");
    exchange.lookups_mut().tell(vec![tag(1), tag(3)]);
    let offer = exchange.offer(0);
    let looked_up: Vec<(At, u64)> =
        offer.looked_up.into_iter().map(|(place, number)| (place, number.0)).collect();
    assert_eq!(looked_up, [((1, 1), 1)]);
    assert_eq!(offer.lent.iter().map(|(place, ..)| *place).collect::<Vec<_>>(), [(1, 2)]);
    assert_eq!(notices(&mut exchange), ["look 1 up"]);
    // The answer is that nobody knows it.
    assert!(exchange.requeue(RuntimeJobId(1), AGAIN, Among::Newest).is_ok());
    assert!(exchange.ask_first(0).is_none(), "there was none since");
    exchange.lookups_mut().tell(vec![tag(1)]);
    exchange.drain();
    assert!(exchange.ask_first(0).is_none(), "nothing begins any more");
}

#[test]
fn a_job_that_is_new_is_not_asked_for() {
    let mut exchange = exchange(&[1], false);
    exchange.lookups_mut().tell(vec![tag(1)]);
    assert!(exchange.ask_first(0).is_none());
    assert!(exchange.ask_first(1).is_none(), "there is no such job");
}

#[test]
fn an_abandoned_job_may_have_one_answer() {
    let mut exchange = exchange(&[1, 2], false);
    let numbers = [exchange.offer(0), exchange.offer(0)].map(|offer| offer.lent[0].1);
    numbers.iter().for_each(|number| exchange.give_up(*number));
    assert_eq!(notices(&mut exchange), ["1 is abandoned", "2 is abandoned"]);
    assert_eq!(exchange.complete(numbers[0]).err(), Some(Unwanted::Abandoned));
    assert_eq!(exchange.complete(numbers[0]).err(), Some(Unwanted::Unknown));
    assert_eq!(exchange.requeue(numbers[1], AGAIN, Among::Newest).err(), Some(Unwanted::Abandoned));
    assert_eq!(open(&exchange), [0; 0]);
}

#[test]
fn a_result_goes_to_the_place_that_waits() {
    let mut exchange = exchange(&[1], false);
    let number = exchange.look_up((1, 2), spec(2, true));
    let (place, spec) = exchange.complete(number).expect("it is away");
    assert_eq!((place, spec.key.tag()), ((1, 2), tag(2)));
}

#[test]
fn a_held_job_is_released_when_it_has_finished() {
    let mut exchange = exchange(&[], false);
    exchange.hold(HeldId(7), 1);
    exchange.hold(HeldId(8), 2);
    assert_eq!(exchange.task_of(HeldId(7)), Some(1));
    exchange.finish(HeldId(7), finished());
    exchange.release(HeldId(8));
    assert_eq!((exchange.held().count(), notices(&mut exchange)), (0, vec!["7 has finished".to_owned()]));
}

#[test]
fn little_work_is_not_recorded() {
    let mut exchange = exchange(&[], false);
    exchange.record(&spec(1, false), 4, 5, || unreachable!("its result is not needed"));
    exchange.record(&spec(2, false), 5, 5, finished);
    assert_eq!(notices(&mut exchange), ["recorded"]);
}
