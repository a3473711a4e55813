//! What differs between processes that have walls.

/// What a process may still use within its walls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The id of the parent process, as the parent reported it: this process is killed when the parent ends. If the parent has
    /// ended already, [`raise`](crate::raise) kills this process at once. With `None`, it may outlive its parent.
    pub parent: Option<u32>,
    /// Maximum bytes of memory that the process may make writable in addition to those that are writable now, for guests,
    /// stacks and everything else. Allocations above it fail. With `None`, it is not limited.
    pub memory_bytes_max: Option<u64>,
    /// Maximum bytes of each file in memory, of which images for instances are made. Writing more kills the process.
    pub file_bytes_max: u64,
    /// Maximum open descriptors. Those with a higher number that are open already remain open.
    pub descriptors_max: u64,
}

impl Default for Options {
    /// May outlive its parent; memory without a limit; files in memory as large as a guest's memory can be.
    fn default() -> Self {
        Self { parent: None, memory_bytes_max: None, file_bytes_max: 4 << 30, descriptors_max: 1024 }
    }
}
