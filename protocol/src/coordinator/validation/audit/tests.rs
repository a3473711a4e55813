//! What an audit draws, believes and finds.

use super::super::tests::{end, host, hungry, job, outcome, owner, unit};
use super::super::{Checked, Validation};
use super::*;
use crate::coordinator::claims::Verified;
use crate::limits::CHECKED_RESULT_BYTES_MAX;
use crate::{Outcome, Time, Trust, Unit};

const ROOT: u8 = 0;
/// Draws nothing by chance, or hardly.
const LEAST: Trust = Trust::Audit(1);

/// The audit of a run whose root is job 0.
fn audit(trust: Trust) -> Validation {
    Validation::new(trust, job(ROOT, 0)).expect("it is checked")
}

/// An owner with standing reports a unit, with its outcome.
fn claim(validation: &mut Validation, by: u8, reported: Unit, value: u8) {
    let reported = Unit { outcome: Some(outcome(value)), ..reported };
    validation.claim((owner(by), host(by)), reported, FIRST_UNITS_AUDITED);
}

fn check(validation: &mut Validation, number: u8, by: u8, value: u8) {
    let key = JobKey([number; 32]);
    validation.begin_check(&key, owner(by));
    validation.answer(key, (owner(by), host(by)), end(value));
}

fn barred(validation: &Validation) -> Vec<u8> {
    validation.checked().barred.iter().map(|(_, owner)| owner.0[0]).collect()
}

/// A unit is drawn, although it would not have been.
fn draw(validation: &mut Validation, number: u8) {
    let key = JobKey([number; 32]);
    validation.units.get_mut(&key).expect("it is known").set_draw(Draw::Chance);
    validation.note_reported(&key);
}

/// Two leaves below 2, below the root. Owner 2 has executed 2, owners 3 and 4 the leaves of the same numbers. The results are ten
/// times the numbers, and the root's is 7.
fn tree(validation: &mut Validation, leaf: u8) {
    claim(validation, 3, unit(3, 2, leaf, &[]), leaf);
    claim(validation, 4, unit(4, 2, 40, &[]), 40);
    claim(validation, 2, unit(2, 1, 20, &[(3, leaf), (4, 40)]), 20);
    claim(validation, 1, unit(ROOT, 0, 7, &[(2, 20)]), 7);
}

fn deliver(validation: &mut Validation, value: u8) {
    validation.deliver_root(Time(0), Some((owner(1), host(1))), end(value));
}

/// All that still needs checks is checked by honest owners, from 11 on; returns how often.
fn check_all(validation: &mut Validation, right: impl Fn(u8) -> u8) -> usize {
    for checks in 0..99 {
        let Some(number) = hungry(validation).first().copied() else { return checks };
        let by = (11..).find(|by| {
            validation.unit(&JobKey([number; 32])).expect("it is known").may_be_checked_by(&owner(*by))
        });
        check(validation, number, by.expect("there are many"), right(number));
    }
    panic!("{:?} are still to be checked", hungry(validation));
}

#[test]
fn the_first_units_of_an_owner_are_all_drawn_and_of_the_others_a_share() {
    for (share, least, most) in [(1, 0, 0), (100_000, 60, 140), (1_000_000, 1_000, 1_000)] {
        let mut audit = Audit::new(share);
        audit.seed(5);
        let draws = |audit: &mut Audit, by: u8, verified| {
            (0..1_000).map(|_| audit.draw(owner(by), verified)).collect::<Vec<_>>()
        };
        let new = draws(&mut audit, 1, 0);
        let first = FIRST_UNITS_AUDITED as usize;
        assert!(new[..first].iter().all(|draw| *draw == Draw::Always));
        assert!(new[first..].iter().all(|draw| *draw != Draw::Always));
        let known = draws(&mut audit, 2, FIRST_UNITS_AUDITED);
        let drawn = known.iter().filter(|draw| **draw == Draw::Chance).count();
        assert!((least..=most).contains(&drawn), "{drawn} of 1000 at {share}");
        assert_eq!(audit.owners[&owner(1)].units, 1_000);
    }
}

