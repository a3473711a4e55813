use super::*;
use crate::exit::{GRID, USAGE};

fn code(url: &str) -> u8 {
    Client::with(url, &Credentials::default()).map_or_else(|failure| failure.code, |_| 0)
}

#[test]
fn addresses_are_looked_at_before_anything_is_sent() {
    assert_eq!(code("http://127.0.0.1:7700"), 0);
    assert_eq!(code("http://[::1]:7700/"), 0);
    assert_eq!(code("https://grid.example"), 0);
    for short in ["localhost:7700", "grid.example:80/", "[::1]:7700"] {
        assert_eq!(code(short), 0, "{short}");
    }
    for wrong in [
        "",
        "7700",
        "localhost",
        "localhost:",
        ":7700",
        "ftp://a",
        "http://",
        "https://",
        "a:b:80",
        "http://127.0.0.1:99999",
        "127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://127.0.0.1:",
        "http://[::1]:70000",
    ] {
        assert_eq!(code(wrong), USAGE, "{wrong}");
    }
}

#[test]
fn names_are_one_segment() {
    assert_eq!(segment("nqueens-2_x"), "nqueens-2_x");
    assert_eq!(segment("../a b?é"), "..%2Fa%20b%3F%C3%A9");
    assert_eq!(segment(".."), "%2E%2E");
}

#[test]
fn the_coordinators_answer_decides_the_exit_code() {
    let code = |status| Failure::from(Refusal::Answered(status, "why".to_owned())).code;
    assert_eq!(code(StatusCode::NOT_FOUND), USAGE);
    assert_eq!(code(StatusCode::CONFLICT), USAGE);
    assert_eq!(code(StatusCode::UNPROCESSABLE_ENTITY), USAGE);
    assert_eq!(code(StatusCode::INTERNAL_SERVER_ERROR), GRID);
    assert_eq!(code(StatusCode::FORBIDDEN), GRID);
}

#[test]
fn a_problem_is_shown_by_its_detail() {
    assert_eq!(detail(r#"{"title":"t","detail":"there is no run 9"}"#).as_deref(), Some("there is no run 9"));
    assert_eq!(detail(r#"{"title":"t"}"#).as_deref(), Some("t"));
    assert_eq!(detail("<html>"), None);
}

#[test]
fn a_coordinator_that_does_not_answer_in_time_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    let client = Client::with(&format!("http://{address}"), &Credentials::default()).expect("an address");
    let asked = client.get_within("/api/v1/runs", Duration::from_millis(200));
    let failure = asked.map_err(Failure::from).expect_err("nobody answers");
    assert_eq!(failure.code, GRID);
    assert!(failure.message.contains("no answer within 0.2 s"), "{}", failure.message);
}

#[test]
fn a_missing_coordinator_is_reported() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    drop(listener);
    let client = Client::with(&format!("http://{address}"), &Credentials::default()).expect("an address");
    let failure = client.get("/api/v1/runs").map_err(Failure::from).expect_err("nobody is there");
    assert_eq!(failure.code, GRID);
    assert!(failure.message.contains("sateen-coordinator"), "{}", failure.message);
}
