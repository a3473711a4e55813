//! The output of `sateen-host status`.

use sateen_command_line::{local, time_of_day, wrap};
use sateen_protocol::{Counts, RunId};
use serde::{Deserialize, Serialize};

use super::comfort::{self, ComfortStatus, PAUSED_BY_USER, PreferencesStatus};
use super::guests::GuestsStatus;
use crate::grid::store::StoreStatus;

/// Columns of the label before each line's text.
const NAMES: usize = 10;

/// The status of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The public part of its key, 64 digits.
    #[serde(default)]
    pub key: String,
    /// Its id in the grid.
    pub id: Option<String>,
    /// For people.
    pub name: String,
    /// Its site.
    pub site: String,
    /// The version of its software.
    pub version: String,
    /// The process.
    pub process: u32,
    /// Processor time that it has used, in seconds; 0 if the system does not report it.
    pub processor_s: f64,
    /// Threads that compute for all runs together, at most.
    pub threads: usize,
    /// The coordinator's address.
    pub coordinator: String,
    /// How long the link has been open, in seconds; `None` while it is not.
    pub connected_s: Option<f64>,
    /// Why the coordinator cannot be reached, if it cannot.
    pub unreachable: Option<String>,
    /// Why the coordinator refuses this host, which tries again from time to time.
    #[serde(default)]
    pub refused: Option<String>,
    /// Why it takes no work.
    pub paused: Option<String>,
    /// When the pause ends by itself, in seconds since 1970.
    #[serde(default)]
    pub paused_until_s: Option<u64>,
    /// Whether it is leaving.
    pub leaving: bool,
    /// Runs it works on.
    pub runs: Vec<RunStatus>,
    /// Other hosts.
    pub peers: Vec<PeerStatus>,
    /// The address at which hosts of its site reach it.
    pub direct: Option<String>,
    /// Jobs stolen from other hosts.
    pub steals: StealStatus,
    /// The state of the store.
    pub store: StoreStatus,
    /// The limits on what guests may use of this machine.
    pub may_use: MayUse,
    /// Where guests run.
    #[serde(default)]
    pub guests: GuestsStatus,
    /// What the owner's governor lets guests do; nothing if the owner allows everything.
    #[serde(default)]
    pub comfort: Option<ComfortStatus>,
    /// The host's work so far.
    pub contributed: Contributed,
    /// Its page, for browsers on this machine.
    pub page: Option<String>,
}

/// The limits on what guests may use of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MayUse {
    /// Threads that compute for all runs together, at most.
    pub threads: usize,
    /// The workers' priority over the machine's other threads.
    pub priority: String,
    /// The maximum memory that a run may request for an instance; without it, the runtime's own limits hold.
    pub memory_bytes: Option<u64>,
    /// What became of the owner's preferences since the start.
    #[serde(default)]
    pub preferences: PreferencesStatus,
}

/// The host's contribution, including that before restarts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contributed {
    /// Since when, in seconds since 1970.
    pub since_s: u64,
    /// Processor time in guests, in nanoseconds.
    pub work_ns: u64,
    /// Jobs that were run.
    pub jobs: u64,
    /// Runs that it took part in, and checks of other hosts' results, each of which is a run to this host.
    pub runs: u64,
}

/// A run on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStatus {
    /// Which.
    pub run: RunId,
    /// Its app's module; empty if the host has not loaded it, for example because the run needs more memory than it has.
    pub app: String,
    /// Its entry point.
    pub function: String,
    /// The words of its command line.
    pub arguments: Vec<String>,
    /// Whether its app is still being fetched or compiled.
    pub loading: bool,
    /// Why the host does not work on it, if it cannot.
    #[serde(default)]
    pub unable: Option<String>,
    /// Since when its jobs are counted, in seconds since 1970: a host that pauses, or that loses the run in another way,
    /// begins anew.
    #[serde(default)]
    pub since_s: Option<u64>,
    /// Counts of its jobs here since then, by outcome; without workers if nothing was counted yet.
    pub counts: Counts,
}

/// Another host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// The peer's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its site.
    pub site: String,
    /// How it is reached.
    pub path: PeerPath,
}

/// How a peer is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerPath {
    /// By a direct link.
    Direct,
    /// Through the coordinator.
    Relayed,
}

/// Stolen jobs that have begun, and how long the last few thousand took from request to arrival. This includes the time
/// for which the victim had no job, so it is long if there is little to steal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StealStatus {
    /// Since the start.
    pub count: u64,
    /// The median, in seconds.
    pub wait_median_s: Option<f64>,
    /// 99 % took at most this, in seconds.
    pub wait_p99_s: Option<f64>,
    /// The median time from request to first instruction, in seconds, of jobs that idle workers asked for: it includes the
    /// wait for a worker of this host.
    pub begun_median_s: Option<f64>,
    /// 99 % had begun within this time of the request, in seconds.
    pub begun_p99_s: Option<f64>,
}

