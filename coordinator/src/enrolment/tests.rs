use sateen_protocol::identity::Signature;

use super::*;

const NOW_MS: u64 = 1_000_000;

fn key(number: u32) -> PublicKey {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    PublicKey(key)
}

fn address(number: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, number])
}

/// A host with this key, whose process and link have the same number.
fn arrival(of: PublicKey, number: u64) -> Arrival<'static> {
    Arrival {
        key: of,
        rotations: &[],
        instance: number,
        name: "one",
        version: "0.2.0",
        address: address(number as u8),
        link: LinkId(number),
        token: None,
        now_ms: NOW_MS + number,
    }
}

fn enrolment(must_approve: bool) -> Enrolment {
    Enrolment::new(GridId(1), must_approve, Vec::new())
}

fn step(from: PublicKey, to: PublicKey) -> Rotation {
    Rotation { from, to, signatures: [Signature::default(); 2] }
}

fn standing(enrolment: &Enrolment, of: PublicKey) -> Option<Standing> {
    enrolment.list(None, 1000).0.iter().find(|listed| listed.key == of).map(|listed| listed.record.standing)
}

#[test]
fn an_unknown_key_takes_part_at_once_or_waits_for_the_operator() {
    let open = enrolment(false);
    assert_eq!(open.admit(&arrival(key(1), 1)), Ok(()));
    assert_eq!(standing(&open, key(1)), Some(Standing::Enrolled));

    let closed = enrolment(true);
    for _ in 0..3 {
        assert_eq!(closed.admit(&arrival(key(1), 1)), Err(Refusal::Waiting(key(1))));
    }
    assert_eq!(closed.take_unsaved(), [], "its host tries again");
    assert_eq!(standing(&closed, key(1)), Some(Standing::Waiting));
    let listed = closed.approve(key(1), NOW_MS).expect("it waits");
    assert!(listed.record.approved && listed.record.name == "one");
    assert_eq!(closed.admit(&arrival(key(1), 1)), Ok(()));
    // A key that was never seen can be approved, too.
    closed.approve(key(2), NOW_MS).expect("nothing is against it");
    assert_eq!(closed.admit(&arrival(key(2), 2)), Ok(()));
    assert_eq!(closed.admit(&arrival(key(3), 3)), Err(Refusal::Waiting(key(3))));

    // A join key is for one host.
    let with_token = |of, number, id| Arrival { token: Some(TokenId(id)), ..arrival(of, number) };
    assert_eq!(closed.admit(&with_token(key(3), 3, 7)), Ok(()), "it waits no more");
    assert_eq!(closed.list(None, 1000).0.iter().filter(|listed| listed.key == key(3)).count(), 1);
    assert_eq!(closed.admit(&with_token(key(4), 4, 7)), Err(Refusal::Waiting(key(4))), "another's token");
    assert_eq!(closed.admit(&with_token(key(4), 4, 8)), Ok(()));
    closed.revoke(key(4), NOW_MS);
    assert_eq!(closed.admit(&with_token(key(4), 5, 9)), Err(Refusal::Revoked(key(4))));

    // What was enrolled stays so, however the coordinator is started next.
    let saved = open.take_unsaved().into_iter().map(|(key, record)| (key, record.expect("known"))).collect();
    let restarted = Enrolment::new(GridId(1), true, saved);
    assert_eq!(restarted.admit(&arrival(key(1), 7)), Ok(()));
}

#[test]
fn a_revoked_key_is_cut_off_and_refused_until_it_is_approved_again() {
    let enrolment = enrolment(false);
    enrolment.admit(&arrival(key(1), 1)).expect("it may");
    let (listed, link) = enrolment.revoke(key(1), NOW_MS);
    assert_eq!((listed.record.standing, listed.is_live, link), (Standing::Revoked, false, Some(LinkId(1))));
    assert_eq!(enrolment.admit(&arrival(key(1), 2)), Err(Refusal::Revoked(key(1))));
    assert_eq!(enrolment.revoke(key(1), NOW_MS).1, None, "it is cut off once");
    enrolment.leave(&key(1), LinkId(1), NOW_MS);
    // Its successors are refused with it.
    let rotations = [step(key(1), key(2))];
    let rotated = Arrival { rotations: &rotations, ..arrival(key(2), 3) };
    assert_eq!(enrolment.admit(&rotated), Err(Refusal::Revoked(key(2))));
    enrolment.approve(key(2), NOW_MS).expect("the operator may");
    assert_eq!(enrolment.admit(&rotated), Ok(()), "it was approved by name");
    assert_eq!(enrolment.admit(&arrival(key(1), 4)), Err(Refusal::Revoked(key(1))));
}

