//! `sateen ps`, and the commands that do one thing to a run.

use sateen_api::Run;
use sateen_api::limits::RUNS_LISTED_MAX;
use sateen_protocol::RunState;
use serde_json::Value;

use super::client::{Client, to_each};
use super::columns::Columns;
use super::ended::{deliver, failure};
use super::follow::{Follow, follow};
use super::view::{TITLE_COLUMN, predicate, run_table};
use crate::ended::Wanted;
use crate::exit::{Failure, say};
use crate::files::{OutputFile, print, print_json};
use crate::flags::{GetResult, OfRuns, Ps, Remove, Wait};

/// Columns of an app with its arguments in a table; `sateen status RUN` shows the rest.
const TITLE_COLUMNS_MAX: usize = 48;

pub fn ps(flags: &Ps) -> Result<(), Failure> {
    let client = Client::new(&flags.list.grid)?;
    let states = if flags.all { String::new() } else { unfinished() };
    let limit = flags.limit.min(RUNS_LISTED_MAX as usize).to_string();
    let words = flags.search.as_deref().unwrap_or_default();
    let query = [("state", states.as_str()), ("q", words), ("limit", limit.as_str())];
    let (mut page, mut next) = client.get_page("/api/v1/runs", &query)?;
    let mut values: Vec<Value> = Vec::new();
    loop {
        values.extend(page.as_array_mut().map(std::mem::take).unwrap_or_default());
        let Some(path) = next.filter(|_| values.len() < flags.limit) else { break };
        (page, next) = client.get_page(&path, &[])?;
    }
    values.truncate(flags.limit);
    let runs = values.iter().map(|run| client.read(run)).collect::<Result<Vec<Run>, Failure>>()?;
    if flags.list.json {
        return print_json(&Value::from_iter(values));
    }
    let (headings, rows) = run_table(&runs.iter().collect::<Vec<_>>());
    let mut columns = Columns::new(&headings).cutting(TITLE_COLUMN, TITLE_COLUMNS_MAX);
    rows.into_iter().for_each(|row| columns.row(row));
    if runs.len() == flags.limit {
        say(format!("the newest {} are shown; --limit shows more", runs.len()));
    }
    if runs.is_empty() && !flags.all {
        say("no run is under way; `sateen ps --all` also lists runs that are over");
    }
    print(columns.text().as_bytes())
}

/// States of unfinished runs, as a query of the HTTP API.
fn unfinished() -> String {
    let states = RunState::ALL.into_iter().filter(|state| !state.is_over());
    states.map(RunState::word).collect::<Vec<_>>().join(",")
}

/// Exits as the run ended.
pub fn wait(flags: &Wait) -> Result<(), Failure> {
    let client = Client::new(&flags.of.grid)?.waiting();
    let how = Follow { quiet: flags.quiet, json: false, figures: flags.of.json };
    let (run, _) = follow(&client, flags.of.run, &how)?;
    if flags.of.json {
        let answer = client.get(&format!("/api/v1/runs/{}", flags.of.run))?;
        print_json(&answer).or_else(Failure::unless_reader_gone)?;
    }
    match failure(&run) {
        Some(mut failure) => {
            failure.backtrace.clear();
            Err(failure)
        }
        None => Ok(()),
    }
}

pub fn result(flags: &GetResult) -> Result<(), Failure> {
    let client = Client::new(&flags.of.grid)?;
    let number = flags.of.run;
    let run: Run = client.read(&client.get(&format!("/api/v1/runs/{number}"))?)?;
    if !run.is_over() {
        return Err(Failure::usage(format!(
            "run {number} is {} and has no result yet; `sateen wait {number}` waits for it",
            run.state
        )));
    }
    let output = OutputFile::requested(flags.output.as_deref(), flags.of.grid.token_file.as_deref())?;
    deliver(&client, &run, Wanted { inputs: &[], json: flags.of.json, verbose: false, output })
}

pub fn cancel(flags: &OfRuns) -> Result<(), Failure> {
    order(flags, "cancel")
}

pub fn suspend(flags: &OfRuns) -> Result<(), Failure> {
    order(flags, "suspend")
}

pub fn resume(flags: &OfRuns) -> Result<(), Failure> {
    order(flags, "resume")
}

/// Deletes all runs that it can. Fails with the error of the first that it cannot delete.
pub fn remove(flags: &Remove) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    client.delete_all(
        &flags.runs,
        |run| format!("/api/v1/runs/{run}"),
        |run| format!("run {run} was deleted"),
    )
}

/// Changes all runs that it can. Fails with the error of the first that it cannot change.
fn order(flags: &OfRuns, what: &str) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let mut answers = Vec::new();
    let done = to_each(&flags.runs, |run| {
        let answer = client.order(&format!("/api/v1/runs/{run}/{what}"))?;
        if !flags.json {
            let run: Run = client.read(&answer)?;
            say(format!("run {} {}", run.run, predicate(&run.state)));
        }
        answers.push(answer);
        Ok(())
    });
    if flags.json {
        match (flags.runs.as_slice(), answers.pop()) {
            ([_], Some(answer)) => print_json(&answer),
            ([_], None) => Ok(()),
            (_, last) => print_json(&Value::from_iter(answers.into_iter().chain(last))),
        }
        .or_else(Failure::unless_reader_gone)?;
    }
    done
}
