//! The host's own page, requested as a browser, a stranger's page and a script would.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sateen_tests::cluster::{Cluster, SOON, until};
use serde_json::Value;

/// An answer: status, head and body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// One request with exactly these lines, as no well-behaved library would send it.
fn ask(authority: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(authority).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

fn get(authority: &str, path: &str, host: &str, more: &str) -> Answer {
    ask(authority, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"))
}

fn post(authority: &str, path: &str, form: &str, more: &str) -> Answer {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n{more}\r\n{form}",
        form.len()
    );
    ask(authority, &head)
}

fn status(cluster: &Cluster, name: &str) -> Value {
    let ended = cluster.tell_host(name, &["status", "--json"]);
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn authority(cluster: &Cluster, name: &str) -> String {
    let status = status(cluster, name);
    let url = status["page"].as_str().unwrap_or_else(|| panic!("no page in {status:#}"));
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}

fn token(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form with a token");
    rest.split('"').next().expect("its end").to_owned()
}

#[test]
fn the_page_shows_and_controls_the_host() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let at = authority(&cluster, "ada");
    let page = get(&at, "/", &at, "");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("content-security-policy: default-src 'self'"), "{}", page.head);
    // Nothing inline, as required by the policy, and nothing from other sites.
    let mut attributes = page.body.split([' ', '\n', '<']).filter_map(|word| word.split_once('='));
    let inline = attributes.find(|(name, _)| name.starts_with("on") || *name == "style");
    assert!(inline.is_none() && !page.body.contains("<style"), "{inline:?} in {}", page.body);
    assert!(page.body.matches("<script").count() == 1 && page.body.contains("<script src=\"/page.js\""));
    assert!(!page.body.contains("http://") && !page.body.contains("https://"));
    for (path, kind) in [("/page.js", "text/javascript"), ("/page.css", "text/css")] {
        let part = get(&at, path, &at, "");
        assert!(part.status == 200 && part.head.contains(kind) && part.head.contains("nosniff"), "{path}");
        assert!(!part.body.contains("innerHTML"), "{path} makes markup of text");
    }

    let shown: Value = serde_json::from_str(&get(&at, "/status.json", &at, "").body).expect("JSON");
    assert_eq!((&shown["name"], &shown["site"]), (&"ada".into(), &"here".into()));
    assert_eq!(shown["may_use"]["threads"], 1);
    let run = cluster.submit("nqueens", &["16"]);
    cluster.await_work(run, &["ada"], 0.3);
    let shown: Value = serde_json::from_str(&get(&at, "/status.json", &at, "").body).expect("JSON");
    assert_eq!(shown["runs"][0]["run"], run, "{shown:#}");
    assert_eq!(
        (&shown["runs"][0]["function"], &shown["runs"][0]["arguments"][0]),
        (&"main".into(), &"16".into())
    );

    let token = token(&page.body);
    let done = post(&at, "/pause", &format!("token={token}&minutes=30"), "Accept: application/json\r\n");
    assert!(done.status == 200 && done.body.contains("current work is given back"), "{}", done.body);
    until("it has given back what it had", SOON, || {
        let status = status(&cluster, "ada");
        status["paused"].as_str().is_some_and(|why| why.contains("until 20")).then_some(())
    });
    // Without a script the form leads back to the page.
    let done = post(&at, "/resume", &format!("token={token}"), "");
    assert!(done.status == 303 && done.head.contains("location: /\r\n"), "{}", done.head);
    until("it takes work", SOON, || status(&cluster, "ada")["paused"].is_null().then_some(()));
    cluster.done(run, "14772512\n");
    let given = status(&cluster, "ada")["contributed"].clone();
    assert!(given["work_ns"].as_u64() > Some(300_000_000) && given["runs"].as_u64() >= Some(1), "{given:#}");

    let done = post(&at, "/leave", &format!("token={token}"), "Accept: application/json\r\n");
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(cluster.host_ended("ada"), Some(0));

    // Its history is kept beyond the process.
    cluster.start_host("ada", "here");
    cluster.await_hosts(1);
    let again = status(&cluster, "ada")["contributed"].clone();
    assert!(
        again["work_ns"].as_u64() >= given["work_ns"].as_u64() && again["since_s"] == given["since_s"],
        "{again:#}"
    );
    let text = cluster.tell_host("ada", &["status"]);
    assert!(
        text.text().contains("\npage      http://127.0.0.1:") && text.text().contains("of processor time")
    );
}

#[test]
fn strangers_are_refused() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let at = authority(&cluster, "ada");
    let port = at.rsplit(':').next().expect("a port");
    let token = token(&get(&at, "/", &at, "").body);
    // A name that was made to point here.
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1"] {
        for path in ["/", "/status.json", "/page.js", "/nothing"] {
            let answer = get(&at, path, host, "");
            assert!(answer.status == 403 && !answer.body.contains("token"), "{host}{path}: {}", answer.body);
        }
    }
    assert_eq!(get(&at, "/", &format!("localhost:{port}"), "").status, 200);
    // Another page's script or form.
    let form = format!("token={token}");
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        let answer = post(&at, "/leave", &form, &format!("Origin: {origin}\r\n"));
        assert_eq!(answer.status, 403, "{origin}: {}", answer.body);
        assert_eq!(get(&at, "/status.json", &at, &format!("Origin: {origin}\r\n")).status, 403);
    }
    for form in [
        "",
        "token=",
        "token=00000000000000000000000000000000",
        &format!("token={token}x"),
        &"x".repeat(5000),
    ] {
        let answer = post(&at, "/leave", form, "");
        assert!([400, 403].contains(&answer.status), "{form}: {}", answer.body);
    }
    let answer = post(&at, "/pause", &format!("token={token}&minutes=soon"), "");
    assert!(answer.status == 422 && answer.body.contains("minutes"), "{}", answer.body);
    assert_eq!(get(&at, "/leave", &at, "").status, 405);
    assert_eq!(get(&at, "/nothing", &at, "").status, 404);
    let status = status(&cluster, "ada");
    assert!(status["paused"].is_null() && status["leaving"] == false, "{status:#}");
}

#[test]
fn the_page_is_at_the_configured_address_or_off() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with("off", "here", &url, &["--page", "off"]);
    cluster.start_host_with("six", "here", &url, &["--page", "[::1]:0"]);
    cluster.await_hosts(2);
    assert!(status(&cluster, "off")["page"].is_null());
    if let Some(at) = status(&cluster, "six")["page"].as_str() {
        let at = at.trim_start_matches("http://").trim_end_matches('/').to_owned();
        assert!(at.starts_with("[::1]:") && get(&at, "/", &at, "").status == 200, "{at}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("free");
    let taken = taken.local_addr().expect("it has one").to_string();
    let mut command = cluster.host_command("late", "here", &url);
    command.args(["--page", &taken]);
    let ended = sateen_tests::command::ended(piped(command));
    assert!(
        ended.code == Some(2) && ended.stderr.contains(&taken) && ended.stderr.contains("--page"),
        "{ended:?}"
    );
}

fn piped(mut command: std::process::Command) -> std::process::Command {
    use std::process::Stdio;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
