//! What is counted, and how Prometheus reads it. Never a label by host or job.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sateen_protocol::Jobs;

/// Counts since this process began.
#[derive(Debug, Default)]
pub struct Counters {
    /// Websocket frames of hosts.
    pub frames_in: AtomicU64,
    /// Messages for the coordinator itself.
    pub messages_in: AtomicU64,
    /// Frames passed on from host to host.
    pub relayed_frames: AtomicU64,
    /// Their bytes.
    pub relayed_bytes: AtomicU64,
    /// Frames for hosts that are not there.
    pub unreachable: AtomicU64,
    /// Hosts that broke the protocol.
    pub misbehaviours: AtomicU64,
    /// Websockets opened.
    pub links_opened: AtomicU64,
    /// Root jobs lost with their hosts.
    pub root_losses: AtomicU64,
    /// Hosts that were given up.
    pub hosts_crashed: AtomicU64,
}

/// What is so now.
#[derive(Debug, Default)]
pub struct Gauges {
    /// Hosts that are there.
    pub hosts: usize,
    /// Their workers.
    pub threads: u32,
    /// Open websockets.
    pub links: usize,
    /// Runs by state.
    pub runs: Vec<(&'static str, u64)>,
    /// Jobs of runs that are not over, and of those that ended since this process began.
    pub jobs: Jobs,
    /// Processor time in guests, likewise.
    pub work_s: f64,
    /// Entries of result tables.
    pub table_entries: usize,
    /// Their size.
    pub table_bytes: usize,
    /// Whether the data folder can be written.
    pub store_works: bool,
}

/// The text that Prometheus reads (its exposition format 0.0.4).
pub fn exposition(counters: &Counters, gauges: &Gauges) -> String {
    let mut text = String::new();
    let gauge = |text: &mut String, name: &str, help: &str, value: f64| {
        head(text, name, "gauge", help);
        let _ = writeln!(text, "{name} {value}");
    };
    gauge(&mut text, "sateen_hosts", "Hosts that are there.", gauges.hosts as f64);
    gauge(&mut text, "sateen_workers", "Workers of those hosts.", f64::from(gauges.threads));
    gauge(&mut text, "sateen_links", "Open websockets of hosts.", gauges.links as f64);
    gauge(&mut text, "sateen_table_entries", "Entries of result tables.", gauges.table_entries as f64);
    gauge(&mut text, "sateen_table_bytes", "Bytes of result tables.", gauges.table_bytes as f64);
    let works = if gauges.store_works { 1.0 } else { 0.0 };
    gauge(&mut text, "sateen_store_works", "Whether the data folder can be written.", works);

    head(&mut text, "sateen_runs", "gauge", "Runs by state.");
    for (state, runs) in &gauges.runs {
        let _ = writeln!(text, "sateen_runs{{state=\"{state}\"}} {runs}");
    }
    let jobs = &gauges.jobs;
    head(
        &mut text,
        "sateen_jobs",
        "gauge",
        "Jobs by what became of them, in runs that are not over and in those that ended since the start.",
    );
    for (outcome, count) in [
        ("spawned", jobs.spawned),
        ("exposed", jobs.exposed),
        ("executed", jobs.executed),
        ("stolen_local", jobs.stolen_local),
        ("stolen", jobs.stolen),
        ("stolen_wide", jobs.stolen_wide),
        ("reused", jobs.reused),
        ("redone", jobs.redone),
        ("adopted", jobs.adopted),
        ("recorded", jobs.recorded),
        ("aborted", jobs.aborted),
    ] {
        let _ = writeln!(text, "sateen_jobs{{outcome=\"{outcome}\"}} {count}");
    }
    gauge(&mut text, "sateen_work_seconds", "Processor time in guests, of the same runs.", gauges.work_s);

    for (name, help, counter) in [
        ("sateen_frames_received_total", "Websocket frames of hosts.", &counters.frames_in),
        ("sateen_messages_received_total", "Messages for the coordinator itself.", &counters.messages_in),
        ("sateen_relayed_frames_total", "Frames passed on from host to host.", &counters.relayed_frames),
        ("sateen_relayed_bytes_total", "Bytes passed on from host to host.", &counters.relayed_bytes),
        ("sateen_unreachable_total", "Frames for hosts that were not there.", &counters.unreachable),
        ("sateen_misbehaviours_total", "Hosts that broke the protocol.", &counters.misbehaviours),
        ("sateen_links_opened_total", "Websockets opened.", &counters.links_opened),
        ("sateen_root_losses_total", "Root jobs lost with their hosts.", &counters.root_losses),
        ("sateen_hosts_crashed_total", "Hosts that were given up.", &counters.hosts_crashed),
    ] {
        head(&mut text, name, "counter", help);
        let _ = writeln!(text, "{name} {}", counter.load(Relaxed));
    }
    text
}

// Writing into a String cannot fail, here and above.
fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}
