//! What a process of guests needs within its walls. Each panics if it does not work.
#![allow(clippy::undocumented_unsafe_blocks)] // system calls, with arguments that live as long

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};

use libc::{c_int, c_void};

use crate::attempts::Prepared;

/// A name, and what must work.
type Need = (&'static str, fn(&Prepared));

pub static ALL: &[Need] = &[
    ("threads", threads),
    ("allocations", allocations),
    ("growth", growth),
    ("loaded_code", loaded_code),
    ("sleep", sleep),
    ("timers", timers),
    ("pipes", pipes),
    ("events", events),
    ("signals", signals),
    ("traps", traps),
    ("files_in_memory", files_in_memory),
    ("priority", priority),
    ("channel", channel),
    ("panic", panic),
    ("randomness", randomness),
    ("own_state", own_state),
    ("memory_limit", memory_limit),
    ("descriptor_limit", descriptor_limit),
];

/// A function of native code, as an engine loads it.
#[derive(Clone, Copy)]
pub struct Code(extern "C" fn() -> u32);

impl Code {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn load() -> Option<Self> {
        // Returns 42.
        #[cfg(target_arch = "x86_64")]
        const BYTES: [u8; 6] = [0xb8, 42, 0, 0, 0, 0xc3];
        #[cfg(target_arch = "aarch64")]
        const BYTES: [u8; 8] = [0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6];
        unsafe {
            let page = map(65_536, libc::PROT_READ | libc::PROT_WRITE);
            page.cast::<u8>().copy_from(BYTES.as_ptr(), BYTES.len());
            assert_eq!(libc::mprotect(page, 65_536, libc::PROT_READ | libc::PROT_EXEC), 0);
            Some(Self(std::mem::transmute::<*mut c_void, extern "C" fn() -> u32>(page)))
        }
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn load() -> Option<Self> {
        None
    }
}

fn map(bytes: usize, access: c_int) -> *mut c_void {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let page = unsafe { libc::mmap(null_mut(), bytes, access, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page
}

fn threads(_: &Prepared) {
    let (barrier, sum) = (Arc::new(Barrier::new(8)), Arc::new((Mutex::new(0), Condvar::new())));
    let start = |index| {
        let (barrier, sum) = (barrier.clone(), sum.clone());
        let thread = std::thread::Builder::new().name(format!("worker-{index}"));
        let body = move || {
            barrier.wait();
            std::thread::yield_now();
            *sum.0.lock().expect("nobody panics") += index;
            sum.1.notify_all();
        };
        thread.spawn(body).expect("threads can be started")
    };
    let started: Vec<_> = (0..8).map(start).collect();
    let all = sum.1.wait_while(sum.0.lock().expect("nobody panics"), |sum| *sum < 28).expect("nobody panics");
    assert_eq!(*all, 28);
    drop(all);
    started.into_iter().for_each(|thread| thread.join().expect("nobody panics"));
    assert!(std::thread::available_parallelism().is_ok());
}

fn allocations(_: &Prepared) {
    let allocate = || {
        let mut kept: Vec<Vec<u8>> = Vec::new();
        for index in 0..200_usize {
            let mut bytes = vec![index as u8; (index * 7919) % 3_000_000 + 1];
            bytes.extend_from_within(..);
            bytes.shrink_to_fit();
            kept.push(bytes);
            if index % 3 == 0 {
                kept.swap_remove(0);
            }
        }
        assert!(kept.iter().all(|bytes| bytes.first() == bytes.last()));
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(allocate))));
}

/// As the memory of an instance grows, shrinks and is cleared for the next one.
fn growth(_: &Prepared) {
    const STEP: usize = 1 << 20;
    let memory = map(64 * STEP, libc::PROT_NONE).cast::<u8>();
    for step in 0..64 {
        unsafe {
            let page = memory.add(step * STEP);
            assert_eq!(libc::mprotect(page.cast(), STEP, libc::PROT_READ | libc::PROT_WRITE), 0);
            page.write_volatile(7);
        }
    }
    unsafe {
        assert_eq!(libc::madvise(memory.cast(), 64 * STEP, libc::MADV_DONTNEED), 0);
        assert_eq!(memory.read_volatile(), 0);
        assert_eq!(libc::mprotect(memory.cast(), 64 * STEP, libc::PROT_NONE), 0);
        assert_eq!(libc::munmap(memory.cast(), 64 * STEP), 0);
    }
}

fn loaded_code(prepared: &Prepared) {
    let code = prepared.code.expect("it was loaded before");
    assert_eq!((code.0)(), 42);
}

/// Also after it was stopped and continued, as for a pause.
fn sleep(_: &Prepared) {
    let started = Instant::now();
    std::thread::sleep(Duration::from_millis(600));
    assert!(started.elapsed() >= Duration::from_millis(600));
}

static RUNG: AtomicUsize = AtomicUsize::new(0);

extern "C" fn ring(_: c_int) {
    RUNG.fetch_add(1, Ordering::SeqCst);
}

fn handle(signal: c_int, handler: usize, flags: c_int) {
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        assert_eq!(libc::sigaction(signal, &raw const action, null_mut()), 0);
    }
}

fn timers(_: &Prepared) {
    handle(libc::SIGALRM, ring as *const () as usize, libc::SA_RESTART);
    unsafe {
        let mut timer: libc::timer_t = null_mut();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, null_mut(), &raw mut timer), 0);
        let mut time: libc::itimerspec = std::mem::zeroed();
        time.it_value.tv_nsec = 1_000_000;
        assert_eq!(libc::timer_settime(timer, 0, &raw const time, null_mut()), 0);
        wait_for_ring();
        assert_eq!(libc::timer_delete(timer), 0);
        let file = libc::timerfd_create(libc::CLOCK_BOOTTIME, libc::TFD_CLOEXEC);
        assert!(file >= 0);
        assert_eq!(libc::timerfd_settime(file, 0, &raw const time, null_mut()), 0);
        let mut count = 0_u64;
        assert_eq!(libc::read(file, (&raw mut count).cast(), 8), 8);
        assert_eq!(count, 1);
        let mut clock: libc::timespec = std::mem::zeroed();
        assert_eq!(libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut clock), 0);
    }
}