impl Status {
    /// The status as text, for a terminal of `width` columns, if it is one.
    pub fn to_text(&self, width: Option<usize>) -> String {
        let mut lines = Vec::new();
        let id = self.id.as_deref().unwrap_or("not in the grid yet");
        lines.push(format!(
            "host      {} ({id}), site {}, {}, process {}, {:.1} s of processor time",
            self.name,
            self.site,
            counted(self.threads as u64, "thread"),
            self.process,
            self.processor_s
        ));
        let link = match (self.connected_s, &self.refused, &self.unreachable) {
            (_, Some(why), _) => format!("refuses this host, which tries again: {why}"),
            (Some(seconds), ..) => format!("connected for {seconds:.0} s"),
            (None, None, Some(why)) => format!("cannot be reached: {why}"),
            (None, None, None) => "connecting".to_owned(),
        };
        lines.push(format!("grid      {}, {link}", self.coordinator));
        lines.push(format!("key       {}", self.key));
        let state = match (&self.paused, self.leaving) {
            (_, true) => "leaving".to_owned(),
            (Some(why), _) if !why.starts_with(PAUSED_BY_USER) => format!("takes no work: {why}"),
            (Some(_), _) => match self.paused_until_s {
                Some(until) => format!("paused by you until {}", time_of_day(until)),
                None => "paused by you".to_owned(),
            },
            (None, _) => "takes work".to_owned(),
        };
        let comfort = self.comfort.as_ref().filter(|_| !self.leaving);
        let told = comfort.and_then(|comfort| comfort::state(comfort, self.paused.as_deref()));
        lines.push(format!("state     {}", told.unwrap_or(state)));
        for run in &self.runs {
            let counts = &run.counts;
            let since =
                run.since_s.map_or_else(String::new, |since_s| format!(" since {}", time_of_day(since_s)));
            let what = if run.loading {
                "loading".to_owned()
            } else if let Some(why) = &run.unable {
                format!("not worked on here: {why}")
            } else if run.app.is_empty() {
                "not worked on here".to_owned()
            } else if counts.workers == 0 {
                "loaded a moment ago".to_owned()
            } else {
                format!(
                    "{} of {} busy; jobs{since}: {} executed, {} stolen, {} lost, {} reused, {} adopted, {} recorded",
                    counts.busy,
                    counted(counts.workers.into(), "worker"),
                    counts.jobs.executed,
                    counts.jobs.stolen,
                    counts.jobs.lost,
                    counts.jobs.reused,
                    counts.jobs.adopted,
                    counts.jobs.recorded
                )
            };
            lines.push(format!("run {:<5} {what}", run.run.0));
            if counts.shared_bytes > 0 {
                let bytes = crate::size(counts.shared_bytes);
                lines
                    .push(format!("          shared objects: {bytes}, {} updates made here", counts.updates));
            }
        }
        for peer in &self.peers {
            let path = match peer.path {
                PeerPath::Direct => "direct",
                PeerPath::Relayed => "relayed",
            };
            lines.push(format!("peer      {} ({}), site {}, {path}", peer.name, peer.id, peer.site));
        }
        if let (Some(median), Some(p99)) = (self.steals.wait_median_s, self.steals.wait_p99_s) {
            let mut line = format!(
                "steals    {}, half of the last ones within {} of the request and 99 % within {}, waits for a job included",
                self.steals.count,
                short_time(median),
                short_time(p99)
            );
            if let (Some(median), Some(p99)) = (self.steals.begun_median_s, self.steals.begun_p99_s) {
                let (half, most) = (short_time(median), short_time(p99));
                line.push_str(&format!("; half had begun within {half} and 99 % within {most}"));
            }
            lines.push(line);
        }
        let store = match &self.store.off {
            Some(why) => format!("nothing is saved: {why}"),
            None => format!(
                "{} saved, {} restored, {} broken, {}",
                counted(self.store.saved, "result"),
                self.store.restored,
                self.store.broken,
                crate::size(self.store.bytes)
            ),
        };
        lines.push(format!("store     {store}"));
        if let Some(aside) = &self.store.set_aside {
            lines.push(format!("          an earlier store did not open and is now {aside}"));
        }
        lines.push(format!(
            "so far    {:.1} s of processor time, {} in {} and checks of results, since {}",
            self.contributed.work_ns as f64 / 1e9,
            counted(self.contributed.jobs, "job"),
            counted(self.contributed.runs, "run"),
            local(self.contributed.since_s)
        ));
        lines.extend(self.may_use.preferences.lines());
        lines.extend(self.guests.lines());
        lines.push(format!("page      {}", self.page.as_deref().unwrap_or("off")));
        for (number, missing) in self.comfort.iter().flat_map(|comfort| &comfort.missing).enumerate() {
            lines.push(format!("{:<NAMES$}{missing}", if number == 0 { "senses" } else { "" }));
        }
        // Names come from other machines.
        let lines = lines.iter().map(|line| sateen_logging::visible(line));
        let lines = lines.flat_map(|line| wrap::wrap(&line, NAMES, width.unwrap_or(usize::MAX)));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// A time of microseconds to seconds.
fn short_time(time_s: f64) -> String {
    match time_s {
        time_s if time_s < 1e-3 => format!("{:.0} µs", time_s * 1e6),
        time_s if time_s < 1.0 => format!("{:.1} ms", time_s * 1e3),
        time_s => format!("{time_s:.1} s"),
    }
}

/// A count with its noun.
fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let run = RunStatus {
            run: RunId(1234),
            app: "ab".to_owned(),
            function: "main".to_owned(),
            arguments: Vec::new(),
            loading: false,
            unable: None,
            since_s: None,
            counts: Counts { busy: 2, workers: 4, shared_bytes: 1 << 20, ..Counts::default() },
        };
        let peer = PeerStatus {
            id: "h17".to_owned(),
            name: "a-machine-with-a-long-name.example.org".to_owned(),
            site: "here".to_owned(),
            path: PeerPath::Relayed,
        };
        Status {
            name: "old".to_owned(),
            coordinator: "http://grid.example.org:7700".to_owned(),
            unreachable: Some("connection refused, and nobody else is there either".to_owned()),
            runs: vec![run],
            peers: vec![peer],
            steals: StealStatus {
                count: 17,
                wait_median_s: Some(100e-6),
                wait_p99_s: Some(2.5),
                begun_median_s: Some(200e-6),
                begun_p99_s: Some(3.5),
            },
            page: Some("http://127.0.0.1:7710/".to_owned()),
            ..Status::default()
        }
    }

