//! SQL for standings of runs, their trees and logs. Losing some of it has no other consequences,
//! so it is not forced to the disk.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, Row, Statement, params};
use sateen_protocol::coordinator::{self, Account, AtWork, Standing};
use sateen_protocol::{Counts, HostId, RunEnd, RunId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::sql::{blob, decode, encode, readable, relaxed};
use crate::chronicle::{Absences, ChartData, Chronicle, ChronicleChanges, Latest, Line, SavedJob, Summary};
use crate::figures::end::{close, judge};
use crate::figures::{Counted, Figures, Untold, host_of_run, of_account};
use crate::host_name::HostName;

type Result<T> = std::result::Result<T, StoreError>;

/// A host's counts of a run, with its name.
#[derive(Debug, Clone)]
pub struct SavedRow {
    /// The machine's counts.
    pub row: coordinator::Row,
    /// The host's name for itself.
    pub name: Arc<HostName>,
}

/// The standing of a run, with names for its hosts. Hosts' counts have a table of their own; in folders of older
/// versions they are here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedStanding {
    /// The machine's standing.
    pub standing: Standing,
    /// Names and sites.
    pub names: Vec<(HostId, String, String)>,
}

impl NamedStanding {
    /// The figures of a run that ended like this, and whose hosts have not reported their last counts.
    pub fn figures(&self, end: &RunEnd) -> Figures {
        let Standing { root_host, root_losses, by_host, progress, long_gone, .. } = &self.standing;
        let at_work = AtWork::of(by_host.iter().copied());
        let account = Account {
            root_host: *root_host,
            root_losses: *root_losses,
            progress: *progress,
            at_work: AtWork { hosts: at_work.hosts + long_gone, ..at_work },
            ..Account::default()
        };
        let mut sum = Counts::default();
        by_host.iter().for_each(|(_, counts)| sum.add(counts));
        let names: HashMap<HostId, HostName> = (self.names.iter())
            .map(|(host, name, site)| (*host, HostName { name: name.clone(), site: site.clone() }))
            .collect();
        let rows = by_host.iter().map(|(host, counts)| {
            let name = names.get(host).cloned().unwrap_or_default();
            host_of_run(*host, &name, false, counts)
        });
        let figures = Figures { counted: Counted::Partial, ..of_account(&account, &sum, rows.collect()) };
        close(figures, (sum.workers, Untold::SinceSaved), end, judge(end).1)
    }
}

/// The changes of a batch.
#[derive(Debug, Default)]
pub struct Batch {
    /// Standings of runs that are not over.
    pub standings: HashMap<RunId, Standing>,
    /// Hosts' counts of runs without figures; `None` for rows that were removed.
    pub rows: BTreeMap<(RunId, HostId), Option<SavedRow>>,
    /// Changes of chronicles.
    pub chronicles: Vec<ChronicleChanges>,
    /// Chronicles to be deleted.
    pub dropped: Vec<RunId>,
    /// Hosts that joined, and `None` for those that went.
    pub hosts: BTreeMap<HostId, Option<SavedHost>>,
}

/// A connected host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedHost {
    /// Its name.
    pub name: Arc<HostName>,
    /// When it joined, in milliseconds since 1970.
    pub since_ms: u64,
}

