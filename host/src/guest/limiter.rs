//! Memory limits of one instance.

use wasmtime::ResourceLimiter;

use crate::failure::Stop;
use crate::limits::{LimitExceeded, Limits};
use crate::memory::{Claim, Eviction, NoRoom};

/// The limits on an instance's memory and tables, and its claim on the host's memory.
pub struct Limiter {
    memory_bytes_max: usize,
    table_elements_max: usize,
    /// The claim, if the host's memory is limited.
    claim: Option<Claim>,
}

impl Limiter {
    pub fn new(limits: &Limits, claim: Option<Claim>) -> Self {
        let Limits { memory_bytes_max, table_elements_max, .. } = *limits;
        Self { memory_bytes_max, table_elements_max, claim }
    }

    /// Counts the copy of the instance's result, in bytes.
    pub fn claim_result(&self, bytes: usize) {
        if let Some(claim) = &self.claim {
            claim.add_result(bytes);
        }
    }

    /// Whether the instance must be thrown away to make room for others.
    pub fn is_evicted(&self) -> bool {
        self.claim.as_ref().is_some_and(Claim::is_evicted)
    }

    /// Its eviction, if its memory is counted.
    pub fn eviction(&self) -> Option<Eviction> {
        self.claim.as_ref().map(Claim::eviction)
    }

    /// The claim, to be dropped when the instance's memory is free; `None` if memory is not counted, or it was taken.
    pub fn take_claim(&mut self) -> Option<Claim> {
        self.claim.take()
    }
}

/// Growth beyond a limit traps: a guest that could see the failure would behave differently under another
/// limit.
impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let limit = self.memory_bytes_max;
        if desired > limit {
            let exceeded = LimitExceeded::Memory { asked: desired as u64, limit };
            return Err(wasmtime::Error::new(Stop::Limit(exceeded)));
        }
        if let Some(claim) = &self.claim {
            claim.grow_to(desired).map_err(|NoRoom| wasmtime::Error::new(Stop::Evicted))?;
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let limit = self.table_elements_max;
        if desired > limit {
            return Err(wasmtime::Error::new(Stop::Limit(LimitExceeded::Table { asked: desired, limit })));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_up_to_a_limit_is_granted_and_beyond_it_stops_the_guest() {
        let limits = Limits { memory_bytes_max: 1 << 20, table_elements_max: 10, ..Limits::default() };
        let mut limiter = Limiter::new(&limits, None);
        assert!(limiter.memory_growing(0, 1 << 20, None).is_ok_and(|granted| granted));
        assert!(limiter.table_growing(0, 10, None).is_ok_and(|granted| granted));
        for growth in [limiter.memory_growing(0, (1 << 20) + 1, None), limiter.table_growing(0, 11, None)] {
            let stop = growth.expect_err("it is too much").downcast::<Stop>().expect("it is a limit");
            assert!(matches!(stop, Stop::Limit(_)), "{stop:?}");
        }
        assert!(!limiter.is_evicted() && limiter.take_claim().is_none());
    }
}
