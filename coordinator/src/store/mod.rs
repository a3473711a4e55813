//! The data folder: a database, blobs, and a lock.
//!
//! ```text
//! lock           held while a process uses the folder
//! state.sqlite   see `schema`
//! blobs/HASH     modules and inputs
//! tls/           the coordinator's own certificate authority, see `tls/own.rs`
//! ```
//!
//! Only its owner may read it: it contains the grid's secret, and runs of all users.
//!
//! One thread writes to the database and another reads, so that no page waits for the disk, and
//! no task of the runtime either.

mod blobs;
pub mod chronicle;
mod error;
mod lane;
mod ledger;
pub mod listing;
mod opening;
#[cfg(test)]
mod pinned;
mod private;
mod results;
mod schema;
pub mod sql;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rusqlite::Connection;
use sateen_protocol::coordinator::{Earlier, StoredRun, Submitter};
use sateen_protocol::{BlobHash, GridId, HostId, PublicKey, RunId, RunSpec};

use crate::chronicle::Chronicle;
use crate::clock::unix_ms;
use crate::enrolment::Record;
use crate::limits::{APPS_LISTED_BYTES_MAX, EARLIER_BYTES_MAX};
use crate::metrics::Timing;
use crate::peer::Peer;
use crate::submitter::submitter_of;
use chronicle::SavedHost;
use lane::Lane;
use opening::{check_new, fresh_identity, lock, open, open_reader};
use sql::{Keeper, Kept};

pub use blobs::{Blobs, Incoming};
pub use error::StoreError;
pub use results::{Results, Retention, encoded_bytes};

const DATABASE: &str = "state.sqlite";
const BLOBS: &str = "blobs";

/// Blobs that apps and runs need and that were deleted from the folder.
fn missing(apps: &[sql::AppRow], runs: &[StoredRun], blobs: &Blobs) -> Vec<String> {
    let apps = apps.iter().filter(|app| !blobs.has(app.hash)).map(|app| {
        let (name, hash) = (&app.name, app.hash);
        format!("the module of the app {name} ({hash}) is missing; publish it again with `sateen publish`")
    });
    let inputs = runs.iter().flat_map(|stored| {
        let of_run = stored.spec.inputs.iter().filter(|(_, hash)| !blobs.has(*hash));
        of_run.map(|(name, hash)| {
            format!("run {} needs the input {name:?} ({hash}), which is missing; upload it again", stored.run)
        })
    });
    apps.chain(inputs).collect()
}

/// Saves the figures of a run whose hosts had not sent their last counts when the coordinator stopped: they date
/// from the last time when hosts' counts were saved.
fn settle(connection: &mut Connection, run: RunId, chronicle: Option<&Chronicle>) -> Result<(), StoreError> {
    let Some(end) = sql::end(connection, run)? else { return Ok(()) };
    let mut figures = chronicle::standing(connection, run)?.figures(&end);
    if let Some(chronicle) = chronicle {
        chronicle.complete(&mut figures);
    }
    sql::set_figures(connection, run, &figures)
}

/// Why nothing can be saved.
#[derive(Debug)]
struct Trouble {
    why: String,
    /// When the first attempt failed, in milliseconds since 1970.
    since_ms: u64,
}

/// An open data folder.
#[derive(Debug)]
pub struct Store {
    writer: Lane,
    reader: Lane,
    blobs: Arc<Blobs>,
    making_room: tokio::sync::Mutex<()>,
    /// The disk space of finished runs.
    pub results: Results,
    /// Maximum disk space for results that later runs may find.
    kept_bytes_max: u64,
    trouble: Mutex<Option<Trouble>>,
    /// Durations of reads, from request to answer.
    pub reading: Arc<Timing>,
    /// The same for writes.
    pub writing: Arc<Timing>,
    folder: PathBuf,
    /// Keeps the folder locked.
    _lock: File,
}

/// Options for opening a data folder.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// Maximum disk space for blobs, in bytes.
    pub blobs_bytes_max: u64,
    /// Maximum disk space for finished runs, in bytes.
    pub results_bytes_max: u64,
    /// Maximum disk space for results that later runs may find.
    pub kept_bytes_max: u64,
    /// A new grid may begin in a folder with blobs and without a database.
    pub new_grid: bool,
}

/// A run that is not over and uses results of earlier ones.
#[derive(Debug)]
pub struct Reusing {
    /// The run.
    pub run: RunId,
    /// Who submitted it.
    pub submitter: Submitter,
    /// What it is.
    pub spec: RunSpec,
    /// What it may find.
    pub earlier: Earlier,
}

