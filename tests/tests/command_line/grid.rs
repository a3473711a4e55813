//! Commands for a coordinator, as far as they can be tested without one: no answer, an answer from another
//! server, wrong words.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use sateen_tests::command::{app, command, ended, run};

/// Every command, with the words that it needs.
fn commands() -> Vec<Vec<String>> {
    let nqueens = app("nqueens").display().to_string();
    let all: [&[&str]; 15] = [
        &["publish", &nqueens],
        &["unpublish", "nqueens"],
        &["apps"],
        &["submit", &nqueens, "8"],
        &["submit", &nqueens, "8", "--wait", "--json"],
        &["ps", "--all"],
        &["status", "1"],
        &["tree", "1"],
        &["wait", "1"],
        &["result", "1"],
        &["cancel", "1"],
        &["suspend", "1"],
        &["resume", "1"],
        &["hosts"],
        &["replay", "0123456789abcdef"],
    ];
    all.iter().map(|words| words.iter().map(ToString::to_string).collect()).collect()
}

/// The address of a server that answers every request with `response`.
fn server(response: &'static str) -> String {
    server_of(move |_| response.to_owned())
}

/// The address of a server that answers each request with what `answer` makes of its head.
fn server_of(mut answer: impl FnMut(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it has an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            // The whole head of a request, in any number of pieces.
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                head.push(byte[0]);
            }
            // If the body were left unread, the connection might be reset before the client has the answer.
            let _ = stream.read_exact(&mut vec![0; body_bytes(&String::from_utf8_lossy(&head))]);
            let _ = stream.write_all(answer(&String::from_utf8_lossy(&head)).as_bytes());
        }
    });
    url
}

/// The length of the body that follows the head of a request.
fn body_bytes(head: &str) -> usize {
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    length.unwrap_or_default()
}

#[test]
fn a_coordinator_that_does_not_answer_is_reported() {
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let url = format!("http://{}", free.expect("a port is free"));
    let words = ["no coordinator answers at ", url.as_str(), "`sateen-coordinator`", "--coordinator"];
    for mut command_line in commands() {
        command_line.extend(["--coordinator".to_owned(), url.clone()]);
        run(command_line).fails_with(4, &words);
    }
    let mut from_environment = command(["ps"]);
    from_environment.env("SATEEN_COORDINATOR", &url);
    ended(from_environment).fails_with(4, &words);
}

#[test]
fn an_invalid_address() {
    for url in ["", "7700", "localhost", "ftp://localhost"] {
        run(["ps", "--coordinator", url])
            .fails_with(2, &["--coordinator", "expected the address of a coordinator", "http://"]);
    }
}

#[test]
fn somebody_else_answers() {
    let page = server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>");
    run(["ps", "--coordinator", &page]).fails_with(4, &["is not a Sateen coordinator"]);
    let absent = server("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    run(["ps", "--coordinator", &absent]).fails_with(4, &["503", "is it a coordinator?"]);
    let stranger = server("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\n{\"a\":1}");
    run(["status", "1", "--coordinator", &stranger])
        .fails_with(4, &["answer is invalid", "does not name its release"]);
    let silent = server("");
    run(["ps", "--coordinator", &silent]).fails_with(4, &["no coordinator answers at "]);
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/{kind}\r\nContent-Length: {length}\r\nRetry-After: 1\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// A coordinator that has room for every third connection.
fn busy(body: &'static str) -> String {
    let mut asked = 0;
    server_of(move |_| {
        asked += 1;
        match asked % 3 {
            0 => response("200 OK", "json", body),
            _ => response(
                "503 Busy",
                "problem+json",
                r#"{"detail":"the coordinator has too many connections"}"#,
            ),
        }
    })
}

#[test]
fn a_busy_coordinator_is_asked_again() {
    const DONE: &str = r#"{"run":7,"app":{"hash":"ab","name":"fib"},"function":"main","state":"done"}"#;
    for (words, body) in [
        (&["ps", "--json"][..], "[]"),
        (&["hosts", "--json"], "[]"),
        (&["status", "7", "--json"], DONE),
        (&["cancel", "7", "--json"], DONE),
        (&["rm", "7"], ""),
    ] {
        let ended = run([words, &["--coordinator", &busy(body)]].concat());
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
        let said = ended.stderr.matches("too many connections; trying again for up to 30 s").count();
        assert_eq!(said, 1, "{words:?}: {ended:?}");
    }
    let ended = run(["wait", "7", "--coordinator", &busy(DONE)]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("too many connections; trying again for up to 300 s"), "{ended:?}");
    assert!(ended.stderr.contains("too many connections; still trying, for run 7"), "{ended:?}");
    assert!(ended.stderr.contains("the coordinator answers again"), "{ended:?}");
    let ended = run(["watch", "7", "--coordinator", &busy(DONE)]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// As in `sateen ps | head -0`.
#[test]
fn a_list_without_a_reader_ends_quietly() {
    let runs = server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]");
    for words in [&["ps", "--all"][..], &["ps", "--all", "--json"], &["hosts", "--json"], &["apps", "--json"]]
    {
        let mut child =
            command([words, &["--coordinator", &runs]].concat()).spawn().expect("it can be started");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &*stderr), (Some(0), ""), "{words:?}");
    }
}

/// As in `sateen watch 7 | head -1`: nothing changes, so there is nothing more to write.
#[test]
fn a_watch_ends_when_its_reader_is_gone() {
    const RUNNING: &str =
        r#"{"run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "running"}"#;
    let running = server_of(|_| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{RUNNING}", RUNNING.len())
    });
    let mut child = command(["watch", "7", "--coordinator", &running]).spawn().expect("it can be started");
    let mut line = String::new();
    let read = BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line);
    assert!(read.is_ok() && line.contains("running"), "{line}");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), &*String::from_utf8_lossy(&ended.stderr)), (Some(0), ""));
}

