//! `sateen replay`: one job of a run of the grid again, on this machine.

use std::collections::BTreeMap;

use sateen_api::Job;
use sateen_api::limits::CALL_BYTES_MAX;
use sateen_host::{App, Engine, Limits, Output, Run, RunError, RunOptions};
use sateen_protocol::root_job;
use sateen_protocol::{BlobHash, JobKey, RunLimits, RunSpec};

use super::client::Client;
use super::columns::seconds;
use crate::ended::{About, Given, OneJob, Times, Wanted, deliver};
use crate::exit::{Failure, say};
use crate::files::OutputFile;
use crate::flags::{GridLimits, Replay as Flags};
use crate::progress::{Progress, counted};
use crate::run::{Interrupt, counts, finish, log_to, open_cache, say_dropped};

/// Approximate maximum length of its result as shown.
const RESULT_BYTES_MAX: usize = 1 << 20;

pub fn replay(flags: &Flags) -> Result<(), Failure> {
    let interrupt = Interrupt::install()?;
    let client = Client::new(&flags.grid)?;
    let of_run = flags.run.map(|run| format!("?run={run}")).unwrap_or_default();
    let job: Job = client.read(&client.get(&format!("/api/v1/jobs/{}{of_run}", flags.key))?)?;
    let output = OutputFile::requested(flags.output.as_deref(), flags.grid.token_file.as_deref())?;

    let of_other_release = |why: String| client.other_release(&why);
    let spec = spec_of(&job, &flags.limits).map_err(of_other_release)?;
    let parameters =
        job.parameters.as_deref().map(bytes_of).transpose().map_err(of_other_release)?.unwrap_or_default();
    let limits = Limits::of_run(&spec.limits).map_err(Failure::usage)?;
    let inputs = spec.inputs.iter().map(|(name, hash)| Ok((name.clone(), client.blob(*hash)?)));
    let inputs: BTreeMap<String, Vec<u8>> = inputs.collect::<Result<_, Failure>>()?;
    let engine = Engine::new(&limits, spec.strict_nan)?;
    let app = App::load(&engine, &client.blob(spec.app)?, open_cache().as_ref())?;

    let progress = Progress::new(flags.quiet);
    let options = RunOptions {
        function: spec.function.clone(),
        arguments: spec.arguments.clone(),
        inputs,
        threads: flags.threads,
        pristine: flags.pristine,
        profile: false,
        log: log_to(&progress, flags.quiet),
    };
    let key = key_of(&app, &job, &parameters, &spec).map_err(of_other_release)?;
    let run: Result<Run, RunError> = match job.is_root {
        true => Run::start(&app, options),
        false => Run::start_job(&app, &job.function, parameters.clone(), options),
    };
    let run = run?;
    let shape = app.inspection().shape_of(&job.function).filter(|_| !job.is_root);
    let call = shape.as_ref().and_then(|shape| {
        job.parameters.as_ref()?;
        shape.call(&job.function, &parameters, CALL_BYTES_MAX)
    });
    let (end, result) = finish(run, &interrupt, &progress);

    let mut about = About {
        run: job.run.into(),
        app: Some(job.app.name.clone()),
        module: job.app.hash.clone(),
        function: job.function.clone(),
        arguments: spec.arguments,
        hosts: None,
        threads: Some(flags.threads as u64),
        jobs: counts(end.jobs),
        times: Times::here(end.elapsed, end.work, None),
        checking: None,
        losses: None,
        earlier: None,
        shared: None,
        profile: None,
        job: Some(OneJob { job: key.to_string(), depth: job.depth, call: call.clone() }),
    };
    let wanted = Wanted { inputs: &[], json: flags.json, verbose: flags.verbose, output };
    match result {
        Ok(finished) => {
            say_dropped(finished.log_lines_dropped);
            about.jobs = counts(finished.jobs);
            about.times = Times::here(finished.elapsed, finished.work, Some(finished.span));
            if !flags.quiet && !flags.json {
                say(format!(
                    "{}: {}, {} below it",
                    title(&job, call.as_deref()),
                    seconds(finished.elapsed.as_secs_f64()),
                    counted(finished.jobs.spawned, "job", "jobs")
                ));
            }
            let given = match &finished.output {
                Output::Bytes(bytes) if !job.is_root => {
                    Given::Encoded(bytes, shape.and_then(|shape| shape.result(bytes, RESULT_BYTES_MAX)))
                }
                output => Given::Output(output),
            };
            deliver(wanted, &about, Ok(given))
        }
        Err(error) => {
            if !flags.quiet && !flags.json {
                say(title(&job, call.as_deref()));
            }
            deliver(wanted, &about, Err(error.into()))
        }
    }
}

