//! Assigns cores to processes: hosts represent other people's machines.

use anyhow::{Result, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// This machine's cores, in two halves.
pub struct Cores {
    hosts: CpuSet,
    others: CpuSet,
}

impl Cores {
    /// Restricts this thread, and all processes that it starts from now on, to the second half.
    ///
    /// # Errors
    /// When there is only one core.
    pub fn divide() -> Result<Self> {
        let cores = all()?;
        ensure!(cores.len() >= 2, "the hosts need a core of their own, and this machine has only one");
        let (hosts, others) = cores.split_at(cores.len() / 2);
        let cores = Self { hosts: set_of(hosts), others: set_of(others) };
        sched_setaffinity(None, &cores.others)?;
        Ok(cores)
    }

    /// Runs `start`, whose processes get the first half.
    ///
    /// # Errors
    /// When the system forbids it.
    pub fn for_hosts<T>(&self, start: impl FnOnce() -> T) -> Result<T> {
        sched_setaffinity(None, &self.hosts)?;
        let started = start();
        sched_setaffinity(None, &self.others)?;
        Ok(started)
    }
}

/// A set for each core of this machine.
///
/// # Errors
/// When the system does not report them.
pub fn each() -> Result<Vec<CpuSet>> {
    Ok(all()?.into_iter().map(|core| set_of(&[core])).collect())
}

/// Runs `act` with this thread, and the processes that it starts meanwhile, on `cores`.
///
/// # Errors
/// When the system forbids it.
pub fn on<T>(cores: &CpuSet, act: impl FnOnce() -> T) -> Result<T> {
    let before = sched_getaffinity(None)?;
    sched_setaffinity(None, cores)?;
    let acted = act();
    sched_setaffinity(None, &before)?;
    Ok(acted)
}

/// The numbers of the cores that this thread may run on.
fn all() -> Result<Vec<usize>> {
    let all = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect())
}

fn set_of(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    set
}