#[test]
fn a_second_process_with_a_key_is_refused_and_noticed() {
    let enrolment = enrolment(false);
    enrolment.admit(&arrival(key(1), 1)).expect("the first");
    let refusal = enrolment.admit(&arrival(key(1), 2)).expect_err("the second");
    let why = refusal.to_string();
    assert!(why.contains("192.0.2.1") && why.contains("one") && why.contains(&key(1).short()), "{why}");
    let listed = || enrolment.list(None, 10).0.remove(0);
    assert_eq!((listed().is_live, listed().copied_to), (true, Some(address(2))));
    // The link of the second is closed, and the first is still there.
    enrolment.leave(&key(1), LinkId(2), NOW_MS);
    assert!(listed().is_live);
    // The same process may come back on another link, and then close the first one.
    let again = Arrival { link: LinkId(3), ..arrival(key(1), 1) };
    assert_eq!(enrolment.admit(&again), Ok(()));
    enrolment.leave(&key(1), LinkId(1), NOW_MS);
    assert!(listed().is_live);
    enrolment.leave(&key(1), LinkId(3), NOW_MS + 9);
    assert_eq!((listed().is_live, listed().record.seen_ms), (false, Some(NOW_MS + 9)));
    assert_eq!(enrolment.admit(&arrival(key(1), 2)), Ok(()));
}

#[test]
fn a_rotated_key_takes_the_place_of_the_earlier_one() {
    let enrolment = enrolment(true);
    enrolment.approve(key(1), NOW_MS).expect("nothing is against it");
    enrolment.admit(&arrival(key(1), 1)).expect("approved");
    let rotations = [step(key(1), key(2)), step(key(2), key(3))];
    let rotated = Arrival { rotations: &rotations, ..arrival(key(3), 2) };
    let in_use = enrolment.admit(&rotated);
    assert_eq!(in_use, Err(Refusal::InUse { key: key(1), name: "one".to_owned() }));
    enrolment.leave(&key(1), LinkId(1), NOW_MS);
    assert_eq!(enrolment.admit(&rotated), Ok(()));
    for (earlier, by) in [(1, 2), (2, 3)] {
        let (key, by) = (key(earlier), key(by));
        assert_eq!(standing(&enrolment, key), Some(Standing::Replaced(by)));
        assert_eq!(enrolment.admit(&arrival(key, 5)), Err(Refusal::Replaced { key, by }));
        assert_eq!(enrolment.approve(key, NOW_MS), Err(Refusal::Replaced { key, by }));
    }
    // It comes again with the same rotations.
    enrolment.leave(&key(3), LinkId(2), NOW_MS);
    assert_eq!(enrolment.admit(&Arrival { instance: 9, ..rotated }), Ok(()));
    // A thief of the earlier key cannot rotate it to another key.
    let elsewhere = [step(key(1), key(7))];
    let thief = Arrival { rotations: &elsewhere, ..arrival(key(7), 8) };
    assert_eq!(enrolment.admit(&thief), Err(Refusal::Replaced { key: key(1), by: key(2) }));
    // Of a key that is not known, nothing follows.
    let unknown = [step(key(20), key(21))];
    let stranger = Arrival { rotations: &unknown, ..arrival(key(21), 21) };
    assert_eq!(enrolment.admit(&stranger), Err(Refusal::Waiting(key(21))));
}

#[test]
fn a_key_is_found_by_its_first_digits() {
    let enrolment = enrolment(true);
    let (one, other) = (key(0xabcd_ef01), key(0xabcd_ef02));
    enrolment.approve(one, NOW_MS).expect("nothing is against it");
    assert_eq!(enrolment.admit(&arrival(other, 1)), Err(Refusal::Waiting(other)));
    assert_eq!(enrolment.find("ABCDEF02"), Ok(other));
    assert_eq!(enrolment.find(&one.to_string()), Ok(one));
    assert_eq!(enrolment.find(&key(5).to_string()), Ok(key(5)), "a whole key need not be known");
    assert_eq!(enrolment.find("abcdef03"), Err(NoSuchKey::Unknown("abcdef03".to_owned())));
    let (longer, third) = (key(0xabcd_ef01), PublicKey([0xab; 32]));
    enrolment.approve(third, NOW_MS).expect("nothing is against it");
    assert_eq!(enrolment.find(&longer.to_string()[..20]), Ok(one));
    for text in ["", "abcdef0", "h1234567", "abcdefgh", &"a".repeat(65)] {
        let found = enrolment.find(text);
        assert!(matches!(found, Err(NoSuchKey::NotAKey(_) | NoSuchKey::Unknown(_))), "{text}: {found:?}");
    }
    let mut twin = one;
    twin.0[31] = 1;
    enrolment.approve(twin, NOW_MS).expect("nothing is against it");
    assert_eq!(enrolment.find("abcdef01"), Err(NoSuchKey::Several("abcdef01".to_owned())));
}

