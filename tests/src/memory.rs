//! The memory use of processes.

/// The peak memory of a running process, in KiB (proc(5), `VmHWM`).
///
/// # Panics
/// When there is no such process, or the system does not report it.
#[must_use]
pub fn peak_kib(process: u32) -> u64 {
    kib(process, "VmHWM:")
}

/// The present memory of a running process, in KiB (proc(5), `VmRSS`).
///
/// # Panics
/// When there is no such process, or the system does not report it.
#[must_use]
pub fn resident_kib(process: u32) -> u64 {
    kib(process, "VmRSS:")
}

fn kib(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux says so");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// As [`peak_kib`], in MiB.
#[must_use]
pub fn peak_mib(process: u32) -> u64 {
    peak_kib(process) >> 10
}
