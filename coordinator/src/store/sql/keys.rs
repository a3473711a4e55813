//! The keys of hosts.

use rusqlite::{Connection, Row, params};
use sateen_protocol::PublicKey;

use super::super::error::StoreError;
use super::{Result, readable, relaxed};
use crate::enrolment::{Record, Standing};
use crate::token::TokenId;

/// All keys.
pub fn host_keys(connection: &Connection) -> Result<Vec<(PublicKey, Record)>> {
    let sql = "SELECT key, standing, replaced_by, approved, name, address, since_ms, seen_ms, enrolled_by
        FROM host_keys";
    let mut statement = connection.prepare(sql)?;
    readable(statement.query([])?, host_key, || "the key of a host, which counts as unknown".to_owned())
}

fn host_key(row: &Row<'_>) -> rusqlite::Result<(PublicKey, Record)> {
    let unreadable = |column, kind| {
        let why = Box::new(StoreError::Unreadable("the key of a host"));
        rusqlite::Error::FromSqlConversionFailure(column, kind, why)
    };
    let key = |column, bytes: Vec<u8>| {
        let bytes = bytes.try_into().map_err(|_| unreadable(column, rusqlite::types::Type::Blob))?;
        Ok::<_, rusqlite::Error>(PublicKey(bytes))
    };
    let word: String = row.get(1)?;
    let replaced_by: Option<Vec<u8>> = row.get(2)?;
    let replaced_by = replaced_by.map(|bytes| key(2, bytes)).transpose()?;
    let standing = Standing::parse(&word, replaced_by);
    let record = Record {
        standing: standing.ok_or_else(|| unreadable(1, rusqlite::types::Type::Text))?,
        approved: row.get(3)?,
        name: row.get(4)?,
        address: row.get(5)?,
        since_ms: row.get::<_, i64>(6)? as u64,
        seen_ms: row.get::<_, Option<i64>>(7)?.map(|ms| ms as u64),
        enrolled_by: row.get::<_, Option<i64>>(8)?.map(|id| TokenId(id as u64)),
    };
    Ok((key(0, row.get(0)?)?, record))
}

/// Saves what has changed: records, or that keys are forgotten. Nobody waits for `relaxed` changes, which may be lost with
/// the machine.
pub fn save_host_keys(
    connection: &mut Connection,
    changes: &[(PublicKey, Option<Record>)],
    is_relaxed: bool,
) -> Result<()> {
    if is_relaxed {
        return relaxed(connection, |connection| save_host_keys(connection, changes, false));
    }
    let transaction = connection.transaction()?;
    for (key, record) in changes {
        let key = key.0.as_slice();
        let Some(record) = record else {
            transaction.execute("DELETE FROM host_keys WHERE key = ?1", [key])?;
            continue;
        };
        transaction.execute(
            "INSERT OR REPLACE INTO host_keys
                (key, standing, replaced_by, approved, name, address, since_ms, seen_ms, enrolled_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                key,
                record.standing.word(),
                record.standing.replaced_by().map(|by| by.0.to_vec()),
                record.approved,
                record.name,
                record.address,
                record.since_ms as i64,
                record.seen_ms.map(|ms| ms as i64),
                record.enrolled_by.map(|token| token.0 as i64),
            ],
        )?;
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Opening, Store};

    #[tokio::test]
    async fn keys_are_read_as_they_were_saved() {
        let folder = tempfile::tempdir().expect("a folder");
        let opening = Opening {
            blobs_bytes_max: 1 << 20,
            results_bytes_max: 1 << 20,
            kept_bytes_max: 1 << 20,
            new_grid: false,
        };
        let of = |byte: u8, standing| {
            let seen_ms = (byte > 1).then_some(77);
            let (name, address) = (format!("host {byte}"), "192.0.2.1".to_owned());
            let enrolled_by = (byte == 1).then_some(TokenId(9));
            let approved = byte == 1;
            let record = Record { standing, approved, name, address, since_ms: 5, seen_ms, enrolled_by };
            (PublicKey([byte; 32]), record)
        };
        let records = [
            of(1, Standing::Enrolled),
            of(2, Standing::Revoked),
            of(3, Standing::Replaced(PublicKey([1; 32]))),
            of(4, Standing::Enrolled),
        ];
        {
            let (store, restored) = Store::open(folder.path(), opening).expect("it opens");
            assert!(restored.host_keys.is_empty());
            let mut changes: Vec<_> =
                records.iter().cloned().map(|(key, record)| (key, Some(record))).collect();
            let first = changes.clone();
            store.write(move |connection| save_host_keys(connection, &first, true)).await.expect("saved");
            changes[3].1 = None;
            store.write(move |connection| save_host_keys(connection, &changes, false)).await.expect("saved");
        }
        let (_store, mut restored) = Store::open(folder.path(), opening).expect("it opens");
        restored.host_keys.sort_by_key(|(key, _)| *key);
        assert_eq!(restored.host_keys, records[..3]);
    }
}
