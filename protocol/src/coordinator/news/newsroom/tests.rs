use super::*;

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
fn answers_that_do_not_come_are_not_waited_for_for_ever() {
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
    // What comes too late changes nothing, and nothing is owed anew for what is over.
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
fn nothing_is_due_for_a_host_that_is_notified_no_more() {
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
