//! Runs that need not be kept any longer.

use rusqlite::{Connection, params};
use sateen_protocol::RunId;

use super::Result;

// Both are answered by the index `runs_by_end`, without reading any run.
const COUNT: &str = "SELECT count(*) FROM runs WHERE iif(figures IS NULL, NULL, ended_at_ms) IS NOT NULL";
const OLDEST: &str = "SELECT run FROM runs WHERE iif(figures IS NULL, NULL, ended_at_ms) < ?1
                      ORDER BY iif(figures IS NULL, NULL, ended_at_ms), run LIMIT ?2";

/// Which runs are outdated, of those that are over and whose figures are saved; and the maximum number of an answer.
#[derive(Debug, Clone, Copy)]
pub enum Outdated {
    /// Those that ended before a moment, in milliseconds since 1970.
    EndedBefore {
        /// The moment.
        before_ms: u64,
        /// The maximum number of an answer.
        most: usize,
    },
    /// All but those that ended last.
    BeyondNewest {
        /// The number of these.
        kept: u64,
        /// The maximum number of an answer.
        most: usize,
    },
}

/// Runs that are outdated, those that ended first before the others.
pub fn outdated(connection: &Connection, which: Outdated) -> Result<Vec<RunId>> {
    let (before_ms, most) = match which {
        Outdated::EndedBefore { before_ms, most } => (before_ms, most as u64),
        Outdated::BeyondNewest { kept, most } => {
            let count: i64 = connection.query_row(COUNT, [], |row| row.get(0))?;
            (u64::MAX, (count as u64).saturating_sub(kept).min(most as u64))
        }
    };
    let mut statement = connection.prepare(OLDEST)?;
    let before_ms = i64::try_from(before_ms).unwrap_or(i64::MAX);
    let rows = statement
        .query_map(params![before_ms, most as i64], |row| Ok(RunId(row.get::<_, i64>(0)? as u64)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::super::schema::migrate;
    use super::*;

    /// Runs 1 to 4 ended at these moments, run 5 is not over, and the figures of run 6 are not known yet.
    fn database() -> Connection {
        let mut connection = Connection::open_in_memory().expect("a database");
        migrate(&mut connection, Path::new("folder")).expect("it is new");
        let runs: [(i64, Option<i64>, Option<&str>); 6] = [
            (1, Some(40), Some("{}")),
            (2, Some(10), Some("{}")),
            (3, Some(30), Some("{}")),
            (4, Some(20), Some("{}")),
            (5, None, None),
            (6, Some(5), None),
        ];
        for (run, ended_at_ms, figures) in runs {
            let row =
                "INSERT INTO runs (run, app, app_name, spec, state, submitted_at_ms, ended_at_ms, figures)
                 VALUES (?1, x'00', 'app', x'00', 'done', 0, ?2, ?3)";
            connection.execute(row, params![run, ended_at_ms, figures]).expect("a run");
        }
        connection
    }

    fn found(which: Outdated) -> Vec<u64> {
        outdated(&database(), which).expect("read").iter().map(|run| run.0).collect()
    }

    #[test]
    fn runs_that_ended_before_a_moment_are_found_oldest_first() {
        for (before_ms, most, expected) in [
            (10, 9, &[][..]),
            (11, 9, &[2]),
            (40, 9, &[2, 4, 3]),
            (u64::MAX, 9, &[2, 4, 3, 1]),
            (40, 1, &[2]),
        ] {
            assert_eq!(found(Outdated::EndedBefore { before_ms, most }), expected, "{before_ms} {most}");
        }
    }

    #[test]
    fn no_run_is_read_to_find_them() {
        let connection = database();
        for sql in [COUNT, OLDEST] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("it parses");
            let values: &[i64] = if sql == COUNT { &[] } else { &[9, 9] };
            let plan = statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3));
            let plan: Vec<String> = plan.expect("a plan").flatten().collect();
            assert!(plan.len() == 1 && plan[0].contains("COVERING INDEX runs_by_end"), "{plan:?}");
        }
    }

    #[test]
    fn the_runs_that_ended_last_are_kept() {
        for (kept, most, expected) in
            [(9, 9, &[][..]), (4, 9, &[]), (3, 9, &[2]), (1, 9, &[2, 4, 3]), (0, 2, &[2, 4])]
        {
            assert_eq!(found(Outdated::BeyondNewest { kept, most }), expected, "{kept} {most}");
        }
    }
}
