//! Cgroups of the processes of guests, where the system has given the host a part of its tree: the system then bounds the
//! memory and the share of each process, whatever its guests do.
//!
//! A unit of systemd with `Delegate=` has a cgroup of its own. Since one that limits others has no processes itself, the host
//! moves into a leaf, where its compilers are as well:
//!
//! ```text
//! …/sateen-host.service/host        the host
//! …/sateen-host.service/guests      the share of all guests, and their memory together
//! …/sateen-host.service/guests/7    a process of guests, and its memory
//! ```

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sateen_command_line::explained;

use crate::limits::HOST_OVERHEAD_BYTES;
use crate::scheduler::Priority;

/// A controller that a host uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Cpu,
    Memory,
}

impl Controller {
    const ALL: [Self; 2] = [Self::Cpu, Self::Memory];

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

/// The part of the tree that is the host's.
#[derive(Debug)]
pub struct Cgroups {
    guests: PathBuf,
    controllers: Vec<Controller>,
    /// Memory of all guests together, in bytes.
    bytes_max: Option<u64>,
}

/// The cgroup of a process of guests. It is removed after the process.
#[derive(Debug)]
pub struct Cgroup {
    folder: PathBuf,
}

impl Cgroups {
    /// The cgroup of this process, whose guests may have this much memory together, if it is alone there and may change it.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn of_host(bytes_max: Option<u64>, priority: Priority) -> Result<Self, String> {
        let read = |path: &str| {
            fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {}", explained(&error)))
        };
        let folder = own_folder(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?)?;
        Self::within(&folder, std::process::id(), bytes_max, priority)
    }

    /// The same in this folder, for a host with this process.
    fn within(folder: &Path, host: u32, bytes_max: Option<u64>, priority: Priority) -> Result<Self, String> {
        let shown = folder.display();
        let failed = |what: &str, error: &io::Error| format!("{what} in {shown}: {}", explained(error));
        let inhabitants = fs::read_to_string(folder.join("cgroup.procs"));
        let inhabitants = inhabitants.map_err(|error| failed("its processes cannot be read", &error))?;
        if inhabitants.split_ascii_whitespace().any(|process| process != host.to_string()) {
            return Err(format!(
                "other programs are in {shown} as well; a service has one of its own (`sateen-host service install`)"
            ));
        }
        let leaf = folder.join("host");
        make(&leaf).map_err(|error| failed("none can be made", &error))?;
        fs::write(leaf.join("cgroup.procs"), host.to_string())
            .map_err(|error| failed("the host cannot be moved", &error))?;
        let guests = folder.join("guests");
        let controllers = Controller::ALL.into_iter().filter(|one| enable(folder, *one)).collect();
        make(&guests).map_err(|error| failed("none can be made", &error))?;
        let cgroups = Self { guests, controllers, bytes_max };
        if cgroups.has(Controller::Memory) {
            // The memory of each process is bounded as well.
            enable(&cgroups.guests, Controller::Memory);
        }
        if cgroups.has(Controller::Cpu) && priority == Priority::Idle {
            // The priority of threads orders those of one cgroup only. Older systems know weights alone.
            let is_idle = fs::write(cgroups.guests.join("cpu.idle"), "1").is_ok();
            let _ = is_idle || fs::write(cgroups.guests.join("cpu.weight"), "1").is_ok();
        }
        cgroups.sweep();
        Ok(cgroups)
    }

    /// Puts a process, which has not run any guest, into a cgroup of its own.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add(&self, member: u64, process: u32) -> io::Result<Cgroup> {
        self.sweep();
        let cgroup = Cgroup { folder: self.guests.join(member.to_string()) };
        make(&cgroup.folder)?;
        let groups = fs::read_dir(&self.guests)?.flatten();
        let count = groups.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).count() as u64;
        if let Some(bytes_max) = self.bytes_max.filter(|_| self.has(Controller::Memory)) {
            let overhead = HOST_OVERHEAD_BYTES as u64;
            let all = bytes_max.saturating_add(overhead.saturating_mul(count));
            limit(&self.guests, all)?;
            limit(&cgroup.folder, bytes_max.saturating_add(overhead))?;
        }
        fs::write(cgroup.folder.join("cgroup.procs"), process.to_string())?;
        Ok(cgroup)
    }

    /// The folder in which the share of all guests is limited, if it can be.
    pub fn share(&self) -> Option<&Path> {
        self.has(Controller::Cpu).then_some(&*self.guests)
    }

    fn has(&self, controller: Controller) -> bool {
        self.controllers.contains(&controller)
    }

    /// Removes the cgroups of processes that have ended: the system refuses it for others.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.guests).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl fmt::Display for Cgroups {
    /// `up`, with what the system does not limit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = Controller::ALL.into_iter().filter(|one| !self.has(*one));
        let missing: Vec<&str> = missing.map(Controller::name).collect();
        match missing.is_empty() {
            true => f.write_str("up"),
            false => write!(f, "up, without the system's controllers of {}", missing.join(" and ")),
        }
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // It is swept later if the process is still ending.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// A group that may be there from before.
fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Has a controller limit what is below this folder; returns whether it does.
fn enable(folder: &Path, controller: Controller) -> bool {
    let name = controller.name();
    let has = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
        text.split_ascii_whitespace().any(|one| one == name)
    };
    has("cgroup.controllers")
        && (has("cgroup.subtree_control")
            || fs::write(folder.join("cgroup.subtree_control"), format!("+{name}")).is_ok())
}

