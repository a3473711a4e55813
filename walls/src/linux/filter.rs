//! The filter of system calls, for all threads of the process.
//!
//! There are three, as each has one action for what it matches. Linux asks all of them and takes the strictest answer; of two
//! error codes, that of the last filter which returns one.
//!
//! | filter | matches | otherwise |
//! | --- | --- | --- |
//! | breaches | kills the process | asks the next |
//! | absent | `ENOSYS` | asks the next |
//! | allowed | may be called | `EPERM` |

use std::collections::BTreeMap;
use std::io;

use rustix::process::getpid;
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::Missing;
use super::calls::{ABSENT, BREACHES, Calls, allowed};

/// Installs the filter. Needs no new privileges, or capabilities.
pub fn install() -> Result<(), Missing> {
    let own_id = getpid().as_raw_nonzero().get().unsigned_abs();
    let filters = programs(own_id).map_err(|error| format!("the filter cannot be made: {error}"))?;
    // The last one refuses the call that installs filters.
    for filter in &filters {
        apply(filter).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EINVAL) => {
                "this kernel does not filter system calls (Linux 4.17 or later, built with CONFIG_SECCOMP_FILTER)".to_owned()
            }
            _ => format!("the filter cannot be installed: {error}"),
        })?;
    }
    Ok(())
}

/// The filters in the order in which they are installed.
fn programs(own_id: u32) -> Result<[BpfProgram; 3], BackendError> {
    let any = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect();
    let error = |code: i32| SeccompAction::Errno(code.unsigned_abs());
    Ok([
        program(any(&BREACHES), SeccompAction::KillProcess, SeccompAction::Allow)?,
        program(any(&ABSENT), error(libc::ENOSYS), SeccompAction::Allow)?,
        program(allowed(own_id)?, SeccompAction::Allow, error(libc::EPERM))?,
    ])
}

fn program(
    calls: Calls,
    matching: SeccompAction,
    otherwise: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let processor = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(BTreeMap::from_iter(calls), otherwise, matching, processor)?.try_into()
}

/// Adds a filter to all threads of this process.
///
/// Before Linux 5.16, a filter also turned off speculation past stores, which slows down wasm code, unless it is asked not to.
/// That protects secrets of a process from code within it, and a process within walls has none.
fn apply(filter: &BpfProgram) -> io::Result<()> {
    let too_long = |_| io::Error::other("it has too many instructions");
    let program = libc::sock_fprog {
        len: filter.len().try_into().map_err(too_long)?,
        filter: filter.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    let flags = libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the kernel copies the program, which lives until the call returns, and writes to none of it. Both types of
    // instructions are C's `struct sock_filter`.
    #[allow(unsafe_code)]
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    match result {
        0 => Ok(()),
        // The id of a thread with filters of its own.
        thread @ 1.. => Err(io::Error::other(format!("thread {thread} has other filters"))),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's maximum, of which seccompiler warns only above.
    const INSTRUCTIONS_MAX: usize = 4096;

    #[test]
    fn all_filters_can_be_made() {
        let programs = programs(4321).expect("they can be made");
        assert!(programs.iter().all(|program| program.len() > 4 && program.len() < INSTRUCTIONS_MAX));
    }
}