#[test]
fn one_address_leaves_others_room_to_wait() {
    let enrolment = enrolment(true);
    let from = |number: u32, of: u8| Arrival { address: address(of), ..arrival(key(number), 1) };
    for number in 0..KEYS_WAITING_PER_PEER_MAX as u32 {
        assert_eq!(enrolment.admit(&from(number, 1)), Err(Refusal::Waiting(key(number))));
    }
    let more = KEYS_WAITING_PER_PEER_MAX as u32;
    assert_eq!(enrolment.admit(&from(more, 1)), Err(Refusal::Crowd(key(more))));
    assert_eq!(enrolment.admit(&from(0, 1)), Err(Refusal::Waiting(key(0))), "it waits already");
    assert_eq!(enrolment.admit(&from(more, 2)), Err(Refusal::Waiting(key(more))));
    enrolment.approve(key(0), NOW_MS).expect("it waits");
    assert_eq!(
        enrolment.admit(&from(more + 1, 1)),
        Err(Refusal::Waiting(key(more + 1))),
        "one place is free"
    );
}

#[test]
fn pages_have_all_keys_once() {
    let enrolment = enrolment(false);
    for number in 0..25 {
        enrolment.admit(&arrival(key(number), u64::from(number))).expect("it may");
    }
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let (page, has_more) = enrolment.list(after, 10);
        after = page.last().map(|listed| listed.key);
        seen.extend(page.into_iter().map(|listed| listed.key));
        if !has_more {
            break;
        }
    }
    assert_eq!(seen, (0..25).map(key).collect::<Vec<_>>());
}

#[test]
fn only_keys_about_which_nobody_has_decided_are_forgotten() {
    let record = |standing, approved, seen_ms| Record {
        standing,
        approved,
        name: String::new(),
        address: String::new(),
        since_ms: 0,
        seen_ms: Some(seen_ms),
        enrolled_by: None,
    };
    let mut saved: Vec<_> = (10..KEYS_MAX as u32 + 7)
        .map(|number| (key(number), record(Standing::Enrolled, false, number.into())))
        .collect();
    saved.push((key(1), record(Standing::Revoked, false, 0)));
    saved.push((key(2), record(Standing::Enrolled, true, 0)));
    saved.push((key(3), record(Standing::Replaced(key(2)), false, 0)));
    let enrolment = Enrolment::new(GridId(1), false, saved);
    // The oldest is connected.
    enrolment.admit(&Arrival { now_ms: 1, ..arrival(key(10), 1) }).expect("it is known");
    enrolment.admit(&arrival(key(4), 2)).expect("there is room again");
    let forgotten = enrolment.take_unsaved().iter().filter(|(_, record)| record.is_none()).count();
    assert_eq!(forgotten, KEYS_FORGOTTEN);
    let known: Vec<_> = enrolment.list(None, 6).0.iter().map(|listed| listed.key).collect();
    assert_eq!(known[..5], [1, 2, 3, 4, 10].map(key));
    assert_eq!(known[5], key(11 + KEYS_FORGOTTEN as u32), "the next ones are gone");
}

#[test]
fn a_host_of_an_earlier_release_than_the_minimum_is_refused() {
    let enrolment = enrolment(true).accepting("0.2.0".parse().ok());
    let old = Arrival { version: "0.1.9", ..arrival(key(1), 1) };
    let why = enrolment.admit(&old).expect_err("it is old").to_string();
    assert!(
        why.contains("sateen-host 0.1.9 is too old") && why.contains("update sateen-host to 0.2.0"),
        "{why}"
    );
    assert_eq!(standing(&enrolment, key(1)), None, "it does not wait for approval");
    assert_eq!(enrolment.admit(&arrival(key(1), 1)), Err(Refusal::Waiting(key(1))));
}
