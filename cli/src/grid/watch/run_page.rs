//! The view of one run.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sateen_api::{Figures, HostOfRun, Log, Remaining, Run, RunDetails};
use sateen_command_line::localised;
use sateen_logging::visible;
use serde_json::Value;

use super::super::columns::{known, seconds};
use super::super::earlier::earlier;
use super::super::parts::percents;
use super::super::status::losses;
use super::super::view::{self, read, title};
use super::events::Events;
use super::row::{Row, Table, Tone, table};
use super::source::News;
use super::{Page, screen_bar};
use crate::progress::{counted, short};

/// Minimum time between two lines that only report new figures.
const LINES_EVERY: Duration = Duration::from_secs(5);
/// Maximum lines of the log kept.
const LOG_LINES_MAX: usize = 1000;

/// Column at which figures begin, after their names.
const FIGURES_INDENT: usize = 10;

/// A run, as far as it is known.
pub struct RunPage {
    number: u64,
    run: Option<Run>,
    raw: Value,
    is_raw_new: bool,
    more: Option<RunDetails>,
    events: Events,
    log: VecDeque<String>,
    /// The number of lines so far, and the number of the last.
    log_count: usize,
    last_line: u64,
    log_dropped: u64,
    away: Option<(Instant, String)>,
    /// The parts that were already written as lines: the number of log lines, and the run's progress.
    written: (usize, String),
    /// The run's progress at that time, and the time.
    written_of: Option<(String, Option<String>, Instant)>,
}

impl RunPage {
    pub fn new(number: u64) -> Self {
        Self {
            number,
            run: None,
            raw: Value::Null,
            is_raw_new: false,
            more: None,
            events: Events::default(),
            log: VecDeque::new(),
            log_count: 0,
            last_line: 0,
            log_dropped: 0,
            away: None,
            written: (0, String::new()),
            written_of: None,
        }
    }

    /// The run, if it is over.
    pub fn into_run(self) -> Option<Run> {
        self.run.filter(Run::is_over)
    }

    fn take_log(&mut self, log: &Value) {
        let Ok(log) = read::<Log>(log) else { return };
        self.log_dropped = self.log_dropped.max(log.dropped);
        for line in log.lines {
            if line.number <= self.last_line {
                continue;
            }
            self.last_line = line.number;
            for text in line.text.split('\n') {
                self.log.push_back(visible(&format!("[{}] {text}", line.job)));
                self.log_count += 1;
                if self.log.len() > LOG_LINES_MAX {
                    self.log.pop_front();
                }
            }
        }
    }

    fn heading(&self, run: &Run) -> Row {
        let tone = match run.state.as_str() {
            "done" => Tone::Good,
            "failed" | "cancelled" => Tone::Bad,
            "running" => Tone::Strong,
            _ => Tone::Warn,
        };
        Row::of(Tone::Strong, &format!("run {}  {}  ", run.run, title(run)))
            .and(tone, &run.state)
            .and(Tone::Plain, &format!(", {}", view::how_long(run)))
    }

    /// Its progress, and the time left, if known.
    fn remaining(&self, run: &Run) -> Option<String> {
        if run.state != "running" {
            return None;
        }
        let more = self.more.as_ref()?;
        match &more.remaining {
            Some(Remaining { basis, low_s, likely_s, high_s }) => {
                let what = view::of_which_jobs(basis);
                let [likely, low, high] = [likely_s, low_s, high_s].map(|time| seconds(*time));
                Some(format!("about {likely} left ({low} to {high}){what}"))
            }
            None => more.remaining_why.as_ref().map(|why| format!("time left: {why}")),
        }
    }

    /// On one line.
    fn summary(&self, run: &Run) -> String {
        let Figures { jobs, progress, .. } = &run.figures;
        let mut parts = vec![format!("run {} {}", run.run, run.state)];
        if let Some(progress) = *progress {
            parts.push(format!("{} done", view::short(progress)));
        }
        parts.extend(self.remaining(run));
        parts.push(format!("{}, {} stolen", counted(jobs.spawned, "job", "jobs"), short(jobs.stolen)));
        let found = run.figures.earlier.unwrap_or_default().jobs;
        let after = [
            ("redone", jobs.redone),
            ("reused", jobs.reused),
            ("adopted", jobs.adopted),
            ("found in earlier runs", found),
        ];
        let after = after.into_iter().filter(|(_, count)| *count > 0);
        parts.extend(after.map(|(what, count)| format!("{} {what}", short(count))));
        parts.extend(taking_part(run));
        parts.extend(run.waiting_for.as_ref().map(|why| format!("waits: {}", localised(why))));
        parts.join(", ")
    }

