//! The size of the database's file: what is deleted is given back to the file system.

use rusqlite::Connection;

use super::Result;

/// In SQLite's numbering: free pages are moved to the end of the file on request.
const INCREMENTAL: i64 = 2;
/// Pages that each deletion gives back in addition, so that none stay.
const MORE_PAGES: u64 = 256;
/// Maximum size of the log of changes while it is not needed.
const LOG_BYTES_MAX: i64 = 16 << 20;

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
}

/// Sets a connection up so that space can be given back; before any table is created. An older database is not changed.
pub fn prepare_space(connection: &Connection) -> rusqlite::Result<()> {
    if number(connection, "page_count")? == 0 {
        connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    }
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)
}

/// Rewrites a database of an older version, which cannot give space back, if half of it or more is free. This needs as much
/// space as what it holds.
pub fn rewrite_if_useful(connection: &Connection) -> Result<bool> {
    let is_older = number(connection, "auto_vacuum")? != INCREMENTAL;
    let (all, free) = (number(connection, "page_count")?, number(connection, "freelist_count")?);
    let is_useful = is_older && free >= all / 2;
    if is_useful {
        connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
        connection.execute_batch("VACUUM")?;
    }
    Ok(is_useful)
}

/// Gives back the space of something that was deleted and took `bytes`, and some more.
pub fn give_back_space(connection: &Connection, bytes: u64) -> Result<()> {
    let page_bytes = number(connection, "page_size")?.max(1) as u64;
    let pages = 2 * bytes / page_bytes + MORE_PAGES;
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = statement.query([])?;
    // Each step gives one page back.
    while rows.next()?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(connection: &Connection) {
        connection
            .execute_batch("CREATE TABLE t (x BLOB); INSERT INTO t VALUES (zeroblob(8000000))")
            .expect("saved");
    }

    fn pages(connection: &Connection) -> i64 {
        number(connection, "page_count").expect("a number")
    }

    #[test]
    fn what_is_deleted_is_given_back() {
        let connection = Connection::open_in_memory().expect("opens");
        prepare_space(&connection).expect("empty");
        fill(&connection);
        let before = pages(&connection);
        connection.execute_batch("DELETE FROM t").expect("deleted");
        assert_eq!(pages(&connection), before);
        give_back_space(&connection, 8_000_000).expect("given back");
        assert!(pages(&connection) < before / 10, "{} of {before} pages", pages(&connection));
    }

    #[test]
    fn a_database_of_an_older_version_is_rewritten_once_if_much_of_it_is_free() {
        let connection = Connection::open_in_memory().expect("opens");
        fill(&connection);
        prepare_space(&connection).expect("no effect");
        assert!(!rewrite_if_useful(&connection).expect("it is full"));
        connection.execute_batch("DELETE FROM t").expect("deleted");
        assert!(rewrite_if_useful(&connection).expect("rewritten"));
        assert!(pages(&connection) < 10);
        assert!(!rewrite_if_useful(&connection).expect("it is done"));
    }
}
