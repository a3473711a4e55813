//! Where memory cannot be mapped from a file in memory, nothing of an image is shared, and all of it is copied.

use std::convert::Infallible;

/// There are none.
pub struct SharedParts(Infallible);

/// There is none.
pub struct Mapped(Infallible);

impl SharedParts {
    /// Always `None`.
    pub fn new(_: &[u8], _: &[(usize, usize)]) -> Option<Self> {
        None
    }

    /// Never called.
    pub fn bytes(&self) -> usize {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Safety
    /// None is needed.
    #[allow(unsafe_code)]
    pub unsafe fn map(&self, _: &mut [u8]) -> Option<Mapped> {
        match self.0 {}
    }

    /// Never called.
    pub fn copy(&self, _: &mut [u8]) -> Option<()> {
        match self.0 {}
    }
}