/// The job's key, by its parameters.
///
/// # Errors
/// If these are not the parameters of the job that was asked for.
fn key_of(app: &App, job: &Job, parameters: &[u8], spec: &RunSpec) -> Result<JobKey, String> {
    let key = match job.is_root {
        true => root_job(spec).key,
        false => app.job_key(&job.function, parameters, &spec.salt()),
    };
    if key.tag().to_string() == job.job {
        return Ok(key);
    }
    Err(format!("the coordinator's parameters of job {} are those of job {key}", job.job))
}

/// The job's run, as far as the results and keys of its jobs depend on it.
fn spec_of(job: &Job, flags: &GridLimits) -> Result<RunSpec, String> {
    let mut inputs = Vec::new();
    for (name, hash) in &job.inputs {
        inputs.push((name.clone(), hash_of(hash)?));
    }
    Ok(RunSpec {
        app: hash_of(&job.app.hash)?,
        function: job.entry_point.clone(),
        arguments: job.arguments.clone(),
        inputs,
        limits: limits(job.limits.clone().into(), flags),
        strict_nan: job.strict_nan,
        stealing: sateen_protocol::Stealing::default(),
        fault_tolerance: sateen_protocol::FaultTolerance::default(),
        record_every_ms: 0,
        trust: sateen_protocol::Trust::default(),
        share: sateen_protocol::Share::default(),
        reuse: false,
    })
}

/// The run's limits, except those that the user sets.
fn limits(of_run: RunLimits, flags: &GridLimits) -> RunLimits {
    let named = flags.limits();
    RunLimits {
        memory_bytes_max: named.memory_bytes_max.or(of_run.memory_bytes_max),
        stack_bytes_max: named.stack_bytes_max.or(of_run.stack_bytes_max),
        output_bytes_max: named.output_bytes_max.or(of_run.output_bytes_max),
        shared_bytes_max: named.shared_bytes_max.or(of_run.shared_bytes_max),
        guard_wait_ms_max: named.guard_wait_ms_max.or(of_run.guard_wait_ms_max),
        // There is only one job, and the user can interrupt it.
        time_ms_max: None,
        cpu_ms_max: None,
    }
}

fn title(job: &Job, call: Option<&str>) -> String {
    let place = match job.depth {
        0 => "the root job".to_owned(),
        depth => format!("`{}`, {depth} below the root", call.unwrap_or(&job.function)),
    };
    format!("job {}, {place} of run {} of {}", job.job, job.run, job.app.name)
}

fn hash_of(digits: &str) -> Result<BlobHash, String> {
    BlobHash::parse(digits).ok_or_else(|| garbled("a hash"))
}

fn bytes_of(digits: &str) -> Result<Vec<u8>, String> {
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = digits.as_bytes().chunks(2).map(|digits| pair(digits).filter(|_| digits.len() == 2));
    bytes.collect::<Option<_>>().ok_or_else(|| garbled("a job's parameters"))
}

fn garbled(what: &str) -> String {
    format!("the coordinator's answer is invalid: {what} is not in hexadecimal digits of the expected number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_pairs_of_digits() {
        assert_eq!(bytes_of("00ff1a"), Ok(vec![0, 0xff, 0x1a]));
        assert_eq!(bytes_of(""), Ok(Vec::new()));
        for wrong in ["0", "0g", "é", "000"] {
            assert!(bytes_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn named_limits_go_before_the_runs() {
        let of_run = RunLimits {
            memory_bytes_max: Some(1),
            stack_bytes_max: Some(2),
            time_ms_max: Some(3),
            ..RunLimits::default()
        };
        let flags = GridLimits { memory: Some(7), ..GridLimits::default() };
        let expected = RunLimits { memory_bytes_max: Some(7), time_ms_max: None, ..of_run.clone() };
        assert_eq!(limits(of_run, &flags), expected);
    }
}
