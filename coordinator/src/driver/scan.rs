//! Requests whose work grows with the grid: done a bounded part at a time, since the driver serves the machine
//! meanwhile, and assembled on another thread.
//!
//! Each part sees the state at its time: hosts that join or leave meanwhile may or may not be
//! included, and none is included twice.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use sateen_protocol::coordinator::{HostView, RunView};
use sateen_protocol::{Counts, HostId, RunId, RunState};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::Driver;
use super::request::{HostSeen, Live};
use super::served::{Service, Told};
use super::speed::Pace;
use super::totals::add_host;
use super::waits::Reasons;
use crate::chronicle::Chronicles;
use crate::figures::{Figures, HostFigures, host_of_run};
use crate::host_name::HostName;
use crate::locked;
use crate::metrics::Totals;

/// Maximum hosts, or rows of hosts, that one event looks at.
const HOSTS_AT_ONCE_MAX: usize = 256;
/// Maximum scans that take turns; further ones wait until one of them is done.
const SCANS_AT_ONCE_MAX: usize = 4;

/// Scans under way, and waiting ones.
#[derive(Debug, Default)]
pub struct Scans(VecDeque<Scan>);

impl Scans {
    /// Whether there is work to do.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a scan looks at.
#[derive(Debug)]
pub enum Scan {
    /// All hosts.
    Hosts(HostsScan),
    /// One run, with what each host did of it.
    Run(RunScan),
    /// Sums over all hosts.
    Totals(TotalsScan),
}

/// See [`Scan::Hosts`].
#[derive(Debug)]
pub struct HostsScan {
    /// The first host that was not looked at yet.
    next: Option<HostId>,
    seen: Vec<Vec<HostSeen>>,
    /// Runs whose paces are still to be read, after the hosts; the first from this host on.
    runs: Option<(VecDeque<RunId>, HostId)>,
    paces: Vec<(RunId, Vec<Vec<Pace>>)>,
    /// Hosts that still compute for a run that is being suspended.
    suspending: Vec<(HostId, RunId)>,
    reply: oneshot::Sender<Vec<HostSeen>>,
}

/// See [`Scan::Run`].
#[derive(Debug)]
pub struct RunScan {
    run: RunId,
    next: HostId,
    rows: Vec<Vec<HostRow>>,
    reply: oneshot::Sender<Option<Live>>,
}

/// A host's counts of a run. It owns nothing on the heap: freeing a hundred thousand names that were allocated here
/// on another thread makes the allocator tidy up in some later event, for tens of milliseconds.
#[derive(Debug)]
struct HostRow {
    host: HostId,
    name: Arc<HostName>,
    is_there: bool,
    is_away: bool,
    /// Its workers that compute now, if that is known.
    busy: Option<u32>,
    counts: Counts,
}

impl HostRow {
    fn shown(self) -> HostFigures {
        let Self { is_away, busy, .. } = self;
        HostFigures { is_away, busy, ..host_of_run(self.host, &self.name, self.is_there, &self.counts) }
    }
}

/// See [`Scan::Totals`].
#[derive(Debug)]
pub struct TotalsScan {
    next: HostId,
    sums: Box<Totals>,
    reply: oneshot::Sender<Totals>,
}

impl Scan {
    pub fn hosts(reply: oneshot::Sender<Vec<HostSeen>>) -> Self {
        let (seen, paces, suspending) = (Vec::new(), Vec::new(), Vec::new());
        Self::Hosts(HostsScan { next: Some(HostId(0)), seen, runs: None, paces, suspending, reply })
    }

    pub fn run(run: RunId, reply: oneshot::Sender<Option<Live>>) -> Self {
        Self::Run(RunScan { run, next: HostId(0), rows: Vec::new(), reply })
    }

    pub fn totals(reply: oneshot::Sender<Totals>) -> Self {
        Self::Totals(TotalsScan { next: HostId(0), sums: Box::default(), reply })
    }

    /// Whether the request was abandoned.
    fn is_forsaken(&self) -> bool {
        match self {
            Self::Hosts(scan) => scan.reply.is_closed(),
            Self::Run(scan) => scan.reply.is_closed(),
            Self::Totals(scan) => scan.reply.is_closed(),
        }
    }
}

/// The id that follows a host's.
fn after(host: HostId) -> Option<HostId> {
    host.0.checked_add(1).map(HostId)
}

impl Driver {
    /// Does the first part of a scan at once, which in a small grid is the whole scan.
    pub(super) fn scan(&mut self, scan: Scan) {
        if self.scans.0.len() >= SCANS_AT_ONCE_MAX {
            self.scans.0.push_back(scan);
        } else if let Some(rest) = self.scan_part(scan) {
            self.scans.0.push_front(rest);
        }
    }

