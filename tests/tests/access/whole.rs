//! The whole way: an operator, a volunteer who joins with a key, a submitter, a result; then the volunteer is cut off.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use sateen_tests::cluster::{SOON, until};
use sateen_tests::command::{app, ended};
use serde_json::Value;

use crate::grid::{Grid, mode};

#[test]
fn a_run_is_computed_over_tls_by_a_host_that_has_joined_with_a_key() {
    let grid = Grid::with_own_certificate();
    grid.login("admin", &grid.admin);
    let kept = fs::read_dir(grid.folder.path().join("config-admin/credentials")).expect("it is kept");
    assert!(kept.flatten().all(|file| mode(&file.path()) == 0o600));
    // A key for one host.
    let key = grid.token(&["--scope", "volunteer", "--name", "for Eve", "--uses", "1"]);
    let key_file = grid.secret("key", &key);
    let (url, pin) = (grid.url(), grid.pin());
    let key_file = key_file.to_str().expect("text");
    let join = |name: &str| {
        let words =
            ["join", &url, "--key-file", key_file, "--pin", &pin, "--yes", "--no-start", "--name", "eve"];
        ended(grid.host_command(name, &words))
    };
    let joined = join("eve");
    assert_eq!(joined.code, Some(0), "{joined:?}");
    let credentials = grid.host_folder("eve").join("credentials.json");
    assert_eq!(mode(&credentials), 0o600);
    let kept = fs::read_to_string(&credentials).expect("readable");
    assert!(!kept.contains(&key), "the host has a token of its own");
    assert_eq!(join("eve").code, Some(0), "the same host may join again with the key that it has used");
    let again = join("mallory");
    assert_eq!(again.code, Some(4), "{again:?}");
    assert!(again.stderr.contains("`for Eve` was used already: 1 of 1"), "a join key used twice: {again:?}");
    // Without a word about keys: they are in the folder.
    let mut host = grid.start_host("eve", &[]);
    let hosts = || {
        let listed = grid.sateen("admin", &["hosts", "--json"]);
        serde_json::from_slice::<Vec<Value>>(&listed.stdout).unwrap_or_default().len()
    };
    until("the host is connected", SOON, || {
        assert!(!host.has_ended(), "{}", host.log());
        (hosts() == 1).then_some(())
    });
    let words = fs::read_to_string(format!("/proc/{}/cmdline", host.id())).expect("it runs");
    assert!(!words.contains("sateen_volunteer"), "other users see the command line");
    // A submitter, and somebody who may only look.
    grid.login("ada", &grid.token(&["--scope", "submitter", "--name", "ada"]));
    // From stdin, as in a script that gets the token from elsewhere.
    let token = grid.token(&["--scope", "viewer", "--name", "bob", "--expires", "30d"]);
    let mut login = grid.command_of("bob", &["login", &url, "--pin", &pin]);
    let mut login = login.stdin(Stdio::piped()).spawn().expect("it starts");
    writeln!(login.stdin.take().expect("piped"), "{token}").expect("it reads");
    let login = login.wait_with_output().expect("it ends");
    let said = String::from_utf8(login.stderr).expect("text");
    assert!(login.status.success() && said.contains("`bob`") && said.contains("valid until"), "{said}");
    let module = app("fib").display().to_string();
    let submitted = grid.sateen("ada", &["submit", "--wait", "--quiet", &module, "25"]);
    assert_eq!(submitted.code, Some(0), "{submitted:?}");
    assert_eq!(submitted.text(), "75025\n");
    assert_eq!(grid.sateen("ada", &["result", "1"]).text(), "75025\n");
    assert!(grid.sateen("bob", &["ps", "--all"]).text().contains("fib"));
    grid.sateen("bob", &["result", "1"]).fails_with(4, &["`bob`", "scope viewer", "submitter or admin"]);
    // The host's token is listed and revoked, and the host is notified.
    let listed = grid.sateen("admin", &["token", "ls"]);
    for part in ["root", "for Eve", "used up", "1 of 1", "eve", "ada", "bob"] {
        assert!(listed.text().contains(part), "{}", listed.text());
    }
    let revoked = grid.sateen("admin", &["token", "revoke", "eve"]);
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    let refused = until("the host says why it is refused", SOON, || {
        grid.host_status("eve")["refused"].as_str().map(str::to_owned)
    });
    assert!(refused.contains("the token `eve` was revoked"), "{refused}");
    assert!(host.log().contains("the coordinator refuses this host"), "{}", host.log());
    let audit = grid.sateen("admin", &["audit", "--limit", "1000"]);
    assert_eq!(audit.code, Some(0), "{audit:?}");
    for part in
        ["root (token 1)", "host `eve`, token 3", "ada (token 4)", "run 1", "token 3 `eve`", "used already"]
    {
        assert!(audit.text().contains(part), "{part}: {}", audit.text());
    }
    grid.sateen("ada", &["audit"]).fails_with(4, &["`ada`", "admin"]);
    let out = grid.sateen("ada", &["logout", &url]);
    assert_eq!(out.code, Some(0), "{out:?}");
    // The authority is forgotten with the token.
    grid.sateen("ada", &["ps"]).fails_with(4, &["not signed by an authority"]);
}

