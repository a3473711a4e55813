//! Metrics in the OpenMetrics format, for Prometheus.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use sateen_protocol::{STEAL_LATENCY_BOUNDS_US, Scope};

use super::{Counters, EndedWork, Service, Timing, Totals};
use crate::clock::seconds;

/// The content type.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics as text, and its content type.
///
/// # Errors
/// Never: writing to a string cannot fail.
pub fn exposition(
    counters: &Arc<Counters>,
    store: [(&'static str, Arc<Timing>); 2],
    totals: Totals,
    service: Service,
) -> Result<(&'static str, String), fmt::Error> {
    let mut registry = Registry::with_prefix("sateen");
    let all = All { counters: Arc::clone(counters), store, totals, service };
    registry.register_collector(Box::new(all));
    let mut written = String::new();
    text::encode(&mut written, &registry)?;
    Ok((CONTENT_TYPE, written))
}

/// The state that one scrape shows.
#[derive(Debug)]
struct All {
    counters: Arc<Counters>,
    store: [(&'static str, Arc<Timing>); 2],
    totals: Totals,
    service: Service,
}

/// A label: its name and its value, neither of which comes from outside.
type Label = (&'static str, &'static str);

/// A label, counts by upper bound, and the sum.
type Histogram = ([Label; 1], Vec<(f64, u64)>, f64);

impl Collector for All {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut said = self.counters.said.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = Out { encoder, said: &mut said };
        self.grid(&mut out)?;
        self.jobs(&mut out)?;
        self.steals(&mut out)?;
        self.links(&mut out)?;
        self.service(&mut out)
    }
}

impl All {
    fn grid(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let Totals { hosts, ended, .. } = &self.totals;
        let states = [
            ("working", hosts.working),
            ("idle", hosts.idle),
            ("paused", hosts.paused),
            ("silent", hosts.silent),
            ("away", hosts.away),
            ("unknown", hosts.unknown),
        ];
        let states = states.map(|(state, count)| ([("state", state)], count as f64));
        out.gauges("hosts", "Hosts, by state", None, &states)?;
        let joined = self.counters.hosts_joined.load(Relaxed);
        out.counter("hosts_joined", "Hosts that joined", None, joined as f64)?;
        let gone = [("left", &self.counters.hosts_left), ("crashed", &self.counters.hosts_crashed)];
        let gone = gone.map(|(how, count)| ([("how", how)], count.load(Relaxed) as f64));
        out.counters("hosts_gone", "Hosts that departed: left in order, or crashed", None, &gone)?;
        out.gauge("workers", "Workers of connected hosts", None, self.totals.workers as f64)?;
        let help = "Workers that are computing, for runs or to check their results";
        out.gauge("workers_busy", help, None, self.totals.busy as f64)?;

        let runs: Vec<_> =
            self.service.runs.iter().map(|(state, count)| ([("state", *state)], *count as f64)).collect();
        out.gauges("runs", "Runs in the data folder, by state", None, &runs)?;
        let submitted = self.counters.runs_submitted.load(Relaxed);
        out.counter("runs_submitted", "Runs that were submitted", None, submitted as f64)?;
        let ended = [("done", ended.done), ("failed", ended.failed), ("cancelled", ended.cancelled)];
        let ended = ended.map(|(state, count)| ([("state", state)], count as f64));
        out.counters("runs_ended", "Runs that ended, by state", None, &ended)?;
        let losses = self.counters.root_losses.load(Relaxed);
        out.counter("root_losses", "Root jobs that were lost with their hosts", None, losses as f64)?;
        let help = "Size of the replicas of shared objects on all hosts";
        let shared_bytes = self.totals.counts.shared_bytes as f64;
        out.gauge("shared_objects", help, Some(Unit::Bytes), shared_bytes)?;
        let (entries, bytes) = self.totals.table;
        out.gauge("table_entries", "Entries of the result tables here", None, entries as f64)?;
        out.gauge("table", "Size of the result tables here", Some(Unit::Bytes), bytes as f64)
    }

    fn jobs(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let counts = &self.totals.counts;
        let mut held = Vec::new();
        for (retry, of) in [("no", &counts.held[0]), ("yes", &counts.held[1])] {
            for (state, count) in
                [("begun", of.begun), ("done", of.done), ("failed", of.failed), ("aborted", of.aborted)]
            {
                held.push(([("state", state), ("retry", retry)], count as f64));
            }
        }
        out.counters(
            "jobs",
            "Jobs that a host got from another or from the coordinator, by what became of them (`begun` when they \
             come); a retry was begun before, as far as the host knows",
            None,
            &held,
        )?;
        for (name, help, count) in [
            ("jobs_spawned", "Jobs that were spawned", counts.jobs.spawned),
            ("jobs_exposed", "Jobs that were made visible to schedulers", counts.jobs.exposed),
            ("jobs_of_ended_runs", "Jobs that were run, in runs that are over", self.totals.executed),
            ("jobs_taken", "Jobs that another worker of the same host took", counts.jobs.stolen_local),
            (
                "jobs_aborted",
                "Jobs that were stopped because they were no longer needed, or because a host left or paused or the run was suspended",
                counts.jobs.aborted,
            ),
            (
                "jobs_lost",
                "Stolen jobs that were lost with a thief that crashed; root jobs are in root_losses",
                counts.jobs.lost,
            ),
            (
                "jobs_given_back",
                "Stolen jobs that thieves gave back as they left or paused, or had begun and had no room for; root jobs included",
                counts.jobs.given_back,
            ),
            (
                "jobs_redone",
                "Jobs that were lost with a host and begun again, each once, root jobs and jobs below lost ones included",
                self.counters.jobs_redone.load(Relaxed),
            ),
            ("orphans", "Jobs whose owner was lost while they ran", counts.orphaned),
            ("orphans_saved", "Orphans whose results were recorded", counts.orphans_saved),
            ("orphans_adopted", "Orphans that kept running and whose results were used", counts.jobs.adopted),
            ("results_recorded", "Results that were recorded in case of a crash", counts.jobs.recorded),
            (
                "results_reused",
                "Jobs that were not run again: the table had their results",
                counts.jobs.reused,
            ),
        ] {
            out.counter(name, help, None, count as f64)?;
        }
        let help = "Processor time in guests, without checks of results";
        out.counter("work", help, Some(Unit::Seconds), seconds(counts.work_ns))?;
        let help = "Processor time in guests to check results of hosts: to compute them again";
        let checks_s = seconds(self.totals.checks_work_ns);
        out.counter("checks_work", help, Some(Unit::Seconds), checks_s)?;
        let ended = self.totals.ended_work;
        let by_state = |of: fn(&EndedWork) -> f64| {
            [("done", ended.done), ("failed", ended.failed), ("cancelled", ended.cancelled)]
                .map(|(state, work)| ([("state", state)], of(&work)))
        };
        out.counters(
            "work_of_ended_runs",
            "Processor time in guests, in runs that are over and of which lost_work is known; from their start on",
            Some(Unit::Seconds),
            &by_state(|work| work.work_s),
        )?;
        out.counters(
            "lost_work",
            "The part of work_of_ended_runs that is in no result: lost with a host, done twice or aborted; without a \
             result, all of it",
            Some(Unit::Seconds),
            &by_state(|work| work.lost_s),
        )
    }

    fn steals(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let mut steals = Vec::new();
        let mut latencies = Vec::new();
        let bounds_s = || STEAL_LATENCY_BOUNDS_US.iter().map(|us| *us as f64 / 1e6).chain([f64::INFINITY]);
        for (scope, counts) in Scope::ALL.into_iter().zip(self.totals.counts.steals.scopes) {
            for (outcome, count) in
                [("job", counts.jobs), ("refused", counts.refused), ("unanswered", counts.unanswered)]
            {
                steals.push(([("scope", scope.word()), ("outcome", outcome)], count as f64));
            }
            let buckets: Vec<_> = bounds_s().zip(counts.latencies.buckets).collect();
            latencies.push(([("scope", scope.word())], buckets, seconds(counts.latencies.sum_ns)));
        }
        out.counters(
            "steals",
            "Steal requests, by where they went and how they were answered",
            None,
            &steals,
        )?;
        out.histograms(
            "steal_wait",
            "Time from a steal request to the arrival of its job, including the time for which the victim had none",
            &latencies,
        )
    }

    fn links(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let counters = &self.counters;
        out.gauge("websockets", "Open websockets of hosts", None, self.service.links as f64)?;
        let help = "Open websockets of dashboards, in browsers and terminals";
        out.gauge("watchers", help, None, self.service.watchers as f64)?;
        for (name, help, unit, counter) in [
            ("websockets_opened", "Websockets of hosts that were opened", None, &counters.links_opened),
            ("frames_received", "Websocket frames from hosts", None, &counters.frames_in),
            ("received", "Bytes of websocket frames from hosts", Some(Unit::Bytes), &counters.bytes_in),
            ("frames_sent", "Websocket frames to hosts", None, &counters.frames_out),
            ("sent", "Bytes of websocket frames to hosts", Some(Unit::Bytes), &counters.bytes_out),
            ("messages_received", "Messages to the coordinator itself", None, &counters.messages_in),
            ("frames_relayed", "Frames passed on from host to host", None, &counters.relayed_frames),
            ("relayed", "Bytes passed on from host to host", Some(Unit::Bytes), &counters.relayed_bytes),
            ("frames_unreachable", "Frames for hosts that were not connected", None, &counters.unreachable),
            ("misbehaviours", "Breaches of the protocol by hosts", None, &counters.misbehaviours),
            (
                "stalls",
                "Times that the coordinator was held up, and waited for hosts",
                None,
                &counters.stalls,
            ),
            ("slow_hosts", "Hosts cut off because they read too little", None, &counters.slow_links),
        ] {
            out.counter(name, help, unit, counter.load(Relaxed) as f64)?;
        }
        Ok(())
    }

    fn service(&self, out: &mut Out<'_, '_>) -> fmt::Result {
        let Self { counters, totals, service, .. } = self;
        let protocol = service.protocol.to_string();
        let build = [("version", service.version), ("protocol", protocol.as_str())];
        out.info("build", "The software", &build)?;
        out.gauge("start_time", "When this process began", Some(Unit::Seconds), service.started_at_s)?;
        let works = if service.store_works { 1.0 } else { 0.0 };
        out.gauge(
            "store_works",
            "Whether the data folder could be written at the last attempt",
            None,
            works,
        )?;
        let timings: Vec<_> = (self.store.iter())
            .map(|(what, timing)| ([("operation", *what)], timing.buckets(), timing.sum_s()))
            .collect();
        out.histograms("store_latency", "Reads and writes of the database, waiting included", &timings)?;
        let dropped = totals.entries_dropped as f64;
        let help = "Entries of result tables that were not saved because too many waited";
        out.counter("entries_dropped", help, None, dropped)?;
        let help = "Changes of runs that are not saved yet because the data folder cannot be written";
        out.gauge("changes_unsaved", help, None, totals.unsaved as f64)?;
        let help = "Messages and events of links that the coordinator has not handled yet";
        out.gauge("driver_queue", help, None, totals.waiting as f64)?;
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        let answers: Vec<_> = (classes.into_iter().zip(&counters.answers))
            .map(|(class, count)| ([("class", class)], count.load(Relaxed) as f64))
            .collect();
        out.counters("http_answers", "Answers to requests, by the class of their status", None, &answers)
    }
}

/// Writes metric families.
struct Out<'a, 'b> {
    encoder: DescriptorEncoder<'a>,
    said: &'b mut HashMap<String, f64>,
}

impl Out<'_, '_> {
    fn gauge(&mut self, name: &str, help: &str, unit: Option<Unit>, value: f64) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        metric.encode_gauge(&value)
    }

    fn gauges<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: &[([Label; N], f64)],
    ) -> fmt::Result {
        let mut family = self.encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        for (labels, value) in values {
            family.encode_family(labels)?.encode_gauge(value)?;
        }
        Ok(())
    }

    fn counter(&mut self, name: &str, help: &str, unit: Option<Unit>, value: f64) -> fmt::Result {
        let value = at_least(self.said, name.to_owned(), value);
        let mut metric = self.encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        values: &[([Label; N], f64)],
    ) -> fmt::Result {
        let mut family = self.encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
        for (labels, value) in values {
            let value = at_least(self.said, format!("{name}{labels:?}"), *value);
            family.encode_family(labels)?.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
        }
        Ok(())
    }

    /// Converts to seconds.
    fn histograms(&mut self, name: &str, help: &str, values: &[Histogram]) -> fmt::Result {
        /// Hosts may report anything, so no sum may overflow.
        const COUNT_MAX: u64 = u64::MAX >> 8;
        let mut family =
            self.encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (labels, buckets, sum) in values {
            let mut whole = Vec::new();
            for (index, (bound, count)) in buckets.iter().enumerate() {
                let count =
                    at_least(self.said, format!("{name}{labels:?}{index}"), (*count).min(COUNT_MAX) as f64);
                whole.push((*bound, count as u64));
            }
            let sum = at_least(self.said, format!("{name}{labels:?}sum"), *sum);
            let count = whole.iter().map(|(_, count)| count).sum();
            family.encode_family(labels)?.encode_histogram::<NoLabelSet>(sum, count, &whole, None)?;
        }
        Ok(())
    }

    fn info(&mut self, name: &str, help: &str, labels: &[(&str, &str); 2]) -> fmt::Result {
        let mut metric = self.encoder.encode_descriptor(name, help, None, MetricType::Info)?;
        metric.encode_info(labels)
    }
}

/// The value, or the last exposed one if that is larger.
fn at_least(said: &mut HashMap<String, f64>, what: String, value: f64) -> f64 {
    let before = said.entry(what).or_insert(value);
    *before = before.max(value);
    *before
}

#[cfg(test)]
mod tests {
    use sateen_protocol::{Counts, Jobs};

    use super::*;

    fn spawned(spawned: u64) -> Jobs {
        Jobs { spawned, ..Jobs::default() }
    }

    fn written(counters: &Arc<Counters>, counts: Counts) -> String {
        let totals = Totals { counts, ..Totals::default() };
        let store = [("read", Arc::default()), ("write", Arc::default())];
        exposition(counters, store, totals, Service::default()).expect("a string").1
    }

    fn value(text: &str, metric: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(metric)).expect(metric);
        line.trim().parse().expect("a number")
    }

    #[test]
    fn no_counter_falls_whatever_hosts_report() {
        let counters = Arc::new(Counters::default());
        let mut counts = Counts { jobs: spawned(7), work_ns: 2_500_000_000, ..Counts::default() };
        counts.steals.of(Scope::Site).latencies.buckets = [u64::MAX; 13];
        let before = written(&counters, counts);
        assert_eq!(value(&before, "sateen_jobs_spawned_total"), 7.0);
        assert_eq!(value(&before, "sateen_work_seconds_total"), 2.5);
        let bucket = r#"sateen_steal_wait_seconds_bucket{le="0.00005",scope="site"}"#;
        let bucket = if before.contains(bucket) {
            bucket
        } else {
            r#"sateen_steal_wait_seconds_bucket{scope="site",le="0.00005"}"#
        };
        let first = value(&before, bucket);
        let after = written(&counters, Counts { jobs: spawned(3), ..Counts::default() });
        assert_eq!(value(&after, "sateen_jobs_spawned_total"), 7.0);
        assert_eq!(value(&after, bucket), first);
        let more = written(&counters, Counts { jobs: spawned(8), ..Counts::default() });
        assert_eq!(value(&more, "sateen_jobs_spawned_total"), 8.0);
    }
}
