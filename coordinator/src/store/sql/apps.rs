//! The catalogue of apps.

use rusqlite::{Connection, OptionalExtension, Row, params};
use sateen_protocol::BlobHash;

use super::{Result, from_json, is_of_row, to_json};
use crate::limits::{PUBLISHED_MAX, PUBLISHED_PER_PEER_MAX};
use crate::module::About;
use crate::peer::Peer;

/// A published module.
#[derive(Debug, Clone)]
pub struct AppRow {
    /// The hash of its bytes.
    pub hash: BlobHash,
    /// The name under which it was last published.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last published, in milliseconds since 1970.
    pub published_at_ms: u64,
    /// Who published it.
    pub publisher: Publisher,
    /// Its description.
    pub about: About,
}

/// The publisher of a module.
#[derive(Debug, Clone, Default)]
pub struct Publisher {
    /// The publisher's own name for itself, if given. Not verified.
    pub name: Option<String>,
    /// The address, or the token where one is needed. Older versions did not record it.
    pub address: Option<String>,
    /// Whether it may also use the names that others own.
    pub is_admin: bool,
}

const APP: &str = "SELECT apps.hash, app_names.name, apps.bytes, app_names.published_at_ms, apps.about,
    app_names.published_by, app_names.published_from
    FROM apps JOIN app_names ON app_names.hash = apps.hash";

fn app(row: &Row<'_>) -> rusqlite::Result<AppRow> {
    Ok(AppRow {
        hash: BlobHash(row.get(0)?),
        name: row.get(1)?,
        bytes: row.get::<_, i64>(2)? as u64,
        published_at_ms: row.get::<_, i64>(3)? as u64,
        about: from_json(4, &row.get::<_, String>(4)?)?,
        publisher: Publisher { name: row.get(5)?, address: row.get(6)?, is_admin: false },
    })
}

/// The outcome of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    /// The module is new.
    New,
    /// The module was known.
    Known,
    /// Nothing was done: the name belongs to another owner.
    NameTaken(Owner),
    /// Nothing was done: the name differs from this one in case only.
    Lookalike(String),
    /// Nothing was done: the maximum number of modules is published under names, from that address or in all.
    Full {
        /// Whether the limit is the address's.
        of_peer: bool,
    },
}

/// The outcome of a request to release a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpublished {
    /// Nothing is published under the name now.
    Done,
    /// Nothing was published under it.
    Unknown,
    /// Nothing was done: the name belongs to another owner.
    OfAnother(Owner),
}

/// The owner of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The address from which it was first published, or the token; an older version did not record it.
    pub address: Option<String>,
}

impl Owner {
    /// Whether a publisher at that address, or with that token, owns it. Names without a known owner belong to this machine.
    pub fn is(&self, publisher: &Publisher) -> bool {
        if publisher.is_admin || (self.address.is_some() && self.address == publisher.address) {
            return true;
        }
        let peer = |address: &str| address.parse().ok().map(Peer::of);
        let publisher = publisher.address.as_deref().and_then(peer);
        match &self.address {
            Some(address) => publisher.is_some() && publisher == peer(address),
            None => publisher.is_some_and(Peer::is_loopback),
        }
    }
}

/// The owner of a name, if it has one.
pub fn owner(connection: &Connection, name: &str) -> Result<Option<Owner>> {
    let sql = "SELECT address FROM name_owners WHERE name = ?1";
    let owner = connection.prepare(sql)?.query_row([name], |row| Ok(Owner { address: row.get(0)? }));
    Ok(owner.optional()?)
}

/// Publishes a module under a name, as its newest. A name belongs to its first publisher.
pub fn publish(connection: &mut Connection, row: &AppRow) -> Result<Published> {
    let transaction = connection.transaction()?;
    if let Some(owner) = owner(&transaction, &row.name)?.filter(|owner| !owner.is(&row.publisher)) {
        return Ok(Published::NameTaken(owner));
    }
    if let Some(refusal) = refusal(&transaction, row)? {
        return Ok(refusal);
    }
    transaction.execute(
        "INSERT INTO name_owners (name, address) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![row.name, row.publisher.address],
    )?;
    let added = transaction.execute(
        "INSERT INTO apps (hash, bytes, about) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![row.hash.0, row.bytes as i64, to_json(&row.about)],
    )?;
    // Times of one name differ, so that the newest is never in doubt.
    transaction.execute(
        "INSERT INTO app_names (name, hash, published_at_ms, published_by, published_from)
         VALUES (
             ?1, ?2, max(?3, 1 + coalesce((SELECT max(published_at_ms) FROM app_names WHERE name = ?1), 0)), ?4, ?5
         )
         ON CONFLICT (name, hash) DO UPDATE SET published_at_ms = excluded.published_at_ms,
             published_by = excluded.published_by, published_from = excluded.published_from",
        params![
            row.name,
            row.hash.0,
            row.published_at_ms as i64,
            row.publisher.name,
            row.publisher.address
        ],
    )?;
    transaction.commit()?;
    Ok(if added > 0 { Published::New } else { Published::Known })
}

