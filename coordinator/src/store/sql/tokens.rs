//! Tokens, the runs that they submitted, and the audit log.

use rusqlite::{Connection, OptionalExtension, Row, params};
use sateen_access::{Scope, TokenHash};
use sateen_protocol::RunId;

use super::{Result, readable, states};
use crate::limits::{AUDIT_KEPT_MAX, AUDIT_REFUSALS_KEPT_MAX};
use crate::token::{TokenId, TokenRow, Uses};

const TOKEN: &str = "SELECT id, hash, name, scope, made_by, made_at_ms, expires_at_ms, used_at_ms, revoked_at_ms, uses_max, uses,
    from_join_key, weight, runs_max FROM tokens";

fn token(row: &Row<'_>) -> rusqlite::Result<TokenRow> {
    let moment = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(|ms| ms as u64));
    let scope: String = row.get(3)?;
    let unknown = || rusqlite::Error::InvalidColumnType(3, "scope".to_owned(), rusqlite::types::Type::Text);
    let uses: Option<u32> = row.get(9)?;
    Ok(TokenRow {
        id: TokenId(row.get::<_, i64>(0)? as u64),
        hash: TokenHash(row.get(1)?),
        name: row.get(2)?,
        scope: Scope::parse(&scope).ok_or_else(unknown)?,
        made_by: row.get(4)?,
        made_at_ms: row.get::<_, i64>(5)? as u64,
        expires_at_ms: moment(6)?,
        used_at_ms: moment(7)?,
        revoked_at_ms: moment(8)?,
        uses: match uses {
            Some(max) => Some(Uses { max, used: row.get(10)? }),
            None => None,
        },
        from_join_key: row.get(11)?,
        weight: row.get(12)?,
        runs_max: row.get(13)?,
    })
}

/// All tokens.
pub fn tokens(connection: &Connection) -> Result<Vec<TokenRow>> {
    let mut statement = connection.prepare(&format!("{TOKEN} ORDER BY id"))?;
    readable(statement.query([])?, token, || "a token, which is not accepted".to_owned())
}

/// Whether there is an admin's token that is valid now.
pub fn has_admin(connection: &Connection, now_ms: u64) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tokens WHERE scope = ?1 AND revoked_at_ms IS NULL
        AND coalesce(expires_at_ms > ?2, TRUE))";
    Ok(connection.query_row(sql, params![Scope::Admin.word(), now_ms as i64], |row| row.get(0))?)
}

/// Adds a token, and returns its number; that of `row` does not count.
pub fn add_token(connection: &Connection, row: &TokenRow) -> Result<TokenId> {
    connection.execute(
        "INSERT INTO tokens (hash, name, scope, made_by, made_at_ms, expires_at_ms, uses_max, uses, from_join_key,
             weight, runs_max)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            row.hash.0,
            row.name,
            row.scope.word(),
            row.made_by,
            row.made_at_ms as i64,
            row.expires_at_ms.map(|ms| ms as i64),
            row.uses.map(|uses| uses.max),
            row.uses.map(|uses| uses.used),
            row.from_join_key,
            row.weight,
            row.runs_max,
        ],
    )?;
    Ok(TokenId(connection.last_insert_rowid() as u64))
}

/// Uses a join key once more, and adds the token for which it is exchanged; both or neither. Returns the new token's number,
/// or nothing if the key was used as often as it may be.
pub fn exchange_token(connection: &mut Connection, key: TokenId, row: &TokenRow) -> Result<Option<TokenId>> {
    let transaction = connection.transaction()?;
    let sql = "UPDATE tokens SET uses = uses + 1 WHERE id = ?1 AND uses < uses_max AND revoked_at_ms IS NULL";
    if transaction.execute(sql, [key.0 as i64])? == 0 {
        return Ok(None);
    }
    let id = add_token(&transaction, row)?;
    transaction.commit()?;
    Ok(Some(id))
}

/// Saves that a token is revoked.
pub fn revoke_token(connection: &Connection, id: TokenId, now_ms: u64) -> Result<()> {
    connection.execute(
        "UPDATE tokens SET revoked_at_ms = coalesce(revoked_at_ms, ?2) WHERE id = ?1",
        params![id.0 as i64, now_ms as i64],
    )?;
    Ok(())
}

/// Saves when tokens were last used, in milliseconds since 1970. The last of it may be lost in a crash.
pub fn tokens_used(connection: &mut Connection, used: &[(TokenId, u64)]) -> Result<()> {
    super::relaxed(connection, |connection| {
        let transaction = connection.transaction()?;
        for (id, at_ms) in used {
            transaction.execute(
                "UPDATE tokens SET used_at_ms = ?2 WHERE id = ?1",
                params![id.0 as i64, *at_ms as i64],
            )?;
        }
        transaction.commit()?;
        Ok(())
    })
}

/// Forgets a token that is not accepted any more.
pub fn forget_token(connection: &Connection, id: TokenId) -> Result<()> {
    connection.execute("DELETE FROM tokens WHERE id = ?1", [id.0 as i64])?;
    Ok(())
}

/// The token that submitted a run. Nothing if there is no such run, or it was submitted without a token.
pub fn run_owner(connection: &Connection, run: RunId) -> Result<Option<TokenId>> {
    let owner: Option<Option<i64>> = connection
        .prepare("SELECT submitted_by FROM runs WHERE run = ?1")?
        .query_row([run.0 as i64], |row| row.get(0))
        .optional()?;
    Ok(owner.flatten().map(|id| TokenId(id as u64)))
}

