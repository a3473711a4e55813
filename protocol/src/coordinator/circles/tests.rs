use super::*;

const BOUNDS: Circle =
    Circle { near_all: 8, near_drawn: 6, far_all: 8, far_drawn: 6, renewed_every: Duration::from_secs(10) };

fn grid(sites: u64, hosts: u64) -> Circles {
    let mut circles = Circles::new(BOUNDS, 1);
    for host in 0..sites * hosts {
        circles.enter(HostId(host), &(host % sites).to_string());
        for other in circles.draw(HostId(host)) {
            circles.connect(HostId(host), other);
        }
    }
    circles
}

#[test]
fn in_a_small_grid_all_hosts_know_one_another() {
    let circles = grid(2, 5);
    assert!((0..10).all(|host| circles.of(HostId(host)).count() == 9));
}

#[test]
fn no_host_is_drawn_where_circles_have_no_room_for_strangers() {
    let mut circles = Circles::new(Circle { near_all: 2, near_drawn: 0, ..BOUNDS }, 1);
    (0..20).for_each(|host| circles.enter(HostId(host), "here"));
    assert_eq!(circles.draw(HostId(0)), []);
}

#[test]
fn the_only_host_elsewhere_is_known_to_all() {
    for seed in 0..100 {
        let mut circles = Circles::new(BOUNDS, seed);
        circles.enter(HostId(0), "far");
        for host in (1..9).map(HostId) {
            circles.enter(host, "near");
            assert_eq!(circles.draw(host).len(), host.0 as usize);
            assert!(circles.draw(host).into_iter().all(|other| circles.connect(host, other)));
        }
    }
}

#[test]
fn in_a_large_grid_circles_are_small_and_mutual_and_connect_all_hosts() {
    let circles = grid(20, 50);
    let total: usize = (0..1000).map(|host| circles.of(HostId(host)).count()).sum();
    assert!((8_000..20_000).contains(&total), "{total}");
    let mut reached = BTreeSet::from([HostId(0)]);
    let mut waiting = vec![HostId(0)];
    while let Some(host) = waiting.pop() {
        for other in circles.of(host) {
            assert!(circles.of(other).any(|known| known == host));
            if reached.insert(other) {
                waiting.push(other);
            }
        }
    }
    assert_eq!(reached.len(), 1000);
}

#[test]
fn nothing_is_left_of_a_host_that_has_gone() {
    let mut circles = grid(20, 50);
    for host in (0..1000).map(HostId) {
        for other in circles.leave(host) {
            assert!(circles.of(other).all(|known| known != host));
        }
        circles.draw(HostId(999));
    }
    let left = circles.known.len() + circles.all.len() + circles.sites.len() + circles.places.len();
    assert_eq!(left, 0);
}

#[test]
fn circles_are_renewed_and_keep_their_size() {
    let mut circles = grid(20, 50);
    let before: BTreeSet<HostId> = circles.of(HostId(7)).collect();
    for _ in 0..200 {
        for host in circles.turns(Duration::from_secs(1)) {
            let (come, go) = circles.renew(host);
            for other in come {
                circles.connect(host, other);
            }
            for other in go {
                let ask = circles.ask_to_part(host, other).expect("they are not parting");
                assert_eq!(circles.on_forgot(host, ask, other, true), Parted::Nothing);
                assert_eq!(circles.on_forgot(other, ask, host, true), Parted::Nothing);
            }
        }
    }
    let after: BTreeSet<HostId> = circles.of(HostId(7)).collect();
    assert!((6..40).contains(&after.len()), "{}", after.len());
    assert!(after.difference(&before).count() > 3);
}

#[test]
fn a_host_that_forgets_alone_is_reminded() {
    let mut circles = grid(20, 50);
    let (one, other) = (HostId(3), circles.of(HostId(3)).next().expect("it knows somebody"));
    let ask = circles.ask_to_part(one, other).expect("they are not parting");
    assert_eq!(circles.ask_to_part(other, one), None);
    assert_eq!(circles.on_forgot(one, ask, other, true), Parted::Nothing);
    assert_eq!(circles.on_forgot(other, ask, one, false), Parted::Remind(one, other));
    let ask = circles.ask_to_part(one, other).expect("they are not parting any more");
    assert!(circles.connect(one, other), "they are to be notified");
    assert_eq!(circles.on_forgot(one, ask, other, true), Parted::Remind(one, other));
    assert!(circles.of(one).any(|known| known == other));
}

#[test]
fn a_host_that_forgot_one_that_comes_back_is_reminded() {
    let mut circles = grid(20, 50);
    let (one, other) = (HostId(3), circles.of(HostId(3)).next().expect("it knows somebody"));
    let ask = circles.ask_to_part(one, other).expect("they are not parting");
    assert_eq!(circles.on_forgot(other, ask, one, true), Parted::Nothing);
    // Its answer is lost with its link; its welcome says that it knows the other.
    assert_eq!(circles.stop_partings(one), [other]);
    let ask = circles.ask_to_part(one, other).expect("they are not parting any more");
    circles.on_forgot(one, ask, other, true);
    assert_eq!(circles.stop_partings(one), [], "its welcome says it");
    assert_eq!(circles.stop_partings(other), []);
}

#[test]
fn a_near_host_is_counted_once() {
    let mut known = Known::default();
    let steps = [
        (1, true, true, 1),
        (1, true, false, 1),
        (1, false, false, 0),
        (2, true, true, 1),
        (3, false, true, 1),
    ];
    for (host, is_near, is_new, near) in steps {
        assert_eq!((known.insert(HostId(host), is_near), known.near), (is_new, near), "{host}");
    }
    for (host, near) in [(3, 1), (2, 0), (2, 0), (1, 0)] {
        known.remove(HostId(host));
        assert_eq!(known.near, near, "{host}");
    }
}

#[test]
fn two_hosts_are_parted_only_when_both_have_forgotten() {
    let mut circles = grid(20, 50);
    let (one, other) = (HostId(3), circles.of(HostId(3)).next().expect("it knows somebody"));
    let know = |circles: &Circles| {
        [(one, other), (other, one)].map(|(host, known)| circles.of(host).any(|known_one| known_one == known))
    };
    let ask = circles.ask_to_part(one, other).expect("they are not parting");
    for (answer, forgotten) in [(ask, true), (ask, true), (ask + 1, true), (ask, false)] {
        assert_eq!(circles.on_forgot(one, answer, other, forgotten) == Parted::Nothing, answer == ask);
        assert_eq!(know(&circles), [true; 2], "the other has not answered");
    }
    assert_eq!(circles.on_forgot(other, ask, one, true), Parted::Nothing);
    assert_eq!(know(&circles), [false; 2]);
    // A host that has not forgotten ends the parting at once.
    let other = circles.of(one).next().expect("it knows others");
    let ask = circles.ask_to_part(one, other).expect("they are not parting");
    assert_eq!(circles.on_forgot(one, ask, other, false), Parted::Nothing);
    assert!(circles.ask_to_part(one, other).is_some());
}
