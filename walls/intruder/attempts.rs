//! What a process that was taken over would try.
#![allow(clippy::undocumented_unsafe_blocks)] // each is one system call, with arguments that live as long

use std::ffi::{CStr, c_long};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::null;

use libc::{c_int, c_void};

/// What is made before the walls are raised.
pub struct Prepared {
    /// A socket that is not connected.
    socket: Option<std::net::UdpSocket>,
    tcp: c_int,
    /// The bytes of a program.
    program: Vec<u8>,
    pub code: Option<super::needs::Code>,
    /// Whether this process has idle priority: the system then lets it have no other.
    pub is_idle: bool,
}

impl Prepared {
    pub fn new() -> Self {
        Self {
            socket: std::net::UdpSocket::bind("127.0.0.1:0").ok(),
            tcp: unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) },
            program: std::fs::read("/bin/true").unwrap_or_default(),
            code: super::needs::Code::load(),
            is_idle: unsafe { libc::sched_getscheduler(0) } == libc::SCHED_IDLE,
        }
    }

    /// That of a thread, which can prepare nothing any more.
    pub fn new_within() -> Self {
        Self { socket: None, tcp: -1, program: Vec::new(), code: None, is_idle: false }
    }
}

/// One attempt.
pub struct Attempt {
    name: &'static str,
    run: fn(&Prepared) -> c_long,
}

