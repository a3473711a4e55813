//! Memory limits of one instance.

use wasmtime::ResourceLimiter;

use crate::failure::Stop;
use crate::limits::{LimitExceeded, Limits};
use crate::memory::{Claim, Eviction, NoRoom};

/// Memory of an element of a table.
const ELEMENT_BYTES: usize = size_of::<usize>();

/// The limits on an instance's memory and tables, and its claim on the host's memory.
pub struct Limiter {
    memory_bytes_max: usize,
    table_elements_max: usize,
    memory_bytes: usize,
    table_bytes: usize,
    /// The claim, if the host's memory is limited.
    claim: Option<Claim>,
}

impl Limiter {
    pub fn new(limits: &Limits, claim: Option<Claim>) -> Self {
        let Limits { memory_bytes_max, table_elements_max, .. } = *limits;
        Self { memory_bytes_max, table_elements_max, memory_bytes: 0, table_bytes: 0, claim }
    }

    /// Claims what the instance's memory and table take together.
    fn claim_all(&self) -> wasmtime::Result<bool> {
        if let Some(claim) = &self.claim {
            let bytes = self.memory_bytes.saturating_add(self.table_bytes);
            claim.grow_to(bytes).map_err(|NoRoom| wasmtime::Error::new(Stop::Evicted))?;
        }
        Ok(true)
    }

    /// Claims what the copies of the instance's result take, in bytes.
    pub fn claim_result(&self, bytes: usize) -> Result<(), Stop> {
        let Some(claim) = &self.claim else { return Ok(()) };
        claim.add_result(bytes).map_err(|NoRoom| Stop::Evicted)
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
        self.memory_bytes = desired;
        self.claim_all()
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
        // An app has one table.
        self.table_bytes = desired.saturating_mul(ELEMENT_BYTES);
        self.claim_all()
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

    #[test]
    fn memory_and_table_are_claimed_together() {
        let memory = crate::HostMemory::unwatched(1000);
        let (_oldest, claim) = (memory.claim_for_test(), memory.claim_for_test());
        let mut limiter = Limiter::new(&Limits::default(), Some(claim));
        assert!(limiter.memory_growing(0, 600, None).is_ok_and(|granted| granted));
        assert!(limiter.table_growing(0, 50, None).is_ok_and(|granted| granted));
        let stop = limiter.table_growing(50, 51, None).expect_err("there is no room");
        assert!(matches!(stop.downcast::<Stop>(), Ok(Stop::Evicted)) && limiter.is_evicted());
    }
}
