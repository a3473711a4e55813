//! `sateen submit`.

use std::collections::BTreeMap;
use std::iter;
use std::path::Path;

use sateen_api::{Submission, Submitted};
use sateen_host::{inspect, mentions};
use sateen_protocol::limits::BLOB_BYTES_MAX;
use sateen_protocol::{BlobHash, Priority, RunLimits};
use serde_json::{Value, json};

use super::apps::{Found, find};
use super::client::Client;
use super::earlier::earlier;
use super::ended::deliver;
use super::follow::{Follow, follow};
use crate::ended::{self, About, Times, Wanted};
use crate::exit::{Failure, say};
use crate::files::{OutputFile, print, print_json, read_inputs};
use crate::flags::{GridLimits, Submit as Flags, TimeLimits, in_ms};
use crate::run::say_dropped;

pub fn submit(flags: &Flags) -> Result<(), Failure> {
    flags.policies.check().map_err(Failure::usage)?;
    let client = Client::new(&flags.grid)?;
    let client = if flags.wait { client.waiting() } else { client };
    let inputs = read_inputs(
        &flags.input,
        &sateen_host::Limits { memory_bytes_max: BLOB_BYTES_MAX, ..sateen_host::Limits::default() },
    )?;
    let sources = iter::once(Path::new(&flags.app)).chain(flags.grid.token_file.as_deref());
    let sources = sources.chain(flags.input.iter().map(|(_, path)| path.as_path()));
    let output = OutputFile::requested(flags.output.as_deref(), sources)?;
    let app = find(&client, &flags.app)?;
    if !flags.quiet {
        warn_of_unknown(&client, &app, inputs.keys());
    }
    let mut hashes = BTreeMap::new();
    for (name, bytes) in inputs {
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let path = format!("/api/v1/blobs/{hash}");
        if !client.has(&path)? {
            client.put_bytes(&path, &bytes)?;
        }
        hashes.insert(name, hash);
    }

    let submission = submission(flags, app.hash, hashes);
    let answer = client.post("/api/v1/runs", &json!(submission));
    let answer = match answer.map_err(|refusal| client.with_releases(refusal)) {
        Ok(answer) => answer,
        Err(refusal) if flags.wait => {
            let wanted = Wanted { inputs: &flags.input, json: flags.json, verbose: flags.verbose, output };
            return ended::deliver(wanted, &about(flags, submission), Err(refusal.into()));
        }
        Err(refusal) => return Err(refusal.into()),
    };
    let Submitted { run } = client.read(&answer)?;
    if !flags.wait {
        return if flags.json { print_json(&answer) } else { print(format!("{run}\n").as_bytes()) };
    }
    // What earlier runs had is known when all hosts have reported their last counts.
    let says_earlier = flags.policies.reuse && !flags.quiet;
    let how = Follow { quiet: flags.quiet, json: flags.json, figures: flags.json || says_earlier };
    let (run, log_lines_dropped) = follow(&client, run, &how)?;
    say_dropped(log_lines_dropped);
    earlier(&run).filter(|_| says_earlier).into_iter().for_each(say);
    let wanted = Wanted { inputs: &flags.input, json: flags.json, verbose: flags.verbose, output };
    deliver(&client, &run, wanted)
}

/// A run that the coordinator refused.
fn about(flags: &Flags, submission: Submission) -> About {
    // A file's stem is the name under which it is published.
    let name = Path::new(&flags.app).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    About {
        run: Value::Null,
        app: name.filter(|_| Path::new(&flags.app).exists()).or_else(|| Some(flags.app.clone())),
        module: submission.app,
        function: flags.function.clone(),
        arguments: submission.arguments,
        hosts: None,
        threads: None,
        jobs: Value::Null,
        times: Times { elapsed_s: None, work_s: None, span_s: None },
        shared: None,
        profile: None,
        checking: None,
        losses: None,
        earlier: None,
        job: None,
    }
}