/// The contents of a data folder at the start.
#[derive(Debug)]
pub struct Restored {
    /// The grid's identity.
    pub grid: GridId,
    /// Generates the hosts' secrets.
    pub secret: [u8; 32],
    /// The grid has run before, and hosts may come back: some were there, or there are runs that are not over.
    pub restarted: bool,
    /// A seed for the machine's randomness, different each time.
    pub seed: u64,
    /// Its runs that are not over.
    pub runs: Vec<StoredRun>,
    /// Those of them that use results of earlier runs.
    pub reusing: Vec<Reusing>,
    /// Who submitted each of them, if known, and the size of its specification.
    pub submitters: Vec<(RunId, Option<Peer>, u64)>,
    /// Names and sites of hosts that work on them.
    pub names: Vec<(HostId, String, String)>,
    /// Hosts that were connected.
    pub hosts: Vec<(HostId, SavedHost)>,
    /// Trees and logs, and whether their runs are over; in the order in which these ended.
    pub chronicles: Vec<(RunId, bool, Chronicle)>,
    /// Modules and inputs that are needed and missing, each in a sentence.
    pub missing: Vec<String>,
    /// The keys of hosts, and what is known of them.
    pub host_keys: Vec<(PublicKey, Record)>,
    /// Somebody has a token with which others can be made.
    pub has_admin: bool,
}

impl Store {
    /// Opens the folder, which is created if it does not exist. Blocks.
    ///
    /// # Errors
    /// When it is in use, of a newer version, without its database, or cannot be written. Then nothing in it was changed.
    pub fn open(folder: &Path, opening: Opening) -> Result<(Self, Restored), StoreError> {
        Self::open_folder(folder, opening).map_err(|error| error.in_folder(folder))
    }

    fn open_folder(folder: &Path, opening: Opening) -> Result<(Self, Restored), StoreError> {
        private::create(folder)?;
        let lock = lock(folder)?;
        let path = folder.join(DATABASE);
        if !opening.new_grid && path.metadata().map_or(0, |about| about.len()) == 0 {
            check_new(folder)?;
        }
        private::mend(folder, &path)?;
        let mut connection = open(&path, folder)?;
        let (grid, secret, restarted) = sql::grid(&connection, || {
            if !opening.new_grid {
                check_new(folder)?;
            }
            fresh_identity()
        })?;
        let seed = getrandom::u64().map_err(StoreError::Randomness)?;
        let kept = sql::results_by_peer(&connection)?;
        let (mut runs, mut names, mut submitted) = (Vec::new(), Vec::new(), Vec::new());
        let (mut submitters, mut reusing) = (Vec::new(), Vec::new());
        for row in sql::runs_to_restore(&connection)? {
            let entries = sql::entries(&connection, row.run)?;
            let chronicle::NamedStanding { standing, names: known } =
                chronicle::standing(&connection, row.run)?;
            names.extend(known);
            submitted.push((row.run, row.submitted_at_ms));
            submitters.push((row.run, row.submitter, encoded_bytes(&row.spec)));
            let submitter = submitter_of(row.submitter, row.owner);
            let (run, spec, state) = (row.run, row.spec, row.state);
            if spec.reuse {
                let earlier = sql::earlier(&connection, Keeper { submitter, app: spec.app }, run, &spec)?;
                let earlier = Earlier::new(&spec, EARLIER_BYTES_MAX, earlier);
                reusing.push(Reusing { run, submitter, spec: spec.clone(), earlier });
            }
            runs.push(StoredRun { run, submitter, spec, state, entries, standing });
        }
        let mut chronicles = Vec::new();
        for of in chronicle::runs(&connection)? {
            chronicles.push((of.run, of.is_over, chronicle::chronicle(&connection, of)?));
        }
        // Nothing may have been saved of the newest runs.
        for (run, submitted_at_ms) in submitted {
            if !chronicles.iter().any(|(known, ..)| *known == run) {
                chronicles.push((run, false, Chronicle::restore_unsaved(submitted_at_ms)));
            }
        }
        for run in sql::unsettled(&connection)? {
            let chronicle =
                chronicles.iter().find(|(known, ..)| *known == run).map(|(.., chronicle)| chronicle);
            settle(&mut connection, run, chronicle)?;
        }
        let hosts = chronicle::hosts(&connection)?;
        let host_keys = sql::host_keys(&connection)?;
        let uploaded = sql::uploads(&connection)?;
        let has_admin = sql::has_admin(&connection, unix_ms())?;
        match sql::rewrite_if_useful(&connection) {
            Ok(is_rewritten) if is_rewritten => {
                tracing::info!("the database was rewritten to give disk space back");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the database cannot be rewritten to give disk space back"),
        }
        // It may have been greater before.
        sql::keep(&mut connection, &[], opening.kept_bytes_max, unix_ms())?;
        let reader = open_reader(&path)?;
        let blobs = Arc::new(Blobs::open(folder.join(BLOBS), opening.blobs_bytes_max, &uploaded)?);
        let missing = missing(&sql::apps(&reader, APPS_LISTED_BYTES_MAX)?, &runs, &blobs);
        let store = Self {
            writer: Lane::start("store-writer", connection)?,
            reader: Lane::start("store-reader", reader)?,
            blobs,
            making_room: tokio::sync::Mutex::default(),
            results: Results::new(opening.results_bytes_max, kept),
            kept_bytes_max: opening.kept_bytes_max,
            trouble: Mutex::new(None),
            reading: Arc::default(),
            writing: Arc::default(),
            folder: folder.to_owned(),
            _lock: lock,
        };
        let restored = Restored {
            grid,
            secret,
            restarted: restarted && !(runs.is_empty() && hosts.is_empty()),
            seed,
            runs,
            submitters,
            reusing,
            names,
            hosts,
            chronicles,
            missing,
            host_keys,
            has_admin,
        };
        Ok((store, restored))
    }

    /// Reads from the database.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let result = self.reader.call(work).await;
        self.reading.count(began.elapsed());
        result
    }

