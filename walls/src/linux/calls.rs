//! System calls: those that computing needs, and those that only an attack makes.
//!
//! A filter sees numbers, not what pointers point to. So a call whose meaning lies behind a pointer is allowed for any meaning or
//! not at all: `clone3` is not, and `clone` is, for threads.

use std::collections::BTreeMap;

use libc::{
    F_ADD_SEALS, F_DUPFD, F_DUPFD_CLOEXEC, F_GET_SEALS, F_GETFD, F_GETFL, F_SETFD, F_SETFL, FIONBIO,
    FIONREAD, MADV_MERGEABLE, MFD_ALLOW_SEALING, MFD_CLOEXEC, O_CLOEXEC, O_DIRECT, O_NONBLOCK,
    PR_GET_DUMPABLE, PR_GET_NAME, PR_GET_NO_NEW_PRIVS, PR_GET_PDEATHSIG, PR_SET_NAME, PROT_EXEC, SCHED_BATCH,
    SCHED_IDLE, SCHED_OTHER, TCGETS,
};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// System calls by number, each with the conditions of which one must hold. With no condition, it may have any arguments.
pub type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Fails like a call that the kernel does not have, so that the C library starts threads by `clone`, whose flags can be read.
pub const ABSENT: [i64; 1] = [libc::SYS_clone3];

/// Calls that no library makes by itself: a process that makes one has been taken over.
#[rustfmt::skip]
pub const BREACHES: [i64; 37] = [
    // Other processes, and other programs.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_pidfd_getfd, libc::SYS_kcmp,
    libc::SYS_execve, libc::SYS_execveat,
    // The kernel.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_kexec_load, libc::SYS_init_module,
    libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl,
    // Namespaces and mounts.
    libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_umount2, libc::SYS_mount_setattr, libc::SYS_move_mount,
    libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fspick, libc::SYS_fsmount, libc::SYS_fsconfig, libc::SYS_pivot_root,
    libc::SYS_chroot, libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_acct,
];

/// Calls that are allowed whatever their arguments. None takes a path, an address or another process.
#[rustfmt::skip]
const ANY: &[i64] = &[
    // Memory, which these cannot make executable.
    libc::SYS_brk, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_membarrier,
    // Threads. `clone3` is here so that only the filter of absent calls refuses it.
    libc::SYS_futex, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_clone3, libc::SYS_exit, libc::SYS_exit_group,
    libc::SYS_getpid, libc::SYS_gettid, libc::SYS_getppid, libc::SYS_sched_yield, libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    // Signals. The last continues a wait after the process was stopped.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack, libc::SYS_restart_syscall,
    // Clocks and timers.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_clock_nanosleep, libc::SYS_nanosleep,
    libc::SYS_gettimeofday, libc::SYS_getrusage, libc::SYS_timer_create, libc::SYS_timer_settime,
    libc::SYS_timer_gettime, libc::SYS_timer_getoverrun, libc::SYS_timer_delete, libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime, libc::SYS_timerfd_gettime,
    // Descriptors that the process has.
    libc::SYS_read, libc::SYS_readv, libc::SYS_pread64, libc::SYS_write, libc::SYS_writev, libc::SYS_pwrite64,
    libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_sendmsg, libc::SYS_shutdown, libc::SYS_lseek, libc::SYS_fstat,
    libc::SYS_ftruncate, libc::SYS_close, libc::SYS_dup, libc::SYS_dup3, libc::SYS_eventfd2, libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_ppoll,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")] libc::SYS_time,
    // Randomness.
    libc::SYS_getrandom,
];

/// Flags that every thread shares with its process. Without one of them, `clone` makes a process.
const THREAD: i32 =
    libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD;
/// Flags that C libraries set for threads as well.
const THREAD_TOO: i32 = libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_SETTID
    | libc::CLONE_CHILD_CLEARTID
    | libc::CLONE_DETACHED;

/// `PRIO_PROCESS`, whose type differs between C libraries.
const PRIO_PROCESS: u32 = 0;
/// `PAGEMAP_SCAN`, by which the engine asks which pages an instance has written, of a file that it opened before.
const PAGEMAP_SCAN: u32 = 0xc060_6610;
/// `PR_SET_VMA`, by which allocators name their memory.
const PR_SET_VMA: i32 = 0x5356_4d41;
/// `PR_GET_AUXV`, with which libraries ask for the size of pages.
const PR_GET_AUXV: i32 = 0x4155_5856;
/// A descriptor that stands for the process itself (`PIDFD_SELF_THREAD_GROUP`): the engine frees memory of several instances
/// at once.
const PIDFD_SELF: i32 = -10_000;
/// `MFD_NOEXEC_SEAL`, with which a file in memory can never be executed.
const MFD_NOEXEC_SEAL: u32 = 8;

