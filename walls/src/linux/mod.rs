//! The walls of Linux, in the order in which they have to be raised: what needs files comes before they are gone, and the
//! filter of system calls comes last.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls;
mod credentials;
mod files;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod filter;
mod limits;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unfiltered;

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use unfiltered as filter;

use crate::options::Options;
use crate::report::{Report, Standing, Wall};

/// Why a wall is not up.
type Missing = String;

pub fn raise(options: &Options) -> Report {
    // The engine asks rustix for the size of pages at some point, which panics if it then cannot read what it keeps from the
    // first time on.
    let _ = rustix::param::page_size();
    // Counted first, as files are gone later.
    let threads = Threads::count();
    let raise = |wall: Wall| match wall {
        Wall::Limits => limits::limit(options),
        Wall::FirstOutOfMemory => limits::be_first_out_of_memory(),
        Wall::OwnNetwork => credentials::leave_network(threads),
        Wall::NoCapabilities => credentials::drop_capabilities(threads),
        Wall::NoNewPrivileges => credentials::refuse_privileges(),
        Wall::DiesWithParent => credentials::die_with(options.parent),
        Wall::NotDumpable => credentials::refuse_dumps(),
        Wall::NoFiles => files::leave_files(threads),
        Wall::FilteredCalls => filter::install(),
    };
    Report::new(Wall::ALL.map(|wall| Standing { wall, missing: raise(wall).err() }).into())
}

pub fn is_breach(status: ExitStatus) -> bool {
    status.signal() == Some(libc::SIGSYS)
}

/// The threads of this process.
#[derive(Debug, Clone, Copy)]
struct Threads {
    /// `None` if the system does not report them.
    count: Option<usize>,
}

impl Threads {
    fn count() -> Self {
        Self { count: std::fs::read_dir("/proc/self/task").ok().map(Iterator::count) }
    }

    /// Checks that there is only the calling thread.
    fn only_this(self) -> Result<(), Missing> {
        match self.count {
            Some(1) => Ok(()),
            Some(2) => {
                Err("another thread was started before, to which this wall would not apply".to_owned())
            }
            Some(count) => Err(format!(
                "{} other threads were started before, to which this wall would not apply",
                count - 1
            )),
            None => {
                Err("it is not known whether other threads were started before: /proc is not mounted"
                    .to_owned())
            }
        }
    }
}
