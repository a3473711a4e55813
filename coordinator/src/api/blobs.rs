//! Inputs, and the bytes of modules.

use std::io::Read;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use sateen_api::Blob;
use sateen_api::names::quoted;
use sateen_protocol::BlobHash;

use super::extract::Path;
use super::gate::turn;
use super::problem::Problem;
use super::{Api, body};
use crate::limits::BLOB_PIECE_BYTES;
use crate::server::{Connection, Kind};

pub async fn upload(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(hash): Path<String>,
    content: Body,
) -> Result<(StatusCode, Json<Blob>), Problem> {
    let hash = parse(&hash)?;
    keep(&api, &connection, Some(hash), content).await
}

/// For clients that cannot compute blake3, such as pages and scripts.
pub async fn add(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    content: Body,
) -> Result<(StatusCode, Json<Blob>), Problem> {
    keep(&api, &connection, None, content).await
}

async fn keep(
    api: &Api,
    connection: &Arc<Connection>,
    wanted: Option<BlobHash>,
    content: Body,
) -> Result<(StatusCode, Json<Blob>), Problem> {
    let _turn = turn(api, connection, Kind::Transfer).await?;
    let incoming = body::in_file(api, connection, content).await?;
    let (hash, length_bytes) = (incoming.hash(), incoming.length_bytes());
    if let Some(wanted) = wanted.filter(|wanted| *wanted != hash) {
        return Err(Problem::unprocessable(format!(
            "the blake3 hash of the received bytes is {hash}, not {wanted}"
        )));
    }
    let is_new = api.store.keep_blob(incoming).await.map_err(|error| Problem::unsaved(&error))?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Blob { hash: hash.to_string(), bytes: length_bytes })))
}

/// Read from the disk as the client takes it, so that an unread answer does not fill memory.
pub async fn download(
    State(api): State<Api>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(hash): Path<String>,
) -> Result<Response, Problem> {
    let hash = parse(&hash)?;
    let turn = turn(&api, &connection, Kind::Transfer).await?;
    let blob = api.store.with_blobs(move |blobs| blobs.open_verified(hash)).await?;
    let (mut file, bytes) = blob.ok_or_else(|| unknown(hash))?;
    let next = move || {
        let mut piece = vec![0; BLOB_PIECE_BYTES];
        let bytes = file.read(&mut piece)?;
        piece.truncate(bytes);
        Ok(piece)
    };
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, bytes.to_string()),
    ];
    Ok((headers, body::in_pieces(next, turn)).into_response())
}

/// Without reading the blob.
pub async fn head(State(api): State<Api>, Path(hash): Path<String>) -> Result<Response, Problem> {
    let hash = parse(&hash)?;
    let bytes = api.store.blob_length_bytes(hash).await.ok_or_else(|| unknown(hash))?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, bytes.to_string()),
    ];
    Ok((headers, Body::empty()).into_response())
}

fn parse(hash: &str) -> Result<BlobHash, Problem> {
    BlobHash::parse(hash)
        .ok_or_else(|| Problem::bad_request(format!("{} is not a blake3 hash of 64 digits", quoted(hash))))
}

fn unknown(hash: BlobHash) -> Problem {
    Problem::not_found(format!("there is no blob {hash}; upload it with PUT"))
}
