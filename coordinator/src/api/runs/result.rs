//! Results of runs. A long one is put into a file and sent from there, so it is in memory once and briefly, regardless of
//! how many clients ask for it and how slowly they read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sateen_protocol::{MainOutcome, RootOutcome, RunEnd, RunId, RunState};

use super::super::body;
use super::super::gate::{counted, turn};
use super::super::problem::Problem;
use super::{Api, Path, parse, row};
use crate::figures::end::{judge, predicate};
use crate::limits::{BLOB_PIECE_BYTES, RESULT_SHORT_BYTES};
use crate::server::{Connection, Kind};
use crate::store::sql;
use crate::store::{Blobs, StoreError};

const TEXT: &str = "text/plain; charset=utf-8";
const BINARY: &str = "application/octet-stream";

/// The result of a run, byte by byte as its app returned it.
pub async fn result(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(run): Path<String>,
) -> Result<Response, Problem> {
    let run = parse(&run)?;
    let short = {
        let _turn = turn(&api, &connection, Kind::Request).await?;
        short(&api, run).await?
    };
    if let Some(response) = short {
        return counted(&api, &connection, response);
    }
    let turn = turn(&api, &connection, Kind::Transfer).await?;
    let long = api.results.open(&api, run).await?;
    let (kind, bytes) = (long.kind, long.bytes);
    let mut at = 0;
    let next = move || {
        let piece = long.piece(at)?;
        at += piece.len() as u64;
        Ok(piece)
    };
    let headers = [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_LENGTH, bytes.to_string())];
    Ok((headers, body::in_pieces(next, turn)).into_response())
}

/// The whole answer, or nothing if the result is long.
async fn short(api: &Api, run: RunId) -> Result<Option<Response>, Problem> {
    let row = row(api, run).await?;
    if !row.state.is_over() {
        return Err(Problem::conflict(format!(
            "run {run} has no result yet: it {}; `sateen wait {run}` waits for it",
            predicate(row.state)
        )));
    }
    if row.state == RunState::Done {
        let length = api.store.read(move |connection| sql::end_length(connection, run)).await?;
        if length > RESULT_SHORT_BYTES {
            return Ok(None);
        }
        let end = api.store.read(move |connection| sql::end(connection, run)).await?;
        if let Some((kind, bytes)) = end.and_then(given) {
            return Ok(Some(([(header::CONTENT_TYPE, kind)], bytes).into_response()));
        }
    }
    // The figures follow a moment after the end.
    let end = match &row.figures {
        Some(_) => None,
        None => api.store.read(move |connection| sql::end(connection, run)).await?,
    };
    let error = row.figures.and_then(|figures| figures.error);
    let error = error.or_else(|| end.and_then(|end| judge(&end).1));
    let why = error.map(|error| format!(": {}", error.message));
    Err(no_result(run, row.state, &why.unwrap_or_default()))
}

fn no_result(run: RunId, state: RunState, why: &str) -> Problem {
    Problem::new(StatusCode::GONE, format!("run {run} has no result: it {}{why}", predicate(state)))
}

/// The content type and the bytes of a result.
fn given(end: RunEnd) -> Option<(&'static str, Vec<u8>)> {
    let RunEnd::Finished(finished) = end else { return None };
    match RootOutcome::of(&finished) {
        RootOutcome::Main(MainOutcome::Text(text)) => Some((TEXT, text.into_bytes())),
        RootOutcome::Main(MainOutcome::Bytes(bytes)) => Some((BINARY, bytes)),
        _ => None,
    }
}

/// Long results that are being sent.
#[derive(Debug, Default)]
pub struct Results {
    /// Only one is put into its file at a time.
    open: tokio::sync::Mutex<BTreeMap<RunId, Weak<Long>>>,
}

impl Results {
    /// A result in a file, shared by all that read it at the same time.
    async fn open(&self, api: &Api, run: RunId) -> Result<Arc<Long>, Problem> {
        let mut open = self.open.lock().await;
        open.retain(|_, long| long.strong_count() > 0);
        if let Some(long) = open.get(&run).and_then(Weak::upgrade) {
            return Ok(long);
        }
        let end = api.store.read(move |connection| sql::end(connection, run)).await?;
        let found = end.and_then(given).ok_or_else(|| no_result(run, RunState::Done, ""))?;
        let long = api.store.with_blobs(move |blobs| Long::write(blobs, found.0, &found.1)).await;
        let no_room = |error: StoreError| {
            let why = format!(
                "the long result of run {run} cannot be written to a file, from which it would be sent: {error}"
            );
            Problem::new(StatusCode::INSUFFICIENT_STORAGE, why)
        };
        let long = Arc::new(long.map_err(no_room)?);
        open.insert(run, Arc::downgrade(&long));
        Ok(long)
    }
}

/// A long result, in a file that is deleted with it.
#[derive(Debug)]
struct Long {
    kind: &'static str,
    bytes: u64,
    file: Mutex<File>,
}

impl Long {
    fn write(blobs: &Blobs, kind: &'static str, bytes: &[u8]) -> Result<Self, StoreError> {
        let mut file = blobs.passing()?;
        file.write_all(bytes).map_err(|error| blobs.error(error))?;
        Ok(Self { kind, bytes: bytes.len() as u64, file: Mutex::new(file) })
    }

    /// The bytes from `at` on, up to one piece; nothing at the end. Blocks.
    fn piece(&self, at: u64) -> std::io::Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        let mut piece = Vec::with_capacity(BLOB_PIECE_BYTES);
        (&mut *file).take(BLOB_PIECE_BYTES as u64).read_to_end(&mut piece)?;
        Ok(piece)
    }
}
