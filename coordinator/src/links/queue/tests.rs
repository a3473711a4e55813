use super::*;
use sateen_protocol::HostId;

fn relayed(bytes: usize) -> ToHost {
    ToHost::Relayed { from: HostId(1), frame: vec![0; bytes] }
}

fn senders<const COUNT: usize>() -> [LinkId; COUNT] {
    std::array::from_fn(|number| LinkId(1 + number as u64))
}

fn waiting_of(queue: &Queue, sender: LinkId) -> usize {
    queue.waiting().control.by_sender.get(&sender).map_or(0, |amount| amount.messages)
}

#[test]
fn a_flooding_sender_is_distinguished_from_a_slow_receiver() {
    let queue = Queue::default();
    let [one, two] = senders();
    let frame = LINK_QUEUE_BYTES_PER_SENDER_MAX / 4;
    let mut pushes = 0;
    while queue.push(Some(one), relayed(frame)).is_ok() {
        pushes += 1;
    }
    assert_eq!(pushes, 3);
    assert_eq!(queue.push(Some(one), relayed(frame)), Err(Full::Sender));
    assert_eq!(queue.push(Some(two), relayed(frame)), Ok(()));
    assert_eq!(queue.push(None, relayed(LINK_QUEUE_BYTES_MAX / 2)), Ok(()));
    assert_eq!(queue.push(None, relayed(LINK_QUEUE_BYTES_MAX / 2)), Err(Full::Receiver));
}

#[test]
fn many_small_messages_of_one_sender_are_its_own_fault() {
    let queue = Queue::default();
    let [flooder, honest] = senders();
    assert_eq!(queue.push(Some(honest), relayed(1)), Ok(()));
    let mut pushes = 0;
    let full = loop {
        match queue.push(Some(flooder), relayed(1)) {
            Ok(()) => pushes += 1,
            Err(full) => break full,
        }
    };
    assert_eq!((full, pushes), (Full::Sender, LINK_QUEUE_MESSAGES_PER_SENDER_MAX));
    // The flooded host still hears from others, and from the coordinator.
    assert_eq!(queue.push(Some(honest), relayed(1)), Ok(()));
    assert_eq!(queue.push(None, ToHost::Ping { ping: 1 }), Ok(()));
}

/// However many senders flood one host, the host is not cut off, and an honest sender gets through.
#[test]
fn many_senders_that_flood_displace_one_another() {
    for bytes in [1, LINK_QUEUE_BYTES_PER_SENDER_MAX / 4] {
        let queue = Queue::default();
        let flooders: [LinkId; 12] = senders();
        let honest = LinkId(99);
        let mut outcomes = HashSet::new();
        for round in 0..LINK_QUEUE_MESSAGES_PER_SENDER_MAX.min(LINK_RELAYED_BYTES_MAX / bytes) {
            for flooder in &flooders {
                outcomes.extend(
                    queue.push(Some(*flooder), relayed(bytes)).err().map(|full| full == Full::Receiver),
                );
            }
            if round % 1000 == 0 {
                assert_eq!(queue.push(Some(honest), relayed(1)), Ok(()), "round {round}");
                assert_eq!(queue.push(None, ToHost::Ping { ping: 1 }), Ok(()));
            }
        }
        assert!(!outcomes.contains(&true), "the receiver is not to blame");
        assert!(waiting_of(&queue, honest) > 0);
        let relayed = queue.waiting().control.relayed;
        assert!(relayed.bytes <= LINK_RELAYED_BYTES_MAX && relayed.messages <= LINK_RELAYED_MESSAGES_MAX);
        let mut of_senders = HashMap::new();
        queue.add_relayed(&mut of_senders);
        assert_eq!(of_senders.values().sum::<usize>(), relayed.bytes);
        let own = queue.own_bytes();
        assert_eq!(queue.all_bytes(), relayed.bytes + own);
    }
}

#[test]
fn taken_messages_make_room() {
    let queue = Queue::default();
    let all = LINK_QUEUE_BYTES_MAX;
    assert_eq!(queue.push(None, relayed(all)), Ok(()));
    assert_eq!(queue.push(None, ToHost::Farewell), Err(Full::Receiver));
    let mut taken = Vec::new();
    queue.take(1, &mut taken);
    assert_eq!(taken.len(), 1);
    assert!(queue.is_empty());
    assert_eq!(queue.push(None, relayed(all)), Ok(()));
}

#[test]
fn the_bytes_queued_on_all_links_are_known() {
    let all = Arc::new(AtomicUsize::new(0));
    let queues: Vec<Queue> = (0..4).map(|_| Queue::new(Arc::clone(&all))).collect();
    let [sender] = senders();
    queues[..3].iter().for_each(|queue| queue.push(None, relayed(1000)).expect("room"));
    queues[3].push(Some(sender), relayed(1000)).expect("room");
    assert_eq!(queues[0].all_bytes(), 4 * queues[0].own_bytes());
    queues[1].take(1, &mut Vec::new());
    queues[2].clear();
    queues[3].drop_senders(&HashSet::from([sender]));
    assert_eq!(all.load(Relaxed), queues[0].own_bytes());
    drop(queues);
    assert_eq!(all.load(Relaxed), 0);
}

#[test]
fn other_messages_overtake_bulk_and_bulk_that_does_not_fit_is_dropped() {
    let queue = Queue::default();
    let [one, two] = senders();
    let chunk = || ToHost::RelayedBulk { from: HostId(1), frame: vec![0; WRITE_BULK_BATCH_BYTES] };
    let mut pushes = 0;
    while queue.push(Some(one), chunk()).is_ok() {
        pushes += 1;
    }
    assert!(pushes >= 2 << 20 >> 15, "{pushes}: less than two windows");
    assert_eq!(queue.push(Some(one), chunk()), Err(Full::Dropped));
    assert_eq!(queue.push(Some(two), chunk()), Ok(()));
    assert_eq!(queue.push(None, ToHost::Ping { ping: 1 }), Ok(()));
    let mut taken = Vec::new();
    queue.take(usize::MAX, &mut taken);
    assert_eq!(taken, [ToHost::Ping { ping: 1 }]);
    queue.take(usize::MAX, &mut taken);
    assert_eq!(taken.len(), 2, "a chunk at a time");
    assert!(!queue.is_empty());
}

#[test]
fn bulk_of_many_leaves_room_for_a_sender_with_little() {
    let queue = Queue::default();
    let chunk = || ToHost::RelayedBulk { from: HostId(1), frame: vec![0; WRITE_BULK_BATCH_BYTES] };
    let flooders: [LinkId; 10] = senders();
    for flooder in &flooders {
        while queue.push(Some(*flooder), chunk()).is_ok() {}
    }
    assert_eq!(queue.push(Some(LinkId(99)), chunk()), Ok(()));
    assert!(queue.waiting().bulk.bytes() <= LINK_BULK_BYTES_MAX);
}
