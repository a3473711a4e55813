//! Lists of runs, page by page, with filters.

use rusqlite::{Connection, Row, params};
use sateen_protocol::RunState;

use super::error::{StoreError, is_of_row};
use super::sql::{RUN, RunRow, run_row};
use crate::limits::{ARGUMENTS_LISTED_BYTES_MAX, RUNS_SCANNED_BYTES_MAX, RUNS_SCANNED_MAX};
use crate::token::TokenId;

/// A filter for runs.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only runs in one of these states; all if empty.
    pub states: Vec<RunState>,
    /// Only runs with smaller numbers.
    pub before: Option<u64>,
    /// Only runs whose number, app, entry point or arguments contain this; in lower case.
    pub words: String,
    /// Only runs that this token submitted.
    pub owner: Option<TokenId>,
    /// Maximum runs on a page.
    pub limit: u32,
}

/// A page of runs, newest first.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// For lists: long arguments are cut, and inputs and hosts' figures left out.
    pub runs: Vec<RunRow>,
    /// If there may be more: all others have smaller numbers than this.
    pub next: Option<u64>,
}

/// A page of runs. At most [`RUNS_SCANNED_MAX`] runs are looked at, so a page may have few runs, or none, although others
/// follow.
pub fn page(connection: &Connection, wanted: &Wanted) -> Result<Page, StoreError> {
    let of_owner = if wanted.owner.is_some() { "submitted_by = ?2" } else { "?2 IS NULL" };
    let sql = format!("{RUN} WHERE run < ?1 AND {of_owner} ORDER BY run DESC");
    let before = wanted.before.and_then(|before| i64::try_from(before).ok()).unwrap_or(i64::MAX);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![before, wanted.owner.map(|owner| owner.0 as i64)])?;
    let mut page = Page::default();
    let (mut scanned, mut bytes, mut last) = (0, 0, None);
    while let Some(row) = rows.next()? {
        let is_full = page.runs.len() >= wanted.limit as usize;
        if is_full || scanned >= RUNS_SCANNED_MAX || bytes >= RUNS_SCANNED_BYTES_MAX {
            page.next = last;
            break;
        }
        scanned += 1;
        last = Some(row.get::<_, i64>(0)? as u64);
        if !wanted.has_state(row) {
            continue;
        }
        bytes += row.get_ref(2)?.as_blob().map_or(0, <[u8]>::len);
        match run_row(row) {
            Ok(run) if wanted.has_words(&run) => page.runs.push(listed(run)),
            Ok(_) => {}
            Err(error) if is_of_row(&error) => {
                tracing::warn!(run = last, %error, "the database holds a run that cannot be decoded");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(page)
}

impl Wanted {
    fn has_state(&self, row: &Row<'_>) -> bool {
        let state = || row.get_ref(3).ok()?.as_str().ok().and_then(RunState::parse);
        self.states.is_empty() || state().is_some_and(|state| self.states.contains(&state))
    }

    fn has_words(&self, run: &RunRow) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let (spec, number) = (&run.spec, run.run.0);
        let text = format!("{number} {} {} {}", run.app_name, spec.function, spec.arguments.join(" "));
        text.to_lowercase().contains(&self.words)
    }
}

fn listed(mut run: RunRow) -> RunRow {
    shorten(&mut run.spec.arguments, ARGUMENTS_LISTED_BYTES_MAX);
    run.spec.arguments.shrink_to_fit();
    run.spec.inputs = Vec::new();
    if let Some(figures) = &mut run.figures {
        // A thousand runs of a thousand hosts would be a million lines.
        figures.by_host = Vec::new();
    }
    run
}

/// Cuts words after `bytes_max`, marked by an ellipsis.
fn shorten(words: &mut Vec<String>, mut bytes_max: usize) {
    for place in 0..words.len() {
        let word = &mut words[place];
        // An empty word takes room in an answer as well.
        if word.len() + 4 > bytes_max {
            word.truncate(word.floor_char_boundary(bytes_max));
            word.push('…');
            word.shrink_to_fit();
            words.truncate(place + 1);
            return;
        }
        bytes_max -= word.len() + 4;
    }
}