/// The system calls that the process with this id needs.
///
/// # Errors
/// If a condition names an argument that no call has.
pub fn allowed(own_id: u32) -> Result<Calls, BackendError> {
    let mut calls: Calls = ANY.iter().map(|call| (*call, Vec::new())).collect();
    let mut allow = |call: i64, rules: Vec<SeccompRule>| calls.insert(call, rules);
    // Code is loaded before.
    let not_executable = || whole(2, MaskedEq(PROT_EXEC as u64), 0);
    allow(libc::SYS_mmap, vec![rule([not_executable()?])?]);
    allow(libc::SYS_mprotect, vec![rule([not_executable()?])?]);
    // Pages merged with those of other processes would show what these have in memory.
    allow(libc::SYS_madvise, vec![rule([int(2, Ne, MADV_MERGEABLE as u32)?])?]);
    allow(libc::SYS_process_madvise, vec![rule([int(0, Eq, PIDFD_SELF as u32)?])?]);
    let sealed = MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL;
    allow(libc::SYS_memfd_create, vec![rule([int(1, MaskedEq(u64::from(!sealed)), 0)?])?]);
    // Threads of this process and nothing else, and priorities of the calling thread only: the system would also let it slow
    // down other programs of its user.
    let flags = MaskedEq(!(THREAD_TOO as u64));
    allow(libc::SYS_clone, vec![rule([whole(0, flags, THREAD as u64)?])?]);
    let policy = |policy: i32| rule([int(0, Eq, 0)?, int(1, Eq, policy as u32)?]);
    allow(
        libc::SYS_sched_setscheduler,
        vec![policy(SCHED_OTHER)?, policy(SCHED_BATCH)?, policy(SCHED_IDLE)?],
    );
    allow(libc::SYS_setpriority, vec![rule([int(0, Eq, PRIO_PROCESS)?, int(1, Eq, 0)?])?]);
    // Signals to itself, and limits only to read.
    allow(libc::SYS_kill, vec![rule([int(0, Eq, own_id)?])?]);
    allow(libc::SYS_tgkill, vec![rule([int(0, Eq, own_id)?])?]);
    allow(libc::SYS_prlimit64, vec![rule([int(0, Eq, 0)?, whole(2, Eq, 0)?])?]);
    // A socket that is connected needs no address.
    allow(libc::SYS_sendto, vec![rule([whole(4, Eq, 0)?])?]);
    // Not the flag for the kernel's notifications.
    let plain = (O_CLOEXEC | O_NONBLOCK | O_DIRECT) as u32;
    allow(libc::SYS_pipe2, vec![rule([int(1, MaskedEq(u64::from(!plain)), 0)?])?]);
    // Not `F_SETOWN`, which sends signals to other processes.
    let fcntl = [F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS];
    allow(libc::SYS_fcntl, one_of(1, fcntl.map(|command| command as u32))?);
    allow(libc::SYS_ioctl, one_of(1, [TCGETS as u32, FIONBIO as u32, FIONREAD as u32, PAGEMAP_SCAN])?);
    let prctl = [
        PR_SET_NAME,
        PR_GET_NAME,
        PR_SET_VMA,
        PR_GET_AUXV,
        PR_GET_DUMPABLE,
        PR_GET_PDEATHSIG,
        PR_GET_NO_NEW_PRIVS,
    ];
    allow(libc::SYS_prctl, one_of(0, prctl.map(|option| option as u32))?);
    Ok(calls)
}

/// All conditions must hold.
fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

/// The argument is one of these values.
fn one_of<const N: usize>(argument: u8, values: [u32; N]) -> Result<Vec<SeccompRule>, BackendError> {
    values.into_iter().map(|value| rule([int(argument, Eq, value)?])).collect()
}

/// Compares an argument of 32 bits, of which the kernel ignores the upper half.
fn int(argument: u8, compare: SeccompCmpOp, value: u32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, u64::from(value))
}

/// Compares an argument of 64 bits.
fn whole(argument: u8, compare: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, compare, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_needed_and_a_breach() {
        let allowed = allowed(1).expect("all conditions are valid");
        for call in BREACHES {
            assert!(!allowed.contains_key(&call), "system call {call}");
        }
        let mut once = BREACHES.to_vec();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), BREACHES.len());
        for call in ABSENT {
            assert!(allowed[&call].is_empty(), "another filter refuses {call}");
        }
    }

    /// Each of these would open a way out, whatever the arguments.
    #[test]
    fn calls_that_lead_outside_are_not_allowed() {
        let allowed = allowed(1).expect("all conditions are valid");
        let out = [
            libc::SYS_openat,
            libc::SYS_openat2,
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_setsockopt,
            libc::SYS_io_uring_setup,
            libc::SYS_pkey_mprotect,
            libc::SYS_personality,
            libc::SYS_shmat,
            libc::SYS_tkill,
            libc::SYS_rt_sigqueueinfo,
            libc::SYS_pidfd_send_signal,
            libc::SYS_seccomp,
            libc::SYS_newfstatat,
            libc::SYS_statx,
        ];
        for call in out {
            assert!(!allowed.contains_key(&call), "system call {call}");
        }
    }
}
