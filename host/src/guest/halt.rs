//! Threads that can be made to stand still in the midst of a guest's code.
//!
//! Loops that call nothing do not poll (see `sateen_rewriter`), but their owner may pause them, and other runs wait for
//! the processor. A signal interrupts such a thread. If it is in a guest's code, where it holds no lock of this program,
//! it sleeps in the signal's handler until it may continue: nothing of its work is lost, and the code pays nothing.
//! Elsewhere the handler does nothing, and the thread is asked again later.
//!
//! The signal is `SIGURG`, which the Go runtime uses to interrupt its threads, too: systems ignore it by default, and
//! programs without out-of-band data never get it otherwise.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use linux::{Attends, Halt};
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub use other::{Attends, Halt};

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod linux {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::ops::Range;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering::SeqCst};
    use std::sync::{Arc, Once};

    use libc::{SA_ONSTACK, SA_RESTART, SA_SIGINFO, SIGURG, SYS_tgkill, siginfo_t, ucontext_t};
    use rustix::thread::futex;

    /// What [`Halt::wanted`] is while the thread shall stand still, and otherwise.
    const STAND: u32 = 1;
    const GO: u32 = 0;

    thread_local! {
        /// The request to this thread, which it owns while this is not null. Signal handlers may read it: it is initialised
        /// when the thread begins, and nothing is dropped.
        static OWN: Cell<*const Halt> = const { Cell::new(ptr::null()) };
    }

    /// The request to one thread to stand still.
    #[derive(Default)]
    pub struct Halt {
        /// The thread's number, or 0 while it does not attend.
        thread: AtomicI32,
        /// Where the code of its guests is.
        code_start: AtomicUsize,
        code_end: AtomicUsize,
        wanted: AtomicU32,
        stands: AtomicBool,
    }

    /// A thread attends to requests until this is dropped.
    pub struct Attends {
        halt: Arc<Halt>,
    }

    impl Halt {
        /// This thread attends to requests to stand still in the code of its guests, which is at these addresses.
        pub fn attend(self: &Arc<Self>, code: &Range<*const u8>) -> Attends {
            handle_signals();
            self.code_start.store(code.start as usize, SeqCst);
            self.code_end.store(code.end as usize, SeqCst);
            self.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), SeqCst);
            OWN.set(Arc::as_ptr(self));
            Attends { halt: self.clone() }
        }

        /// Asks the thread to stand still, if it runs a guest's code now.
        pub fn ask(&self) {
            let thread = self.thread.load(SeqCst);
            if thread == 0 {
                return;
            }
            self.wanted.store(STAND, SeqCst);
            let process = rustix::process::getpid().as_raw_nonzero().get();
            // SAFETY: the call has no other effect than the signal, which this program handles. If the thread has ended,
            // its number is unknown or another thread's of this process, which ignores the signal.
            #[allow(unsafe_code)]
            unsafe {
                libc::syscall(SYS_tgkill, process, thread, SIGURG);
            }
        }

        /// Whether the thread stands still, and will do so until [`release`](Self::release).
        pub fn is_standing(&self) -> bool {
            self.wanted.load(SeqCst) == STAND && self.stands.load(SeqCst)
        }

        /// The thread continues.
        pub fn release(&self) {
            if self.wanted.swap(GO, SeqCst) == STAND {
                // Nobody sleeps there unless the thread stands.
                let _ = futex::wake(&self.wanted, futex::Flags::PRIVATE, 1);
            }
        }

        /// Called on its thread, in the signal's handler: it may only use atomic memory and system calls.
        fn stand(&self, at: usize) {
            let is_guest = at >= self.code_start.load(SeqCst) && at < self.code_end.load(SeqCst);
            if !is_guest || self.wanted.load(SeqCst) != STAND {
                return;
            }
            self.stands.store(true, SeqCst);
            while self.wanted.load(SeqCst) == STAND {
                // Wakes that mean nothing, and requests that ended meanwhile, are seen by the loop.
                let _ = futex::wait(&self.wanted, futex::Flags::PRIVATE, STAND, None);
            }
            self.stands.store(false, SeqCst);
        }
    }

    impl Drop for Attends {
        fn drop(&mut self) {
            OWN.set(ptr::null());
            self.halt.thread.store(0, SeqCst);
        }
    }

    fn handle_signals() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the action is initialised as the system wants it: with all bits 0, no other signal is blocked. The
            // handler has the signature that `SA_SIGINFO` asks for, and does nothing that a handler may not.
            #[allow(unsafe_code)]
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = handle;
                action.sa_sigaction = handler as usize;
                action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
                // It fails only for signals that cannot be handled. Without it, guests hear of pauses as elsewhere.
                libc::sigaction(SIGURG, &raw const action, ptr::null_mut());
            }
        });
    }

    extern "C" fn handle(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
        let own = OWN.get();
        if own.is_null() {
            return;
        }
        // SAFETY: `own` is the request that this thread attends to, and its `Attends` owns it. With `SA_SIGINFO`, the system
        // passes the registers of the interrupted thread as a context. Both are only read, and live until this returns.
        #[allow(unsafe_code)]
        let (halt, context) = unsafe { (&*own, &*context.cast::<ucontext_t>()) };
        halt.stand(instruction(context));
    }

    /// The address of the instruction that was interrupted.
    fn instruction(context: &ucontext_t) -> usize {
        #[cfg(target_arch = "x86_64")]
        return context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return context.uc_mcontext.pc as usize;
    }

    #[cfg(test)]
    mod tests {
        use std::time::Duration;

        use super::*;

        /// Counts until it is asked to stop. The compiler keeps it in one piece, so that its address says where a thread is.
        #[inline(never)]
        fn count(counter: &AtomicU32, is_over: &AtomicBool) {
            while !is_over.load(SeqCst) {
                counter.fetch_add(1, SeqCst);
            }
        }

        fn moves(counter: &AtomicU32) -> bool {
            let before = counter.load(SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            counter.load(SeqCst) != before
        }

        fn ask(halt: &Halt, until: impl Fn() -> bool) -> bool {
            (0..200).any(|_| {
                halt.ask();
                std::thread::sleep(Duration::from_millis(5));
                until()
            })
        }

        #[test]
        fn a_thread_stands_still_in_guests_code_and_nowhere_else() {
            let code = (count as *const () as usize, count as *const () as usize + 4096);
            let [start, end] = [code.0, code.1].map(|address| address as *const u8 as usize);
            for (range, stands) in [(start..end, true), (8..16, false)] {
                let (halt, counter, is_over) =
                    (Arc::new(Halt::default()), AtomicU32::new(0), AtomicBool::new(false));
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let _attends = halt.attend(&(range.start as *const u8..range.end as *const u8));
                        count(&counter, &is_over);
                    });
                    for _ in 0..3 {
                        while counter.load(SeqCst) == 0 {
                            std::thread::yield_now();
                        }
                        assert_eq!(ask(&halt, || halt.is_standing()), stands);
                        assert_eq!(moves(&counter), !stands);
                        halt.release();
                        assert!(moves(&counter) && !halt.is_standing());
                    }
                    is_over.store(true, SeqCst);
                });
                halt.ask();
                assert!(!halt.is_standing(), "no thread attends");
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod other {
    use std::ops::Range;
    use std::sync::Arc;

    /// The request to one thread to stand still: no thread does so on this system.
    #[derive(Default)]
    pub struct Halt;

    /// As if a thread attended to requests.
    pub struct Attends;

    impl Halt {
        pub fn attend(self: &Arc<Self>, _code: &Range<*const u8>) -> Attends {
            Attends
        }

        pub fn ask(&self) {}

        pub fn is_standing(&self) -> bool {
            false
        }

        pub fn release(&self) {}
    }
}
