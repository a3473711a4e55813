//! Polls the coordinator on a thread of its own.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use ureq::http::StatusCode;

use super::super::client::Client;
use super::super::refusal::Refusal;
use crate::exit::Failure;

/// Maximum runs in the overview.
const RUNS_MAX: usize = 50;
/// Time after which a coordinator that does not answer is asked again; it doubles up to the maximum.
const RETRY_MIN: Duration = Duration::from_millis(250);
/// See [`RETRY_MIN`].
const RETRY_MAX: Duration = Duration::from_secs(5);
/// Maximum time for an answer: a view has no use for later ones.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Which coordinator to ask, and for what.
pub struct Source {
    pub client: Client,
    /// The run, or all of the grid.
    pub run: Option<u64>,
    /// How often.
    pub period: Duration,
}

/// New data from the coordinator.
pub enum News {
    /// About a run: the run itself, its overview if the coordinator has one, and new lines of its
    /// log.
    Run { run: Value, more: Option<Value>, log: Option<Value> },
    /// About the grid: its status, its runs, its hosts.
    Grid { status: Value, runs: Value, hosts: Value },
    /// The coordinator does not answer; why.
    Away(String),
}

impl Source {
    /// Asks once; of the log, only for lines after this one.
    ///
    /// # Errors
    /// If there is nothing to watch.
    pub fn look(&self, after: u64) -> Result<News, Refusal> {
        let get = |path: &str| self.client.get_once(path, ANSWER_MAX);
        let Some(run) = self.run else {
            return Ok(News::Grid {
                status: get("/api/v1/status")?,
                runs: get(&format!("/api/v1/runs?limit={RUNS_MAX}"))?,
                hosts: self.client.get_all_once("/api/v1/hosts", ANSWER_MAX)?,
            });
        };
        // The log first: when the run is over, all of its log has been read.
        let log = get(&format!("/api/v1/runs/{run}/log?after={after}")).ok();
        let more = get(&format!("/api/v1/runs/{run}/overview")).ok();
        let run = get(&format!("/api/v1/runs/{run}"))?;
        Ok(News::Run { run, more, log })
    }

    /// Asks until the receiver is dropped, or there is nothing left to watch.
    pub fn start(self) -> mpsc::Receiver<Result<News, Failure>> {
        let (sender, receiver) = mpsc::sync_channel(1);
        thread::spawn(move || {
            let mut after = 0;
            let mut retry = RETRY_MIN;
            loop {
                let (news, wait) = match self.look(after) {
                    Ok(news) => {
                        retry = RETRY_MIN;
                        after = after.max(last_line(&news));
                        (Ok(news), self.period)
                    }
                    Err(Refusal::Unreachable(why) | Refusal::Busy(why, _)) => {
                        let wait = retry;
                        retry = (retry * 2).min(RETRY_MAX);
                        (Ok(News::Away(why)), wait)
                    }
                    Err(refusal) => (Err(self.gone(refusal)), self.period),
                };
                let is_last = news.is_err();
                if sender.send(news).is_err() || is_last {
                    return;
                }
                thread::sleep(wait);
            }
        });
        receiver
    }
}

impl Source {
    /// It existed at first and has been deleted since.
    fn gone(&self, refusal: Refusal) -> Failure {
        let is_deleted = refusal.is_not_found() || matches!(refusal, Refusal::Answered(StatusCode::GONE, _));
        match self.run.filter(|_| is_deleted) {
            Some(run) => Failure::usage(format!("run {run} has been deleted")),
            None => Failure::from(refusal),
        }
    }
}

fn last_line(news: &News) -> u64 {
    let News::Run { log: Some(log), .. } = news else { return 0 };
    let numbers = log["lines"].as_array().into_iter().flatten().filter_map(|line| line["number"].as_u64());
    numbers.max().unwrap_or(0)
}
