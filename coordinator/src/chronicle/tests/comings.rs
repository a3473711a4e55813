//! Hosts that come, go and come back, among the other events.

use super::*;

#[test]
fn hosts_that_pause_or_are_given_up_are_back_once() {
    let mut chronicle = Chronicle::default();
    for number in 1..=3 {
        chronicle.note(host(number), &[begun(number, None)]);
    }
    chronicle.host_gone(host(1), Going::Paused);
    chronicle.host_gone(host(2), Going::Crashed);
    chronicle.host_gone(host(3), Going::Left);
    // As after a restart of the coordinator.
    assert_eq!(chronicle.events.away(), *chronicle.away());
    for number in [1, 1, 2, 3] {
        chronicle.host_back(host(number));
    }
    let told = chronicle.events().split_off(3);
    let told: Vec<(EventKind, &str)> = told.iter().map(|event| (event.kind, event.text.as_str())).collect();
    let expected = [
        (EventKind::HostPaused, "host one (here) paused"),
        (EventKind::HostLost, "host two (here) was given up"),
        (EventKind::JobsInterrupted, "a job was running at host two (here)"),
        (EventKind::HostLeft, "host three (here) left"),
        (EventKind::HostReturned, "host one (here) works again after its pause"),
        (EventKind::HostReturned, "host two (here) came back after it was given up"),
    ];
    assert_eq!(told, expected);
    assert!(chronicle.away().is_empty() && chronicle.events.away().is_empty());
    // Under another id it is the same host.
    chronicle.host_gone(host(1), Going::Crashed);
    chronicle.host_reborn(HostId(1), Source { id: HostId(9), name: "one", site: "here" });
    let last = chronicle.events().pop().map(|event| (event.kind, event.host));
    assert_eq!(last, Some((EventKind::HostReturned, Some(HostId(9)))));
}

/// A host reports what it did a moment later: it seemed to take part after its first jobs, or after the end of a short run.
#[test]
fn the_end_is_the_last_event_and_a_host_takes_part_before_its_first_job() {
    let mut chronicle = Chronicle::new(unix_ms() - 60_000);
    let at = |ago_ms, note| JobNote { ago_ms, ..note };
    chronicle.note(host(1), &[at(400, begun(1, None)), at(900, note(2, NoteKind::Reused))]);
    chronicle.end("the run is done");
    chronicle.note(host(2), &[begun(3, None), note(3, NoteKind::Reused)]);
    let events = chronicle.events();
    let told: Vec<(u64, EventKind)> = events.iter().map(|event| (event.number, event.kind)).collect();
    let expected = [
        (1, EventKind::HostJoined),
        (2, EventKind::Reused),
        (3, EventKind::HostJoined),
        (4, EventKind::Reused),
        (5, EventKind::Ended),
    ];
    assert_eq!(told, expected);
    assert!(events.is_sorted_by_key(|event| event.t_ms), "{events:?}");
}