/// Warns about inputs that the app cannot ask for. Hosts do not report which inputs they read, but the names of an
/// app's inputs are in its module's data.
fn warn_of_unknown<'a>(client: &Client, app: &Found, inputs: impl ExactSizeIterator<Item = &'a String>) {
    if inputs.len() == 0 {
        return;
    }
    let fetched = match app.bytes {
        Some(_) => None,
        None => BlobHash::parse(&app.hash).and_then(|hash| client.blob(hash).ok()),
    };
    let Some(module) = app.bytes.as_deref().or(fetched.as_deref()) else { return };
    let inspection = inspect(module, &sateen_host::Limits::default());
    if inspection.refusal().is_none() && !inspection.reads_inputs() {
        let names: Vec<String> = inputs.map(|input| format!("`{input}`")).collect();
        say(format!("the app reads no inputs, and was given {}", names.join(", ")));
        return;
    }
    for input in inputs.filter(|input| !mentions(module, input)) {
        say(format!("the app names no input `{input}`; does it call that by another name?"));
    }
}

fn submission(flags: &Flags, app: String, inputs: BTreeMap<String, String>) -> Submission {
    let policies = &flags.policies;
    Submission {
        app,
        function: Some(flags.function.clone()),
        arguments: flags.arguments.clone(),
        inputs,
        limits: limits(&flags.limits, &flags.time).into(),
        stealing: flags.stealing.into(),
        fault_tolerance: flags.fault_tolerance.into(),
        record_every_ms: Some(u32::try_from(flags.record_every.as_millis()).unwrap_or(u32::MAX).max(1)),
        strict_nan: flags.strict_nan,
        // A coordinator that knows no policies trusts hosts.
        trust: policies.trust.is_checked().then(|| policies.trust.to_string()),
        // One that knows no priorities treats all runs alike.
        priority: (policies.priority != Priority::Normal).then(|| policies.priority.to_string()),
        reuse: policies.reuse,
    }
}

/// The limits that the user set; hosts choose the others.
fn limits(flags: &GridLimits, time: &TimeLimits) -> RunLimits {
    RunLimits {
        time_ms_max: time.time_limit.map(in_ms),
        cpu_ms_max: time.cpu_limit.map(in_ms),
        ..flags.limits()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sateen_api::SubmittedLimits;

    use super::*;

    #[test]
    fn a_refused_run_is_described_like_one_that_failed() {
        #[derive(clap::Parser)]
        struct Words {
            #[command(flatten)]
            submit: Flags,
        }
        let words = ["submit", "apps/nqueens", "x", "--wait", "--json"];
        let flags = <Words as clap::Parser>::try_parse_from(words).expect("flags").submit;
        let about = json!(about(&flags, submission(&flags, "ab".to_owned(), BTreeMap::new())));
        let expected = json!({
            "run": null, "app": "apps/nqueens", "module": "ab", "function": "main", "arguments": ["x"],
            "threads": null, "jobs": null, "elapsed_s": null, "work_s": null, "span_s": null,
        });
        assert_eq!(about, expected);
    }

    /// An older coordinator would refuse a field that it does not know.
    #[test]
    fn only_policies_that_are_not_the_usual_ones_are_sent() {
        #[derive(clap::Parser)]
        struct Words {
            #[command(flatten)]
            submit: Flags,
        }
        let sent = |words: &[&str]| {
            let words = [&["submit", "fib"], words].concat();
            let flags = <Words as clap::Parser>::try_parse_from(words).expect("flags").submit;
            let sent = json!(submission(&flags, "ab".to_owned(), BTreeMap::new()));
            ["trust", "priority", "reuse"].map(|field| sent.get(field).cloned())
        };
        assert_eq!(sent(&[]), [None, None, None]);
        assert_eq!(sent(&["--priority", "normal", "--trust", "trust"]), [None, None, None]);
        assert_eq!(sent(&["--priority", "high"]), [None, Some(json!("high")), None]);
        assert_eq!(sent(&["--trust", "quorum=2", "--priority", "low"])[1], Some(json!("low")));
        assert_eq!(sent(&["--reuse"]), [None, None, Some(json!(true))]);
    }

    #[test]
    fn only_limits_that_are_named_are_sent() {
        let sent = |flags: &GridLimits, time: &TimeLimits| json!(SubmittedLimits::from(limits(flags, time)));
        assert_eq!(sent(&GridLimits::default(), &TimeLimits::default()), json!({}));
        let guard_limit = Some(Duration::from_millis(1_500));
        let some =
            GridLimits { memory: Some(1 << 20), max_output: Some(7), guard_limit, ..Default::default() };
        let time = TimeLimits { cpu_limit: Some(Duration::from_secs(90)), ..Default::default() };
        assert_eq!(
            sent(&some, &time),
            json!({"memory_bytes": 1 << 20, "output_bytes": 7, "guard_wait_ms": 1_500, "cpu_ms": 90_000})
        );
    }
}