#[test]
fn what_was_not_drawn_is_believed_except_for_what_each_owner_owes() {
    let mut validation = audit(LEAST);
    tree(&mut validation, 30);
    assert!(hungry(&validation).is_empty());
    deliver(&mut validation, 7);
    // Each owner has fewer units than are to be checked of it: all are.
    assert_eq!(check_all(&mut validation, |number| if number == ROOT { 7 } else { 10 * number }), 4);
    assert_eq!(validation.end(), Some(&Verified::Is(end(7))));
    // An owner with many units.
    let mut validation = audit(LEAST);
    for number in 10..30 {
        claim(&mut validation, 1, unit(number, 1, number, &[]), number);
    }
    let children: Vec<(u8, u8)> = (10..30).map(|number| (number, number)).collect();
    claim(&mut validation, 1, unit(ROOT, 0, 7, &children), 7);
    deliver(&mut validation, 7);
    assert_eq!(
        check_all(&mut validation, |number| if number == ROOT { 7 } else { number }),
        UNITS_SETTLED_MIN
    );
    assert_eq!(validation.end(), Some(&Verified::Is(end(7))));
    let checked = validation.checked();
    assert_eq!((checked.units, checked.units_checked, checked.without_standing), (21, 2, 0));
    assert_eq!(checked.caught[0], Caught { one_in: 1, millionths: MILLIONTHS });
    // One lie among 21, of which two are checked.
    let one = Caught { one_in: 100, millionths: 95_238 };
    assert_eq!(checked.caught[2], one);
}

#[test]
fn a_unit_is_checked_before_the_root_has_a_result_with_what_its_executor_names() {
    let mut validation = audit(LEAST);
    claim(&mut validation, 2, unit(2, 1, 20, &[(3, 30), (4, 40)]), 20);
    draw(&mut validation, 2);
    assert!(hungry(&validation).is_empty(), "its children are not known");
    claim(&mut validation, 4, unit(4, 2, 40, &[]), 40);
    claim(&mut validation, 3, unit(3, 2, 31, &[]), 31);
    assert!(hungry(&validation).is_empty(), "its executor was given another result");
    let mut validation = audit(LEAST);
    claim(&mut validation, 2, unit(2, 1, 20, &[(3, 30), (4, 40)]), 20);
    draw(&mut validation, 2);
    claim(&mut validation, 4, unit(4, 2, 40, &[]), 40);
    claim(&mut validation, 3, unit(3, 2, 30, &[]), 30);
    assert_eq!(hungry(&validation), [2]);
    validation.begin_check(&JobKey([2; 32]), owner(9));
    let (known, deepest) = validation.known_below(validation.unit(&JobKey([2; 32])).expect("it is known"));
    let values: Vec<&[u8]> = known
        .iter()
        .map(|entry| match &entry.state {
            crate::EntryState::Done(finished) => finished.outcome.bytes(),
            state => panic!("{state:?}"),
        })
        .collect();
    assert_eq!((values, deepest), (vec![&[30][..], &[40]], 2));
    validation.answer(JobKey([2; 32]), (owner(9), host(9)), end(20));
    assert!(hungry(&validation).is_empty() && validation.end().is_none());
    assert_eq!(validation.checked().units_checked, 1);
}

#[test]
fn a_lie_that_is_drawn_is_found_at_once_and_what_was_built_on_it_is_computed_again() {
    let right = |number| [7, 0, 20, 30, 40][usize::from(number)];
    let mut validation = audit(LEAST);
    // Owner 3 lies of 3.
    tree(&mut validation, 66);
    draw(&mut validation, 3);
    assert_eq!(hungry(&validation), [3]);
    check(&mut validation, 3, 9, 30);
    assert!(barred(&validation).is_empty() && validation.take_caught().is_empty());
    check(&mut validation, 3, 8, 30);
    assert!(barred(&validation).is_empty(), "two against one are not enough");
    check(&mut validation, 3, 7, 30);
    assert_eq!((barred(&validation), validation.take_caught()), (vec![3], vec![owner(3)]));
    claim(&mut validation, 3, unit(5, 3, 50, &[]), 50);
    assert!(validation.unit(&JobKey([5; 32])).is_none(), "it is not heard any more");
    deliver(&mut validation, 7);
    // Owner 2 has found 20 with the lie, and the root is right by chance: what it was made of is.
    check_all(&mut validation, right);
    assert_eq!(validation.end(), Some(&Verified::Is(end(7))));
    assert_eq!(barred(&validation), [3]);
}