    /// Does the next part of the scan whose turn it is.
    pub(super) fn next_scan_part(&mut self) {
        let Some(scan) = self.scans.0.pop_front() else { return };
        if scan.is_forsaken() {
            // Freeing a hundred thousand hosts takes a while, too.
            spawn_blocking(move || drop(scan));
        } else if let Some(rest) = self.scan_part(scan) {
            let place = self.scans.0.len().min(SCANS_AT_ONCE_MAX - 1);
            self.scans.0.insert(place, rest);
        }
    }

    /// Does the next part of a scan; returns the rest of it.
    fn scan_part(&self, scan: Scan) -> Option<Scan> {
        match scan {
            Scan::Hosts(scan) => self.scan_hosts(scan).map(Scan::Hosts),
            Scan::Run(scan) => self.scan_run(scan).map(Scan::Run),
            Scan::Totals(scan) => self.scan_totals(scan).map(Scan::Totals),
        }
    }

    fn scan_totals(&self, mut scan: TotalsScan) -> Option<TotalsScan> {
        let mut last = None;
        let mut count = 0;
        for host in self.machine.hosts_from(scan.next).take(HOSTS_AT_ONCE_MAX) {
            let busy = self.busy_now(host.id, None, host.connected, host.counts.busy);
            add_host(&mut scan.sums, &host, busy, self.silence(host.id, host.counts.busy).is_some());
            last = Some(host.id);
            count += 1;
        }
        match last.filter(|_| count == HOSTS_AT_ONCE_MAX).and_then(after) {
            Some(next) => Some(TotalsScan { next, ..scan }),
            // The caller may have hung up.
            None => {
                let _ = scan.reply.send(self.add_runs(*scan.sums));
                None
            }
        }
    }

    fn scan_run(&self, mut scan: RunScan) -> Option<RunScan> {
        let Some(view) = self.view(scan.run) else {
            self.answer_settled(scan);
            return None;
        };
        let is_over = view.state().is_over();
        let rows = view.by_host_from(scan.next).take(HOSTS_AT_ONCE_MAX);
        let mut last = None;
        let part: Vec<HostRow> = rows
            .map(|(host, is_there, counts)| {
                last = Some(host);
                let is_awaited = !is_there && self.hosts.awaits(host);
                let may_compute = !is_over && (is_there || is_awaited);
                let is_connected = may_compute && is_there && self.is_connected(host);
                let busy = if may_compute {
                    self.busy_now(host, Some(scan.run), is_connected, counts.busy)
                } else {
                    Some(0)
                };
                let is_away = may_compute && !is_connected;
                let is_there = is_there || is_awaited;
                HostRow { host, name: self.hosts.name_of(host), is_there, is_away, busy, counts }
            })
            .collect();
        let is_full = part.len() == HOSTS_AT_ONCE_MAX;
        scan.rows.push(part);
        if let Some(next) = last.filter(|_| is_full).and_then(after) {
            return Some(RunScan { next, ..scan });
        }
        let mut live = self.live(scan.run, &Reasons::default())?;
        if !is_over && let Some(host) = live.figures.root_host {
            self.add_root_row(&mut scan.rows, host);
        }
        let put_together = move || {
            live.figures.by_host = scan.rows.into_iter().flatten().map(HostRow::shown).collect();
            // The caller may have hung up.
            drop(scan.reply.send(Some(live)));
        };
        if scan.next == HostId(0) {
            put_together();
        } else {
            spawn_blocking(put_together);
        }
        None
    }

    /// A host that has just got the root job has counted nothing yet.
    fn add_root_row(&self, rows: &mut Vec<Vec<HostRow>>, host: HostId) {
        let is_known = rows.iter().flatten().any(|row| row.host == host);
        let Some(seen) = self.seen(host).filter(|_| !is_known) else { return };
        let counts = Counts { workers: seen.report.threads, ..Counts::default() };
        let (name, is_away) = (self.hosts.name_of(host), !seen.connected);
        rows.push(vec![HostRow { host, name, is_there: true, is_away, busy: None, counts }]);
    }

    /// Scans a run that is over, whose figures are final and not saved yet.
    fn answer_settled(&self, scan: RunScan) {
        let RunScan { run, reply, rows, .. } = scan;
        let (Some(live), Some(settled)) = (self.live(run, &Reasons::default()), self.over.settled(run))
        else {
            drop(reply.send(None));
            return;
        };
        let figures = Arc::clone(&settled.figures);
        // The first request computes the figures.
        spawn_blocking(move || {
            drop(rows);
            drop(reply.send(Some(Live { figures: Figures::clone(&figures), ..live })));
        });
    }

    /// Scans a run that is not over, or whose counts are not final.
    fn view(&self, run: RunId) -> Option<RunView<'_>> {
        self.machine.run(run).or_else(|| self.machine.run_over(run))
    }