fn wait_for_ring() {
    let started = Instant::now();
    while RUNG.load(Ordering::SeqCst) == 0 {
        assert!(started.elapsed() < Duration::from_secs(30), "no signal came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn pipes(_: &Prepared) {
    let (mut reader, mut writer) = std::io::pipe().expect("pipes can be made");
    let write = std::thread::spawn(move || writer.write_all(&[3; 200_000]).expect("it is read"));
    let mut poll = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 10_000) }, 1);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).expect("it can be read");
    write.join().expect("it does not panic");
    assert_eq!(bytes.len(), 200_000);
}

fn events(_: &Prepared) {
    unsafe {
        let (event, poll) = (libc::eventfd(0, libc::EFD_CLOEXEC), libc::epoll_create1(libc::EPOLL_CLOEXEC));
        assert!(event >= 0 && poll >= 0);
        let mut waited = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 5 };
        assert_eq!(libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, event, &raw mut waited), 0);
        let one = 1_u64;
        assert_eq!(libc::write(event, (&raw const one).cast(), 8), 8);
        let mut came = libc::epoll_event { events: 0, u64: 0 };
        assert_eq!(libc::epoll_wait(poll, &raw mut came, 1, 10_000), 1);
        assert_eq!({ came.u64 }, 5);
    }
}

/// A thread that computes is interrupted, as the scheduler does.
fn signals(_: &Prepared) {
    handle(libc::SIGURG, ring as *const () as usize, libc::SA_RESTART | libc::SA_ONSTACK);
    let (says, hears) = std::sync::mpsc::channel();
    let computing = std::thread::spawn(move || {
        says.send(unsafe { libc::gettid() }).expect("somebody hears it");
        while RUNG.load(Ordering::SeqCst) == 0 {
            std::hint::spin_loop();
        }
    });
    let thread = hears.recv().expect("it says so");
    assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGURG) }, 0);
    computing.join().expect("it ends");
    assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGURG) }, 0);
    assert_eq!(unsafe { libc::raise(libc::SIGURG) }, 0);
}

/// A guest that reaches beyond its memory: the handler makes the page accessible, on a stack of its own.
fn traps(_: &Prepared) {
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn mend(_: c_int) {
        ring(0);
        let page = PAGE.load(Ordering::SeqCst) as *mut c_void;
        unsafe { libc::mprotect(page, 65_536, libc::PROT_READ | libc::PROT_WRITE) };
    }
    let page = map(65_536, libc::PROT_NONE);
    PAGE.store(page as usize, Ordering::SeqCst);
    handle(libc::SIGSEGV, mend as *const () as usize, libc::SA_ONSTACK);
    let thread = std::thread::spawn(move || unsafe {
        let page = PAGE.load(Ordering::SeqCst) as *mut u8;
        page.write_volatile(9);
        page.read_volatile()
    });
    assert_eq!(thread.join().expect("it ends"), 9);
    assert_eq!(RUNG.load(Ordering::SeqCst), 1);
}