/// Bounds the memory of a group. Guests are not moved to the disk instead, where the system lets that be forbidden.
fn limit(folder: &Path, bytes: u64) -> io::Result<()> {
    fs::write(folder.join("memory.max"), bytes.to_string())?;
    let _ = fs::write(folder.join("memory.swap.max"), "0");
    let _ = fs::write(folder.join("memory.oom.group"), "1");
    Ok(())
}

/// The folder of a process's cgroup, according to its files `cgroup` and `mountinfo`.
fn own_folder(cgroup: &str, mounts: &str) -> Result<PathBuf, String> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"));
    let path = path.ok_or("this system has no cgroups of version 2")?;
    if path == "/" {
        return Err(
            "this process is at the root of the tree; a service has one of its own (`sateen-host service install`)"
                .to_owned(),
        );
    }
    // 35 25 0:30 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let fields: Vec<&str> = place.split(' ').collect();
        let [_, _, _, root, at, ..] = fields[..] else { return None };
        let below = if root == "/" { path } else { path.strip_prefix(root)? };
        kind.starts_with("cgroup2 ").then(|| Path::new(at).join(below.trim_start_matches('/')))
    });
    mount.ok_or_else(|| "cgroups of version 2 are not mounted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_folder_is_found() {
        let mounts = "24 1 0:22 / /proc rw - proc proc rw\n\
            35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let folder = |cgroup: &str, mounts: &str| own_folder(cgroup, mounts);
        assert_eq!(
            folder("0::/user.slice/sateen-host.service\n", mounts),
            Ok("/sys/fs/cgroup/user.slice/sateen-host.service".into())
        );
        let hybrid = "4:memory:/a\n0::/b/c\n";
        let elsewhere = "35 25 0:30 /b /run/cgroup rw - cgroup2 none rw\n";
        assert_eq!(folder(hybrid, elsewhere), Ok("/run/cgroup/c".into()));
        for (cgroup, mounts, why) in [
            ("4:memory:/a\n", mounts, "no cgroups of version 2"),
            ("0::/\n", mounts, "root of the tree"),
            ("0::/x\n", "", "not mounted"),
            ("0::/x\n", elsewhere, "not mounted"),
        ] {
            let error = folder(cgroup, mounts).expect_err(cgroup);
            assert!(error.contains(why), "{error}");
        }
    }

    /// A folder that stands for a cgroup with this process in it.
    fn group(controllers: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("cgroup.procs"), "42\n").expect("written");
        fs::write(folder.path().join("cgroup.controllers"), controllers).expect("written");
        folder
    }

    #[test]
    fn each_process_is_bounded_and_so_are_all_together() {
        let folder = group("cpuset cpu io memory pids\n");
        let cgroups = Cgroups::within(folder.path(), 42, Some(1 << 30), Priority::Idle).expect("it can");
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect(path);
        assert_eq!((read("host/cgroup.procs"), read("guests/cpu.idle")), ("42".to_owned(), "1".to_owned()));
        assert_eq!(cgroups.to_string(), "up");
        assert_eq!(cgroups.share(), Some(&*folder.path().join("guests")));
        let _first = cgroups.add(7, 1234).expect("added");
        let _second = cgroups.add(8, 1235).expect("added");
        let overhead = HOST_OVERHEAD_BYTES as u64;
        assert_eq!(read("guests/7/cgroup.procs"), "1234");
        assert_eq!(read("guests/8/memory.max"), ((1 << 30) + overhead).to_string());
        assert_eq!(read("guests/memory.max"), ((1 << 30) + 2 * overhead).to_string());
    }

    #[test]
    fn what_the_system_does_not_limit_is_said() {
        let folder = group("pids\n");
        let cgroups = Cgroups::within(folder.path(), 42, Some(1 << 30), Priority::Normal).expect("it can");
        assert_eq!(cgroups.to_string(), "up, without the system's controllers of cpu and memory");
        assert_eq!(cgroups.share(), None);
        let cgroup = cgroups.add(7, 1234).expect("added");
        assert!(!folder.path().join("guests/7/memory.max").exists());
        // As the system does when its process has ended.
        fs::remove_file(folder.path().join("guests/7/cgroup.procs")).expect("removed");
        drop(cgroup);
        assert!(!folder.path().join("guests/7").exists());
    }

    #[test]
    fn a_cgroup_of_others_is_left_alone() {
        let folder = group("cpu memory\n");
        fs::write(folder.path().join("cgroup.procs"), "41\n42\n").expect("written");
        let error = Cgroups::within(folder.path(), 42, None, Priority::Idle).expect_err("others are there");
        assert!(error.contains("other programs are in") && error.contains("service install"), "{error}");
        assert!(!folder.path().join("host").exists());
    }
}
