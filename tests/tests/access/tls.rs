//! Certificates: what is trusted, and the message for a client otherwise.

use std::fs;
use std::time::Instant;

use sateen_tests::cluster::{SOON, until};
use sateen_tests::command::ended;
use sateen_tests::websocket::shout;

use crate::certificates::Authority;
use crate::grid::Grid;

#[test]
fn another_authority_than_the_pinned_one_is_named_with_what_was_expected() {
    let grid = Grid::with_own_certificate();
    let (url, pin) = (grid.url(), grid.pin());
    let other = format!("sha256:{}", "ab".repeat(32));
    let token = grid.secret("token", &grid.admin);
    let token = token.to_str().expect("text");
    let login = ["login", &url, "--token-file", token];
    grid.sateen("admin", &[&login[..], &["--pin", &other]].concat())
        .fails_with(4, &["expected", &other, &pin]);
    let key = grid.secret("key", &format!("sateen_volunteer_{}", "1".repeat(64)));
    let words =
        ["join", &url, "--key-file", key.to_str().expect("text"), "--pin", &other, "--yes", "--no-start"];
    let join = ended(grid.host_command("host", &words));
    assert!(join.code == Some(4) && join.stderr.contains(&other) && join.stderr.contains(&pin), "{join:?}");
    assert!(!grid.host_folder("host").join("credentials.json").exists(), "nothing is kept");
    // Without a fingerprint, only public authorities are trusted.
    grid.sateen("admin", &login).fails_with(4, &["not signed by an authority", "--pin"]);
    let words = ["join", &url, "--key-file", key.to_str().expect("text"), "--yes", "--no-start"];
    let join = ended(grid.host_command("host", &words));
    assert!(join.code == Some(4) && join.stderr.contains("--pin"), "{join:?}");
    grid.sateen("admin", &["login", &url, "--pin", "sha256:1234"])
        .fails_with(2, &["--pin", "64 hexadecimal digits"]);
    // The right one, and a forged key.
    let words =
        ["join", &url, "--key-file", key.to_str().expect("text"), "--pin", &pin, "--yes", "--no-start"];
    let join = ended(grid.host_command("host", &words));
    assert!(join.code == Some(4) && join.stderr.contains("does not know the token"), "{join:?}");
}

#[test]
fn a_client_without_tls_or_with_needless_tls_gets_the_reason() {
    let grid = Grid::with_own_certificate();
    let plain = format!("http://127.0.0.1:{}", grid.port);
    let token = grid.secret("token", &grid.admin);
    let words = ["ps", "--coordinator", &plain, "--token-file", token.to_str().expect("text")];
    grid.sateen("admin", &words).fails_with(2, &["speaks TLS", "https://"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut without = crate::grid::program("sateen-coordinator", &["--listen", "127.0.0.1:0", "--data-dir"]);
    let mut child = without.arg(folder.path()).spawn().expect("it starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("readable");
    let address = line.trim().rsplit_once("http://").expect("an address").1.to_owned();
    let ended = grid.sateen("admin", &["ps", "--coordinator", &format!("https://{address}")]);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    ended.fails_with(4, &["does not speak TLS", "http://"]);
}

#[test]
fn a_client_that_stalls_in_the_handshake_is_cut_off() {
    let grid = Grid::with_own_certificate();
    let address = ([127, 0, 0, 1], grid.port).into();
    // The first byte of a handshake, and none.
    for begun in [&[22][..], &[]] {
        let since = Instant::now();
        assert_eq!(shout(address, begun), b"");
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
    }
    grid.login("admin", &grid.admin);
}

#[test]
fn a_certificate_for_another_name_is_named_and_a_new_one_is_used_without_a_restart() {
    let authority = Authority::new();
    let files = tempfile::tempdir().expect("a folder");
    let (certificate, key) = authority.write(files.path(), "grid.example.org");
    let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
    let grid =
        Grid::start(&["--tls-cert", &certificate, "--tls-key", &key, "--public-name", "grid.example.org"]);
    let (url, pin, token) = (grid.url(), authority.pin(), grid.secret("token", &grid.admin));
    let login = ["login", &url, "--token-file", token.to_str().expect("text"), "--pin", &pin];
    let wrong = ["expected one for 127.0.0.1", "it is for grid.example.org", "--public-name 127.0.0.1"];
    grid.sateen("admin", &login).fails_with(4, &wrong);
    // A key that does not match is not used: the last certificate stays.
    fs::write(&key, rcgen::KeyPair::generate().expect("a key").serialize_pem()).expect("written");
    until("the mistake is reported", SOON, || {
        grid.coordinator.log().contains("does not belong").then_some(())
    });
    grid.sateen("admin", &login).fails_with(4, &wrong);
    authority.write(files.path(), "127.0.0.1");
    until("the new certificate is used", SOON, || {
        (grid.sateen("admin", &login).code == Some(0)).then_some(())
    });
}
