//! `sateen status`: everything about a run, on one page.

use std::fmt::Write;

use sateen_api::{Counted, HostOfRun, Run};
use sateen_command_line::{local_with_zone, localised, wrap};
use sateen_host::size;
use sateen_protocol::Priority;

use super::checked::how_checked;
use super::client::Client;
use super::columns::{Columns, known, percent, seconds};
use super::earlier::earlier_or_none;
use super::ended::failure;
use super::parts::{percents, times};
use super::view::{host_names, how_long, long, now, share, time_left, title};
use crate::exit::{Failure, visible};
use crate::files::{print, print_json};
use crate::flags::OfRun;
use crate::progress::counted;

/// Minimum time for which the workers' share of their processors is shown: figures arrive twice a second.
const COMPUTED_S_MIN: f64 = 2.0;

pub fn status(flags: &OfRun) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let answer = client.get(&format!("/api/v1/runs/{}", flags.run))?;
    if flags.json {
        return print_json(&answer);
    }
    let run: Run = client.read(&answer)?;
    let more = || client.get(&format!("/api/v1/runs/{}/overview", flags.run)).ok();
    let left = (run.state == "running").then(more).flatten().and_then(|more| time_left(&more));
    print(page(&run, left, wrap::width()).as_bytes())
}

/// With the time that is `left`, for a terminal of `width` columns, if it is one.
fn page(run: &Run, left: Option<String>, width: Option<usize>) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let line = format!("{name:<12} {}", visible(&value));
        for line in wrap::wrap(&line, 13, width.unwrap_or(usize::MAX)) {
            let _ = writeln!(text, "{line}");
        }
    };
    row("run", format!("{}: {}", run.run, title(run)));
    row("app", run.app.hash.clone());
    if let Some(submitter) = &run.terms.submitter {
        row("submitter", submitter.clone());
    }
    row("state", format!("{}, {}", run.state, how_long(run)));
    let figures = &run.figures;
    match figures.counted {
        _ if !run.is_over() => {}
        Counted::SoFar => row("numbers", "so far: hosts are about to report their last counts".to_owned()),
        Counted::Partial => row("numbers", "partial: not all hosts reported their last counts".to_owned()),
        Counted::Final => {}
    }
    if let Some(why) = &run.waiting_for {
        row("waiting for", localised(why));
    }
    if let Some(failure) = failure(run) {
        row("error", failure.message);
    }
    if let Some(checked) = &figures.checked {
        row("checked", format!("{}: {}", run.terms.trust, how_checked(checked)));
    }
    if let Some((name, share)) = share_of(run) {
        row(name, share);
    }
    if let Some(held_up_by) = &run.held_up_by {
        row("held up by", localised(&held_up_by.text));
    }
    if !run.submitted_at.is_empty() {
        row("submitted", local_with_zone(&run.submitted_at));
    }
    if let Some(progress) = figures.progress {
        row("progress", long(progress));
    }
    left.into_iter().for_each(|left| row("time left", left));
    if let Some(root) = root_host(run) {
        let moved = match figures.root_losses {
            0 => String::new(),
            roots => format!(", lost with its host {}", how_often(roots)),
        };
        row("root job", format!("at {root}{moved}"));
    }
    let jobs = &figures.jobs;
    row(
        "jobs",
        format!(
            "{} spawned, {} exposed, {} executed, {} stolen ({} from other sites), {} aborted",
            jobs.spawned, jobs.exposed, jobs.executed, jobs.stolen, jobs.stolen_wide, jobs.aborted
        ),
    );
    if let Some(found) = earlier_or_none(run) {
        row("earlier", found);
    }
    row("after losses", losses(run));
    let table = figures.table.map_or_else(String::new, |table| {
        format!(
            "; the table {} {} in {}",
            if run.is_over() { "held" } else { "holds" },
            counted(table.entries as u64, "entry", "entries"),
            size(table.bytes as u64)
        )
    });
    let results = if jobs.recorded == 1 { "result" } else { "results" };
    row("recorded", format!("{} {results}{table}", jobs.recorded));
    // Only exposed jobs count, so the chain shortens as hosts join: it is not a bound on the speed of
    // the run.
    let span = figures.span_s.map(|span| format!("; longest chain of exposed jobs {}", seconds(span)));
    row("work", known(figures.work_s, seconds) + &span.unwrap_or_default());
    if let (Some(work_s), Some(computed_s)) = (figures.work_s, figures.computed_s)
        && computed_s >= COMPUTED_S_MIN
    {
        let got = percent(work_s.min(computed_s), computed_s);
        row(
            "processors",
            format!("workers computed for {}, and got {got} of a core each", seconds(computed_s)),
        );
    }
    if let (Some(answer), Some(lost)) = (figures.answer_work_s, figures.lost_work_s) {
        row("of that", used(figures.work_s.unwrap_or(answer + lost), answer, lost));
    }
    if let (None, Some(lost)) = (figures.answer_work_s, figures.lost_work_s.filter(|lost| *lost > 0.0)) {
        row("of that", format!("{} lost, as there is no result", seconds(lost)));
    }
    row("hosts", took_part(run));
    if !figures.by_host.is_empty() {
        text.push('\n');
        text.push_str(&hosts(run, width));
    }
    text
}

/// What a run is due of each host, and its priority, if it is not the usual one.
fn share_of(run: &Run) -> Option<(&'static str, String)> {
    let due =
        run.terms.share.map(|part| format!("{} of each host, while all runs have work enough", share(part)));
    let is_usual = run.terms.priority == Priority::default().word();
    let priority = Some(&run.terms.priority).filter(|_| !is_usual);
    match (due, priority) {
        (Some(due), Some(priority)) => Some(("share", format!("{due}; priority {priority}"))),
        (Some(due), None) => Some(("share", due)),
        (None, priority) => priority.map(|priority| ("priority", priority.clone())),
    }
}