/// Saves a batch, all of it or nothing.
pub fn save(connection: &mut Connection, batch: &Batch) -> Result<()> {
    relaxed(connection, |connection| {
        let transaction = connection.transaction()?;
        {
            // A batch may arrive after the end of its run.
            let mut standing = transaction.prepare(
                "INSERT OR REPLACE INTO standings SELECT ?1, ?2, ?3, ?4
                 WHERE EXISTS (SELECT 1 FROM runs WHERE run = ?1 AND ended_at_ms IS NULL)",
            )?;
            for (run, stands) in &batch.standings {
                let named = NamedStanding { standing: stands.clone(), names: Vec::new() };
                let (long_gone, checks_work_ns) = (stands.long_gone as i64, stands.checks_work_ns as i64);
                standing.execute(params![run.0 as i64, encode(&named)?, long_gone, checks_work_ns])?;
            }
            // Until all hosts have said what they counted last, what workers did is saved as well, and belongs to these.
            let mut counted = transaction.prepare(
                "INSERT OR REPLACE INTO standing_rows SELECT ?1, ?2, ?3
                 WHERE EXISTS (SELECT 1 FROM runs WHERE run = ?1 AND figures IS NULL)",
            )?;
            let mut uncounted =
                transaction.prepare("DELETE FROM standing_rows WHERE run = ?1 AND host = ?2")?;
            for ((run, host), row) in &batch.rows {
                let (run, host) = (run.0 as i64, host.0 as i64);
                match row {
                    Some(SavedRow { row, name }) => {
                        counted.execute(params![run, host, encode(&(row, &name.name, &name.site))?])?
                    }
                    None => uncounted.execute(params![run, host])?,
                };
            }
            let mut summary = transaction.prepare(
                "INSERT OR REPLACE INTO chronicles (run, summary, latest, absences, lent)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            let mut job = transaction.prepare("INSERT OR REPLACE INTO tree_jobs VALUES (?1, ?2, ?3)")?;
            let mut line = transaction.prepare("INSERT OR REPLACE INTO log_lines VALUES (?1, ?2, ?3)")?;
            let mut looks = transaction.prepare("INSERT OR REPLACE INTO looks VALUES (?1, ?2, ?3)")?;
            let mut old = transaction.prepare("DELETE FROM log_lines WHERE run = ?1 AND number < ?2")?;
            for changes in &batch.chronicles {
                let run = changes.run.0 as i64;
                let absences = changes.latest.absences.as_ref().map(encode).transpose()?;
                let (latest, lent) = (encode(&changes.latest)?, encode(&changes.summary.lent())?);
                summary.execute(params![run, encode(&changes.summary)?, latest, absences, lent])?;
                for (place, known) in &changes.jobs {
                    job.execute(params![run, i64::from(*place), encode(known)?])?;
                }
                for new in &changes.lines {
                    line.execute(params![run, new.number as i64, encode(new)?])?;
                }
                old.execute(params![run, changes.first_line as i64])?;
                if let Some(new) = &changes.charts {
                    looks.execute(params![run, encode(new)?, encode(&new.checking())?])?;
                }
            }
            let mut came = transaction.prepare("INSERT OR REPLACE INTO hosts VALUES (?1, ?2, ?3, ?4)")?;
            let mut went = transaction.prepare("DELETE FROM hosts WHERE host = ?1")?;
            for (host, saved) in &batch.hosts {
                let host = host.0 as i64;
                match saved {
                    Some(SavedHost { name, since_ms }) => {
                        came.execute(params![host, name.name, name.site, *since_ms as i64])?
                    }
                    None => went.execute([host])?,
                };
            }
            for run in &batch.dropped {
                for table in ["chronicles", "tree_jobs", "log_lines", "looks"] {
                    transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.0 as i64])?;
                }
            }
        }
        transaction.commit()?;
        Ok(())
    })
}

/// The standing of a run; none if it cannot be read.
pub fn standing(connection: &Connection, run: RunId) -> Result<NamedStanding> {
    let mut statement =
        connection.prepare("SELECT standing, long_gone, checks_work_ns FROM standings WHERE run = ?1")?;
    let what = || format!("the standing of run {run}, whose counts begin anew");
    let read = |row: &Row<'_>| {
        let mut named = blob::<NamedStanding>(row, 0, "the standing of a run")?;
        named.standing.long_gone = row.get::<_, i64>(1)? as u64;
        named.standing.checks_work_ns = row.get::<_, i64>(2)? as u64;
        Ok(named)
    };
    let found = readable(statement.query([run.0 as i64])?, read, what)?;
    let mut named: NamedStanding = found.into_iter().next().unwrap_or_default();
    let mut statement = connection.prepare("SELECT host, row FROM standing_rows WHERE run = ?1")?;
    let read = |row: &Row<'_>| {
        let host = HostId(row.get::<_, i64>(0)? as u64);
        Ok((host, blob::<(coordinator::Row, String, String)>(row, 1, "what a host has counted")?))
    };
    let what = || format!("a host's counts of run {run}, which begin anew");
    let rows = readable(statement.query([run.0 as i64])?, read, what)?;
    if rows.is_empty() {
        return Ok(named);
    }
    // These rows are newer than those of an older version.
    let known: std::collections::HashSet<HostId> = rows.iter().map(|(host, _)| *host).collect();
    named.standing.by_host.retain(|(host, _)| !known.contains(host));
    named.standing.counted.retain(|(host, ..)| !known.contains(host));
    named.names.retain(|(host, ..)| !known.contains(host));
    for (host, (row, name, site)) in rows {
        named.standing.by_host.push((host, row.sum));
        named.standing.counted.extend(row.anew.map(|(before, last)| (host, before, last)));
        named.names.push((host, name, site));
    }
    // In the order in which they are shown while the run is under way; SQLite's numbers have a sign.
    named.standing.by_host.sort_unstable_by_key(|(host, _)| *host);
    Ok(named)
}

