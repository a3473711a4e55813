//! Lists of runs, page by page.

use std::collections::HashMap;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use sateen_api::Run;
use sateen_api::limits::SEARCH_BYTES_MAX;
use sateen_api::names::quoted;
use sateen_protocol::{RunId, RunState};
use serde::Deserialize;

use super::super::Api;
use super::super::extract::Query;
use super::super::problem::Problem;
use super::super::ranges;
use super::known::{Known, is_between};
use crate::access::Access;
use crate::driver::{Live, Request};
use crate::locked;
use crate::store::listing::{self, Wanted};
use crate::token::TokenId;

const RUNS_LISTED: u32 = 100;
/// Maximum times that a page is read again because runs on it end meanwhile.
const TRIES_MAX: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    state: Option<String>,
    q: Option<String>,
    before: Option<String>,
    limit: Option<String>,
}

/// Runs, newest first, without what each host did. If there may be more, the header `Link` has the next page.
pub async fn list(
    State(api): State<Api>,
    Extension(access): Extension<Access>,
    Query(filter): Query<Filter>,
) -> Result<Response, Problem> {
    let wanted = Wanted { owner: access.only_runs_of(), ..filter.wanted()? };
    let (runs, next) = page(&api, wanted.clone()).await?;
    let link = next.map(|before| [(header::LINK, link(&wanted, before))]);
    Ok((link, Json(runs)).into_response())
}

/// The newest runs; only those that `owner` submitted, if given.
pub async fn newest(api: &Api, limit: u32, owner: Option<TokenId>) -> Result<Vec<Run>, Problem> {
    Ok(page(api, Wanted { limit, owner, ..Wanted::default() }).await?.0)
}

async fn page(api: &Api, wanted: Wanted) -> Result<(Vec<Run>, Option<u64>), Problem> {
    let mut tries = 0;
    let (page, mut live) = loop {
        let live = api.driver.ask(Request::Runs).await?;
        let live: HashMap<RunId, Live> = live.into_iter().map(|live| (live.run, live)).collect();
        let wanted = wanted.clone();
        let page = api.store.read(move |connection| listing::page(connection, &wanted)).await?;
        tries += 1;
        // Where runs end all the time, those that have just ended are shown with slightly older counts.
        if tries == TRIES_MAX || !page.runs.iter().any(|row| is_between(row, live.get(&row.run))) {
            break (page, live);
        }
    };
    let runs = page.runs.into_iter().map(|row| {
        let live = live.remove(&row.run);
        let chronicle = api.driver.chronicles.get(row.run);
        let mut known = Known::of(row, live);
        if let Some(chronicle) = chronicle {
            locked(&chronicle).complete(&mut known.figures);
        }
        // A thousand runs of a thousand hosts would be a million lines.
        known.figures.by_host.clear();
        Run { inputs: None, ..known.shown(|token| api.guard.tokens.name_of(token)) }
    });
    Ok((runs.collect(), page.next))
}

impl Filter {
    fn wanted(&self) -> Result<Wanted, Problem> {
        let words = self.state.as_deref().filter(|words| !words.is_empty());
        let words = words.into_iter().flat_map(|words| words.split(','));
        let states = words.map(|word| RunState::parse(word).ok_or_else(|| not_a_state(word)));
        let words = self.q.as_deref().unwrap_or_default().trim();
        if words.len() > SEARCH_BYTES_MAX {
            return Err(Problem::bad_request(format!(
                "q has {} bytes; a search has at most {SEARCH_BYTES_MAX}",
                words.len()
            )));
        }
        let limit = ranges::RUNS_LIMIT.whole(self.limit.as_deref())?;
        Ok(Wanted {
            states: states.collect::<Result<Vec<RunState>, Problem>>()?,
            before: ranges::BEFORE.whole(self.before.as_deref())?,
            words: words.to_lowercase(),
            owner: None,
            limit: limit.map_or(RUNS_LISTED, |limit| limit as u32),
        })
    }
}

fn not_a_state(word: &str) -> Problem {
    Problem::bad_request(format!(
        "{} is not a state of a run; the states are: {}",
        quoted(word),
        RunState::ALL.map(RunState::word).join(", ")
    ))
}

/// As in RFC 8288.
fn link(wanted: &Wanted, before: u64) -> String {
    let states: Vec<&str> = wanted.states.iter().map(|state| state.word()).collect();
    let mut words = String::new();
    for byte in wanted.words.bytes() {
        if byte.is_ascii_alphanumeric() {
            words.push(char::from(byte));
        } else {
            words.push_str(&format!("%{byte:02X}"));
        }
    }
    format!(
        "</api/v1/runs?before={before}&limit={}&state={}&q={words}>; rel=\"next\"",
        wanted.limit,
        states.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(state: &str, q: &str) -> Filter {
        Filter {
            state: Some(state.to_owned()),
            q: Some(q.to_owned()),
            before: None,
            limit: Some("1".to_owned()),
        }
    }

    #[test]
    fn a_next_page_has_the_same_filters() {
        let wanted = filter("done,failed", " N Queens&x=ü ").wanted().expect("states");
        let expected =
            "</api/v1/runs?before=7&limit=1&state=done,failed&q=n%20queens%26x%3D%C3%BC>; rel=\"next\"";
        assert_eq!(link(&wanted, 7), expected);
    }

    #[test]
    fn invalid_filters_are_refused() {
        for (states, quoted) in
            [("done,ended", "`ended`"), (",", "``"), ("Done", "`Done`"), ("\u{9b}", "`\\u{9b}`")]
        {
            let problem = filter(states, "").wanted().expect_err(states).json();
            let why = problem["detail"].as_str().expect("a sentence");
            let all = "the states are: queued, running, suspending, suspended, done, failed, cancelled";
            assert!(why.starts_with(quoted) && why.ends_with(all), "{why}");
        }
        assert!(filter("", &"x".repeat(SEARCH_BYTES_MAX + 1)).wanted().is_err());
        assert!(filter("", "").wanted().is_ok_and(|wanted| wanted.states.is_empty()));
    }
}