    fn figures(&self, run: &Run, width: usize) -> Vec<Row> {
        let mut rows = vec![self.heading(run), Row::default()];
        let remaining = self.remaining(run).unwrap_or_default();
        match run.figures.progress {
            Some(progress) => {
                let bar = screen_bar(progress.done, progress.total, width.saturating_sub(50).clamp(10, 60));
                let text = format!(" {}  {remaining}", view::long(progress));
                rows.push(Row::of(Tone::Good, &bar).and(Tone::Plain, &text));
            }
            None if !run.is_over() => {
                let none = if run.queued_s.is_some() { "not started" } else { "no progress reported so far" };
                let text = format!("{none}  {remaining}");
                rows.push(Row::of(Tone::Dim, text.trim_end()));
            }
            None => {}
        }
        rows.extend(
            run.waiting_for.as_ref().map(|why| Row::of(Tone::Warn, &format!("waits: {}", localised(why)))),
        );
        rows.extend(run.figures.error.as_ref().map(|error| Row::of(Tone::Bad, &error.message)));
        let jobs = &run.figures.jobs;
        let figures = [
            (
                "jobs",
                format!(
                    "{} spawned, {} exposed, {} executed, {} aborted",
                    short(jobs.spawned),
                    short(jobs.exposed),
                    short(jobs.executed),
                    short(jobs.aborted)
                ),
            ),
            (
                "steals",
                format!(
                    "{} between hosts ({} between sites), {} within hosts",
                    short(jobs.stolen),
                    short(jobs.stolen_wide),
                    short(jobs.stolen_local)
                ),
            ),
            ("recovery", format!("{}; {} recorded", losses(run), jobs.recorded)),
            ("work", self.work(run)),
        ];
        let found = earlier(run).map(|found| ("earlier", found));
        rows.extend(
            figures
                .into_iter()
                .chain(found)
                .map(|(name, text)| Row::of(Tone::Dim, &format!("{name:<9} ")).and(Tone::Plain, &text)),
        );
        rows.extend(
            run.held_up_by
                .as_ref()
                .map(|why| Row::of(Tone::Dim, "held up   ").and(Tone::Plain, &localised(&why.text))),
        );
        rows.into_iter().flat_map(|row| row.wrap(FIGURES_INDENT, width)).collect()
    }

    fn work(&self, run: &Run) -> String {
        let mut text = format!("{} of processor time", known(run.figures.work_s, seconds));
        if let Some(span) = run.figures.span_s {
            text.push_str(&format!(", {} in the longest chain of jobs that ran separately", seconds(span)));
        }
        if let Some(busy) = self.more.as_ref().and_then(|more| more.mean_busy) {
            text.push_str(&format!(", {busy:.1} workers busy on average"));
        }
        text
    }

