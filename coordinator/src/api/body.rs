//! Reading request bodies: in pieces, within time limits, and up to a maximum size.

use std::time::{Duration, Instant};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::http::StatusCode;
use futures_util::StreamExt;
use sateen_module::size;
use sateen_protocol::limits::BLOB_BYTES_MAX;
use tokio::time::timeout;

use super::Api;
use super::problem::Problem;
use crate::limits::{BLOB_PIECE_BYTES, READER_PATIENCE, UPLOAD_BYTES_PER_SECOND_MIN};
use crate::server::{Connection, Pass};
use crate::store::{Incoming, StoreError};

/// A body, piece by piece.
struct Pieces<'a> {
    connection: &'a Connection,
    stream: BodyDataStream,
    /// Time that the sender has left; each byte adds to it.
    patience: Duration,
    bytes: usize,
    bytes_max: usize,
}

impl<'a> Pieces<'a> {
    /// A body that says beforehand that it is too large is refused before any of it is read.
    fn new(connection: &'a Connection, body: Body, bytes_max: usize) -> Result<Self, Problem> {
        if body.size_hint().lower() > bytes_max as u64 {
            return Err(too_large(bytes_max));
        }
        Ok(Self {
            connection,
            stream: body.into_data_stream(),
            patience: READER_PATIENCE,
            bytes: 0,
            bytes_max,
        })
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let began = Instant::now();
        // Meanwhile any delay of others is the peer's fault.
        self.connection.is_answered(false);
        let next = timeout(self.patience, self.stream.next()).await;
        self.connection.is_answered(true);
        let piece = match next {
            Ok(None) => return Ok(None),
            Ok(Some(Ok(piece))) => piece,
            Ok(Some(Err(error))) => {
                return Err(Problem::bad_request(format!("the request's body broke off: {error}")));
            }
            Err(_) => {
                return Err(Problem::new(
                    StatusCode::REQUEST_TIMEOUT,
                    format!(
                        "the request's body is {} s late: it came more slowly than {} KiB a second; send it over a \
                         faster connection",
                        READER_PATIENCE.as_secs(),
                        UPLOAD_BYTES_PER_SECOND_MIN / 1024
                    ),
                ));
            }
        };
        self.bytes += piece.len();
        if self.bytes > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        let earned = Duration::from_secs_f64(piece.len() as f64 / f64::from(UPLOAD_BYTES_PER_SECOND_MIN));
        let left = self.patience.saturating_sub(began.elapsed());
        self.patience = left.saturating_add(earned).min(READER_PATIENCE);
        Ok(Some(piece))
    }
}

fn too_large(bytes_max: usize) -> Problem {
    Problem::too_large(format!("the request's body is larger than {}, the maximum", size(bytes_max as u64)))
}

/// A body that is read piece by piece, as it is consumed; `next` blocks, and returns an empty piece at the end. The
/// contents of `turn` are held until then.
pub fn in_pieces<N>(next: N, turn: Pass) -> Body
where
    N: FnMut() -> std::io::Result<Vec<u8>> + Send + 'static,
{
    let pieces = futures_util::stream::try_unfold((next, turn), |(mut next, turn)| async move {
        let read = move || next().map(|piece| (piece, next));
        let (piece, next) = tokio::task::spawn_blocking(read).await.map_err(std::io::Error::other)??;
        Ok::<_, std::io::Error>((!piece.is_empty()).then_some((Bytes::from(piece), (next, turn))))
    });
    Body::from_stream(pieces)
}

/// Reads a body into memory.
pub async fn in_memory(connection: &Connection, body: Body, bytes_max: usize) -> Result<Vec<u8>, Problem> {
    let mut pieces = Pieces::new(connection, body, bytes_max)?;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Reads a body of a blob's size into a file among the blobs.
pub async fn in_file(api: &Api, connection: &Connection, body: Body) -> Result<Incoming, Problem> {
    let unsaved = |error: StoreError| Problem::unsaved(&error);
    let mut pieces = Pieces::new(connection, body, BLOB_BYTES_MAX)?;
    let peer = connection.peer;
    let mut incoming = api.store.with_blobs(move |blobs| blobs.incoming(peer)).await.map_err(unsaved)?;
    let mut waiting = Vec::new();
    loop {
        let piece = pieces.next().await?;
        let is_last = piece.is_none();
        waiting.extend_from_slice(&piece.unwrap_or_default());
        if waiting.len() >= BLOB_PIECE_BYTES || (is_last && !waiting.is_empty()) {
            let bytes = std::mem::take(&mut waiting);
            incoming = match write(api, incoming, bytes).await {
                Ok(incoming) => incoming,
                Err(error) => {
                    // So that the client can read the reason: closing a socket with unread bytes resets the connection.
                    while let Ok(Some(_)) = pieces.next().await {}
                    return Err(unsaved(error));
                }
            };
        }
        if is_last {
            return Ok(incoming);
        }
    }
}

/// Adds a piece to a blob that is being uploaded, after making room if necessary.
async fn write(api: &Api, incoming: Incoming, piece: Vec<u8>) -> Result<Incoming, StoreError> {
    let peer = incoming.peer();
    let write = move |mut incoming: Incoming, piece: Vec<u8>| {
        move |_: &crate::store::Blobs| {
            let result = incoming.write(&piece);
            Ok((result, incoming, piece))
        }
    };
    let (result, incoming, piece) = api.store.with_blobs(write(incoming, piece)).await?;
    match result {
        Ok(()) => Ok(incoming),
        Err(StoreError::BlobsOfPeer { .. } | StoreError::BlobsOfAll { .. })
            if api.store.make_room(peer, piece.len()).await? =>
        {
            let (result, incoming, _) = api.store.with_blobs(write(incoming, piece)).await?;
            result.map(|()| incoming)
        }
        Err(error) => Err(error),
    }
}
