use std::collections::BTreeMap;

use super::*;
use crate::GridId;
use crate::coordinator::{CoordinatorConfig, LinkId};
use crate::limits::CIRCLE;
use crate::message::{HostReport, ToCoordinator};

/// What each of three hosts of a site is told about the others.
fn secrets() -> BTreeMap<(HostId, HostId), u64> {
    let config = CoordinatorConfig {
        grid: GridId(1),
        secret: [7; 32],
        seed: 1,
        table_bytes_max: 1 << 20,
        circle: CIRCLE,
        restarted: false,
    };
    let mut coordinator = Coordinator::new(config, Vec::new(), Time::default());
    let mut ids = BTreeMap::new();
    let mut told = BTreeMap::new();
    for link in (1..=3).map(LinkId) {
        let report = HostReport {
            name: link.0.to_string(),
            site: "here".to_owned(),
            threads: 1,
            version: "0".to_owned(),
            direct: None,
        };
        let hello =
            ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None };
        coordinator.handle_message(Time::default(), link, hello);
        coordinator.handle_timeout(Time(1_000_000_000));
        while let Some((link, message)) = coordinator.poll_transmit() {
            let hosts = match message {
                ToHost::Welcome { host, hosts, .. } => {
                    ids.insert(link, host);
                    hosts
                }
                ToHost::Hosts { joined, .. } => joined,
                _ => continue,
            };
            told.extend(hosts.into_iter().map(|info| ((ids[&link], info.id), info.direct_secret)));
        }
    }
    told.retain(|(viewer, host), _| viewer != host);
    told
}

#[test]
fn each_pair_of_hosts_has_a_secret_of_its_own() {
    let secrets = secrets();
    assert_eq!(secrets.len(), 6, "three hosts know two others each");
    for ((viewer, host), secret) in &secrets {
        assert_eq!(secrets[&(*host, *viewer)], *secret, "both know the same");
    }
    let different: BTreeSet<u64> = secrets.values().copied().collect();
    assert_eq!(different.len(), 3, "a third host knows no other pair's");
}

#[test]
fn an_epoch_is_settled_when_all_have_answered_it() {
    let mut room = Newsroom::default();
    let mut mailboxes = [Mailbox::default(), Mailbox::default()];
    room.owe(Time(0), &mut mailboxes[0], 5);
    room.owe(Time(0), &mut mailboxes[0], 3);
    room.owe(Time(0), &mut mailboxes[0], 5);
    room.owe(Time(0), &mut mailboxes[1], 5);
    room.hold(Time(0), 4);
    let settled = |room: &Newsroom| [3, 4, 5].map(|epoch| room.has_settled(epoch));
    assert_eq!((settled(&room), room.unsettled()), ([false; 3], 3));
    room.settle(&mut mailboxes[0], 4);
    assert_eq!((settled(&room), room.unsettled()), ([true, false, false], 4));
    room.release(4);
    assert_eq!((settled(&room), room.unsettled()), ([true, true, false], 5));
    room.settle(&mut mailboxes[0], 5);
    assert_eq!(room.unsettled(), 5, "the other has not answered");
    room.settle(&mut mailboxes[1], 9);
    assert_eq!((settled(&room), room.unsettled()), ([true; 3], u64::MAX));
}

#[test]
fn missing_answers_are_not_awaited_forever() {
    let mut room = Newsroom::default();
    let mut mailboxes = [Mailbox::default(), Mailbox::default()];
    room.owe(Time(1), &mut mailboxes[0], 3);
    room.owe(Time(2), &mut mailboxes[0], 4);
    room.owe(Time(3), &mut mailboxes[1], 4);
    let never = Time(0);
    let first = Time(1) + DEPARTURE_ANSWER_MAX;
    assert_eq!(room.next_expiry(never), Some(first));
    assert!(room.next_expiry(first) > Some(first), "nothing could be heard until then");
    room.expire(Time(first.0 - 1), never);
    assert_eq!((room.owed(), room.unsettled()), (3, 3));
    room.expire(first, never);
    assert_eq!((room.owed(), room.unsettled()), (2, 4));
    // Late answers change nothing, and no answers are expected again for past epochs.
    room.settle(&mut mailboxes[0], 3);
    room.owe(first, &mut mailboxes[1], 3);
    assert_eq!((room.owed(), room.unsettled()), (2, 4));
    room.settle(&mut mailboxes[1], 4);
    room.expire(first + DEPARTURE_ANSWER_MAX, never);
    assert_eq!((room.owed(), room.unsettled(), room.next_expiry(never)), (0, u64::MAX, None));
    room.owe(first, &mut mailboxes[0], 5);
    assert_eq!((mailboxes[0].owed.len(), room.owed()), (1, 1), "what has expired is not kept");
}

#[test]
fn nothing_is_due_for_a_host_that_is_sent_no_news() {
    let (host, other) = (HostId(1), HostId(2));
    let mut room = Newsroom::default();
    let mut mailbox = Mailbox::default();
    let news = News { due: Time(7), joined: BTreeSet::from([other]), gone: Vec::new() };
    room.due.extend([(Time(7), host), (Time(9), other)]);
    mailbox.news = Some(Box::new(news));
    assert_eq!(room.next(), Some(Time(7)));
    room.drop(host, &mut mailbox);
    assert_eq!((room.next(), mailbox.news.is_none()), (Some(Time(9)), true));
    room.drop(other, &mut Mailbox::default());
    assert_eq!(room.next(), Some(Time(9)), "that one has no news");
}
