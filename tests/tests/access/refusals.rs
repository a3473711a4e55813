//! What is refused at the start of a coordinator, and the messages for users of bad tokens.

use sateen_tests::cluster::{SOON, until};
use sateen_tests::command::ended;

use crate::grid::{Grid, program};

#[test]
fn an_address_that_others_reach_is_refused_without_tls_and_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data").display().to_string();
    let start = |words: &[&str]| {
        ended(program(
            "sateen-coordinator",
            &[&["--listen", "0.0.0.0:0", "--data-dir", &data], words].concat(),
        ))
    };
    let open = start(&[]);
    assert_eq!(open.code, Some(2), "{open:?}");
    for part in ["--tls-cert", "--tls-self-signed", "token new --scope admin", "--insecure", "127.0.0.1"] {
        assert!(open.stderr.contains(part), "how to do it right: {}", open.stderr);
    }
    let no_token = start(&["--tls-self-signed"]);
    assert!(no_token.code == Some(4) && no_token.stderr.contains("token new --scope admin"), "{no_token:?}");
    let made = ended(program("sateen-coordinator", &["token", "new", "--data-dir", &data]));
    assert_eq!(made.code, Some(0), "{made:?}");
    for (words, part) in [
        (&["--tls-cert", "/nowhere.pem", "--tls-key", "/nowhere.key"][..], "/nowhere.pem"),
        (&["--tls-cert", "/nowhere.pem"], "--tls-key"),
    ] {
        let refused = start(words);
        assert!(refused.code == Some(2) && refused.stderr.contains(part), "{refused:?}");
    }
}

#[test]
fn an_insecure_coordinator_says_so_loudly() {
    let grid = Grid::start(&["--insecure", "--log-level", "error"]);
    let log = grid.coordinator.log();
    assert!(log.contains("WARNING") && log.contains("anyone who can reach it"), "{log}");
    let url = format!("http://127.0.0.1:{}", grid.port);
    let overview = sateen_tests::cluster::Api::new(&url).get("/api/v1/overview");
    assert!(
        overview["alerts"][0]["text"].as_str().is_some_and(|text| text.contains("--insecure")),
        "{overview}"
    );
    let login = grid.sateen("anyone", &["login", &url]);
    assert_eq!(login.code, Some(0), "{login:?}");
    login.says_one_line(&["needs no token"]);
    grid.sateen("anyone", &["token", "ls", "--coordinator", &url])
        .fails_with(2, &["needs no tokens", "--require-tokens"]);
}

#[test]
fn users_of_bad_tokens_are_told_what_is_wrong_and_what_to_do() {
    let grid = Grid::with_own_certificate();
    grid.login("admin", &grid.admin);
    let with = |token: &str, words: &[&str]| {
        let mut command = grid.command_of("admin", words);
        command.env("SATEEN_TOKEN", token);
        ended(command)
    };
    with(&format!("sateen_admin_{}", "0".repeat(64)), &["ps"]).fails_with(4, &["does not know the token"]);
    with("hunter2", &["ps"]).fails_with(2, &["SATEEN_TOKEN", "not a token"]);
    let short = grid.token(&["--scope", "submitter", "--name", "short", "--expires", "1s"]);
    until("it has expired", SOON, || (with(&short, &["ps"]).code != Some(0)).then_some(()));
    with(&short, &["ps"]).fails_with(4, &["`short` expired at", "by the coordinator's clock"]);
    let viewer = grid.token(&["--scope", "viewer", "--name", "screen"]);
    with(&viewer, &["cancel", "1"]).fails_with(4, &["`screen`", "scope viewer", "submitter or admin"]);
    let (module, publishes) =
        (sateen_tests::command::app("fib").display().to_string(), ["`screen`", "scope viewer", "submitter"]);
    with(&viewer, &["submit", &module, "20"]).fails_with(4, &publishes);
    with(&viewer, &["publish", &module]).fails_with(4, &publishes);
    with(&viewer, &["token", "ls"]).fails_with(4, &["`screen`", "admin"]);
    assert_eq!(grid.sateen("admin", &["token", "revoke", "screen"]).code, Some(0));
    with(&viewer, &["ps"]).fails_with(4, &["`screen` was revoked at"]);
    grid.sateen("admin", &["token", "revoke", "nobody"]).fails_with(2, &["`nobody`", "sateen token ls"]);
    grid.sateen("admin", &["token", "new", "--scope", "root"])
        .fails_with(2, &["root", "volunteer, submitter"]);
    let url = grid.url();
    let login = grid.secret("wrong", &viewer);
    let words = ["login", &url, "--token-file", login.to_str().expect("text")];
    grid.sateen("admin", &words).fails_with(4, &["`screen` was revoked"]);
    assert_eq!(grid.sateen("admin", &["ps"]).code, Some(0), "the token that was kept before still is");
    let missing = ["ps", "--token-file", "/nowhere"];
    grid.sateen("admin", &missing).fails_with(2, &["/nowhere", "no such file"]);
    grid.sateen("nobody", &["logout", &url]).fails_with(2, &["no login"]);
}