/// The hosts that were connected.
pub fn hosts(connection: &Connection) -> Result<Vec<(HostId, SavedHost)>> {
    let mut statement = connection.prepare("SELECT host, name, site, since_ms FROM hosts ORDER BY host")?;
    let read = |row: &Row<'_>| {
        let name = Arc::new(HostName { name: row.get(1)?, site: row.get(2)? });
        let since_ms = row.get::<_, i64>(3)? as u64;
        Ok((HostId(row.get::<_, i64>(0)? as u64), SavedHost { name, since_ms }))
    };
    readable(statement.query([])?, read, || "a host, which is not waited for".to_owned())
}

/// A run that has a chronicle.
#[derive(Debug, Clone, Copy)]
pub struct Chronicled {
    /// The run.
    pub run: RunId,
    /// Whether it is over.
    pub is_over: bool,
    /// When it was submitted.
    pub submitted_at_ms: u64,
}

/// The runs that have a chronicle: first those that are over, in the order in which they ended.
pub fn runs(connection: &Connection) -> Result<Vec<Chronicled>> {
    let mut statement = connection.prepare(
        "SELECT chronicles.run, runs.ended_at_ms IS NOT NULL, runs.submitted_at_ms FROM chronicles
         JOIN runs ON runs.run = chronicles.run
         ORDER BY runs.ended_at_ms IS NULL, runs.ended_at_ms, runs.run",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Chronicled {
            run: RunId(row.get::<_, i64>(0)? as u64),
            is_over: row.get(1)?,
            submitted_at_ms: row.get::<_, i64>(2)? as u64,
        })
    };
    readable(statement.query([])?, read, || "a run's chronicle".to_owned())
}

/// The chronicle of a run. Jobs and lines that cannot be read are left out.
pub fn chronicle(connection: &Connection, of: Chronicled) -> Result<Chronicle> {
    let run = of.run.0 as i64;
    let mut summary = connection.prepare("SELECT summary FROM chronicles WHERE run = ?1")?;
    let summary = parts::<Summary>(&mut summary, of.run, "the summary")?.pop();
    let mut newer =
        connection.prepare("SELECT latest FROM chronicles WHERE run = ?1 AND latest IS NOT NULL")?;
    let latest = parts::<Latest>(&mut newer, of.run, "what is newer than the charts")?.pop();
    let mut latest = latest.unwrap_or_default();
    let mut absences =
        connection.prepare("SELECT absences FROM chronicles WHERE run = ?1 AND absences IS NOT NULL")?;
    latest.absences = parts::<Absences>(&mut absences, of.run, "which hosts are away")?.pop();
    let mut lent = connection.prepare("SELECT lent FROM chronicles WHERE run = ?1 AND lent IS NOT NULL")?;
    let lent = parts::<Vec<(HostId, u64)>>(&mut lent, of.run, "from which hosts jobs were stolen")?.pop();
    let mut looks = connection.prepare("SELECT looks FROM looks WHERE run = ?1")?;
    let charts = parts::<ChartData>(&mut looks, of.run, "the charts")?.pop();
    let mut checking =
        connection.prepare("SELECT checking FROM looks WHERE run = ?1 AND checking IS NOT NULL")?;
    let checking = parts::<Vec<f32>>(&mut checking, of.run, "which workers checked results")?.pop();
    let mut lines = connection.prepare("SELECT line FROM log_lines WHERE run = ?1 ORDER BY number")?;
    let lines = parts::<Line>(&mut lines, of.run, "a log line")?;
    // There may be very many, so they are read one by one.
    let mut jobs = connection.prepare("SELECT job FROM tree_jobs WHERE run = ?1 ORDER BY place")?;
    let jobs = jobs.query_map([run], |row| row.get::<_, Vec<u8>>(0))?.flatten();
    let jobs = jobs.filter_map(|bytes| decode::<SavedJob>(&bytes, "a job").ok());
    Ok(Chronicle::restore(
        of.submitted_at_ms,
        of.is_over,
        (summary.unwrap_or_default().with_lent(lent.unwrap_or_default()), latest),
        jobs,
        lines,
        charts.unwrap_or_default().with_checking(checking.unwrap_or_default()),
    ))
}

/// The rows of one run that can be decoded.
fn parts<T: DeserializeOwned>(
    statement: &mut Statement<'_>,
    run: RunId,
    what: &'static str,
) -> Result<Vec<T>> {
    let rows = statement.query([run.0 as i64])?;
    readable(rows, |row| blob(row, 0, what), || format!("{what} of run {run}, which is not shown"))
}

#[cfg(test)]
mod tests;
