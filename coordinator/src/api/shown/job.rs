//! One job.

use std::fmt::Write;

use sateen_api::limits::CALL_BYTES_MAX;
use sateen_api::{ChildJob, JobDetails};
use sateen_protocol::JobTag;

use super::host_at;
use crate::chronicle::{Chronicle, Names, ShownJob};
use crate::limits::CHILDREN_SHOWN_MAX;

/// One job, without the command that runs it again.
pub fn job(chronicle: &Chronicle, tag: JobTag, names: &Names, arguments: &[String]) -> Option<JobDetails> {
    let ShownJob { job, parameters, children, children_left_out } = chronicle.job(tag, CHILDREN_SHOWN_MAX)?;
    let (host, host_name, _) = host_at(chronicle, job.host);
    let (parameters, parameters_text, parameters_why) = match parameters {
        _ if job.is_root() => (None, Some(arguments.join(" ")), None),
        Ok(bytes) => {
            let call = names.call(job.kind, bytes, CALL_BYTES_MAX);
            (Some(hex(bytes)), call.or_else(|| as_text(bytes)), None)
        }
        Err(missing) => (None, None, Some(missing.to_string())),
    };
    let children = children.into_iter().map(|child| ChildJob {
        job: child.job.to_string(),
        function: names.of(child.kind).to_owned(),
        state: child.state.to_owned(),
        work_s: child.work_s,
    });
    Some(JobDetails {
        job: tag.to_string(),
        function: names.of(job.kind).to_owned(),
        is_root: job.is_root(),
        depth: u32::from(job.depth),
        parameters,
        parameters_text,
        parameters_why,
        host,
        host_name,
        worker: job.worker,
        state: job.state.to_owned(),
        redone: job.redone,
        begun_ms: job.begun_ms,
        ended_ms: job.ended_ms,
        work_s: job.work_s,
        parent: job.parent.map(|parent| parent.to_string()),
        children: children.collect(),
        children_left_out,
        replay: None,
    })
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // A string takes all that is written to it.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// What parameters most likely are, if they are text with its length before it.
fn as_text(bytes: &[u8]) -> Option<String> {
    let (length, text) = bytes.split_first()?;
    let text = std::str::from_utf8(text).ok()?;
    let is_text = usize::from(*length) == text.len() && text.len() > 1 && !text.chars().any(char::is_control);
    is_text.then(|| text.to_owned())
}
