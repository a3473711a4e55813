//! A host with a large part of the table, and many acquaintances.

use std::ops::RangeInclusive;
use std::sync::Arc;

use sateen_protocol::host::{Host, HostConfig, Notice};
use sateen_protocol::message::{Departure, HostInfo, HostReport, PeerMessage, ToHost};
use sateen_protocol::{EntryState, GridId, HostId, JobSpec, RunId, RuntimeJobId, StealId, Time, limits};

use super::fixtures::{ENTRIES_PER_MESSAGE, entry, key, spec};
use super::times::{Clock, Times};
use crate::experiments::{RUN, S};

/// Others that it knows.
const PEERS: u64 = 768;
/// Jobs that it lends.
const LOANS: u64 = 4_000;

fn drain(host: &mut Host) {
    while host.poll_transmit().is_some() {}
    while host.poll_command().is_some() {}
    while host.poll_event().is_some() {}
}

fn report() -> HostReport {
    HostReport {
        name: "host".to_owned(),
        site: String::new(),
        threads: 2,
        version: String::new(),
        direct: None,
        key: Default::default(),
    }
}

/// The coordinator's answer to a hello.
fn welcome(hosts: RangeInclusive<u64>, epoch: u64) -> ToHost {
    let peer = |id| HostInfo { id: HostId(id), incarnation: 0, report: Arc::new(report()) };
    ToHost::Welcome {
        host: HostId(1),
        incarnation: 0,
        secret: 1,
        grid: GridId(1),
        hosts: hosts.map(peer).collect(),
        complete: true,
        runs: vec![RUN],
        epoch,
    }
}

/// Fires all due timers.
fn pass(times: &mut Times, host: &mut Host, now: Time, kind: &'static str) {
    while host.poll_timeout().is_some_and(|(when, _)| when <= now) {
        times.take(kind, || host.handle_timeout(now));
        drain(host);
    }
}

/// A host's events, with `entries` entries in its table.
pub fn host(clock: Clock, entries: u64) -> Times {
    let mut times = Times::new(clock);
    let config = HostConfig { report: report(), seed: 1, table_bytes_max: usize::MAX };
    let mut now = Time(0);
    let mut host = Host::new(config, now);
    host.handle_connected(now);
    host.handle_from_coordinator(now, welcome(1..=PEERS, 0));
    host.handle_from_coordinator(now, ToHost::StartRun { run: RUN, spec: Arc::new(spec()) });
    host.handle_loaded(now, RUN, Ok(()));
    drain(&mut host);
    for first in (1..=entries).step_by(ENTRIES_PER_MESSAGE as usize) {
        let last = entries - first + 1;
        let some = (last.saturating_sub(ENTRIES_PER_MESSAGE - 1).max(1)..=last).rev();
        let entries = some
            .map(|job| {
                let mut entry = entry(job);
                entry.state = EntryState::DoneAt { host: HostId(2 + job % (PEERS - 1)), work_ns: job };
                entry
            })
            .collect();
        times.take("host: Entries", || {
            host.handle_from_coordinator(now, ToHost::Entries { run: RUN, entries });
        });
        drain(&mut host);
    }
    look_up(&mut times, &mut host, now, RUN, entries);
    for _ in 0..200 {
        now = Time(now.0 + S / 20);
        pass(&mut times, &mut host, now, "host: timeout, reconcile");
    }
    for (epoch, gone) in (2..=100).zip(2..=100) {
        let gone = vec![(HostId(gone), Departure::Crashed)];
        let hosts = ToHost::Hosts { epoch, joined: Vec::new(), gone };
        times.take("host: departure", || host.handle_from_coordinator(now, hosts));
        drain(&mut host);
        pass(&mut times, &mut host, now, "host: timeout, after a departure");
    }
    let gone = (200..350).map(|gone| (HostId(gone), Departure::Crashed)).collect();
    let hosts = ToHost::Hosts { epoch: 200, joined: Vec::new(), gone };
    times.take("host: departure of 150", || host.handle_from_coordinator(now, hosts));
    drain(&mut host);
    pass(&mut times, &mut host, now, "host: timeout, after a departure");
    lend(&mut times, &mut host, now);
    come_back(&mut times, &mut host, now);
    times
}

/// Others steal jobs, and one thief departs.
fn lend(times: &mut Times, host: &mut Host, now: Time) {
    const THIEVES: u64 = 100;
    for number in 0..LOANS {
        let thief = HostId(400 + number % THIEVES);
        let steal = StealId(number / THIEVES);
        let message = PeerMessage::Steal { run: RUN, steal, holding: 0, ahead: false, more: 0 };
        times.take("host: Steal", || host.handle_from_peer(now, thief, message));
        let mut job = job(number + 2);
        (job.redone, job.key) = (false, key(number + (1 << 41)));
        let offered = Some((RuntimeJobId(1_000_000 + number), job));
        times.take("host: offered", || host.handle_offered(now, RUN, offered));
        drain(host);
    }
    let holding = PeerMessage::Holding {
        run: RUN,
        holding: 1,
        next_steal: StealId(LOANS),
        held: Vec::new(),
        pending: Vec::new(),
    };
    times.take("host: Holding", || host.handle_from_peer(now, HostId(400), holding));
    drain(host);
    let gone = vec![(HostId(401), Departure::Crashed)];
    let hosts = ToHost::Hosts { epoch: 300, joined: Vec::new(), gone };
    times.take("host: departure of a thief", || host.handle_from_coordinator(now, hosts));
    drain(host);
    pass(times, host, Time(now.0 + 3 * S), "host: timeout, with loans");
}

/// The link to the coordinator broke, and is open again.
fn come_back(times: &mut Times, host: &mut Host, now: Time) {
    times.take("host: disconnected", || host.handle_disconnected(now));
    drain(host);
    times.take("host: connected", || host.handle_connected(now));
    drain(host);
    let welcome = welcome(402..=PEERS, 301);
    times.take("host: Welcome", || host.handle_from_coordinator(now, welcome));
    drain(host);
    pass(times, host, now, "host: timeout, announcing again");
}

/// A guest asks for the results of redone jobs.
fn look_up(times: &mut Times, host: &mut Host, now: Time, run: RunId, entries: u64) {
    for number in 1..=10_000 {
        let spec = job(entries / 2 + number);
        let notice = Notice::Lookup { number: RuntimeJobId(number), spec };
        times.take("host: lookup", || host.handle_notice(now, run, notice));
        drain(host);
    }
}

/// A job of the entries' tree that is run again.
fn job(number: u64) -> JobSpec {
    let entry = entry(number);
    JobSpec {
        key: entry.key,
        kind: 1,
        parameters: vec![1].into(),
        depth: entry.depth,
        lineage: entry.lineage,
        redone: true,
        given_back: false,
        lookup_below: limits::LINEAGE_LENGTH_MAX as u32,
        objects: Vec::new(),
    }
}