/// How much of the work is in the result.
fn used(work_s: f64, answer_s: f64, lost_s: f64) -> String {
    if lost_s <= 0.0 {
        return "all of it in the result".to_owned();
    }
    let parts = times(work_s, &[answer_s, lost_s]);
    format!("{} in the result, {} lost, done twice or aborted", parts[0], parts[1])
}

/// Lost jobs, and what became of them. Lost jobs are those that had been stolen; others can be redone as well.
pub fn losses(run: &Run) -> String {
    let jobs = &run.figures.jobs;
    let more = if jobs.redone > 0 { " (including the root and jobs below lost ones)" } else { "" };
    // The hosts that had lent them count them: those of two hosts that were lost together are counted by nobody.
    let gone = run.figures.by_host.iter().filter(|host| !host.there).count();
    let has_losses = jobs.lost > 0 || jobs.redone > 0 || run.figures.root_losses > 0;
    let at_least = if gone > 1 && has_losses { "at least " } else { "" };
    let stolen = format!("{at_least}{} lost", counted(jobs.lost, "stolen job", "stolen jobs"));
    let lost = match (run.figures.root_losses, jobs.lost) {
        (0, 0) if !at_least.is_empty() => String::new(), // "At least 0" says nothing.
        (0, _) => format!("{stolen}; "),
        (roots, 0) => format!("the root job lost {}; ", how_often(roots)),
        (roots, _) => format!("{stolen} and the root {}; ", how_often(roots)),
    };
    format!("{lost}{} redone{more}, {} reused, {} adopted", jobs.redone, jobs.reused, jobs.adopted)
}

fn how_often(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// The threads of hosts that worked on the run and are gone, such as a host's before it was restarted.
fn gone_threads(run: &Run) -> u32 {
    let gone = run.figures.by_host.iter().filter(|host| !host.there && host.has_computed());
    gone.fold(0_u32, |sum, host| sum.saturating_add(host.workers))
        .min(run.figures.threads.unwrap_or(u32::MAX))
}

/// How many hosts worked on the run, and what the others did.
fn took_part(run: &Run) -> String {
    let figures = &run.figures;
    let (mut begun, mut idle, mut unheard) = (0, 0, 0);
    for host in figures.by_host.iter().filter(|host| !host.has_computed()) {
        if has_begun(run, host) {
            begun += 1;
        } else if run.is_over() || host.busy.is_some() {
            idle += 1;
        } else {
            unheard += 1;
        }
    }
    let others = [
        (begun, ["has begun and counted nothing so far", "have begun and counted nothing so far"]),
        (idle, ["took part and found nothing to do"; 2]),
        (unheard, ["has not reported yet", "have not reported yet"]),
    ];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let mut parts = Vec::new();
    if run.is_over() || figures.hosts != Some(0) || others.clone().next().is_none() {
        let hosts = known(figures.hosts, |hosts| hosts.to_string());
        let threads = known(figures.threads, |threads| counted(threads.into(), "thread", "threads"));
        let gone = match gone_threads(run) {
            0 => String::new(),
            gone => format!(" ({gone} of these threads at hosts that are gone)"),
        };
        parts.push(format!("{hosts} worked on it, {threads}{gone}"));
    }
    for (count, [one, several]) in others {
        let more = if parts.is_empty() { "" } else { " more" };
        parts.push(format!("{count}{more} {}", if count == 1 { one } else { several }));
    }
    parts.join("; ")
}

/// Whether a host has something to do, though its counts do not show it yet.
fn has_begun(run: &Run, host: &HostOfRun) -> bool {
    let has_root = run.figures.root_host.as_ref() == Some(&host.host);
    !run.is_over() && (has_root || host.busy > Some(0) || host.jobs.stolen > 0)
}

/// The host's name, if the host is among those that worked on the run; otherwise its id.
fn root_host(run: &Run) -> Option<String> {
    let root = run.figures.root_host.as_ref()?;
    let known = run.figures.by_host.iter().find(|host| host.host == *root);
    Some(known.map_or_else(|| root.clone(), host_names(run)))
}

/// The work of each host.
fn hosts(run: &Run, width: Option<usize>) -> String {
    let mut shares =
        percents(&run.figures.by_host.iter().filter_map(|host| host.work_s).collect::<Vec<_>>()).into_iter();
    let name = host_names(run);
    let mut columns = Columns::new(&[
        "HOST",
        "SITE",
        "NOW",
        "WORK",
        "OF ALL",
        "OF A CORE",
        "EXECUTED",
        "STOLEN",
        "REDONE",
        "REUSED",
        "ADOPTED",
        "RECORDED",
    ]);
    for host in &run.figures.by_host {
        columns.row([
            name(host),
            host.site.clone(),
            now(host),
            known(host.work_s, seconds),
            known(host.work_s, |_| shares.next().unwrap_or_default()),
            known(host.work_s.filter(|_| host.computed_s >= COMPUTED_S_MIN), |work_s| {
                percent(work_s.min(host.computed_s), host.computed_s)
            }),
            host.jobs.executed.to_string(),
            host.jobs.stolen.to_string(),
            host.jobs.redone.to_string(),
            host.jobs.reused.to_string(),
            host.jobs.adopted.to_string(),
            host.jobs.recorded.to_string(),
        ]);
    }
    columns.within(width)
}

#[cfg(test)]
mod tests;
