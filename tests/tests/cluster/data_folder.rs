//! Unusable data folders: each gets a clear error, and nothing is damaged.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use sateen_tests::cluster::{Cluster, binary, free_address};
use sateen_tests::command::{Ended, ended};

use crate::answers::QUEENS;

/// Starts a binary that is expected to end by itself at once.
fn refused(name: &str, words: &[&str], folder: &Path) -> Ended {
    let mut command = Command::new(binary(name));
    command.args(words).arg("--data-dir").arg(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended(command)
}

#[track_caller]
fn assert_refused(ended: &Ended, words: &[&str]) {
    assert!(ended.code.is_some_and(|code| code > 0), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    for word in words {
        assert!(ended.stderr.contains(word), "`{word}` is not in {}", ended.stderr);
    }
}

#[test]
fn a_data_folder_that_is_in_use() {
    let cluster = Cluster::start_beside_others(&[("ada", "here")]);
    let listen = free_address().to_string();
    let folder = cluster.data_folder("coordinator");
    let second = refused("sateen-coordinator", &["--listen", &listen], &folder);
    assert_refused(&second, &["in use", &folder.display().to_string(), "--data-dir"]);
    assert_eq!(second.code, Some(4));
    let folder = cluster.data_folder("ada");
    let url = format!("http://{}", cluster.address());
    let second = refused("sateen-host", &["--coordinator", &url], &folder);
    assert_refused(&second, &["in use", &folder.display().to_string(), "--data-dir"]);
    assert_eq!(second.code, Some(4));
    // The first processes are unaffected.
    cluster.done(cluster.submit("nqueens", &["12"]), "14200\n");
}

#[test]
fn an_address_that_is_in_use() {
    let cluster = Cluster::start_beside_others(&[]);
    let listen = cluster.address().to_string();
    let second = refused("sateen-coordinator", &["--listen", &listen], &cluster.data_folder("other"));
    assert_refused(&second, &[&listen, "--listen"]);
}

#[test]
fn a_data_folder_of_a_newer_version() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    fs::write(folder.path().join("version"), "99\n").expect("it can be written");
    let ended = refused("sateen-host", &[], folder.path());
    assert_refused(&ended, &["newer", "99"]);
    let left: Vec<_> = fs::read_dir(folder.path()).expect("it can be read").collect();
    assert_eq!(left.len(), 1, "nothing was changed: {left:?}");
}

#[test]
fn a_data_folder_that_is_a_file() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let listen = free_address().to_string();
    let ended = refused("sateen-coordinator", &["--listen", &listen], file.path());
    assert_refused(&ended, &[&file.path().display().to_string()]);
    let ended = refused("sateen-host", &[], file.path());
    assert_refused(&ended, &[&file.path().display().to_string()]);
}

/// A folder in which not even root may write.
#[test]
fn a_data_folder_that_cannot_be_written() {
    let listen = free_address().to_string();
    let ended = refused("sateen-coordinator", &["--listen", &listen], Path::new("/proc/sateen"));
    assert_refused(&ended, &["/proc/sateen"]);
    // A host still works, but saves nothing, and reports that.
    let mut cluster = Cluster::start_beside_others(&[]);
    let url = format!("http://{}", cluster.address());
    let mut command = Command::new(binary("sateen-host"));
    command.args(["--coordinator", &url, "--name", "ada", "--data-dir", "/proc/sateen"]);
    command.args(["--priority", "normal", "--threads", "1"]);
    cluster.start_host_command("ada", command);
    cluster.await_hosts(1);
    cluster.done(cluster.submit("nqueens", &["12"]), "14200\n");
    assert!(cluster.host("ada").log().contains("/proc/sateen"), "{}", cluster.host("ada").log());
}

/// A store that a kill left corrupt costs its contents, and nothing else.
#[test]
fn a_corrupt_store_is_set_aside() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    cluster.done(cluster.submit("nqueens", &["12"]), "14200\n");
    cluster.kill_host("ada");
    let store = cluster.data_folder("ada").join("store");
    spoil(&store, |bytes| *bytes = vec![0xa5; 999]);
    cluster.start_host("ada", "here");
    cluster.await_hosts(1);
    cluster.done(cluster.submit("nqueens", &["13"]), "73712\n");
    // A truncated file.
    cluster.kill_host("ada");
    spoil(&store, |bytes| bytes.truncate(bytes.len() / 2));
    cluster.start_host("ada", "here");
    cluster.await_hosts(1);
    cluster.done(cluster.submit("nqueens", &["14"]), "365596\n");
    let log = cluster.host("ada").log();
    assert!(!log.contains("bug in Sateen"), "{log}");
}