/// Why a module cannot be published under a name without an owner.
fn refusal(connection: &Connection, row: &AppRow) -> Result<Option<Published>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM app_names WHERE name = ?1 AND hash = ?2)";
    if connection.query_row(sql, params![row.name, row.hash.0], |row| row.get(0))? {
        return Ok(None);
    }
    // Older versions accepted names that differ in case only.
    let sql = "SELECT name FROM name_owners WHERE name = ?1 COLLATE NOCASE ORDER BY name <> ?1 LIMIT 1";
    let alike: Option<String> =
        connection.prepare(sql)?.query_row([&row.name], |row| row.get(0)).optional()?;
    if let Some(alike) = alike.filter(|alike| *alike != row.name) {
        return Ok(Some(Published::Lookalike(alike)));
    }
    let of = |address: String| Peer::parse(&address).map_or(address, |peer| peer.to_string());
    let publisher = row.publisher.address.clone().map(of);
    let mut statement = connection.prepare("SELECT published_from FROM app_names")?;
    let published = statement.query_map([], |row| Ok(row.get::<_, Option<String>>(0)?.map(of)))?;
    let published = published.collect::<rusqlite::Result<Vec<Option<String>>>>()?;
    let of_peer = published.iter().filter(|other| **other == publisher).count() >= PUBLISHED_PER_PEER_MAX;
    Ok((of_peer || published.len() >= PUBLISHED_MAX).then_some(Published::Full { of_peer }))
}

/// Releases a name. Its modules stay as long as they have another one, or a run of them is kept.
pub fn unpublish(connection: &mut Connection, name: &str, publisher: &Publisher) -> Result<Unpublished> {
    let transaction = connection.transaction()?;
    match owner(&transaction, name)? {
        None => return Ok(Unpublished::Unknown),
        Some(owner) if !owner.is(publisher) => return Ok(Unpublished::OfAnother(owner)),
        Some(_) => {}
    }
    transaction.execute("DELETE FROM app_names WHERE name = ?1", [name])?;
    transaction.execute("DELETE FROM name_owners WHERE name = ?1", [name])?;
    forget_unnamed(&transaction)?;
    transaction.commit()?;
    Ok(Unpublished::Done)
}

/// Deletes modules without a name of which no run is kept.
pub fn forget_unnamed(connection: &Connection) -> Result<()> {
    connection.execute(
        "DELETE FROM apps WHERE NOT EXISTS (SELECT 1 FROM app_names WHERE app_names.hash = apps.hash)
             AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.app = apps.hash)",
        [],
    )?;
    Ok(())
}

/// The description of a module that is published, or of which a run is kept.
pub fn about(connection: &Connection, hash: BlobHash) -> Result<Option<About>> {
    let read = |row: &Row<'_>| from_json(0, &row.get::<_, String>(0)?);
    Ok(connection.prepare("SELECT about FROM apps WHERE hash = ?1")?.query_row([hash.0], read).optional()?)
}

/// The names of modules, newest first, as long as their descriptions fit into `bytes_max`.
pub fn apps(connection: &Connection, bytes_max: usize) -> Result<Vec<AppRow>> {
    let mut statement =
        connection.prepare(&format!("{APP} ORDER BY app_names.published_at_ms DESC, app_names.name"))?;
    let mut bytes = 0;
    let mut rows = statement.query([])?;
    let mut apps = Vec::new();
    while let Some(row) = rows.next()? {
        bytes += 512 + row.get_ref(4)?.as_bytes().map_or(0, <[u8]>::len);
        if bytes > bytes_max && !apps.is_empty() {
            break;
        }
        match app(row) {
            Ok(read) => apps.push(read),
            Err(error) if is_of_row(&error) => {
                tracing::warn!(%error, "an app cannot be read from the database");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(apps)
}

/// The module that was last published under the name.
pub fn app_named(connection: &Connection, name: &str) -> Result<Option<AppRow>> {
    let sql = format!("{APP} WHERE app_names.name = ?1 ORDER BY app_names.published_at_ms DESC LIMIT 1");
    Ok(connection.prepare(&sql)?.query_row([name], app).optional()?)
}

/// At most two modules whose hash begins with these lower-case digits.
pub fn apps_beginning(connection: &Connection, digits: &str) -> Result<Vec<AppRow>> {
    let sql = format!(
        "{APP} WHERE substr(lower(hex(apps.hash)), 1, length(?1)) = ?1
         AND app_names.published_at_ms =
             (SELECT max(published_at_ms) FROM app_names AS newer WHERE newer.hash = apps.hash)
         GROUP BY apps.hash LIMIT 2"
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([digits], app)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
