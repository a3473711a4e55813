//! Prints an experiment: `experiment faults|wide|slow|throughput|machine [--seed N] [--jobs N] [--hosts N] [--seconds N] [--repetitions N] [--json]`.
//!
//! Set `GLIBC_TUNABLES=glibc.malloc.mxfast=0` for `machine`: the programs, and `cargo xtask bench machine`, merge freed memory
//! at once, while glibc by default puts it off.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;

use rustix::time::{ClockId, clock_gettime};
use sateen_simulator::experiments::{Outcome, faults, machine, slow, throughput, wide};

/// This thread's processor time, which other load does not increase.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

struct Arguments {
    name: String,
    seed: u64,
    jobs: Option<u64>,
    hosts: Option<usize>,
    seconds: u64,
    repetitions: Option<usize>,
    json: bool,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("experiment: {error}");
            eprintln!(
                "usage: experiment faults|wide|slow|throughput|machine [--seed N] [--jobs N] [--hosts N] [--seconds N] [--repetitions N] [--json]"
            );
            return ExitCode::from(2);
        }
    };
    match arguments.name.as_str() {
        "faults" => {
            let rows = faults::table(arguments.seed, arguments.jobs.unwrap_or(1_000_000));
            print(arguments.json, rows, |row| {
                format!(
                    "{:14} of {} {:16} ideal {:7.2} ratio {:.4}  {}",
                    format!("{:?}", row.happens),
                    row.sites,
                    row.fault_tolerance,
                    row.ideal_s,
                    row.ratio,
                    outcome(&row.outcome)
                )
            });
        }
        "wide" => {
            let rows = wide::table(arguments.seed, 60.0, arguments.jobs.unwrap_or(2_000_000));
            print(arguments.json, rows, |row| {
                format!(
                    "{:13} {} hosts, efficiency {:.4}  {}",
                    row.stealing,
                    row.hosts,
                    row.efficiency,
                    outcome(&row.outcome)
                )
            });
        }
        "slow" => print(arguments.json, slow::table(arguments.seed), |row| {
            format!(
                "{:7} bound {:.2} s, ratio {:.4}, sent {:.4}, given up {}  {}",
                if row.is_direct { "direct" } else { "relayed" },
                row.bound_s,
                row.ratio,
                row.sent_ratio,
                row.given_up,
                outcome(&row.outcome)
            )
        }),
        "throughput" => {
            let sizes = arguments.hosts.map_or(vec![1_000, 10_000], |hosts| vec![hosts]);
            let rows: Vec<_> = sizes
                .into_iter()
                .map(|hosts| throughput::measure(arguments.seed, hosts, arguments.seconds, 60))
                .collect();
            print(arguments.json, rows, |row| {
                format!(
                    "{} hosts, {} virtual s, {} runs: {:.2} s, {} events, {:.0} host-seconds a second",
                    row.hosts,
                    row.virtual_s,
                    row.runs,
                    row.elapsed_s,
                    row.events,
                    row.host_seconds_per_second
                )
            });
        }
        "machine" => {
            let scale = machine::Scale::default();
            let scale = machine::Scale {
                hosts: arguments.hosts.map_or(scale.hosts, |hosts| hosts as u64),
                entries: arguments.jobs.unwrap_or(scale.entries),
                repetitions: arguments.repetitions.unwrap_or(scale.repetitions),
                ..scale
            };
            let rows = machine::measure(now_ns, scale);
            print(arguments.json, rows, |row| {
                format!(
                    "{:26} {:8} events, median {:.4} ms, 99.99th percentile {:.3} ms, longest {:.3} ms",
                    row.kind, row.events, row.median_ms, row.p9999_ms, row.longest_ms
                )
            });
        }
        other => {
            eprintln!(
                "experiment: there is no experiment {other:?}; there are faults, wide, slow, throughput, machine"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn print<T: serde::Serialize>(json: bool, rows: impl IntoIterator<Item = T>, line: impl Fn(&T) -> String) {
    for row in rows {
        match serde_json::to_string(&row) {
            Ok(text) if json => println!("{text}"),
            _ => println!("{}", line(&row)),
        }
    }
}

fn outcome(outcome: &Outcome) -> String {
    let redundant_s = outcome.executed_s - outcome.work_s;
    format!(
        "{:.3} s, {} jobs, redundant {redundant_s:.2} s, stolen {}, requests {}, lost {}, reused {}, adopted {}, recorded {}, {} events {:?}",
        outcome.elapsed_s,
        outcome.jobs,
        outcome.stolen,
        outcome.steal_requests,
        outcome.lost,
        outcome.reused,
        outcome.adopted,
        outcome.recorded,
        outcome.events,
        outcome.violations
    )
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let name = words.next().ok_or("which experiment?")?;
    let mut arguments =
        Arguments { name, seed: 1, jobs: None, hosts: None, seconds: 3_600, repetitions: None, json: false };
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let text = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            text.parse().map_err(|_| format!("{text:?} is not a number"))
        };
        match word.as_str() {
            "--seed" => arguments.seed = number()?,
            "--jobs" => arguments.jobs = Some(number()?),
            "--repetitions" => arguments.repetitions = Some((number()? as usize).max(1)),
            "--seconds" => arguments.seconds = number()?,
            "--hosts" => arguments.hosts = Some(number()? as usize),
            "--json" => arguments.json = true,
            other => return Err(format!("unknown argument {other:?}")),
        }
    }
    Ok(arguments)
}