#[test]
fn an_app_is_not_published_under_the_name_of_a_flag() {
    let nqueens = app("nqueens").display().to_string();
    for name in ["--help", "-x"] {
        run(["publish", &nqueens, &format!("--name={name}")]).fails_with(2, &["must not begin with `-`"]);
    }
}

#[test]
fn a_problem_is_reported_in_the_coordinators_words() {
    let problem = server(
        "HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: 43\r\n\
         Connection: close\r\n\r\n{\"title\":\"t\",\"detail\":\"there is no run 99\"}\n",
    );
    for words in [
        &["status", "99"][..],
        &["tree", "99"],
        &["wait", "99"],
        &["result", "99"],
        &["cancel", "99"],
        &["replay", "12345678"],
    ] {
        let words = [words, &["--coordinator", problem.as_str()]].concat();
        run(words).fails_with(2, &["there is no run 99"]);
    }
    run(["submit", "nothing.wasm", "1", "--coordinator", &problem]).fails_with(
        2,
        &["there is no file `nothing.wasm`", "no app of that name or hash is published", "sateen publish"],
    );
}

#[test]
fn commands_say_whether_they_or_the_coordinator_must_be_updated() {
    let json = |status: &str, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    for (release, update) in [("0.0.1", "update the coordinator"), ("999.0.0", "update the command")] {
        let url = server_of(move |head| match head.split(' ').nth(1) {
            Some("/version") => json("200 OK", "application/json", &format!(r#"{{"version":"{release}"}}"#)),
            Some("/api/v1/apps/fib") => json("200 OK", "application/json", r#"{"hash":"ab","name":"fib"}"#),
            Some("/api/v1/runs") => json(
                "400 Bad Request",
                "application/problem+json",
                r#"{"detail":"invalid submission: unknown field `strict_nan`"}"#,
            ),
            _ => json("200 OK", "application/json", r#"{"run":"seven"}"#),
        });
        let releases = format!("the coordinator is release {release} and this command is release ");
        for words in [&["status", "1"][..], &["result", "1"], &["tree", "1"], &["replay", "12345678"]] {
            let words = [words, &["--coordinator", url.as_str()]].concat();
            run(words).fails_with(4, &["the coordinator's answer is invalid", &releases, update]);
        }
        let refused = ["invalid submission: unknown field `strict_nan`; ", &releases, update];
        run(["submit", "fib", "10", "--coordinator", &url]).fails_with(2, &refused);
    }
}

#[test]
fn local_errors_are_reported_without_asking_the_grid() {
    let cases: [(&[&str], &str); 14] = [
        (&["status"], "RUN"),
        (&["status", "last"], "expected a run's number"),
        (&["cancel", "-1"], "-1"),
        (&["submit"], "APP"),
        (&["unpublish"], "NAME"),
        (&["replay"], "KEY"),
        (&["replay", "1234567"], "8 to 64 hexadecimal digits are expected"),
        (&["replay", "count"], "8 to 64 hexadecimal digits are expected"),
        (&["replay", "12345678", "--threads", "0"], "from 1 to 1024"),
        (&["submit", "nqueens", "--output", "file"], "--wait"),
        (&["submit", "nqueens", "--stealing", "greedy"], "cluster-aware"),
        (&["submit", "nqueens", "--fault-tolerance", "none"], "redo-only"),
        (&["publish", "/nonexistent/app.wasm"], "there is no such file"),
        (
            &["submit", "nqueens", "--input", "a=/nonexistent"],
            "input `a`: /nonexistent: there is no such file",
        ),
    ];
    for (words, why) in cases {
        run(words).fails_with(2, &[why]);
    }
    run(["submit", "/dev/null"]).fails_with(2, &["/dev/null: not a wasm module"]);
}

#[test]
fn every_command_has_help() {
    for mut words in commands() {
        words.truncate(1);
        words.push("--help".to_owned());
        let ended = run(&words);
        let text = ended.result();
        assert!(text.contains("--coordinator") && text.contains("SATEEN_COORDINATOR"), "{text}");
    }
}
