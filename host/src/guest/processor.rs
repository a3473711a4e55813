//! The processor time of a thread, and of the process.
//!
//! Reading it takes a system call, which costs as much as a short job takes. So a reading is good for a moment, to which
//! the wall clock adds: a thread that was preempted has been away for longer than that.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a reading is good.
const FRESH: Duration = Duration::from_micros(50);

thread_local! {
    /// The last reading of this thread.
    static LAST: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// The processor time of this thread, and the time at which it was read.
pub fn read() -> (Instant, Duration) {
    let now = Instant::now();
    if let Some((at, processor)) = LAST.get()
        && now - at < FRESH
    {
        return (now, processor + (now - at));
    }
    let processor = of_thread();
    LAST.set(Some((now, processor)));
    (now, processor)
}

/// This thread has slept: the wall clock says nothing of its processor time.
pub fn forget() {
    LAST.set(None);
}

/// The processor time of this process.
pub fn of_process() -> Duration {
    #[cfg(unix)]
    return ask(rustix::time::ClockId::ProcessCPUTime);
    #[cfg(not(unix))]
    return passed();
}

/// That of another process; 0 if it has ended, or on other systems. Reads no file, so it needs no `/proc`.
pub fn of_other(process: u32) -> Duration {
    /// The kernel's number for the processor time of a process: of three bits, below the process's inverted id.
    const OF_PROCESS: i32 = 2;
    #[cfg(target_os = "linux")]
    return i32::try_from(process).map_or(Duration::ZERO, |process| by_number(!process << 3 | OF_PROCESS));
    #[cfg(not(target_os = "linux"))]
    return Duration::ZERO;
}

/// The time of one of the kernel's numbered clocks; 0 if there is none.
#[cfg(target_os = "linux")]
fn by_number(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system writes the time and nothing else. It remains 0 if there is no such thread or process.
    #[allow(unsafe_code)]
    unsafe {
        libc::clock_gettime(clock, &raw mut time);
    }
    duration(time.tv_sec, time.tv_nsec)
}

/// That of this thread.
fn of_thread() -> Duration {
    #[cfg(unix)]
    return ask(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(not(unix))]
    return passed();
}

#[cfg(unix)]
fn ask(clock: rustix::time::ClockId) -> Duration {
    let time = rustix::time::clock_gettime(clock);
    duration(time.tv_sec, time.tv_nsec)
}

#[cfg(unix)]
fn duration(seconds: impl TryInto<u64>, nanoseconds: impl TryInto<u64>) -> Duration {
    Duration::from_secs(seconds.try_into().unwrap_or(0))
        + Duration::from_nanos(nanoseconds.try_into().unwrap_or(0))
}

/// On other systems, wall-clock time.
#[cfg(not(unix))]
fn passed() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// A thread whose processor time others can read.
#[derive(Debug, Clone, Copy)]
pub struct Thread {
    #[cfg(target_os = "linux")]
    id: i32,
    #[cfg(not(target_os = "linux"))]
    begun: (Instant, Duration),
}

impl Thread {
    /// This thread.
    #[cfg(target_os = "linux")]
    pub fn this() -> Self {
        Self { id: rustix::thread::gettid().as_raw_nonzero().get() }
    }

    /// This thread.
    #[cfg(not(target_os = "linux"))]
    pub fn this() -> Self {
        Self { begun: read() }
    }

    /// Its processor time; 0 if it has ended. Reads no file, so it works within walls as well.
    #[cfg(target_os = "linux")]
    pub fn processor_time(&self) -> Duration {
        /// The kernel's number for the processor time of a thread: of three bits, below the thread's inverted id.
        const OF_THREAD: i32 = 6;
        by_number(!self.id << 3 | OF_THREAD)
    }

    /// Its processor time if it has had a processor all the time.
    #[cfg(not(target_os = "linux"))]
    pub fn processor_time(&self) -> Duration {
        let (at, processor) = self.begun;
        processor + at.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn readings_are_exact_except_for_moments() {
        let before = of_thread();
        let mut last = Duration::ZERO;
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(20) {
            (_, last) = read();
        }
        assert!(last >= before && last <= of_thread() + FRESH, "{last:?}");
        std::thread::sleep(2 * FRESH);
        assert!(read().1 <= of_thread(), "a sleep of more than a moment does not count");
        std::thread::sleep(FRESH / 10);
        forget();
        assert!(read().1 <= of_thread(), "nor does a shorter one that is known");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn others_read_a_threads_time_as_it_does_itself() {
        let (says, hears) = std::sync::mpsc::channel();
        let computing = std::thread::spawn(move || {
            let thread = Thread::this();
            while of_thread() < Duration::from_millis(60) {}
            says.send((thread, of_thread())).expect("somebody hears it");
            std::thread::park();
        });
        let (thread, itself) = hears.recv().expect("it says so");
        let read = thread.processor_time();
        assert!(read <= itself + 2 * Duration::from_millis(10), "{read:?}, itself {itself:?}");
        assert!(read + 3 * Duration::from_millis(10) >= itself, "{read:?}, itself {itself:?}");
        computing.thread().unpark();
        computing.join().expect("it ends");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_time_of_another_process_is_known() {
        let own = std::process::id();
        let (before, other) = (of_process(), of_other(own));
        assert!(other >= before && other <= of_process(), "{before:?}, {other:?}");
        let mut child = std::process::Command::new("sh");
        let child = child.args(["-c", "while :; do :; done"]).spawn();
        let mut child = child.expect("it starts");
        let since = Instant::now();
        while of_other(child.id()) < Duration::from_millis(30) {
            assert!(since.elapsed() < Duration::from_secs(60), "it computes");
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        assert_eq!(of_other(child.id()), Duration::ZERO);
    }
}
