//! Parameters of jobs, encoded: those of the first that there was room for.

use std::collections::HashMap;

use sateen_protocol::limits::NOTED_PARAMETERS_BYTES_MAX;
use thiserror::Error;

use crate::limits::TREE_PARAMETERS_BYTES_MAX;

/// What is counted for parameters beside their bytes.
const OVERHEAD: usize = 64;

/// Why a job's parameters are not known; the root's are in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Missing {
    /// Its host did not send them.
    #[error(
        "they are longer than the {NOTED_PARAMETERS_BYTES_MAX} bytes that hosts send the coordinator; choose a job \
         above or below it"
    )]
    TooLong,
    /// The notes with them were lost.
    #[error("the coordinator did not hear how it began; choose a job above or below it")]
    Unheard,
    /// They came when there was no room left for them.
    #[error(
        "the coordinator keeps the first {} MiB of a run's; choose an earlier job",
        TREE_PARAMETERS_BYTES_MAX >> 20
    )]
    NoRoom,
}

/// Parameters by the places of their jobs.
#[derive(Debug, Default)]
pub struct Parameters {
    of: HashMap<u32, Box<[u8]>>,
    /// What they take.
    bytes: usize,
}

impl Parameters {
    /// Those of a job.
    pub fn get(&self, place: u32) -> Option<&[u8]> {
        self.of.get(&place).map(|bytes| &**bytes)
    }

    /// Whether there is room for those of a job, which are kept then; `None` if they are already.
    pub fn keep(&mut self, place: u32, parameters: &[u8]) -> Option<bool> {
        if self.of.contains_key(&place) {
            return None;
        }
        let has_room = self.bytes + parameters.len() + OVERHEAD <= TREE_PARAMETERS_BYTES_MAX;
        if has_room {
            self.restore(place, parameters.into());
        }
        Some(has_room)
    }

    /// Those of a job, for which there was room before.
    pub fn restore(&mut self, place: u32, parameters: Box<[u8]>) {
        self.bytes += parameters.len() + OVERHEAD;
        self.of.insert(place, parameters);
    }

    /// The job is not kept any more.
    pub fn forget(&mut self, place: u32) {
        if let Some(parameters) = self.of.remove(&place) {
            self.bytes -= parameters.len() + OVERHEAD;
        }
    }

    /// How many there are, and what they take.
    #[cfg(test)]
    pub fn size(&self) -> (usize, usize) {
        (self.of.len(), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_the_first_jobs_are_kept_as_far_as_there_is_room() {
        let mut parameters = Parameters::default();
        let long = vec![7; TREE_PARAMETERS_BYTES_MAX - 2 * OVERHEAD - 1];
        assert_eq!(parameters.keep(1, &long), Some(true));
        assert_eq!(parameters.keep(2, &[1, 2]), Some(false));
        assert_eq!(parameters.keep(2, &[1]), Some(true), "that is all there is room for");
        assert_eq!(parameters.keep(2, &[]), None);
        assert_eq!((parameters.get(2), parameters.get(3)), (Some([1].as_slice()), None));
        assert_eq!(parameters.size(), (2, TREE_PARAMETERS_BYTES_MAX));
        parameters.forget(1);
        parameters.forget(1);
        assert_eq!(parameters.size(), (1, 1 + OVERHEAD));
        assert_eq!(parameters.keep(3, &[]), Some(true));
    }
}