    fn scan_hosts(&self, mut scan: HostsScan) -> Option<HostsScan> {
        let mut left = HOSTS_AT_ONCE_MAX;
        if let Some(next) = scan.next {
            let are_runs_active = self.machine.active_runs(self.clock.now()).next().is_some();
            let seen = self.machine.hosts_from(next).take(left).map(|view| HostSeen {
                silence: self.silence(view.id, view.counts.busy),
                busy: self.busy_now(view.id, None, view.connected, view.counts.busy),
                are_runs_active,
                since_ms: None,
                service: Service::default(),
                speed: None,
                rtt: self.links.of_host(view.id).and_then(|link| self.hosts.rtt(link.id)),
                view,
            });
            let seen: Vec<HostSeen> = seen.collect();
            let last = seen.last().map(|host| host.view.id);
            scan.next = last.filter(|_| seen.len() == left).and_then(after);
            left -= seen.len();
            scan.seen.push(seen);
        }
        let runs = || self.machine.run_ids().chain(self.machine.run_ids_over()).collect();
        let (runs, from) = scan.runs.get_or_insert_with(|| (runs(), HostId(0)));
        while left > 1 {
            let Some(run) = runs.front().copied() else {
                self.put_together(scan);
                return None;
            };
            // Even a run without rows takes a moment.
            left -= 1;
            let view = self.view(run);
            let is_suspending = view.as_ref().is_some_and(|view| view.state() == RunState::Suspending);
            let rows = view.into_iter().flat_map(|view| view.by_host_from(*from)).take(left);
            let (mut last, mut count) = (None, 0);
            let paces: Vec<Pace> = rows
                .filter_map(|(host, is_there, counts)| {
                    (last, count) = (Some(host), count + 1);
                    if is_suspending && counts.busy > 0 {
                        scan.suspending.push((host, run));
                    }
                    Pace::of(host, is_there, &counts)
                })
                .collect();
            match scan.paces.last_mut() {
                Some((of, parts)) if *of == run => parts.push(paces),
                _ => scan.paces.push((run, vec![paces])),
            }
            let next = last.filter(|_| count == left).and_then(after);
            left -= count;
            *from = next.unwrap_or(HostId(0));
            if next.is_none() {
                runs.pop_front();
            }
        }
        Some(scan)
    }

    /// Computes everything that does not need the machine, on another thread; no lock is held for long there.
    fn put_together(&self, scan: HostsScan) {
        let (chronicles, profiles) = (Arc::clone(&self.chronicles), self.hosts.profiles().clone());
        spawn_blocking(move || {
            let HostsScan { seen, paces, mut suspending, reply, .. } = scan;
            suspending.sort_unstable();
            let mut told = HashMap::new();
            paces.iter().for_each(|(run, _)| add_told(&chronicles, *run, &mut told));
            profiles.learn(paces.into_iter().map(|(_, parts)| parts.into_iter().flatten().collect()));
            let mut hosts = Vec::with_capacity(seen.iter().map(Vec::len).sum());
            for mut part in seen {
                profiles.complete(&mut part, &told);
                part.iter_mut().for_each(|host| add_suspending(&mut host.view, &suspending));
                hosts.append(&mut part);
            }
            // The caller may have hung up.
            drop(reply.send(hosts));
        });
    }
}

/// The machine no longer counts a run that is being suspended among those of a host.
fn add_suspending(host: &mut HostView, suspending: &[(HostId, RunId)]) {
    let first = suspending.partition_point(|(busy, _)| *busy < host.id);
    for (_, run) in suspending[first..].iter().take_while(|(busy, _)| *busy == host.id) {
        if !host.ready.contains(run) {
            host.ready.push(*run);
        }
    }
}

/// Adds what a run's tree says about its hosts.
pub fn add_told(chronicles: &Chronicles, run: RunId, told: &mut HashMap<HostId, Told>) {
    let Some(chronicle) = chronicles.get(run) else { return };
    // The driver writes to the chronicle: it is locked only for copying.
    let of_run: Vec<(HostId, u64, u64)> = locked(&chronicle).lent_and_redone().collect();
    for (host, lent, redone) in of_run {
        let sum = told.entry(host).or_default();
        sum.lent = sum.lent.saturating_add(lent);
        sum.redone = sum.redone.saturating_add(redone);
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::hello;
    use super::*;
    use sateen_protocol::Time;
    use sateen_protocol::message::ToCoordinator;

    #[test]
    fn a_host_that_still_computes_for_a_run_that_is_being_suspended_has_that_run() {
        let ToCoordinator::Hello { report, .. } = hello("one".to_owned(), String::new(), 1) else {
            panic!("a hello is made");
        };
        let mut host = HostView {
            id: HostId(2),
            report: Arc::new(report),
            since: Time(0),
            connected: true,
            paused: None,
            holds: None,
            ready: std::iter::once(RunId(3)).collect(),
            counts: Counts::default(),
        };
        let suspending = [(1, 5), (2, 3), (2, 4), (3, 6)].map(|(host, run)| (HostId(host), RunId(run)));
        add_suspending(&mut host, &suspending);
        assert_eq!(host.ready.to_vec(), [RunId(3), RunId(4)]);
    }
}
