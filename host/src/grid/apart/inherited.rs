//! What a process of guests inherits from its host, and must not keep.

/// Closes all descriptors except the three standard ones. The host's own are not inherited; this closes those that the
/// host has inherited itself.
pub fn close_descriptors() {
    // SAFETY: this is called before anything in this process has opened a descriptor, so nothing uses those that are
    // closed. An older system without the call keeps them.
    #[allow(unsafe_code)]
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
    }
}

/// Ignores the signals by which terminals and services end a host: it directs its guests.
pub fn ignore_signals() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: to ignore a signal installs no handler, so no code runs at an unexpected moment.
        #[allow(unsafe_code)]
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}