    /// Those with the most work.
    fn hosts(run: &Run, shown: usize, width: usize) -> Table {
        let mut hosts: Vec<_> = run.figures.by_host.iter().collect();
        hosts.sort_by(|one, other| {
            let key = |host: &HostOfRun| (host.there, host.work_s);
            key(other).partial_cmp(&key(one)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let mut shares =
            percents(&hosts.iter().filter_map(|host| host.work_s).collect::<Vec<_>>()).into_iter();
        let name = view::host_names(run);
        let cells: Vec<Vec<String>> = (hosts.iter().take(shown))
            .map(|host| {
                vec![
                    name(host),
                    host.site.clone(),
                    view::now(host),
                    known(host.work_s, seconds),
                    known(host.work_s, |_| shares.next().unwrap_or_default()),
                    short(host.jobs.executed),
                    short(host.jobs.stolen),
                    host.jobs.redone.to_string(),
                    host.jobs.reused.to_string(),
                    host.jobs.adopted.to_string(),
                ]
            })
            .collect();
        let headings =
            ["HOST", "SITE", "NOW", "WORK", "OF ALL", "EXECUTED", "STOLEN", "REDONE", "REUSED", "ADOPTED"];
        table(&headings, &cells, width)
    }

    /// `left_out`: the parts for which there is no room.
    fn footer(&self, left_out: &[&str]) -> Row {
        match &self.away {
            Some((since, why)) => Row::of(
                Tone::Bad,
                &format!("{why}; trying again, for {} now · q quits", seconds(since.elapsed().as_secs_f64())),
            ),
            None if left_out.is_empty() => Row::of(Tone::Dim, "q quits; the run continues"),
            None => Row::of(Tone::Dim, &format!("q quits · not shown: {}", left_out.join(", "))),
        }
    }
}

impl Page for RunPage {
    fn take(&mut self, news: News) -> bool {
        match news {
            News::Away(why) => {
                if self.away.is_none() {
                    self.away = Some((Instant::now(), why));
                }
                false
            }
            News::Grid { .. } => false,
            News::Run { run, more, log } => {
                if self.away.take().is_some() {
                    self.events.add(Tone::Good, "the coordinator answers again".to_owned());
                }
                let Ok(now) = read::<Run>(&run) else { return false };
                let more = more.as_ref().and_then(|more| read::<RunDetails>(more).ok());
                if let Some(more) = &more {
                    self.events.take(&more.events);
                }
                self.events.compare(self.run.as_ref(), &now);
                if let Some(log) = &log {
                    self.take_log(log);
                }
                let is_over = now.is_over();
                if is_over {
                    self.events.complete();
                }
                self.is_raw_new = self.raw != run;
                (self.run, self.more, self.raw) = (Some(now), more, run);
                is_over
            }
        }
    }

    fn rows(&self, width: usize, height: usize) -> Vec<Row> {
        let Some(run) = &self.run else { return vec![self.footer(&[])] };
        let mut rows = self.figures(run, width);
        let room = height.saturating_sub(1);
        let hosts_all = run.figures.by_host.len();
        let events_all = self.events.rows(room.max(1), width).0.len();
        let wanted = [events_all, hosts_all + usize::from(hosts_all > 0), self.log.len()];
        let [events, hosts, lines] = shared(room.saturating_sub(rows.len()), wanted, [1, 2, 1]);
        let mut left_out = Vec::new();
        if rows.len() > room {
            left_out.push("figures");
        }
        let mut section = |name, wanted: usize, title: String, lines: Vec<Row>| {
            if !lines.is_empty() {
                rows.extend([Row::default(), Row { pieces: vec![(Tone::Strong, title)] }]);
                rows.extend(lines);
            } else if wanted > 0 {
                left_out.push(name);
            }
        };
        let shown = hosts.saturating_sub(1);
        let table = if shown > 0 { Self::hosts(run, shown, width) } else { Table::default() };
        let some =
            if shown < hosts_all { format!("{shown} of {hosts_all} shown") } else { shown.to_string() };
        section("hosts", wanted[1], format!("Hosts ({some}){}", table.left_out()), table.rows);
        let (events, count) = self.events.rows(events, width);
        let title = format!("Events ({count} of {} shown)", self.events.count);
        section("events", wanted[0], title, events);
        let lines: Vec<Row> = (self.log.iter().skip(self.log.len().saturating_sub(lines)))
            .map(|line| Row { pieces: vec![(Tone::Plain, line.clone())] })
            .collect();
        let dropped =
            if self.log_dropped > 0 { format!(", {} were dropped", self.log_dropped) } else { String::new() };
        let title = format!("Log ({} of {} lines shown{dropped})", lines.len(), self.log_count);
        section("log", wanted[2], title, lines);
        rows.truncate(room);
        rows.resize_with(room, Row::default);
        rows.push(self.footer(&left_out));
        rows
    }

    fn new_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.events.new_texts().iter().map(|text| format!("event: {}", visible(text))));
        let new = self.log_count - self.written.0;
        lines.extend(self.log.iter().skip(self.log.len().saturating_sub(new)).cloned());
        self.written.0 = self.log_count;
        if let Some((_, why)) = &self.away {
            let line = format!("run {}: {}; trying again", self.number, visible(why));
            if self.written.1 != line {
                self.written.1.clone_from(&line);
                lines.push(line);
            }
        } else if let Some(run) = &self.run {
            let summary = visible(&self.summary(run));
            let is_due = self.written_of.as_ref().is_none_or(|(state, waits, at)| {
                *state != run.state || *waits != run.waiting_for || at.elapsed() >= LINES_EVERY
            });
            if is_due && summary != self.written.1 {
                self.written_of = Some((run.state.clone(), run.waiting_for.clone(), Instant::now()));
                self.written.1.clone_from(&summary);
                lines.push(format!("{summary} [{}]", view::how_long(run)));
            }
        }
        lines
    }

    fn new_objects(&mut self) -> Vec<String> {
        if std::mem::take(&mut self.is_raw_new) { vec![self.raw.to_string()] } else { Vec::new() }
    }
}

/// The hosts that take part now, which are those that have loaded the app; after the end, those that worked on it.
fn taking_part(run: &Run) -> Option<String> {
    if run.is_over() {
        return run.figures.hosts.map(|hosts| format!("{} worked on it", counted(hosts, "host", "hosts")));
    }
    let present = view::present(run);
    if present.hosts == 0 {
        return Some("no host takes part yet".to_owned()).filter(|_| run.figures.by_host.is_empty());
    }
    let busy = present.busy("worker", "workers").map_or_else(String::new, |busy| format!(", {busy}"));
    Some(format!("{}{}{busy}", counted(present.hosts, "host takes part", "hosts take part"), present.away()))
}

/// Lines of a section's heading, with an empty one before it.
const HEADING_LINES: usize = 2;

/// How many of `room` lines each section gets below its heading. All get equally many, but none gets more than it wants. If
/// a section would get fewer than its least, the last section gets no line and no heading, then the one before it, and so
/// on.
fn shared<const N: usize>(room: usize, wanted: [usize; N], least: [usize; N]) -> [usize; N] {
    for kept in (0..=N).rev() {
        let mut given = [0; N];
        let mut open: Vec<usize> = (0..kept).filter(|section| wanted[*section] > 0).collect();
        let Some(mut left) = room.checked_sub(HEADING_LINES * open.len()) else { continue };
        open.sort_by_key(|section| wanted[*section]);
        for (place, section) in open.iter().enumerate() {
            given[*section] = wanted[*section].min(left.div_ceil(open.len() - place));
            left -= given[*section];
        }
        if open.iter().all(|section| given[*section] >= least[*section].min(wanted[*section])) {
            return given;
        }
    }
    [0; N]
}

#[cfg(test)]
mod tests;
