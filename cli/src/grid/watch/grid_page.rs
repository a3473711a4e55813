//! The view of the whole grid.

use std::time::Instant;

use sateen_api::{Host, Run, Status};
use sateen_logging::visible;
use serde_json::Value;

use super::super::columns::{busy_of, busy_workers, seconds};
use super::super::hosts;
use super::super::view::{read, run_table};
use super::Page;
use super::row::{Row, Table, Tone, table};
use super::source::News;
use crate::progress::counted;

/// The grid, as far as it is known.
#[derive(Default)]
pub struct GridPage {
    status: Status,
    runs: Vec<Run>,
    hosts: Vec<Host>,
    away: Option<(Instant, String)>,
    written: String,
    is_new: bool,
    raw: Value,
}

impl GridPage {
    fn summary(&self) -> String {
        let connected = || self.hosts.iter().filter(|host| host.connected);
        let busy = busy_workers(connected().map(|host| (host.busy, host.threads)), "worker", "workers");
        let states = self.status.runs.iter().filter(|(_, count)| **count > 0);
        let states: Vec<String> = states.map(|(state, count)| format!("{count} {state}")).collect();
        let runs =
            if states.is_empty() { "no runs".to_owned() } else { format!("runs: {}", states.join(", ")) };
        let there = connected().count();
        let hosts = match self.hosts.len() - there {
            0 => counted(there as u64, "host", "hosts"),
            away => format!("{}, {away} away", counted(there as u64, "host connected", "hosts connected")),
        };
        format!("{hosts}, {busy}; {runs}")
    }

    /// Runs that are under way first, then the newest.
    fn run_rows(&self, rows_max: usize, width: usize) -> Table {
        let mut runs: Vec<&Run> = self.runs.iter().collect();
        runs.sort_by_key(|run| (run.is_over(), std::cmp::Reverse(run.run)));
        let (headings, rows) = run_table(&runs);
        some_of(&headings, rows, (rows_max, width), "runs")
    }

    fn host_rows(&self, rows_max: usize, width: usize) -> Table {
        let cells = self.hosts.iter().map(|host| {
            vec![
                host.id.clone(),
                host.name.clone(),
                host.site.clone(),
                busy_of(host.busy, host.threads),
                hosts::loaded(host),
                hosts::state(host),
            ]
        });
        let headings = ["HOST", "NAME", "SITE", "BUSY", "LOADED", "STATE"];
        some_of(&headings, cells.collect(), (rows_max, width), "hosts")
    }

    fn footer(&self) -> Row {
        match &self.away {
            Some((since, why)) => Row::of(
                Tone::Bad,
                &format!("{why}; trying again, for {} now · q quits", seconds(since.elapsed().as_secs_f64())),
            ),
            None => Row::of(Tone::Dim, "q quits"),
        }
    }
}

/// As many rows and columns as fit, and the number of those that do not.
fn some_of(
    headings: &[&str],
    cells: Vec<Vec<String>>,
    (rows_max, width): (usize, usize),
    what: &str,
) -> Table {
    // On two rows, one of them is worth more than the headings.
    let without_headings = rows_max == 2 && cells.len() > 1;
    let shown = match cells.len() {
        all if all < rows_max => all,
        _ if without_headings => 1,
        _ => rows_max.saturating_sub(2),
    };
    let mut table = table(headings, &cells[..shown], width);
    if without_headings {
        table.rows.remove(0);
    }
    if shown < cells.len() {
        table.rows.push(Row::of(Tone::Dim, &format!("{shown} of {} {what} shown", cells.len())));
    }
    table
}

impl Page for GridPage {
    fn take(&mut self, news: News) -> bool {
        match news {
            News::Away(why) => {
                if self.away.is_none() {
                    self.away = Some((Instant::now(), why));
                }
            }
            News::Run { .. } => {}
            News::Grid { status, runs, hosts } => {
                self.away = None;
                if let (Ok(of_grid), Ok(all_runs), Ok(all_hosts)) = (read(&status), read(&runs), read(&hosts))
                {
                    (self.status, self.runs, self.hosts) = (of_grid, all_runs, all_hosts);
                    let before = &self.raw;
                    // A change of its clock only is not news.
                    self.is_new |= before["runs"] != runs
                        || before["hosts"] != hosts
                        || ["runs", "trouble", "links"].iter().any(|of| before["status"][of] != status[of]);
                    self.raw = serde_json::json!({ "status": status, "runs": runs, "hosts": hosts });
                }
            }
        }
        false
    }