/// A host whose disk is full keeps working, saves nothing and reports that; its earlier data can be opened.
#[test]
fn a_disk_that_is_full_in_the_middle_of_a_run() {
    let mut cluster = Cluster::start(&[("bob", "here")]);
    let folder = cluster.data_folder("ada");
    fs::create_dir_all(&folder).expect("a folder can be made");
    // A separate disk, which is unmounted with the process.
    let on_small_disk = |words: &[&std::ffi::OsStr]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", "mount -t tmpfs -o size=8m none \"$0\" && exec \"$@\""]);
        command.arg(&folder).args(words);
        command
    };
    if !on_small_disk(&["true".as_ref()]).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: this machine lets nobody mount a small disk");
        return;
    }
    let host = cluster.host_command("ada", "here", &format!("http://{}", cluster.address()));
    let words: Vec<_> = std::iter::once(host.get_program()).chain(host.get_args()).collect();
    cluster.start_host_command("ada", on_small_disk(&words));
    cluster.await_hosts(2);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let inside = format!("/proc/{}/root{}", cluster.host("ada").id(), folder.display());
    let filler = fs::File::create(Path::new(&inside).join("filler")).expect("the disk has room");
    let full = std::io::copy(&mut std::io::repeat(1), &mut &filler).expect_err("it has an end");
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull, "{full}");

    cluster.done(run, QUEENS.2);
    let log = cluster.host("ada").log();
    assert!(log.contains("nothing is saved on this machine from now on"), "{log}");
    assert!(log.contains("disk full: results are not saved here; free some space"), "{log}");
    assert!(!log.contains("panicked"), "{log}");

    // The state of the disk after a power cut.
    cluster.host("ada").signal("STOP");
    copy(Path::new(&inside), &cluster.data_folder("eve"));
    cluster.kill_host("ada");
    fs::remove_file(cluster.data_folder("eve").join("filler")).expect("it was copied");
    cluster.start_host("eve", "here");
    cluster.await_hosts(2);
    cluster.done(cluster.submit("nqueens", &["12"]), "14200\n");
    let log = cluster.host("eve").log();
    assert!(!log.contains("set aside"), "{log}");
}

/// The first error from a full disk says so, names the folder and says what to do.
#[test]
fn a_disk_that_is_full_from_the_start() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let fill = "mount -t tmpfs -o size=64k,mode=700 none \"$0\" && ! cat /dev/zero >\"$0/lost+found\" 2>/dev/null && exec \"$@\"";
    let on_full_disk = |words: &[&std::ffi::OsStr]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", fill]).arg(folder.path()).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    if !on_full_disk(&["true".as_ref()]).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: this machine lets nobody mount a small disk");
        return;
    }
    let name = folder.path().display().to_string();
    let words = ["disk full: ", name.as_str(), "; free some space"];
    let program = binary("sateen-coordinator");
    let data = folder.path().as_os_str();
    let ended = ended(on_full_disk(&[
        program.as_ref(),
        "--listen".as_ref(),
        "127.0.0.1:0".as_ref(),
        "--data-dir".as_ref(),
        data,
    ]));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_refused(&ended, &words);
    assert!(!ended.stderr.contains("os error") && ended.stderr.lines().count() == 1, "{ended:?}");

    // A host still works, saves nothing and reports the reason.
    let mut cluster = Cluster::start_beside_others(&[]);
    let url = format!("http://{}", cluster.address());
    let program = binary("sateen-host");
    let mut host = on_full_disk(&[
        program.as_ref(),
        "--name".as_ref(),
        "ada".as_ref(),
        "--priority".as_ref(),
        "normal".as_ref(),
        "--threads".as_ref(),
        "1".as_ref(),
        "--coordinator".as_ref(),
        url.as_ref(),
        "--data-dir".as_ref(),
        data,
    ]);
    host.stdout(Stdio::null());
    cluster.start_host_command("ada", host);
    cluster.await_hosts(1);
    cluster.done(cluster.submit("nqueens", &["12"]), "14200\n");
    let log = cluster.host("ada").log();
    assert!(words.iter().all(|word| log.contains(word)) && !log.contains("os error"), "{log}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("it can be read").map_while(Result::ok) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else if path.is_file() {
            fs::copy(&path, to.join(name)).expect("it can be copied");
        }
    }
}

/// Overwrites all files below `folder`.
fn spoil(folder: &Path, how: fn(&mut Vec<u8>)) {
    for entry in fs::read_dir(folder).expect("the store is there").map_while(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            spoil(&path, how);
        } else {
            let mut bytes = fs::read(&path).expect("it can be read");
            how(&mut bytes);
            fs::write(&path, bytes).expect("it can be written");
        }
    }
}