    #[test]
    fn a_run_that_the_host_refused_has_no_workers() {
        let mut status = status();
        assert!(status.to_text(None).contains("run 1234  2 of 4 workers busy"));
        (status.runs[0].app, status.runs[0].counts) = (String::new(), Counts::default());
        let text = status.to_text(None);
        assert!(text.contains("run 1234  not worked on here\n"), "{text}");
        status.runs[0].unable = Some("no `cnf`".to_owned());
        assert!(status.to_text(None).contains("run 1234  not worked on here: no `cnf`\n"));
    }

    /// After a pause, the counts of an earlier part would be missing without a word.
    #[test]
    fn jobs_are_counted_since_a_moment() {
        let mut status = status();
        assert!(status.to_text(None).contains("busy; jobs: 0 executed"));
        status.runs[0].since_s = Some(3_600 * 24 * 365);
        assert!(status.to_text(None).contains("busy; jobs since 19"), "{}", status.to_text(None));
        // The first counts come half a second after the start.
        status.runs[0].counts = Counts::default();
        assert!(status.to_text(None).contains("run 1234  loaded a moment ago\n"), "{}", status.to_text(None));
    }

    #[test]
    fn a_narrow_terminal_loses_nothing() {
        let status = status();
        let wide = status.to_text(None);
        let words = |text: &str| text.split_whitespace().collect::<String>();
        for width in [20, 40, 80] {
            let narrow = status.to_text(Some(width));
            assert!(narrow.lines().all(|line| line.chars().count() <= width), "{width}:\n{narrow}");
            assert_eq!(words(&narrow), words(&wide), "{width}");
        }
        let narrow = status.to_text(Some(40));
        assert!(narrow.contains("\n          executed, 0 stolen"), "{narrow}");
        let steals =
            "steals    17, half of the last ones within 100 µs of the request and 99 % within 2.5 s, waits";
        assert!(wide.contains(steals), "{wide}");
        let begun = "a job included; half had begun within 200 µs and 99 % within 3.5 s\n";
        assert!(wide.contains(begun), "{wide}");
    }

    #[test]
    fn a_reason_that_is_not_the_users_is_shown() {
        let mut status = status();
        status.paused = Some("the self-test found an error".to_owned());
        let text = status.to_text(None);
        assert!(text.contains("state     takes no work: the self-test found an error\n"), "{text}");
    }

    #[test]
    fn a_pause_has_an_end_by_the_clock() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let mut status = status();
        status.paused = Some("paused by its user".to_owned());
        assert!(status.to_text(None).contains("state     paused by you\n"));
        status.paused_until_s = Some(now.as_secs() + 3 * 24 * 3600);
        let text = status.to_text(None);
        let (_, until) = text.split_once("state     paused by you until ").expect("an end");
        let until = until.lines().next().unwrap_or_default();
        // With the date, because it is another day.
        assert!(until.len() == 16 && until.as_bytes()[10] == b' ' && until.as_bytes()[13] == b':', "{until}");
    }
}