    /// Changes the database; on the disk when this returns. Calls take effect in their order.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let result = self.writer.call(work).await.map_err(|error| error.in_folder(&self.folder));
        self.writing.count(began.elapsed());
        self.note(result.as_ref().err());
        result
    }

    /// Keeps results for later runs.
    pub async fn keep(&self, results: Vec<Kept>) -> Result<(), StoreError> {
        let bytes_max = self.kept_bytes_max;
        self.write(move |connection| sql::keep(connection, &results, bytes_max, unix_ms())).await
    }

    /// What a new run may find that earlier runs of its submitter have computed. None if that cannot be read: it only costs
    /// work.
    pub async fn earlier(&self, run: RunId, submitter: Submitter, spec: &RunSpec) -> Earlier {
        let (keeper, spec) = (Keeper { submitter, app: spec.app }, spec.clone());
        let noted = self.write(move |connection| sql::use_kept(connection, keeper, unix_ms())).await;
        let found = self.read(move |connection| {
            let entries = sql::earlier(connection, keeper, run, &spec)?;
            Ok(Earlier::new(&spec, EARLIER_BYTES_MAX, entries))
        });
        match (noted, found.await) {
            (Ok(()), Ok(earlier)) => earlier,
            (Err(error), _) | (_, Err(error)) => {
                tracing::warn!(run = run.0, %error, "no results of earlier runs can be read");
                Earlier::default()
            }
        }
    }

    /// Runs blocking work with the blobs.
    pub async fn with_blobs<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Blobs) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let blobs = Arc::clone(&self.blobs);
        tokio::task::spawn_blocking(move || work(&blobs)).await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Keeps an uploaded blob; false if it existed already.
    pub async fn keep_blob(&self, incoming: Incoming) -> Result<bool, StoreError> {
        let (hash, bytes, peer) = (incoming.hash(), incoming.length_bytes(), incoming.peer());
        match self.with_blobs(move |blobs| blobs.keep(incoming)).await {
            Ok(is_new) => {
                let work = move |connection: &mut Connection| {
                    sql::uploaded(connection, hash, bytes, peer, is_new, unix_ms())
                };
                self.write(work).await?;
                Ok(is_new)
            }
            Err(error) => {
                self.note(Some(&error));
                Err(error)
            }
        }
    }

    /// Makes room for this many more bytes of a peer's blobs by removing unreferenced ones; returns whether there is room now.
    pub async fn make_room(&self, peer: Peer, bytes: usize) -> Result<bool, StoreError> {
        // One at a time: each reads all references of runs.
        let _alone = self.making_room.lock().await;
        let referred = self.read(|connection| sql::referred(connection)).await?;
        self.with_blobs(move |blobs| Ok(blobs.make_room((peer, bytes as u64), &referred))).await
    }

    /// The length of a blob, if it exists.
    pub async fn blob_length_bytes(&self, hash: BlobHash) -> Option<u64> {
        let blobs = Arc::clone(&self.blobs);
        tokio::task::spawn_blocking(move || blobs.length_bytes(hash)).await.unwrap_or(None)
    }

    /// Why nothing can be saved, if the last attempt failed.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|trouble| trouble.why.clone())
    }

    /// Since when that is so, in milliseconds since 1970.
    pub fn trouble_since_ms(&self) -> Option<u64> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.as_ref().map(|trouble| trouble.since_ms)
    }

    fn note(&self, error: Option<&StoreError>) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            Some(error) => {
                if trouble.is_none() {
                    tracing::error!(%error, "nothing can be saved");
                }
                let since_ms = trouble.as_ref().map_or_else(unix_ms, |trouble| trouble.since_ms);
                *trouble = Some(Trouble { why: error.to_string(), since_ms });
            }
            None if trouble.is_some() => {
                tracing::info!("the data folder can be written again");
                *trouble = None;
            }
            None => {}
        }
    }

    /// Merges everything into the database's one file. For the end: nothing is written afterwards.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        let work = |connection: &mut Connection| {
            Ok(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
        };
        self.writer.call(work).await
    }
}
