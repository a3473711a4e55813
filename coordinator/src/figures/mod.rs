//! Figures of runs, computed from the data of the machine and the store.

pub mod end;
mod jobs;
mod run;

use std::sync::LazyLock;

use sateen_protocol::coordinator::{self, Account, RunView};
use sateen_protocol::{Counts, HostId};

use crate::clock::seconds;
use crate::host_name::HostName;

pub use jobs::JobCounts;
pub use run::{
    Barred, Caught, Checked, Counted, EarlierResults, FailureKind, Figures, HostFigures, Progress,
    RunFailure, Steals, TableSize, Times, Untold,
};

/// Figures that are computed when they are first needed.
pub type LateFigures = LazyLock<Figures, Box<dyn FnOnce() -> Figures + Send>>;

/// A host's counts of a run.
pub fn host_of_run(host: HostId, name: &HostName, is_there: bool, counts: &Counts) -> HostFigures {
    HostFigures {
        host,
        name: name.name.clone(),
        site: name.site.clone(),
        is_there,
        is_away: false,
        jobs: counts.jobs.into(),
        work_s: seconds(counts.work_ns),
        computed_s: 0.0,
        updates: counts.updates,
        shared_bytes: counts.shared_bytes,
        busy: Some(counts.busy),
        workers: counts.workers,
    }
}

/// How far results were checked.
fn checked(checked: &coordinator::Checked) -> Checked {
    let coordinator::Checked {
        is_checking,
        units,
        units_checked,
        work_ns,
        work_checked_ns,
        checks,
        checks_work_ns,
        barred,
        without_standing,
        caught,
    } = checked;
    let is_told = !caught.is_empty();
    let caught = caught.iter().map(|coordinator::Caught { one_in, millionths }| Caught {
        one_in: *one_in,
        probability: f64::from(*millionths) / 1e6,
    });
    let barred = barred.iter().map(|(host, key)| Barred { host: *host, key: key.to_string() });
    Checked {
        is_checking: *is_checking,
        units: *units,
        units_checked: *units_checked,
        work_share: (*work_ns > 0).then(|| *work_checked_ns as f64 / *work_ns as f64),
        checks: *checks,
        work_s: seconds(*checks_work_ns),
        barred: barred.collect(),
        without_standing: is_told.then_some(*without_standing),
        caught: caught.collect(),
    }
}

/// The figures of a run that is not over, with those of its hosts.
pub fn of_view(view: &RunView, by_host: Vec<HostFigures>) -> Figures {
    let account = Account {
        progress: view.progress(),
        root_host: view.root_host(),
        root_losses: view.root_losses(),
        table: view.table(),
        at_work: view.at_work(),
        checked: view.checked(),
        ..Account::default()
    };
    of_account(&account, &view.counts(), by_host)
}

/// The figures of a run that has ended, with those of its hosts.
pub fn of_account(account: &Account, counts: &Counts, by_host: Vec<HostFigures>) -> Figures {
    let (entries, bytes) = account.table;
    Figures {
        hosts: account.at_work.hosts,
        threads: u32::try_from(account.at_work.workers).unwrap_or(u32::MAX),
        jobs: counts.jobs.into(),
        steals: Steals { requests: counts.steal_requests },
        times: Times {
            work_s: seconds(counts.work_ns),
            redone_work_s: seconds(counts.redone_work_ns),
            saved_work_s: seconds(counts.saved_work_ns),
            ..Times::default()
        },
        progress: account.progress.map(|(done, total)| Progress { done, total }),
        root_host: account.root_host,
        root_losses: account.root_losses,
        table: TableSize { entries, bytes },
        checked: account.checked.as_ref().map(checked),
        earlier: EarlierResults { jobs: counts.earlier, work_s: seconds(counts.earlier_work_ns) },
        by_host,
        ..Figures::default()
    }
}
