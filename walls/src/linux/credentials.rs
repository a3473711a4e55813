//! What this process may do in the name of its user, and who may look into it.

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Signal, getpid, getppid, kill_process, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, capabilities, set_capabilities, set_no_new_privs,
    unshare_unsafe,
};

use super::{Missing, Threads};

/// Moves this process to a network namespace without any interface, not even loopback's; in a user namespace of its own, which
/// is what allows a user to make one.
pub fn leave_network(threads: Threads) -> Result<(), Missing> {
    threads.only_this()?;
    // SAFETY: the flags do not include `CLONE_FILES`, so descriptors remain what they are.
    #[allow(unsafe_code)]
    let unshare = |flags| unsafe { unshare_unsafe(flags) };
    // Some systems let only the superuser make namespaces, and no user namespace.
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNET)
        .or_else(|error| unshare(UnshareFlags::NEWNET).map_err(|_| error))
        .map_err(|error| match error {
            Errno::PERM | Errno::ACCESS => "this system does not allow its users to make network namespaces \
                (for example by user.max_user_namespaces, AppArmor or a container)"
                .to_owned(),
            Errno::NOSPC | Errno::USERS => {
                "this system allows no more user or network namespaces (user.max_user_namespaces, user.max_net_namespaces)"
                    .to_owned()
            }
            Errno::INVAL | Errno::NOSYS => "this kernel is built without user or network namespaces".to_owned(),
            error => format!("a network namespace cannot be made: {error}"),
        })
}

/// Gives up all capabilities: those of the superuser, and those that a new user namespace grants within itself.
pub fn drop_capabilities(threads: Threads) -> Result<(), Missing> {
    const NONE: CapabilitySet = CapabilitySet::empty();
    let failed = |error: Errno| format!("capabilities cannot be given up: {error}");
    let had = capabilities(None).map_err(failed)?;
    if had.permitted.is_empty() && had.effective.is_empty() && had.inheritable.is_empty() {
        return Ok(());
    }
    set_capabilities(None, CapabilitySets { effective: NONE, permitted: NONE, inheritable: NONE })
        .map_err(failed)?;
    // Each thread has capabilities of its own.
    threads.only_this()
}

/// No program that this process could start has more privileges than itself.
pub fn refuse_privileges() -> Result<(), Missing> {
    set_no_new_privs(true).map_err(|error| format!("the system does not refuse new privileges: {error}"))
}

/// Lets the system kill this process when its parent, `parent`, ends. After new namespaces and capabilities, which make the
/// system forget it.
pub fn die_with(parent: Option<u32>) -> Result<(), Missing> {
    let Some(parent) = parent else {
        return Err("the process got no parent id".to_owned());
    };
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("the system does not end it with its host: {error}"))?;
    // If the parent ended before, the signal has been missed: then this process has another parent now.
    let now = getppid().map_or(0, |now| now.as_raw_nonzero().get());
    if i32::try_from(parent) != Ok(now) {
        let _ = kill_process(getpid(), Signal::KILL);
    }
    Ok(())
}

/// Closes this process's memory to other processes of the same user, and leaves no core dump. After new credentials, which
/// set it anew.
pub fn refuse_dumps() -> Result<(), Missing> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|error| format!("the system leaves the process's memory open: {error}"))
}