/// The number of runs that a token submitted and that are not over.
pub fn unfinished_of(connection: &Connection, token: TokenId) -> Result<u64> {
    let states = states(|state| !state.is_over());
    let sql = format!("SELECT count(*) FROM runs WHERE submitted_by = ?1 AND state IN ({states})");
    let count: i64 = connection.prepare(&sql)?.query_row([token.0 as i64], |row| row.get(0))?;
    Ok(count as u64)
}

/// A line of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number, from 1; 0 as long as it is not saved.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The name and number of the token; empty if there was none.
    pub who: String,
    /// The address.
    pub address: String,
    /// What was requested.
    pub what: String,
    /// The HTTP status of the answer.
    pub status: u16,
    /// Why it was refused, if it was.
    pub why: Option<String>,
}

impl AuditRow {
    /// Whether nothing was done. Such lines are bounded by themselves, so that they cannot displace what was done.
    pub fn is_refusal(&self) -> bool {
        self.status >= 400
    }
}

/// Adds lines, and forgets the oldest.
pub fn add_audit(connection: &mut Connection, rows: &[AuditRow]) -> Result<()> {
    super::relaxed(connection, |connection| {
        let transaction = connection.transaction()?;
        for row in rows {
            transaction.execute(
                "INSERT INTO audit (at_ms, who, address, what, status, why, refused) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    row.at_ms as i64,
                    row.who,
                    row.address,
                    row.what,
                    row.status,
                    row.why,
                    row.is_refusal()
                ],
            )?;
        }
        for (refused, kept_max) in [(false, AUDIT_KEPT_MAX), (true, AUDIT_REFUSALS_KEPT_MAX)] {
            transaction.execute(
                "DELETE FROM audit WHERE refused = ?1 AND number <=
                     (SELECT number FROM audit WHERE refused = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)",
                params![refused, kept_max as i64],
            )?;
        }
        transaction.commit()?;
        Ok(())
    })
}

/// Lines with smaller numbers than `before`, the newest first.
pub fn audit(connection: &Connection, before: Option<u64>, limit: usize) -> Result<Vec<AuditRow>> {
    let before = before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let mut statement = connection.prepare(
        "SELECT number, at_ms, who, address, what, status, why FROM audit WHERE number < ?1
         ORDER BY number DESC LIMIT ?2",
    )?;
    let read = |row: &Row<'_>| {
        Ok(AuditRow {
            number: row.get::<_, i64>(0)? as u64,
            at_ms: row.get::<_, i64>(1)? as u64,
            who: row.get(2)?,
            address: row.get(3)?,
            what: row.get(4)?,
            status: row.get(5)?,
            why: row.get(6)?,
        })
    };
    readable(statement.query(params![before, limit as i64])?, read, || "a line of the audit log".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::schema::migrate;
    use super::*;

    fn row(name: &str, weight: Option<u16>, runs_max: Option<u32>) -> TokenRow {
        TokenRow {
            id: TokenId(0),
            hash: TokenHash(*blake3::hash(name.as_bytes()).as_bytes()),
            name: name.to_owned(),
            scope: Scope::Submitter,
            made_by: String::new(),
            made_at_ms: 1,
            expires_at_ms: None,
            used_at_ms: None,
            revoked_at_ms: None,
            uses: None,
            from_join_key: false,
            weight,
            runs_max,
        }
    }

    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().expect("a database");
        migrate(&mut connection, Path::new("folder")).expect("it is new");
        connection
    }

    #[test]
    fn weights_and_quotas_are_kept() {
        let connection = database();
        let rows =
            [row("one", None, None), row("two", Some(1000), Some(1_000_000)), row("three", Some(7), None)];
        let rows = rows.map(|row| TokenRow { id: add_token(&connection, &row).expect("it is saved"), ..row });
        assert_eq!(tokens(&connection).expect("they can be read"), rows);
    }

    #[test]
    fn tokens_of_older_versions_have_no_weight_and_no_quota() {
        let mut connection = database();
        let id = add_token(&connection, &row("one", None, None)).expect("it is saved");
        let older = "DROP INDEX runs_by_end; DROP TABLE kept_results; DROP TABLE kept_sums; ALTER TABLE tokens DROP COLUMN weight; ALTER TABLE tokens DROP COLUMN runs_max;
            UPDATE schema SET version = 15";
        connection.execute_batch(older).expect("changed");
        migrate(&mut connection, Path::new("folder")).expect("it is older");
        let expected = TokenRow { id, ..row("one", None, None) };
        assert_eq!(tokens(&connection).expect("they can be read"), [expected]);
    }

    #[test]
    fn runs_count_towards_a_quota_until_they_are_over() {
        let connection = database();
        for (number, state) in sateen_protocol::RunState::ALL.into_iter().enumerate() {
            for owner in [Some(1), Some(2), None] {
                let run = "INSERT INTO runs (app, app_name, spec, state, submitted_at_ms, submitted_by)
                     VALUES (x'00', 'app', x'00', ?1, ?2, ?3)";
                connection.execute(run, params![state.word(), number as i64, owner]).expect("a run");
            }
        }
        for (token, count) in [(1, 4), (2, 4), (3, 0)] {
            assert_eq!(unfinished_of(&connection, TokenId(token)).expect("they are counted"), count);
        }
    }
}