#[test]
fn a_fleet_shares_a_key_that_is_given_by_a_file_or_by_the_environment() {
    let grid = Grid::with_own_certificate();
    grid.login("admin", &grid.admin);
    let key = grid.token(&["--scope", "volunteer", "--name", "fleet"]);
    let key_file = grid.secret("key", &key);
    let pin = grid.pin();
    let one = grid.start_host("one", &["--key-file", key_file.to_str().expect("text"), "--pin", &pin]);
    let mut command = grid.host_command("two", &["--pin", &pin]);
    command.args([
        "--dedicated",
        "--coordinator",
        &grid.url(),
        "--name",
        "two",
        "--threads",
        "1",
        "--direct",
        "off",
    ]);
    command.env("SATEEN_JOIN_KEY", &key);
    let two = sateen_tests::cluster::Process::start("two", command, grid.folder.path());
    until("both are connected", SOON, || {
        let listed = grid.sateen("admin", &["hosts"]);
        ["one", "two"].iter().all(|name| listed.text().contains(name)).then_some(())
    });
    drop((one, two));
    // Without a key, the refusal says what a host needs, and how it gets it.
    let _three = grid.start_host("three", &["--pin", &pin]);
    let refused = until("the host says why it is refused", SOON, || {
        grid.host_status("three")["refused"].as_str().map(str::to_owned)
    });
    assert!(refused.contains("join key") && refused.contains("--key-file"), "{refused}");
}

#[test]
fn a_host_takes_the_runs_of_submitters_that_its_owner_allows() {
    let grid = Grid::with_own_certificate();
    grid.login("admin", &grid.admin);
    let key = grid.token(&["--scope", "volunteer", "--name", "fleet"]);
    let key_file = grid.secret("key", &key).display().to_string();
    let pin = grid.pin();
    for name in ["ada", "eve"] {
        grid.login(name, &grid.token(&["--scope", "submitter", "--name", name]));
    }
    let with_key = ["--key-file", &key_file, "--pin", &pin];
    let picky = grid.start_host("picky", &[&with_key[..], &["--submitters-allowed", "ada, bob"]].concat());
    let module = app("fib").display().to_string();
    let of_ada = grid.sateen("ada", &["submit", "--wait", "--quiet", &module, "25"]);
    assert_eq!((of_ada.code, of_ada.text()), (Some(0), "75025\n"), "{of_ada:?}");
    // Checks of a run are refused as the run itself is.
    let of_eve = ["submit", "--trust", "quorum=2", &module, "24"];
    let of_eve = grid.sateen("eve", &of_eve).text().trim().to_owned();
    until("it is refused", SOON, || {
        let status = grid.sateen("eve", &["status", &of_eve]);
        status.text().contains("its owner allows other submitters only").then_some(())
    });
    let others = ["one", "two"]
        .map(|name| grid.start_host(name, &[&with_key[..], &["--submitters-refused", "mallory"]].concat()));
    let result = grid.sateen("eve", &["wait", &of_eve]);
    assert_eq!(result.code, Some(0), "{result:?}");
    assert_eq!(grid.sateen("eve", &["result", &of_eve]).text(), "46368\n");
    let log = picky.log();
    assert!(log.contains("submitters-allowed"), "{log}");
    drop(others);
}