/// Two of owner 3's units below the root have been checked, and a third is below it as well.
fn third_of_owner_3(validation: &mut Validation, third: Unit, root: Unit) {
    for number in [21, 22] {
        claim(validation, 3, unit(number, 1, number, &[]), number);
        draw(validation, number);
        check(validation, number, 9, number);
    }
    validation.claim((owner(3), host(3)), third, FIRST_UNITS_AUDITED);
    claim(validation, 1, root, 77);
}

#[test]
fn a_lie_that_was_not_drawn_passes_and_those_that_were_given_it_are_not_to_blame() {
    let mut validation = audit(LEAST);
    let third = Unit { outcome: Some(outcome(66)), ..unit(3, 1, 66, &[]) };
    third_of_owner_3(&mut validation, third, unit(ROOT, 0, 77, &[(3, 66), (21, 21), (22, 22)]));
    deliver(&mut validation, 77);
    assert_eq!(hungry(&validation), [ROOT]);
    // Its checker is given the lie, too.
    let (known, _) = validation.known_below(validation.unit(&JobKey([ROOT; 32])).expect("it is known"));
    assert_eq!(known.len(), 3);
    assert_eq!(check_all(&mut validation, |_| 77), 1);
    assert_eq!((validation.end(), barred(&validation)), (Some(&Verified::Is(end(77))), vec![]));
}

#[test]
fn a_result_that_was_given_on_as_another_than_was_reported_makes_both_units_checked() {
    let mut validation = audit(LEAST);
    claim(&mut validation, 3, unit(3, 1, 30, &[]), 30);
    // It was given 66, it says.
    claim(&mut validation, 1, unit(ROOT, 0, 77, &[(3, 66)]), 77);
    deliver(&mut validation, 77);
    assert_eq!(hungry(&validation), [3]);
    let checks = check_all(&mut validation, |number| if number == ROOT { 7 } else { 30 });
    assert_eq!((checks, validation.end()), (3, Some(&Verified::Is(end(7)))));
    assert!(barred(&validation).is_empty(), "which of the two lies is not known");
}

#[test]
fn a_result_from_the_table_which_nobody_has_reported_is_not_believed() {
    let mut validation = audit(LEAST);
    claim(&mut validation, 1, unit(ROOT, 0, 77, &[(3, 66)]), 77);
    deliver(&mut validation, 77);
    let until = validation.awaits_until().expect("it waits");
    validation.time_out(until);
    assert_eq!(hungry(&validation), [ROOT]);
    check_all(&mut validation, |_| 7);
    assert_eq!((validation.end(), barred(&validation)), (Some(&Verified::Is(end(7))), vec![]));
}

#[test]
fn what_was_verified_by_a_liar_is_verified_again_and_whom_it_has_framed_is_cleared() {
    let mut validation = audit(LEAST);
    tree(&mut validation, 30);
    claim(&mut validation, 8, unit(6, 2, 66, &[]), 66);
    // Owners 6, 7 and 8 lie together: they say that 3 has lied.
    draw(&mut validation, 3);
    for by in [6, 7, 8] {
        check(&mut validation, 3, by, 66);
    }
    assert_eq!(barred(&validation), [3]);
    // One of them is found.
    draw(&mut validation, 6);
    for by in [9, 10, 11] {
        check(&mut validation, 6, by, 60);
    }
    assert_eq!(barred(&validation), [8]);
    deliver(&mut validation, 7);
    check_all(&mut validation, |number| [7, 0, 20, 30, 40][usize::from(number)]);
    assert_eq!((validation.end(), barred(&validation)), (Some(&Verified::Is(end(7))), vec![6, 7, 8]));
}