impl Attempt {
    pub fn by_name(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|attempt| attempt.name == name)
    }

    /// # Errors
    /// The system's error code.
    pub fn run(&self, prepared: &Prepared) -> io::Result<()> {
        if (self.run)(prepared) < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A system call with up to six arguments, integers or pointers.
macro_rules! call {
    ($number:expr $(, $argument:expr)*) => { unsafe { libc::syscall($number $(, $argument)*) } };
}

macro_rules! attempts {
    ($($(#[$only:meta])? $name:literal => $run:expr,)*) => { &[$($(#[$only])? Attempt { name: $name, run: $run },)*] };
}

const PASSWD: &CStr = c"/etc/passwd";
const HERE: c_int = libc::AT_FDCWD;
const PAGE: usize = 65_536;
const READ_EXEC: c_int = libc::PROT_READ | libc::PROT_EXEC;
const READ_WRITE: c_int = libc::PROT_READ | libc::PROT_WRITE;
const PRIVATE: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

#[rustfmt::skip]
static ALL: &[Attempt] = attempts! {
    // Files.
    "open" => |_| code(File::open("/etc/passwd")),
    "openat" => |_| call!(libc::SYS_openat, HERE, PASSWD.as_ptr(), libc::O_RDONLY),
    "openat2" => |_| call!(libc::SYS_openat2, HERE, PASSWD.as_ptr(), &[0_u64; 3], 24_usize),
    "create" => |_| code(File::create("/tmp/sateen-walls-intruder")),
    "proc_self_mem" => |_| code(File::open("/proc/self/mem")),
    "proc_parent_environ" => |_| code(File::open(format!("/proc/{}/environ", parent()))),
    "stat" => |_| code(std::fs::metadata("/etc/passwd")),
    "newfstatat" => |_| call!(libc::SYS_newfstatat, HERE, PASSWD.as_ptr(), &mut [0_u64; 32], 0),
    "readlink" => |_| code(std::fs::read_link("/proc/self/exe")),
    "chdir" => |_| code(std::env::set_current_dir("/")),
    "read_dir" => |_| code(std::fs::read_dir("/")),
    "inotify_init1" => |_| call!(libc::SYS_inotify_init1, 0),
    // The network.
    "socket" => |_| call!(libc::SYS_socket, libc::AF_INET, libc::SOCK_STREAM, 0),
    "socket_unix" => |_| call!(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_STREAM, 0),
    "socket_netlink" => |_| call!(libc::SYS_socket, libc::AF_NETLINK, libc::SOCK_RAW, 0),
    "socketpair" => |_| call!(libc::SYS_socketpair, libc::AF_UNIX, libc::SOCK_DGRAM, 0, &mut [0_i32; 2]),
    "connect" => |prepared| { let to = loopback(); call!(libc::SYS_connect, prepared.tcp, &to, size_of_val(&to)) },
    "bind" => |prepared| { let to = loopback(); call!(libc::SYS_bind, prepared.tcp, &to, size_of_val(&to)) },
    "listen" => |prepared| call!(libc::SYS_listen, prepared.tcp, 1),
    "sendto" => |prepared| { let to = loopback(); let socket = prepared.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        call!(libc::SYS_sendto, socket, b"x", 1_usize, 0, &to, size_of_val(&to)) },
    // Other processes.
    #[cfg(target_arch = "x86_64")] "fork" => |_| in_child(call!(libc::SYS_fork)),
    "clone" => |_| in_child(call!(libc::SYS_clone, libc::SIGCHLD, 0_usize, 0_usize, 0_usize, 0_usize)),
    "clone3" => |_| in_child(call!(libc::SYS_clone3, &clone_arguments(), 64_usize)),
    "vfork" => |_| c_long::from(vfork()),
    "clone_thread_in_namespace" => |_| call!(libc::SYS_clone,
        libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_THREAD | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_NEWUTS,
        0_usize, 0_usize, 0_usize, 0_usize),
    "spawn" => |_| code(std::process::Command::new("/bin/true").status()),
    "execve" => |_| call!(libc::SYS_execve, c"/bin/true".as_ptr(), &[c"true".as_ptr(), null()], &[null::<c_void>()]),
    "memfd_execveat" => |prepared| { let file = memfd(&prepared.program);
        call!(libc::SYS_execveat, file, c"".as_ptr(), &[c"true".as_ptr(), null()], &[null::<c_void>()], libc::AT_EMPTY_PATH) },
    "ptrace" => |_| call!(libc::SYS_ptrace, libc::PTRACE_TRACEME, 0, 0_usize, 0_usize),
    "process_vm_readv" => |_| vm(libc::SYS_process_vm_readv),
    "process_vm_writev" => |_| vm(libc::SYS_process_vm_writev),
    "kill_parent" => |_| call!(libc::SYS_kill, parent(), 0),
    "kill_all" => |_| call!(libc::SYS_kill, -1, 0),
    "tgkill_parent" => |_| call!(libc::SYS_tgkill, parent(), parent(), 0),
    "tkill_parent" => |_| call!(libc::SYS_tkill, parent(), 0),
    "pidfd_open" => |_| call!(libc::SYS_pidfd_open, parent(), 0),
    "signal_by_descriptor" => |prepared| call!(libc::SYS_fcntl, prepared.tcp, libc::F_SETOWN, parent()),
    "limit_of_parent" => |_| call!(libc::SYS_prlimit64, parent(), libc::RLIMIT_NOFILE, 0_usize, &mut [0_u64; 2]),
    "priority_of_parent" => |_| call!(libc::SYS_setpriority, 0, parent(), 19),
    "policy_of_parent" => |_| call!(libc::SYS_sched_setscheduler, parent(), libc::SCHED_OTHER, &0_i32),
    "affinity_of_parent" => |_| call!(libc::SYS_sched_setaffinity, parent(), 128_usize, &[u8::MAX; 128]),
    // Memory that can be executed.
    "mprotect_exec" => |_| { let page = map(READ_WRITE, PRIVATE, -1); call!(libc::SYS_mprotect, page, PAGE, READ_EXEC) },
    "pkey_mprotect_exec" => |_| { let page = map(READ_WRITE, PRIVATE, -1);
        call!(libc::SYS_pkey_mprotect, page, PAGE, READ_EXEC, -1) },
    "mmap_exec" => |_| map(READ_EXEC, PRIVATE, -1) as c_long,
    "memfd_mmap_exec" => |prepared| map(READ_EXEC, libc::MAP_PRIVATE, memfd(&prepared.program)) as c_long,
    "read_implies_exec" => |_| call!(libc::SYS_personality, 0x040_0000),
    // Its own walls.
    "setrlimit" => |_| call!(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, &lower_limit(), 0_usize),
    "be_dumpable" => |_| call!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 1, 0, 0, 0),
    "outlive_parent" => |_| call!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, 0, 0, 0, 0),
    "seccomp" => |_| call!(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &libc::SECCOMP_RET_ALLOW),
    // The kernel.
    "unshare" => |_| call!(libc::SYS_unshare, libc::CLONE_NEWUSER),
    "unshare_network" => |_| call!(libc::SYS_unshare, libc::CLONE_NEWUSER | libc::CLONE_NEWNET),
    "unshare_network_only" => |_| call!(libc::SYS_unshare, libc::CLONE_NEWNET),
    "setns" => |_| call!(libc::SYS_setns, 0, 0),
    "mount" => |_| call!(libc::SYS_mount, c"none".as_ptr(), c"/tmp/no/such/folder".as_ptr(), c"tmpfs".as_ptr(), 0, 0_usize),
    "chroot" => |_| call!(libc::SYS_chroot, c"/no/such/folder".as_ptr()),
    "io_uring_setup" => |_| call!(libc::SYS_io_uring_setup, 1, &mut [0_u64; 16]),
    "bpf" => |_| call!(libc::SYS_bpf, 0, &[0_u64; 16], 128),
    "perf_event_open" => |_| call!(libc::SYS_perf_event_open, &[0_u64; 16], 0, -1, -1, 0),
    "userfaultfd" => |_| call!(libc::SYS_userfaultfd, 1),
    "kexec_load" => |_| call!(libc::SYS_kexec_load, 0, 0, 0_usize, u64::MAX),
    "init_module" => |_| call!(libc::SYS_init_module, 0_usize, 0, 0_usize),
    "keyctl" => |_| call!(libc::SYS_keyctl, 0, -1, 0),
    "reboot" => |_| call!(libc::SYS_reboot, 0, 0, 0, 0_usize), // without the magic numbers, it never does
    "notification_pipe" => |_| call!(libc::SYS_pipe2, &mut [0_i32; 2], libc::O_EXCL),
    "shmget" => |_| call!(libc::SYS_shmget, libc::IPC_PRIVATE, PAGE, 0o700),
    "msgget" => |_| call!(libc::SYS_msgget, libc::IPC_PRIVATE, 0o700),
    "type_into_terminal" => |_| call!(libc::SYS_ioctl, 0, libc::TIOCSTI, b"x"),
    // Calls by other numbers than those of this processor's usual ones.
    #[cfg(target_arch = "x86_64")] "x32" => |_| call!(0x4000_0000 + libc::SYS_getpid),
    #[cfg(target_arch = "x86_64")] "int_80" => |_| int_80(),
};

fn code<T>(result: io::Result<T>) -> c_long {
    match result {
        Ok(_) => 0,
        Err(error) => {
            let code = error.raw_os_error().unwrap_or(0);
            unsafe { *libc::__errno_location() = code };
            -1
        }
    }
}

fn parent() -> c_int {
    unsafe { libc::getppid() }
}

/// Ends a child that was forked, and waits for it.
fn in_child(result: c_long) -> c_long {
    if result == 0 {
        unsafe { libc::_exit(0) };
    }
    if result > 0 {
        unsafe { libc::waitpid(result as c_int, std::ptr::null_mut(), 0) };
    }
    result
}

/// `struct clone_args` of a fork.
fn clone_arguments() -> [u64; 8] {
    let mut arguments = [0; 8];
    arguments[4] = libc::SIGCHLD as u64;
    arguments
}

/// A child that shares this process's memory, on a stack of its own.
fn vfork() -> c_int {
    extern "C" fn end(_: *mut c_void) -> c_int {
        0
    }
    let stack = map(READ_WRITE, PRIVATE, -1) as usize + PAGE;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    unsafe { libc::clone(end, stack as *mut c_void, flags, std::ptr::null_mut()) }
}

fn loopback() -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 9_u16.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    }
}

