//! A fixed number of something, taken without waiting and given back when dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The number of free permits.
#[derive(Debug, Clone)]
pub struct Permits(Arc<AtomicUsize>);

/// A permit that is taken.
#[derive(Debug)]
pub struct Permit(Arc<AtomicUsize>);

impl Permits {
    pub fn new(count: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(count)))
    }

    pub fn acquire(&self) -> Option<Permit> {
        self.acquire_above(0)
    }

    /// Like `acquire`, but only if more than `reserve` are free.
    pub fn acquire_above(&self, reserve: usize) -> Option<Permit> {
        let taken = self.0.fetch_update(SeqCst, SeqCst, |free| (free > reserve).then(|| free - 1));
        taken.is_ok().then(|| Permit(self.0.clone()))
    }

    pub fn free(&self) -> usize {
        self.0.load(SeqCst)
    }

    pub fn are_left(&self) -> bool {
        self.free() > 0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_given_than_there_are() {
        let permits = Permits::new(2);
        assert!(permits.acquire_above(2).is_none());
        let first = permits.acquire();
        let second = permits.acquire();
        assert!(first.is_some() && second.is_some());
        assert!(permits.acquire().is_none() && !permits.are_left());
        drop(first);
        assert!(permits.acquire().is_some());
    }
}
