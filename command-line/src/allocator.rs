//! How the memory allocator treats freed blocks.

/// From now on, each freed block is merged with its free neighbours at once. By default, glibc sets small blocks aside and
/// merges all of them at some later moment, which takes milliseconds in a program that holds hundreds of MiB: 4 ms in a
/// coordinator of 100,000 hosts (`cargo xtask bench machine`). Programs that must always answer soon call this at their
/// start. Other allocators set nothing aside for long.
pub fn free_at_once() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)]
    // SAFETY: `mallopt` may be called at any time, by any thread; it takes the allocator's lock. Without blocks set aside
    // only the order changes in which free memory is used.
    unsafe {
        // It fails only for values out of range, and zero is within it.
        libc::mallopt(libc::M_MXFAST, 0);
    }
}
