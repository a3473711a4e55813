//! Topics that can be watched.

use sateen_api::names::quoted;
use sateen_protocol::RunId;

use crate::api::Problem;
use crate::api::parse_run;
use crate::token::TokenId;

/// A topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    /// Runs, hosts, and the state of the grid.
    Grid,
    /// The same with only the runs that a token submitted. Pages call it `grid` as well.
    GridOf(TokenId),
    /// One run.
    Run(RunId),
    /// Its jobs.
    Tree(RunId),
    /// What workers did over time.
    Timeline(RunId),
}

impl Topic {
    /// Its name in a page's request.
    pub fn parse(name: &str) -> Result<Self, Problem> {
        let (kind, run) = match name.split_once('/') {
            Some((kind, run)) => (kind, Some(run)),
            None => (name, None),
        };
        match (kind, run) {
            ("grid", None) => Ok(Self::Grid),
            ("run", Some(run)) => Ok(Self::Run(parse_run(run)?)),
            ("tree", Some(run)) => Ok(Self::Tree(parse_run(run)?)),
            ("timeline", Some(run)) => Ok(Self::Timeline(parse_run(run)?)),
            _ => Err(Problem::not_found(format!(
                "there is no topic {}; the topics are grid, run/N, tree/N and timeline/N",
                quoted(name)
            ))),
        }
    }
}

impl Topic {
    /// The topic for somebody who may see only the runs that `owner` submitted; and the run, if it is about one.
    pub fn only_of(self, owner: TokenId) -> (Self, Option<RunId>) {
        match self {
            Self::Grid | Self::GridOf(_) => (Self::GridOf(owner), None),
            Self::Run(run) | Self::Tree(run) | Self::Timeline(run) => (self, Some(run)),
        }
    }
}

impl std::fmt::Display for Topic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Grid | Self::GridOf(_) => write!(formatter, "grid"),
            Self::Run(run) => write!(formatter, "run/{run}"),
            Self::Tree(run) => write!(formatter, "tree/{run}"),
            Self::Timeline(run) => write!(formatter, "timeline/{run}"),
        }
    }
}
