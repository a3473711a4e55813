//! Parameters of jobs, encoded: those of the first jobs, as far as there is room.

use std::collections::HashMap;

use sateen_protocol::limits::NOTED_PARAMETERS_BYTES_MAX;
use thiserror::Error;

use crate::limits::TREE_PARAMETERS_BYTES_MAX;

/// Memory counted for parameters in addition to their bytes.
const OVERHEAD: usize = 64;

/// Why a job's parameters are not known; the root's are in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Missing {
    /// The host did not send them.
    #[error(
        "they are longer than the {NOTED_PARAMETERS_BYTES_MAX} bytes that hosts send the coordinator; choose a job \
         above or below it"
    )]
    TooLong,
    /// The notes that contained them were lost.
    #[error("no host reported the job's parameters; choose a job above or below it")]
    Unheard,
    /// There was no room left when they arrived.
    #[error(
        "the coordinator keeps only the first {} MiB of a run's parameters; choose an earlier job",
        TREE_PARAMETERS_BYTES_MAX >> 20
    )]
    NoRoom,
}

/// Parameters by the places of their jobs.
#[derive(Debug, Default)]
pub struct Parameters {
    of: HashMap<u32, Box<[u8]>>,
    /// Their size in memory.
    bytes: usize,
}

impl Parameters {
    /// The parameters of a job.
    pub fn get(&self, place: u32) -> Option<&[u8]> {
        self.of.get(&place).map(|bytes| &**bytes)
    }

    /// Keeps a job's parameters; false if there is no room, `None` if they are kept already.
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

    /// Restores parameters for which there was room before.
    pub fn restore(&mut self, place: u32, parameters: Box<[u8]>) {
        self.bytes += parameters.len() + OVERHEAD;
        self.of.insert(place, parameters);
    }

    /// The job is no longer kept.
    pub fn forget(&mut self, place: u32) {
        if let Some(parameters) = self.of.remove(&place) {
            self.bytes -= parameters.len() + OVERHEAD;
        }
    }

    /// Their number, and their size in memory.
    #[cfg(test)]
    pub fn size(&self) -> (usize, usize) {
        (self.of.len(), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_first_jobs_are_kept_as_far_as_there_is_room() {
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
