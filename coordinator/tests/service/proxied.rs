//! Clients behind a proxy that names them.

use std::process::Stdio;

use crate::guarded::{Guarded, make_offline};
use crate::server::{Answer, RawRequest, Server, command, detail};

const PROXY: &str = "127.0.0.2";
const CLIENT: &str = "203.0.113.9";

fn start() -> Guarded {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, admin, said) = make_offline(&folder, &[]);
    assert_eq!(code, Some(0), "{said}");
    let flags = ["--trusted-proxy", PROXY, "--trusted-proxy", "127.0.1.0/24"];
    let child = command(folder.path()).args(flags).stdout(Stdio::piped()).spawn();
    Guarded { server: Server::from_child(child.expect("it starts"), folder), admin }
}

fn request(guarded: &Guarded, from: &str, header: &[u8], token: &str) -> RawRequest {
    let mut request = RawRequest::open(&guarded.server.address, from);
    let head = format!(
        "GET /api/v1/status HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
        guarded.server.address
    );
    // It may be closed meanwhile.
    let _ = request.try_send(header) && request.try_send(head.as_bytes());
    request
}

fn of_client(guarded: &Guarded, client: &str, token: &str) -> Answer {
    let header = format!("PROXY TCP4 {client} 192.0.2.1 4711 443\r\n");
    request(guarded, PROXY, header.as_bytes(), token).answer()
}

#[test]
fn each_client_behind_a_proxy_has_limits_of_its_own() {
    let guarded = start();
    assert_eq!(of_client(&guarded, CLIENT, &guarded.admin).0, 200);
    let forged = |number: u32| format!("sateen_viewer_{number:064x}");
    let statuses: Vec<u16> = (0..40).map(|number| of_client(&guarded, CLIENT, &forged(number)).0).collect();
    assert!(statuses.starts_with(&[401]) && statuses.ends_with(&[429]), "{statuses:?}");
    assert_eq!(
        of_client(&guarded, "203.0.113.10", &forged(99)).0,
        401,
        "a neighbour has sent nothing invalid"
    );
    let audit = guarded.json_as(&guarded.admin, "/api/v1/audit?limit=100");
    let of = |address: &str| audit.as_array().expect("a list").iter().any(|line| line["address"] == address);
    assert!(of(CLIENT) && of("203.0.113.10") && !of(PROXY), "{audit}");
}

#[test]
fn a_proxy_may_speak_for_itself_but_has_to_speak() {
    let guarded = start();
    let local = [b"\r\n\r\n\0\r\nQUIT\n\x20".as_slice(), &[0, 0, 0]].concat();
    for header in [&b"PROXY UNKNOWN\r\n"[..], &local] {
        assert_eq!(request(&guarded, "127.0.1.7", header, &guarded.admin).answer().0, 200);
        assert_eq!(request(&guarded, "127.0.1.7", header, "sateen_viewer_x").answer().0, 401);
    }
    let audit = guarded.json_as(&guarded.admin, "/api/v1/audit?limit=100").to_string();
    assert!(audit.contains("127.0.1.7"), "{audit}");
    for header in [&b""[..], b"PROXY TCP4 203.0.113.9\r\n", b"proxy tcp4"] {
        let mut socket = request(&guarded, PROXY, header, &guarded.admin).0;
        let mut answer = Vec::new();
        // It may be reset, as there are bytes that nobody read.
        let _ = std::io::Read::read_to_end(&mut socket, &mut answer);
        assert_eq!(String::from_utf8_lossy(&answer), "", "nothing is answered without a header");
    }
}

#[test]
fn nobody_else_can_claim_an_address() {
    let guarded = start();
    let header = format!("PROXY TCP4 {CLIENT} 192.0.2.1 4711 443\r\n");
    for from in ["127.0.0.1", "127.0.0.3", "127.0.2.1"] {
        assert_eq!(request(&guarded, from, header.as_bytes(), &guarded.admin).answer().0, 400, "{from}");
        assert_eq!(request(&guarded, from, b"", &guarded.admin).answer().0, 200, "{from}");
    }
}

#[test]
fn with_a_proxy_requests_need_tokens() {
    let guarded = start();
    let (status, why) = detail(guarded.server.get("/api/v1/status"));
    assert!(status == 401 && why.contains("token"), "{status} {why}");
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(folder.path()).args(["--trusted-proxy", PROXY]).stderr(Stdio::piped()).output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("token new --scope admin"), "{said}");
    for (wrong, why) in [("0.0.0.0/0", "every address"), ("proxy.example.org", "neither an IP address")] {
        let output = command(folder.path()).args(["--trusted-proxy", wrong]).stderr(Stdio::piped()).output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(why) && said.contains(wrong), "{said}");
    }
}
