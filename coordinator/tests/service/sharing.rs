//! What those who share a coordinator see of one another, the dashboard's login, and the audit log.

use sateen_protocol::message::ToHost;
use sateen_tests::websocket::WebSocket;

use crate::guarded::{Guarded, PUBLIC_NAME, start};
use crate::host::{Host, hello, text};
use crate::openapi::differences;
use crate::server::{RawRequest, detail, eventually};

#[test]
fn runs_and_results_are_for_their_submitter_and_admins() {
    let guarded = Guarded::start();
    let (ada, bob) = (guarded.token("submitter", "ada"), guarded.token("submitter", "bob"));
    let (viewer, volunteer) = (guarded.token("viewer", "eve"), guarded.token("volunteer", "farm"));
    assert_eq!(guarded.publish(&ada, "probe").0, 201);
    let run = guarded.submit(&ada);
    let mut host = Host::connect_with(&guarded.server.address, &volunteer);
    host.send(&[hello("one", None, Vec::new())]);
    host.until(|message| matches!(message, ToHost::Welcome { .. }).then_some(()));
    let (given, number) = host.take_root();
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    let of = |token: &str, path: &str| guarded.ask_as(token, "GET", path, b"");
    eventually("it is over", || {
        (guarded.json_as(&ada, &format!("/api/v1/runs/{run}"))["state"] == "done").then_some(())
    });
    let result = format!("/api/v1/runs/{run}/result");
    assert_eq!(of(&ada, &result), (200, b"42".to_vec()));
    assert_eq!(of(&guarded.admin, &result), (200, b"42".to_vec()));
    assert_eq!([of(&bob, &result).0, of(&viewer, &result).0, of(&volunteer, &result).0], [404, 403, 403]);
    for path in
        ["", "/overview", "/tree", "/log", "/timeline", "/wait?timeout_s=0", "/trace.json", "/jobs.csv"]
    {
        let path = format!("/api/v1/runs/{run}{path}");
        let statuses = [&ada, &bob, &viewer, &guarded.admin].map(|token| of(token, &path).0);
        assert_eq!(statuses, [200, 404, 200, 200], "{path}");
    }
    let (_, why) = guarded.refusal(&bob, "GET", &result);
    assert!(why.contains(&format!("no run {run} that this token submitted")), "{why}");
    for (method, path) in
        [("POST", format!("/api/v1/runs/{run}/cancel")), ("DELETE", format!("/api/v1/runs/{run}"))]
    {
        assert_eq!(guarded.refusal(&bob, method, &path).0, 404, "{method} {path}");
    }
    for list in ["/api/v1/runs", "/api/v1/overview"] {
        let has = |token: &str| guarded.json_as(token, list).to_string().contains("secret words");
        assert_eq!(
            [&ada, &bob, &viewer, &guarded.admin].map(|token| has(token)),
            [true, false, true, true],
            "{list}"
        );
    }
    let key = "/api/v1/jobs/0000000000000001";
    assert_eq!(guarded.refusal(&ada, "GET", key).0, 400, "without a run, all runs would be searched");
    assert_eq!(guarded.refusal(&bob, "GET", &format!("{key}?run={run}")).0, 404);
    let mut page = guarded.socket("/ws/watch", &bob).expect("a page");
    page.say(&format!(r#"{{"watch":["run/{run}","tree/{run}","grid"]}}"#));
    let heard =
        page.hear(&[r#""topic":"run/1","kind":"gone""#, r#""topic":"tree/1","kind":"gone""#, "alerts"]);
    assert!(!heard.contains("secret words"), "{heard}");
    let mut page = guarded.socket("/ws/watch", &ada).expect("a page");
    page.say(r#"{"watch":["grid"]}"#);
    page.hear(&["secret words"]);
    let Guarded { server, admin } = guarded;
    let guarded = Guarded { server: start(server.kill()), admin };
    let statuses = [&ada, &bob].map(|token| guarded.ask_as(token, "GET", &result, b"").0);
    assert_eq!(statuses, [200, 404], "after a restart");
}

#[test]
fn names_of_apps_belong_to_tokens_and_admins_may_take_them() {
    let guarded = Guarded::start();
    let (ada, bob) = (guarded.token("submitter", "ada"), guarded.token("submitter", "bob"));
    assert_eq!(guarded.publish(&ada, "probe").0, 201);
    assert_eq!(guarded.publish(&ada, "probe").0, 200, "its owner may publish it again");
    let (status, why) = detail(guarded.publish(&bob, "probe"));
    assert!(
        status == 409 && why.contains("token 2"),
        "from the same address, with another token: {status} {why}"
    );
    assert_eq!(guarded.refusal(&bob, "DELETE", "/api/v1/apps/probe").0, 403);
    assert_eq!(guarded.ask_as(&guarded.admin, "DELETE", "/api/v1/apps/probe", b"").0, 204);
    assert_eq!(guarded.publish(&bob, "probe").0, 201, "the name is free");
}

#[test]
fn the_dashboard_is_logged_in_to_with_a_form() {
    let guarded = Guarded::start();
    let viewer = guarded.token("viewer", "screen");
    let post_to = |host: &str, path: &str, headers: &str, body: &str| {
        let mut raw = RawRequest::open(&guarded.server.address, "127.0.0.1");
        let length = body.len();
        raw.send(
            format!(
                "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .as_bytes(),
        );
        raw.whole_answer()
    };
    let post = |path: &str, headers: &str, body: &str| post_to(&guarded.server.address, path, headers, body);
    let page = String::from_utf8(guarded.server.get("/login").1).expect("text");
    let head = post("/login", "", "token=nonsense").to_lowercase();
    // With a stricter policy, browsers hide the origin of a form, and it is refused.
    assert!(head.contains("referrer-policy: same-origin"), "{head}");
    assert!(page.contains("type=\"password\"") && !page.contains("<script"), "{page}");
    let refused = post("/login", "", &format!("token=sateen_viewer_{}", "7".repeat(64)));
    assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("does not know the token"), "{refused}");
    let volunteer = guarded.token("volunteer", "farm");
    assert!(post("/login", "", &format!("token={volunteer}")).starts_with("HTTP/1.1 403"));
    let foreign = post("/login", "Origin: http://evil.example\r\n", &format!("token={viewer}"));
    assert!(
        foreign.starts_with("HTTP/1.1 403") && !foreign.to_lowercase().contains("set-cookie"),
        "{foreign}"
    );
    let welcome = post("/login", "", &format!("token={viewer}"));
    assert!(welcome.starts_with("HTTP/1.1 303"), "{welcome}");
    let cookie = welcome.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "it would not be sent");
    assert!(!cookie.contains(&viewer[20..]), "the token itself is not in the browser");
    let origin = format!("Origin: https://{PUBLIC_NAME}\r\n");
    let behind_a_proxy = post_to(PUBLIC_NAME, "/login", &origin, &format!("token={viewer}"));
    assert!(
        behind_a_proxy.lines().any(|line| line.starts_with("set-cookie: ") && line.ends_with("; Secure")),
        "{behind_a_proxy}"
    );
    let cookie = cookie.split(';').next().expect("a value");
    let with = |path: &str, cookie: &str| guarded.server.ask("GET", path, &[("cookie", cookie)], b"").0;
    assert_eq!([with("/api/v1/status", cookie), with("/api/v1/tokens", cookie)], [200, 403]);
    let address = guarded.server.address.parse().expect("an address");
    let headers = |origin: &str| format!("Cookie: {cookie}\r\nOrigin: {origin}\r\n");
    let own = headers(&format!("http://{address}"));
    assert!(WebSocket::connect_with(address, "/ws/watch", &own).is_ok());
    let evil = WebSocket::connect_with(address, "/ws/watch", &headers("http://evil.example"));
    assert!(
        evil.is_err_and(|head| head.starts_with("HTTP/1.1 403")),
        "another's page may not use the cookie"
    );
    assert_eq!(with("/api/v1/status", "sateen_session=0"), 401);
    post("/logout", &format!("Cookie: {cookie}\r\n"), "");
    assert_eq!(with("/api/v1/status", cookie), 401, "logged out");
    let again = post("/login", "", &format!("token={viewer}"));
    let cookie = again.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    guarded.revoke("screen");
    assert_eq!(with("/api/v1/status", cookie), 401, "the token was revoked");
}

#[test]
fn the_audit_log_says_who_did_what() {
    let guarded = Guarded::start();
    let ada = guarded.token("submitter", "ada");
    assert_eq!(guarded.publish(&ada, "probe").0, 201);
    let run = guarded.submit(&ada);
    assert_eq!(guarded.ask_as(&ada, "POST", &format!("/api/v1/runs/{run}/cancel"), b"").0, 202);
    assert_eq!(guarded.ask_as(&ada, "GET", "/api/v1/tokens", b"").0, 403);
    guarded.revoke("ada");
    assert_eq!(guarded.ask_as(&ada, "GET", "/api/v1/runs", b"").0, 401);
    let audit = guarded.json_as(&guarded.admin, "/api/v1/audit");
    let lines: Vec<_> = audit.as_array().expect("a list").iter().rev().collect();
    let brief: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["who"].as_str().expect("text"),
                line["what"].as_str().expect("text"),
                line["status"].as_u64(),
            )
        })
        .collect();
    let expected = [
        ("root (token 1)", "POST /api/v1/tokens: token 2 `ada` with the scope submitter", Some(201)),
        ("ada (token 2)", "POST /api/v1/apps?name=probe", Some(201)),
        ("ada (token 2)", "POST /api/v1/runs: run 1", Some(201)),
        ("ada (token 2)", "POST /api/v1/runs/1/cancel", Some(202)),
        ("ada (token 2)", "GET /api/v1/tokens", Some(403)),
        ("root (token 1)", "DELETE /api/v1/tokens/ada: token 2 `ada`", Some(200)),
        ("", "GET /api/v1/runs", Some(401)),
    ];
    assert_eq!(brief, expected);
    assert!(lines.iter().all(|line| line["address"] == "127.0.0.1"), "{audit}");
    assert!(lines[4]["why"].as_str().is_some_and(|why| why.contains("admin")), "{audit}");
    let page = guarded.json_as(&guarded.admin, "/api/v1/audit?limit=2&before=4");
    let numbers: Vec<_> =
        page.as_array().expect("a list").iter().map(|line| line["number"].as_u64()).collect();
    assert_eq!(numbers, [Some(3), Some(2)]);
    for wrong in ["limit=0", "limit=1001", "limit=many", "before=0", "since=1"] {
        assert_eq!(
            guarded.refusal(&guarded.admin, "GET", &format!("/api/v1/audit?{wrong}")).0,
            400,
            "{wrong}"
        );
    }
    // As the document of the API has them.
    let document = guarded.server.json("/api/v1/openapi.json");
    for path in ["/api/v1/audit", "/api/v1/tokens", "/api/v1/me"] {
        let schema =
            &document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{path}");
        let mut found = Vec::new();
        differences(&document, schema, &guarded.json_as(&guarded.admin, path), path, &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
