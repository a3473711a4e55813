//! A coordinator whose operator accepts no releases before one.

use std::process::Stdio;

use sateen_protocol::message::{ToCoordinator, ToHost};

use crate::host::{Host, hello};
use crate::server::{Server, command, detail};

const MINIMUM: &str = "3.1.4";

fn start(flags: &[&str]) -> Server {
    let folder = tempfile::tempdir().expect("a folder");
    let child = command(folder.path()).args(flags).stdout(Stdio::piped()).spawn();
    Server::from_child(child.expect("it starts"), folder)
}

fn of_release(release: &str) -> ToCoordinator {
    let mut message = hello("one", None, Vec::new());
    if let ToCoordinator::Hello { report, .. } = &mut message {
        release.clone_into(&mut report.version);
    }
    message
}

#[test]
fn hosts_and_clients_before_the_minimum_are_refused_with_what_to_update() {
    let server = start(&["--minimum-version", MINIMUM]);
    assert_eq!(server.json("/version")["minimum_version"], MINIMUM);

    let mut old = Host::connect(&server.address);
    old.send(&[of_release("3.1.3")]);
    let why = old.cut_off().0.expect("a refusal");
    assert!(
        why.contains("sateen-host 3.1.3 is too old") && why.contains("update sateen-host to 3.1.4"),
        "{why}"
    );
    let mut new = Host::connect(&server.address);
    new.send(&[of_release("3.2.0")]);
    new.until(|message| matches!(message, ToHost::Welcome { .. }).then_some(()));
    let status = server.json("/api/v1/status");
    assert_eq!(
        (&status["hosts"], &status["misbehaviours"]),
        (&1.into(), &0.into()),
        "an old host does nothing wrong"
    );

    for (agent, program) in [("sateen/3.1.3", "sateen"), ("sateen-python/0.1.0", "sateen-python")] {
        let (status, why) = detail(server.get_with("/api/v1/hosts", ("user-agent", agent)));
        assert_eq!(status, 403);
        let words =
            [&agent.replace('/', " "), "accepts release 3.1.4", &format!("update {program} to 3.1.4")];
        assert!(words.iter().all(|words| why.contains(words)), "{why}");
        // It can learn which release it needs.
        assert_eq!(server.get_with("/version", ("user-agent", agent)).0, 200);
    }
    for agent in ["sateen/3.1.4", "sateen-python/10.0.0", "curl/1.0.0", "Mozilla/5.0"] {
        assert_eq!(server.get_with("/api/v1/hosts", ("user-agent", agent)).0, 200, "{agent}");
    }
}

#[test]
fn without_a_minimum_all_releases_are_accepted() {
    let server = start(&[]);
    assert!(server.json("/version")["minimum_version"].is_null());
    let mut host = Host::connect(&server.address);
    host.send(&[of_release("0.0.1")]);
    host.until(|message| matches!(message, ToHost::Welcome { .. }).then_some(()));
    assert_eq!(server.get_with("/api/v1/hosts", ("user-agent", "sateen/0.0.1")).0, 200);
}
