//! A host with a large part of the table, and many acquaintances.

use std::sync::Arc;

use sateen_protocol::host::{Host, HostConfig, Notice};
use sateen_protocol::message::{Departure, HostInfo, HostReport, ToHost};
use sateen_protocol::{EntryState, GridId, HostId, JobNumber, JobSpec, RunId, Time, limits};

use super::{Clock, ENTRIES_PER_MESSAGE, Row, Times, entry, key, spec};
use crate::experiments::{RUN, S};

/// Others that it knows.
const PEERS: u64 = 768;

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
    }
}

/// A host's events, with so many entries in its table.
pub fn host(clock: Clock, entries: u64) -> Vec<Row> {
    let mut times = Times::new(clock);
    let config = HostConfig { report: report(), seed: 1, table_bytes_max: usize::MAX };
    let mut now = Time(0);
    let mut host = Host::new(config, now);
    host.handle_connected(now);
    let peer =
        |id| HostInfo { id: HostId(id), incarnation: 0, report: Arc::new(report()), direct_secret: id };
    let welcome = ToHost::Welcome {
        host: HostId(1),
        incarnation: 0,
        secret: 1,
        grid: GridId(1),
        hosts: (1..=PEERS).map(peer).collect(),
        complete: true,
        runs: vec![RUN],
        epoch: 0,
    };
    host.handle_from_coordinator(now, welcome);
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
        times.take("host: timeout, reconcile", || host.handle_timeout(now));
        drain(&mut host);
    }
    for (epoch, gone) in (2..=100).zip(2..=100) {
        let gone = vec![(HostId(gone), Departure::Crashed)];
        let hosts = ToHost::Hosts { epoch, joined: Vec::new(), gone };
        times.take("host: departure", || host.handle_from_coordinator(now, hosts));
        drain(&mut host);
    }
    let gone = (200..350).map(|gone| (HostId(gone), Departure::Crashed)).collect();
    let hosts = ToHost::Hosts { epoch: 200, joined: Vec::new(), gone };
    times.take("host: departure of 150", || host.handle_from_coordinator(now, hosts));
    drain(&mut host);
    times.rows()
}

/// A guest asks for the results of redone jobs.
fn look_up(times: &mut Times, host: &mut Host, now: Time, run: RunId, entries: u64) {
    for number in 1..=10_000 {
        let job = entry(entries / 2 + number);
        let spec = JobSpec {
            key: key(entries / 2 + number),
            kind: 1,
            parameters: vec![1],
            depth: job.depth,
            lineage: job.lineage,
            redone: true,
            lookup_below: limits::LINEAGE_LENGTH_MAX as u32,
            objects: Vec::new(),
        };
        let notice = Notice::Lookup { number: JobNumber(number), spec };
        times.take("host: lookup", || host.handle_notice(now, run, notice));
        drain(host);
    }
}
