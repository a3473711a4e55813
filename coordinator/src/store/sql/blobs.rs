//! Blobs: their uploaders, and the references to them.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Row, params};
use sateen_protocol::BlobHash;

use super::{Result, decode_spec, readable};
use crate::peer::Peer;

/// The uploader of each blob, and when it was used, as far as they are known.
pub fn uploads(connection: &Connection) -> Result<HashMap<BlobHash, (Peer, u64)>> {
    let mut statement = connection.prepare("SELECT hash, address, used_at_ms FROM blobs")?;
    let read =
        |row: &Row<'_>| Ok((BlobHash(row.get(0)?), row.get::<_, String>(1)?, row.get::<_, i64>(2)? as u64));
    let what = || "the uploader of a blob, which now has none".to_owned();
    let rows = readable(statement.query([])?, read, what)?.into_iter();
    let known =
        rows.filter_map(|(hash, address, used_at_ms)| Some((hash, (Peer::parse(&address)?, used_at_ms))));
    Ok(known.collect())
}

/// A peer uploaded a blob.
pub fn uploaded(
    connection: &Connection,
    hash: BlobHash,
    bytes: u64,
    peer: Peer,
    is_new: bool,
    now_ms: u64,
) -> Result<()> {
    let (hash, now_ms) = (hash.0.as_slice(), now_ms as i64);
    if is_new {
        connection.execute(
            "INSERT OR REPLACE INTO blobs VALUES (?1, ?2, ?3, ?4)",
            params![hash, bytes as i64, peer.to_string(), now_ms],
        )?;
    } else {
        connection.execute("UPDATE blobs SET used_at_ms = ?2 WHERE hash = ?1", params![hash, now_ms])?;
    }
    Ok(())
}

/// The blobs that apps and runs refer to.
pub fn referred(connection: &Connection) -> Result<HashSet<BlobHash>> {
    let mut statement = connection.prepare("SELECT hash FROM apps UNION SELECT app FROM runs")?;
    let read = |row: &Row<'_>| Ok(BlobHash(row.get(0)?));
    let apps = readable(statement.query([])?, read, || "an app's hash".to_owned())?;
    let mut referred: HashSet<BlobHash> = apps.into_iter().collect();
    let mut statement = connection.prepare("SELECT spec FROM runs")?;
    // There may be very many, so they are read one by one.
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Ok(bytes) = row.get::<_, Vec<u8>>(0) else { continue };
        if let Ok(spec) = decode_spec(&bytes) {
            referred.extend(spec.inputs.iter().map(|(_, hash)| *hash));
        }
    }
    Ok(referred)
}
