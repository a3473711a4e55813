//! Landlock: what no path is named for cannot be opened. The filter of system calls refuses the same, and more; this wall
//! stands also if the filter has a gap.

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictSelfAttr, Ruleset, RulesetAttr, RulesetError,
    RulesetStatus, Scope,
};

use super::{Missing, Threads};

/// Rights up to this version are taken away, as far as the kernel knows them. All kernels that have Landlock know the rights
/// to read, write and execute files.
const KNOWN: ABI = ABI::V10;

/// Takes from this process all rights to open files, to use TCP and to send signals and messages to processes outside.
pub fn leave_files(threads: Threads) -> Result<(), Missing> {
    let status = restrict().map_err(|error| format!("Landlock cannot be used: {error}"))?;
    match status.landlock {
        LandlockStatus::NotEnabled => {
            return Err(
                "Landlock is not enabled on this system (add it to the kernel's parameter lsm=)".to_owned()
            );
        }
        LandlockStatus::NotImplemented => {
            return Err("this kernel has no Landlock (Linux 5.13 or later, built with it)".to_owned());
        }
        LandlockStatus::Available { .. } => {}
    }
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("Landlock restricts nothing on this system".to_owned());
    }
    if status.all_threads { Ok(()) } else { threads.only_this() }
}

fn restrict() -> Result<landlock::RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .all_threads(true)?
        .restrict_self()
}
