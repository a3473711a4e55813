//! Inputs, and the bytes of modules.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sateen_protocol::BlobHash;

use super::extract::Path;
use super::problem::Problem;
use super::types::Blob;
use super::{Api, blob_body};

pub async fn upload(
    State(api): State<Api>,
    Path(hash): Path<String>,
    body: Body,
) -> Result<(StatusCode, Json<Blob>), Problem> {
    let hash = parse(&hash)?;
    let _permit = api.blobs_in_memory.acquire().await;
    let bytes = blob_body(body).await?;
    let length_bytes = bytes.len() as u64;
    let (found, bytes) = tokio::task::spawn_blocking(move || (BlobHash::of(&bytes), bytes))
        .await
        .map_err(|_| crate::driver::Gone)?;
    if found != hash {
        return Err(Problem::unprocessable(format!("the blake3 hash of what came is {found}, not {hash}")));
    }
    let is_new = api.store.save_blob(hash, bytes.into()).await.map_err(|error| Problem::unsaved(&error))?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Blob { hash: hash.to_string(), bytes: length_bytes })))
}

pub async fn download(State(api): State<Api>, Path(hash): Path<String>) -> Result<Response, Problem> {
    let hash = parse(&hash)?;
    let _permit = api.blobs_in_memory.acquire().await;
    let bytes = api.store.read_blob(hash).await?.ok_or_else(|| unknown(hash))?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// Without reading it.
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
    BlobHash::parse(hash).ok_or_else(|| {
        Problem::bad_request(format!("`{}` is not a blake3 hash of 64 digits", hash.escape_debug()))
    })
}

fn unknown(hash: BlobHash) -> Problem {
    Problem::not_found(format!("there is no blob {hash}; upload it with PUT"))
}