fn map(access: c_int, flags: c_int, file: c_int) -> isize {
    unsafe { libc::mmap(std::ptr::null_mut(), PAGE, access, flags, file, 0) as isize }
}

fn memfd(bytes: &[u8]) -> c_int {
    let file = unsafe { libc::memfd_create(c"program".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(file >= 0, "files in memory are allowed");
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = unsafe { libc::write(file, rest.as_ptr().cast(), rest.len()) };
        rest = &rest[usize::try_from(written).expect("it can be written")..];
    }
    file
}

/// Reads or writes a byte of this process itself, which the system always allows.
fn vm(number: c_long) -> c_long {
    let (from, to) = (7_u8, 0_u8);
    let [from, to] = [&raw const from, &raw const to]
        .map(|byte| libc::iovec { iov_base: byte as *mut c_void, iov_len: 1 });
    call!(number, libc::getpid(), &to, 1_usize, &from, 1_usize, 0_usize)
}

/// Limits that hold less than usual, which everybody may set without walls.
fn lower_limit() -> [u64; 2] {
    [64, 64]
}

/// A call by the numbers of 32-bit programs.
#[cfg(target_arch = "x86_64")]
fn int_80() -> c_long {
    let mut result: u64 = 20; // `getpid`
    unsafe { std::arch::asm!("int 0x80", inout("rax") result) };
    result as c_long
}
