//! The memory of a process as the system counts it.

/// The resident memory of a process, in bytes, if the system reports it.
pub fn resident_bytes(process: &str) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// Says that the memory of processes is not known here, if that is so.
pub fn warn_unless_known() {
    if resident_bytes("self").is_none() {
        tracing::warn!(
            "this system does not say how much memory a process has (/proc is not mounted): what guests ask for is counted \
             and limited, and what their stacks and tables take is not"
        );
    }
}