#[test]
fn if_no_other_owner_is_connected_a_majority_of_those_that_are_decides() {
    let mut validation = audit(LEAST);
    claim(&mut validation, 3, unit(ROOT, 0, 66, &[]), 66);
    validation.deliver_root(Time(0), Some((owner(3), host(3))), end(66));
    check(&mut validation, ROOT, 1, 7);
    validation.starve(Time(0), JobKey([ROOT; 32]));
    assert_eq!(validation.end(), None, "one against one");
    validation.feed();
    check(&mut validation, ROOT, 2, 7);
    assert_eq!(validation.end(), None, "a third may agree");
    validation.starve(Time(0), JobKey([ROOT; 32]));
    assert_eq!((validation.end(), barred(&validation)), (Some(&Verified::Is(end(7))), vec![3]));
}

#[test]
fn an_early_check_that_was_given_a_lie_is_void() {
    let mut validation = audit(LEAST);
    tree(&mut validation, 66);
    draw(&mut validation, 2);
    // With the lie, 20 is right.
    check(&mut validation, 2, 9, 20);
    assert_eq!(validation.checked().units_checked, 1);
    draw(&mut validation, 3);
    for by in [9, 8, 7] {
        check(&mut validation, 3, by, 30);
    }
    deliver(&mut validation, 7);
    check_all(&mut validation, |number| [8, 0, 21, 30, 40][usize::from(number)]);
    assert_eq!((validation.end(), barred(&validation)), (Some(&Verified::Is(end(8))), vec![3]));
}

#[test]
fn a_large_result_is_found_again_with_the_unit_above_and_nobody_is_blamed_for_it() {
    let large = Outcome::Done(vec![7; CHECKED_RESULT_BYTES_MAX + 1].into());
    let mut validation = audit(LEAST);
    let leaf = Unit { result: large.hash(), ..unit(3, 1, 0, &[]) };
    let mut root = unit(ROOT, 0, 77, &[(3, 0), (21, 21), (22, 22)]);
    root.children[0].result = large.hash();
    third_of_owner_3(&mut validation, leaf, root);
    draw(&mut validation, ROOT);
    assert!(hungry(&validation).is_empty(), "not before the root has a result");
    deliver(&mut validation, 77);
    let (known, _) = validation.known_below(validation.unit(&JobKey([ROOT; 32])).expect("it is known"));
    assert_eq!(known.len(), 2);
    assert_eq!(check_all(&mut validation, |_| 7), 3);
    assert_eq!((validation.end(), barred(&validation)), (Some(&Verified::Is(end(7))), vec![]));
}

#[test]
fn lies_are_found_as_probably_as_the_lottery_says() {
    let of = |by_chance, checked, units| Contribution { by_chance, checked, units };
    let caught = |contribution: Contribution| TOLD.map(|one_in| contribution.caught(one_in));
    assert_eq!(caught(of(0, 0, 20)), [MILLIONTHS; 3], "all were checked");
    assert_eq!(caught(of(100, 0, 100)), [0; 3]);
    assert_eq!(caught(of(100, 100, 100)), [MILLIONTHS; 3]);
    // The one lie of a hundred is among the ten that are checked.
    assert_eq!(caught(of(100, 10, 100))[2], 100_000);
    // 1 - C(90, 10) / C(100, 10).
    assert_eq!(caught(of(100, 10, 100))[1], 669_523);
    // More lies than units that were not checked.
    assert_eq!(caught(of(10, 5, 60))[1], MILLIONTHS);
}

#[test]
fn verified_units_count_for_their_owners() {
    let mut validation = audit(LEAST);
    tree(&mut validation, 30);
    assert_eq!(validation.checked(), Checked { units: 4, work_ns: 40, ..Checked::default() });
    deliver(&mut validation, 7);
    check_all(&mut validation, |number| [7, 0, 20, 30, 40][usize::from(number)]);
    let expected = [1, 2, 3, 4].map(|by| (owner(by), 1));
    assert_eq!(validation.verified_units().into_iter().collect::<Vec<_>>(), expected);
}