/// An image that instances share copy on write.
fn files_in_memory(_: &Prepared) {
    unsafe {
        let file = libc::memfd_create(c"image".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        assert!(file >= 0);
        let file = OwnedFd::from_raw_fd(file);
        let bytes = [6_u8; 65_536];
        assert_eq!(libc::pwrite(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0), 65_536);
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;
        assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals), 0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let place = map(65_536, libc::PROT_NONE);
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        let mapped = libc::mmap(place, 65_536, access, flags, file.as_raw_fd(), 0).cast::<u8>();
        assert_eq!(mapped, place.cast());
        mapped.write_volatile(1);
        assert_eq!(mapped.add(65_535).read_volatile(), 6);
    }
}

/// A worker's own priority, lowered by the calls that the host makes.
fn priority(prepared: &Prepared) {
    let is_idle = prepared.is_idle;
    let worker = std::thread::spawn(move || unsafe {
        let parameter: c_int = 0;
        let policy =
            |policy: c_int| libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameter);
        assert_eq!(policy(libc::SCHED_BATCH), if is_idle { -1 } else { 0 });
        assert_eq!(libc::setpriority(libc::PRIO_PROCESS, 0, 19), 0);
        assert_eq!(policy(libc::SCHED_IDLE), 0);
    });
    worker.join().expect("it ends");
}

/// The channel to the supervisor, which sends on stdin what is returned.
fn channel(_: &Prepared) {
    let stdin = unsafe { OwnedFd::from_raw_fd(0) };
    let mut stream = UnixStream::from(stdin);
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes).expect("it was sent");
    assert_eq!(&bytes, b"ping");
    let sent = unsafe { libc::send(stream.as_raw_fd(), b"po".as_ptr().cast(), 2, libc::MSG_NOSIGNAL) };
    assert_eq!(sent, 2);
    let mut part = libc::iovec { iov_base: b"ng".as_ptr().cast_mut().cast(), iov_len: 2 };
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        assert_eq!(libc::sendmsg(stream.as_raw_fd(), &raw const message, 0), 2);
    }
    stream.shutdown(std::net::Shutdown::Write).expect("it can be closed");
}

/// A panic that is caught, with a backtrace, whose symbols cannot be read.
fn panic(_: &Prepared) {
    let caught = std::panic::catch_unwind(|| {
        assert!(std::backtrace::Backtrace::force_capture().to_string().len() > 10);
        panic!("this is meant to panic");
    });
    assert!(caught.is_err());
}

fn randomness(_: &Prepared) {
    let mut bytes = [0_u8; 64];
    assert_eq!(unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), 64, 0) }, 64);
    assert_ne!(bytes, [0; 64]);
    let map: std::collections::HashMap<u8, u8> = [(1, 2)].into();
    assert_eq!(map[&1], 2);
}

/// What only the process itself can read.
fn own_state(_: &Prepared) {
    let mut signal: c_int = 0;
    unsafe {
        assert_eq!(libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    }
    assert_eq!(signal, libc::SIGKILL);
}

/// Started with 64 MiB.
fn memory_limit(_: &Prepared) {
    let reserved = map(1 << 30, libc::PROT_NONE);
    let access = |bytes| unsafe { libc::mprotect(reserved, bytes, libc::PROT_READ | libc::PROT_WRITE) };
    assert_eq!(access(32 << 20), 0);
    assert_eq!(access(128 << 20), -1, "it is above the limit");
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOMEM));
    let mut most: libc::rlimit = unsafe { std::mem::zeroed() };
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_CORE, &raw mut most) }, 0);
    assert_eq!((most.rlim_cur, most.rlim_max), (0, 0));
}

/// Started with 32.
fn descriptor_limit(_: &Prepared) {
    let opened: Vec<c_int> = (0..32).map(|_| unsafe { libc::dup(1) }).collect();
    assert!(opened[0] > 1 && opened[31] == -1, "{opened:?}");
}
