//! The priority of workers over the machine's other threads.

/// The share of a run's workers on a machine that others use as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Priority {
    /// The same as any other program.
    #[default]
    Normal,
    /// Only processor time that no other program wants. The machine's user does not notice the work, and the
    /// host's own network thread gets a processor at once: behind a worker of equal priority, it was measured
    /// to wait for up to 3 ms, and its thieves had to wait as well.
    Idle,
}

impl Priority {
    /// Applies to the calling thread. On a system that does not support or allow it, the thread runs like any
    /// other.
    pub fn take(self) {
        if self == Self::Idle {
            let _ = become_idle();
        }
    }

    /// The same for the heartbeat, which must not wait for workers: its priority is the lowest above theirs. It
    /// must not be as high as that of other programs' threads. With such a thread that wakes a thousand times a
    /// second beside idle-priority workers, Linux 6.18 was measured to keep a browser of another session waiting
    /// for up to 50 s, again and again.
    pub fn take_before_workers(self) {
        if self == Self::Idle {
            let _ = become_least();
        }
    }
}

#[cfg(target_os = "linux")]
fn become_idle() -> std::io::Result<()> {
    set_policy(libc::SCHED_IDLE)
}

#[cfg(not(target_os = "linux"))]
fn become_idle() -> Result<(), thread_priority::Error> {
    become_least()
}

/// The lowest priority above idle threads.
#[cfg(target_os = "linux")]
fn become_least() -> std::io::Result<()> {
    /// The lowest priority among threads with the usual policy.
    const NICE_MAX: i32 = 19;
    // It has the policy already, unless its process is idle as a whole.
    let _ = set_policy(libc::SCHED_OTHER);
    rustix::process::setpriority_process(None, NICE_MAX)?;
    Ok(())
}

/// Sets the calling thread's policy. It is named by 0 rather than by its id: within its walls, a process may not name others.
#[cfg(target_os = "linux")]
fn set_policy(policy: i32) -> std::io::Result<()> {
    // The parameter of these policies.
    let priority: libc::c_int = 0;
    // SAFETY: the system reads one integer, which lives until the call returns, and writes nothing.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The lowest priority among threads with this thread's policy.
#[cfg(not(target_os = "linux"))]
fn become_least() -> Result<(), thread_priority::Error> {
    thread_priority::set_current_thread_priority(thread_priority::ThreadPriority::Min)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy, thread_schedule_policy};

    use super::*;

    #[test]
    fn an_idle_thread_has_the_systems_idle_policy() {
        let policy = |priority: Priority| {
            let thread = std::thread::spawn(move || {
                priority.take();
                thread_schedule_policy().expect("it is known")
            });
            thread.join().expect("it ends")
        };
        assert_eq!(policy(Priority::Idle), ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle));
        assert_eq!(policy(Priority::Normal), ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other));
    }

    /// Beside idle-priority workers, a thread that wakes all the time must not have the priority of other
    /// programs.
    #[test]
    fn the_heartbeat_stands_between_workers_and_other_programs() {
        let nice = |priority: Priority| {
            let thread = std::thread::spawn(move || {
                priority.take_before_workers();
                let policy = thread_schedule_policy().expect("it is told");
                assert_eq!(policy, ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other));
                rustix::process::getpriority_process(None).expect("it is told")
            });
            thread.join().expect("it ends")
        };
        assert_eq!(nice(Priority::Idle), 19);
        let own = rustix::process::getpriority_process(None).expect("it is told");
        assert_eq!(nice(Priority::Normal), own);
    }
}
