//! A host on a machine that lacks what others have: `/proc`, cgroups, batteries, sensors. It says so once, and the rest
//! works. And one with a cgroup of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sateen_tests::cluster::{Cluster, SOON, until};
use sateen_tests::guests::of_host;

/// The command after `script`, which has its words as `$@`.
fn by_shell(host: &Command, shell: &[&str], script: &str, word: &Path) -> Command {
    let mut command = Command::new(shell[0]);
    command.args(&shell[1..]).args(["sh", "-c", &format!("{script} && exec \"$@\"")]).arg(word);
    command.args(std::iter::once(host.get_program()).chain(host.get_args()));
    for (name, value) in host.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

#[test]
fn what_a_machine_lacks_is_said_once_and_the_rest_works() {
    const NOTHING: &str = "mount -t tmpfs none /proc && mount -t tmpfs none /sys";
    let mut cluster = Cluster::start(&[]);
    let shell = ["unshare", "--mount"];
    let mut tried = by_shell(&Command::new("true"), &shell, NOTHING, Path::new("x"));
    if !tried.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: this machine lets nobody hide /proc");
        return;
    }
    let url = format!("http://{}", cluster.address());
    let mut host = cluster.host_command("ada", "here", &url);
    host.args(["--memory", "1536M", "--share-idle", "90"]);
    cluster.start_host_command("ada", by_shell(&host, &shell, NOTHING, Path::new("x")));
    cluster.await_hosts(1);
    cluster.done(cluster.submit("nqueens", &["14"]), "365596\n");
    cluster.done(cluster.submit("fib", &["30"]), "832040\n");
    let log = cluster.host_log("ada");
    for (missing, times) in [
        ("no battery that can be read", 1),
        ("no temperature of its processors", 1),
        ("does not report the load of its processors", 1),
        ("does not report the power of its processors", 1),
        ("does not say how much memory a process has", 1),
        ("guests have no cgroup of their own", 1),
        ("panicked", 0),
    ] {
        assert_eq!(log.matches(missing).count(), times, "{missing}: {log}");
    }
    let status = cluster.tell_host("ada", &["status"]);
    let status = status.text();
    for line in [
        "first to end when memory runs out: /proc/self/oom_score_adj cannot be written",
        "a cgroup of its own: /proc/self/cgroup cannot be read",
        "no battery that can be read",
    ] {
        assert!(status.contains(line), "{line}: {status}");
    }
    // What is known without files is known: the processor time of its guests.
    let about = cluster.host_status("ada");
    assert!(about["processor_s"].as_f64() > Some(0.2), "{about:#}");
}

/// A cgroup of this test's own, if this machine lets it make one. It is removed when it is empty.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let mount = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let at = mount.filter(|fields| fields.get(2) == Some(&"cgroup2")).find_map(|fields| {
            let folder = Path::new(*fields.get(1)?).join(format!("sateen-test-{}", std::process::id()));
            fs::create_dir(&folder).ok().map(|()| folder)
        });
        at.map(Self)
    }

    fn of(process: u32) -> String {
        let text = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
        text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for part in ["guests", "host", ""] {
            let _ = fs::remove_dir(self.0.join(part));
        }
    }
}

#[test]
fn guests_have_cgroups_of_their_own_where_the_host_has_one() {
    let Some(group) = Group::new() else {
        eprintln!("skipped: this machine lets nobody make a cgroup");
        return;
    };
    let mut cluster = Cluster::start(&[]);
    let host = cluster.host_command("ada", "here", &format!("http://{}", cluster.address()));
    let enter = "echo $$ > \"$0/cgroup.procs\"";
    cluster.start_host_command("ada", by_shell(&host, &["env"], enter, &group.0));
    cluster.await_hosts(1);
    let run = cluster.submit("nqueens", &["16"]);
    let ada = cluster.host_process("ada");
    let name = group.0.file_name().and_then(OsStr::to_str).expect("a name").to_owned();
    assert_eq!(Group::of(ada), format!("/{name}/host"));
    let guests = until("a process of guests", SOON, || of_host(ada).into_iter().next());
    // It begins in the host's, and is moved before it is given anything to run.
    cluster.api().run_until(run, "begun", SOON, |about| about["jobs"]["spawned"].as_u64() > Some(0));
    assert_eq!(Group::of(guests), format!("/{name}/guests/1"));
    until("it is reported", SOON, || {
        let status = cluster.tell_host("ada", &["status"]);
        status.text().contains("a cgroup of its own: up").then_some(())
    });
    cluster.done(run, "14772512\n");
    until("its cgroup is removed", SOON, || (!group.0.join("guests/1").exists()).then_some(()));
    cluster.kill_host("ada");
}
