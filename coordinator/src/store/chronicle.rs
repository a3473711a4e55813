//! SQL for what people look at: how runs stand, their trees and logs. Losing some of it costs nothing else,
//! so it is not forced to the disk.

use rusqlite::{Connection, OptionalExtension, params};
use sateen_protocol::coordinator::Standing;
use sateen_protocol::{HostId, RunId};
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::sql::{decode, encode, relaxed};
use crate::api::types::LogLine;
use crate::chronicle::{Chronicle, ChronicleChanges, Looks, SavedJob, Summary};

type Result<T> = std::result::Result<T, StoreError>;

/// How a run stands, with names for its hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedStanding {
    /// As the machine has it.
    pub standing: Standing,
    /// Names and sites.
    pub names: Vec<(HostId, String, String)>,
}

/// What a batch changes.
#[derive(Debug, Default)]
pub struct Batch {
    /// Of runs that are not over.
    pub standings: Vec<(RunId, NamedStanding)>,
    /// Of all.
    pub chronicles: Vec<ChronicleChanges>,
    /// Nobody looks at these any more.
    pub dropped: Vec<RunId>,
}

/// Saves a batch, all of it or nothing.
pub fn save(connection: &mut Connection, batch: &Batch) -> Result<()> {
    relaxed(connection, |connection| {
        let transaction = connection.transaction()?;
        {
            // A batch may come after the end of its run.
            let mut standing = transaction.prepare(
                "INSERT OR REPLACE INTO standings SELECT ?1, ?2
                 WHERE EXISTS (SELECT 1 FROM runs WHERE run = ?1 AND ended_at_ms IS NULL)",
            )?;
            for (run, named) in &batch.standings {
                standing.execute(params![run.0 as i64, encode(named)?])?;
            }
            let mut summary = transaction.prepare("INSERT OR REPLACE INTO chronicles VALUES (?1, ?2)")?;
            let mut job = transaction.prepare("INSERT OR REPLACE INTO tree_jobs VALUES (?1, ?2, ?3)")?;
            let mut line = transaction.prepare("INSERT OR REPLACE INTO log_lines VALUES (?1, ?2, ?3)")?;
            let mut looks = transaction.prepare("INSERT OR REPLACE INTO looks VALUES (?1, ?2)")?;
            let mut old = transaction.prepare("DELETE FROM log_lines WHERE run = ?1 AND number < ?2")?;
            for changes in &batch.chronicles {
                let run = changes.run.0 as i64;
                summary.execute(params![run, encode(&changes.summary)?])?;
                for (place, known) in &changes.jobs {
                    job.execute(params![run, i64::from(*place), encode(known)?])?;
                }
                for new in &changes.lines {
                    line.execute(params![run, new.number as i64, encode(new)?])?;
                }
                old.execute(params![run, changes.first_line as i64])?;
                if let Some(new) = &changes.looks {
                    looks.execute(params![run, encode(new)?])?;
                }
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

/// How a run stood. What cannot be read is not known.
pub fn standing(connection: &Connection, run: RunId) -> Result<NamedStanding> {
    let mut statement = connection.prepare("SELECT standing FROM standings WHERE run = ?1")?;
    let mut rows = statement.query_map([run.0 as i64], |row| row.get::<_, Vec<u8>>(0))?;
    let bytes = rows.next().transpose()?;
    Ok(bytes.and_then(|bytes| decode(&bytes, "how a run stands").ok()).unwrap_or_default())
}

/// A run that has a chronicle.
#[derive(Debug, Clone, Copy)]
pub struct Chronicled {
    /// Which.
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
    let rows = statement.query_map([], |row| {
        Ok(Chronicled {
            run: RunId(row.get::<_, i64>(0)? as u64),
            is_over: row.get(1)?,
            submitted_at_ms: row.get::<_, i64>(2)? as u64,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The chronicle of a run. Jobs and lines that cannot be read are left out.
pub fn chronicle(connection: &Connection, of: Chronicled) -> Result<Chronicle> {
    let run = of.run.0 as i64;
    let one = |sql: &str| -> Result<Option<Vec<u8>>> {
        Ok(connection.prepare(sql)?.query_row([run], |row| row.get(0)).optional()?)
    };
    let summary = one("SELECT summary FROM chronicles WHERE run = ?1")?;
    let summary = summary.and_then(|bytes| decode::<Summary>(&bytes, "a chronicle").ok());
    let looks = one("SELECT looks FROM looks WHERE run = ?1")?;
    let looks = looks.and_then(|bytes| decode::<Looks>(&bytes, "the looks of a run").ok());
    let mut lines = connection.prepare("SELECT line FROM log_lines WHERE run = ?1 ORDER BY number")?;
    let lines = lines.query_map([run], |row| row.get::<_, Vec<u8>>(0))?.flatten();
    let lines = lines.filter_map(|bytes| decode::<LogLine>(&bytes, "a line").ok()).collect();
    // There may be very many: one after the other.
    let mut jobs = connection.prepare("SELECT job FROM tree_jobs WHERE run = ?1 ORDER BY place")?;
    let jobs = jobs.query_map([run], |row| row.get::<_, Vec<u8>>(0))?.flatten();
    let jobs = jobs.filter_map(|bytes| decode::<SavedJob>(&bytes, "a job").ok());
    Ok(Chronicle::restore(
        of.submitted_at_ms,
        of.is_over,
        summary.unwrap_or_default(),
        jobs,
        lines,
        looks.unwrap_or_default(),
    ))
}
