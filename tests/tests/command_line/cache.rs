//! The cache of compiled modules is trusted only as far as it deserves.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sateen_tests::command::{Ended, app, command, ended, probe_command};
use tempfile::TempDir;

fn folder() -> TempDir {
    TempDir::new().expect("a temporary folder can be made")
}

/// `fib 20` with the cache in `folder`.
fn run_fib(folder: &Path) -> Ended {
    ended(fib(folder))
}

fn fib(folder: &Path) -> Command {
    let mut command = command(["run".as_ref(), app("fib").as_os_str(), "20".as_ref()]);
    command.env("SATEEN_CACHE_DIR", folder);
    command
}

/// The compiled modules in the cache.
fn code(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("modules")).expect("the cache is there");
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|kind| kind == "code"))
        .collect();
    paths.sort();
    paths
}

fn only(folder: &Path) -> PathBuf {
    let mut all = code(folder);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_module_is_compiled_once_and_its_code_is_private() {
    let folder = folder();
    assert_eq!(run_fib(folder.path()).result(), "6765\n");
    let path = only(folder.path());
    let before = fs::read(&path).expect("it can be read");
    assert_eq!(run_fib(folder.path()).result(), "6765\n");
    assert_eq!(fs::read(only(folder.path())).expect("it can be read"), before);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o077;
    assert_eq!(mode(&folder.path().join("modules")), 0);
    assert_eq!(mode(&path) | mode(&folder.path().join("modules/secret")), 0);
}

#[test]
fn damaged_code_is_never_run_but_replaced() {
    let folder = folder();
    run_fib(folder.path()).result();
    let path = only(folder.path());
    let whole = fs::read(&path).expect("it can be read");
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    for damaged in [
        flipped(0),
        flipped(40),
        flipped(whole.len() / 2),
        flipped(whole.len() - 1),
        whole[..whole.len() / 2].to_vec(),
        whole[..10].to_vec(),
        Vec::new(),
        [whole.as_slice(), b"more"].concat(),
    ] {
        fs::write(&path, &damaged).expect("it can be written");
        assert_eq!(run_fib(folder.path()).result(), "6765\n");
        assert_eq!(fs::read(&path).expect("it can be read").len(), whole.len(), "it was made anew");
    }
}

/// Both files are complete and authentic, but their names are swapped.
#[test]
fn code_of_another_module_is_never_run() {
    let folder = folder();
    run_fib(folder.path()).result();
    let of_fib = only(folder.path());
    let mut probe = probe_command("balanced", &["10"]);
    probe.env("SATEEN_CACHE_DIR", folder.path());
    assert_eq!(ended(probe).result(), "55\n");
    let of_probe = code(folder.path()).into_iter().find(|path| *path != of_fib).expect("there are two");
    fs::copy(of_probe, &of_fib).expect("it can be copied");
    assert_eq!(run_fib(folder.path()).result(), "6765\n");
}

#[test]
fn another_secret_makes_all_code_a_miss() {
    let folder = folder();
    run_fib(folder.path()).result();
    let secret = folder.path().join("modules/secret");
    for other in [&[7; 32][..], b"short", b""] {
        fs::write(&secret, other).expect("it can be written");
        assert_eq!(run_fib(folder.path()).result(), "6765\n");
    }
    assert_eq!(fs::read(&secret).expect("it is there").len(), 32);
}

#[test]
fn a_cache_that_cannot_be_written_is_a_warning() {
    let folder = folder();
    let file = folder.path().join("file");
    fs::write(&file, "").expect("it can be written");
    for place in [file.as_path(), Path::new("/proc/sateen"), Path::new("/dev/null/sateen")] {
        let ended = run_fib(place);
        assert_eq!((ended.code, ended.text()), (Some(0), "6765\n"), "{ended:?}");
        ended.says_one_line(&["compiled modules are not kept"]);
    }
}

#[test]
fn a_folder_that_others_may_write_is_refused_with_a_warning() {
    let folder = folder();
    let modules = folder.path().join("modules");
    for mode in [0o777, 0o770, 0o702] {
        fs::create_dir_all(&modules).expect("it can be made");
        fs::set_permissions(&modules, fs::Permissions::from_mode(mode)).expect("it is ours");
        let ended = run_fib(folder.path());
        assert_eq!((ended.code, ended.text()), (Some(0), "6765\n"), "{ended:?}");
        ended.says_one_line(&["others may write to", "SATEEN_CACHE_DIR"]);
        assert_eq!(code(folder.path()), Vec::<PathBuf>::new(), "nothing is kept there");
    }
}

#[test]
fn no_cache_keeps_nothing() {
    let folder = folder();
    let mut command = fib(folder.path());
    command.arg("--no-cache");
    assert_eq!(ended(command).result(), "6765\n");
    assert!(!folder.path().join("modules").exists());
}

#[test]
fn first_runs_at_once_do_not_disturb_one_another() {
    let folder = folder();
    let children: Vec<_> = (0..8).map(|_| fib(folder.path()).spawn().expect("it can be started")).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice(), stderr.as_ref()),
            (Some(0), &b"6765\n"[..], "")
        );
    }
    only(folder.path());
    let files = fs::read_dir(folder.path().join("modules")).expect("it is there").count();
    assert_eq!(files, 2, "the secret and the code, and nothing left behind");
}

#[test]
fn runs_with_and_without_strict_nan_do_not_share_code() {
    let folder = folder();
    run_fib(folder.path()).result();
    let mut strict = fib(folder.path());
    strict.arg("--strict-nan");
    assert_eq!(ended(strict).result(), "6765\n");
    assert_eq!(code(folder.path()).len(), 2);
}
