//! What a host has computed by itself, in a form that others can check.

use serde::{Deserialize, Serialize};

use crate::limits::{
    CHECKED_RESULT_BYTES_MAX, LINEAGE_LENGTH_MAX, UNIT_CHILDREN_MAX, UNIT_PARAMETERS_BYTES_MAX,
};
use crate::{BlobHash, JobFailure, JobKey, JobSpec, Outcome};

/// A result that the executor of a [`Unit`] took from elsewhere: from a thief, or from the result table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitChild {
    /// The job.
    pub key: JobKey,
    /// Number of spawns between the root and the job.
    pub depth: u32,
    /// The hash of its outcome: [`Outcome::hash`].
    pub result: BlobHash,
}

/// What one host computed between a steal and its result: a job, less the jobs below it whose results it took from
/// elsewhere. The host commits to the unit by reporting it. If the job is computed again with the same results below it, its
/// outcome is the same (Canetti, Riva, Rothblum, "Practical delegation of computation using multiple servers", 2011).
///
/// A child that is missing makes a check more costly, as it is computed again with the unit, but not wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The job: the root, or one that was stolen.
    pub job: JobSpec,
    /// The hash of its outcome: [`Outcome::hash`].
    pub result: BlobHash,
    /// Processor time of the unit, in nanoseconds: that of the job, without the children.
    pub work_ns: u64,
    /// At most `UNIT_CHILDREN_MAX`.
    pub children: Vec<UnitChild>,
    /// For audits, the outcome itself: others may check the unit above with it before this one is checked, if ever. `None` if
    /// it takes more than `CHECKED_RESULT_BYTES_MAX`.
    pub outcome: Option<Outcome>,
}

impl Unit {
    /// Whether it keeps to the limits of honest hosts, its job mentions no shared objects, and its outcome is what it says.
    pub fn is_sound(&self) -> bool {
        self.children.len() <= UNIT_CHILDREN_MAX
            && self.job.parameters.len() <= UNIT_PARAMETERS_BYTES_MAX
            && self.job.lineage.0.len() <= LINEAGE_LENGTH_MAX
            && self.job.objects.is_empty()
            && (self.outcome.as_ref())
                .is_none_or(|it| it.bytes().len() <= CHECKED_RESULT_BYTES_MAX && it.hash() == self.result)
    }

    /// About how many bytes it takes, encoded and in memory.
    pub fn bytes(&self) -> usize {
        const FIXED: usize = 256;
        FIXED
            + self.job.parameters.len()
            + size_of::<u64>() * self.job.lineage.0.len()
            + size_of::<UnitChild>() * self.children.len()
            + self.outcome.as_ref().map_or(0, |outcome| outcome.bytes().len())
    }
}

impl Outcome {
    /// Identifies an outcome: equal hashes, equal outcomes. Of a failure it covers the job and the message, but not the
    /// backtrace, which depends on which jobs were called in place.
    pub fn hash(&self) -> BlobHash {
        let mut hasher = blake3::Hasher::new();
        match self {
            Self::Done(bytes) => {
                hasher.update(b"done").update(bytes);
            }
            Self::Failed(bytes) => match postcard::take_from_bytes::<JobFailure>(bytes) {
                Ok((JobFailure { job, message, backtrace: _ }, [])) => {
                    hasher.update(b"failed").update(&(job.len() as u64).to_le_bytes());
                    hasher.update(job.as_bytes()).update(message.as_bytes());
                }
                _ => {
                    hasher.update(b"failed in its own way").update(bytes);
                }
            },
        }
        BlobHash(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_distinguished_except_by_backtraces() {
        let failed = |job: &str, message: &str, frame: &str| {
            let (job, message, backtrace) = (job.to_owned(), message.to_owned(), vec![frame.to_owned()]);
            let failure = JobFailure { job, message, backtrace };
            Outcome::Failed(postcard::to_allocvec(&failure).expect("it encodes").into()).hash()
        };
        assert_eq!(failed("f", "no", "here"), failed("f", "no", "there"));
        let done = |bytes: &[u8]| Outcome::Done(bytes.into()).hash();
        let raw = |bytes: &[u8]| Outcome::Failed(bytes.into()).hash();
        let all = [
            failed("f", "no", ""),
            failed("fn", "o", ""),
            failed("", "fno", ""),
            done(b""),
            done(b"1"),
            done(b"2"),
            raw(b"1"),
            raw(&[0xff; 9]),
        ];
        for (place, hash) in all.iter().enumerate() {
            assert!(!all[..place].contains(hash), "{place}");
        }
    }
}