    fn rows(&self, width: usize, height: usize) -> Vec<Row> {
        let mut rows = Row::of(Tone::Strong, "Sateen  ").and(Tone::Plain, &self.summary()).wrap(8, width);
        if let Some(trouble) = &self.status.trouble {
            rows.extend(Row::of(Tone::Bad, trouble).wrap(0, width));
        }
        let left = height.saturating_sub(rows.len() + 1 + 4);
        let runs = self.run_rows((left / 2).max(left.saturating_sub(self.hosts.len() + 1)), width);
        let hosts = self.host_rows(left.saturating_sub(runs.rows.len()), width);
        for (title, table) in [("Runs", runs), ("Hosts", hosts)] {
            rows.extend([Row::default(), Row::of(Tone::Strong, &format!("{title}{}", table.left_out()))]);
            rows.extend(table.rows);
        }
        rows.truncate(height.saturating_sub(1));
        rows.resize_with(height.saturating_sub(1), Row::default);
        rows.push(self.footer());
        rows
    }

    fn new_lines(&mut self) -> Vec<String> {
        let mut line = match &self.away {
            Some((_, why)) => format!("{why}; trying again"),
            None => self.summary(),
        };
        if let (None, Some(trouble)) = (&self.away, &self.status.trouble) {
            line = format!("{line}; {trouble}");
        }
        let line = visible(&line);
        if line == self.written {
            return Vec::new();
        }
        self.written.clone_from(&line);
        vec![line]
    }

    fn new_objects(&mut self) -> Vec<String> {
        if std::mem::take(&mut self.is_new) { vec![self.raw.to_string()] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_view_fits_and_says_what_it_leaves_out() {
        let runs: Vec<Value> = (1..40)
            .map(|run| {
                let state = if run == 3 { "running" } else { "done" };
                json!({"run": run, "app": {"hash": "ab", "name": "fib\u{7}"}, "function": "main", "state": state})
            })
            .collect();
        let hosts: Vec<Value> = (0..70)
            .map(|host| json!({"id": format!("h{host}"), "name": "a", "site": "s", "threads": 2, "busy": 1, "connected": true}))
            .collect();
        let mut page = GridPage::default();
        let status = json!({"runs": {"running": 1, "done": 38, "queued": 0}, "trouble": "the disk is full"});
        page.take(News::Grid { status, runs: runs.into(), hosts: hosts.into() });
        for (width, height) in [(80, 24), (20, 5), (1, 1), (200, 200)] {
            let rows = page.rows(width, height);
            assert_eq!(rows.len(), height);
            assert!(rows.iter().all(|row| !row.text().contains(char::is_control)), "{rows:?}");
        }
        let text: Vec<String> = page.rows(100, 30).iter().map(Row::text).collect();
        let text = text.join("\n");
        for words in [
            "70 hosts, 70/140 workers busy; runs: 38 done, 1 running",
            "the disk is full",
            "of 39 runs shown",
            "of 70 hosts shown",
        ] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
        let of_running = text.find("running  fib").expect("it is shown");
        assert!(text.find("done  ").is_some_and(|of_done| of_running < of_done), "{text}");
        assert_eq!((page.new_lines().len(), page.new_lines().len()), (1, 0));
        assert_eq!((page.new_objects().len(), page.new_objects().len()), (1, 0));
        let mut again = page.raw.clone();
        again["status"]["uptime_s"] = json!(9);
        let of = |name: &str| again[name].clone();
        page.take(News::Grid { status: of("status"), runs: of("runs"), hosts: of("hosts") });
        assert_eq!(page.new_objects(), Vec::<String>::new());
        page.take(News::Away("nobody answers".to_owned()));
        assert_eq!(page.new_lines(), ["nobody answers; trying again"]);
    }

    #[test]
    fn a_small_terminal_shows_a_run() {
        let runs = (1..25).map(|run| json!({"run": run, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "done"}));
        let host = json!({"id": "h", "name": "a", "site": "s", "threads": 1, "busy": 0, "connected": true});
        let mut page = GridPage::default();
        page.take(News::Grid { status: json!({}), runs: runs.collect(), hosts: vec![host; 3].into() });
        let text: Vec<String> = page.rows(40, 12).iter().map(Row::text).collect();
        assert_eq!(text.len(), 12);
        assert!(text.iter().any(|row| row.contains("fib")), "{text:?}");
        assert!(text.iter().any(|row| row.contains("of 24 runs shown")), "{text:?}");
    }

    #[test]
    fn hosts_and_workers_are_counted_of_the_same_hosts() {
        let host = |connected: bool| json!({"id": "h", "name": "a", "site": "s", "threads": 1, "busy": 0, "connected": connected});
        for (hosts, expected) in [
            (vec![host(true), host(true)], "2 hosts, 0/2 workers busy; no runs"),
            (vec![host(true), host(false)], "1 host connected, 1 away, 0/1 worker busy; no runs"),
            (vec![host(false)], "0 hosts connected, 1 away, 0/0 workers busy; no runs"),
        ] {
            let mut page = GridPage::default();
            page.take(News::Grid { status: json!({}), runs: json!([]), hosts: hosts.into() });
            assert_eq!(page.new_lines(), [expected]);
        }
    }
}
