//! A host that lies (`src/bin/lying-host.rs`): about which jobs, what it says instead, and what it says that it did.

use std::fmt;
use std::path::Path;
use std::process::Command;

use sateen_protocol::{BlobHash, JobKey, Outcome, RunId};

use crate::cluster::Cluster;

/// How each line on a lie begins.
const LIE: &str = "lie: run ";

/// The jobs that a host lies about.
#[derive(Debug, Clone, Copy)]
pub struct Lies {
    /// It lies about one job in this many.
    pub one_in: u64,
    /// With another seed, these are other jobs.
    pub seed: u64,
}

impl Lies {
    /// Whether it lies about the job with this key.
    pub fn are_about(&self, key: &JobKey) -> bool {
        let hash = BlobHash::of(&[&self.seed.to_le_bytes(), &key.0[..]].concat());
        let mut drawn = [0; 8];
        drawn.copy_from_slice(&hash.0[..8]);
        u64::from_le_bytes(drawn) % self.one_in.max(1) == 0
    }

    /// Another result, which is encoded as well as the right one: the lowest bit of its first byte, which is that of a small
    /// number or of a text's first character, is changed. None for a failure, and where there is nothing to be changed.
    pub fn instead_of(outcome: &Outcome) -> Option<Outcome> {
        let Outcome::Done(bytes) = outcome else { return None };
        let mut bytes = bytes.to_vec();
        *bytes.first_mut()? ^= 1;
        Some(Outcome::Done(bytes.into()))
    }
}

/// A lie, as a line of the host's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lie {
    /// The run, or the one in which the host checks what another has computed.
    pub run: RunId,
    /// The job.
    pub job: JobKey,
}

impl fmt::Display for Lie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{LIE}{} job {}", self.run.0, self.job)
    }
}

/// The lies in a host's log.
///
/// # Panics
/// If a line on a lie cannot be read.
#[must_use]
pub fn lies(log: &str) -> Vec<Lie> {
    let lines = log.lines().filter_map(|line| line.strip_prefix(LIE));
    let lies = lines.map(|line| {
        let (run, job) = line.split_once(" job ")?;
        Some(Lie { run: RunId(run.parse().ok()?), job: JobKey::parse(job)? })
    });
    lies.map(|lie| lie.expect("a run and a job")).collect()
}

/// Starts the host `name`, of one worker, which lies. `program` is the path of `lying-host`.
#[track_caller]
pub fn start(cluster: &mut Cluster, program: &Path, (name, site): (&str, &str), lies: Lies) {
    let mut command = Command::new(program);
    command.args([&format!("http://{}", cluster.address()), name, site]).arg(cluster.data_folder(name));
    command.args([lies.one_in.to_string(), lies.seed.to_string()]);
    cluster.start_host_command(name, command);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_in_a_given_number_is_lied_about_whenever_it_is_computed() {
        let lies = Lies { one_in: 10, seed: 3 };
        let keys: Vec<JobKey> =
            (0..10_000_u32).map(|job| JobKey(BlobHash::of(&job.to_le_bytes()).0)).collect();
        let about = |lies: Lies| keys.iter().filter(|key| lies.are_about(key)).copied().collect::<Vec<_>>();
        let chosen = about(lies);
        assert!((900..1100).contains(&chosen.len()) && chosen == about(lies), "{}", chosen.len());
        assert_ne!(chosen, about(Lies { seed: 4, ..lies }));
        assert_eq!(about(Lies { one_in: 1, seed: 3 }).len(), keys.len());
    }

    #[test]
    fn a_lie_is_another_result_of_the_same_length() {
        let right = Outcome::Done(vec![7, 8].into());
        assert_eq!(Lies::instead_of(&right), Some(Outcome::Done(vec![6, 8].into())));
        assert_eq!(Lies::instead_of(&Outcome::Done(Vec::new().into())), None);
        assert_eq!(Lies::instead_of(&Outcome::Failed(vec![7].into())), None);
    }

    #[test]
    fn lies_are_found_in_a_log() {
        let lie = Lie { run: RunId(5), job: JobKey([9; 32]) };
        assert_eq!(lies(&format!("it begins\n{lie}\nit ends\n")), [lie]);
    }
}
