//! Reads the arguments, raises the walls and acts.

use std::io::{self, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;

use sateen_walls::{Options, raise};

use crate::attempts::{Attempt, Prepared};
use crate::needs;

pub fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let what = words.first().cloned().unwrap_or_default();
    let number = |name: &str| {
        let word = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
        Some(word.parse::<u64>().unwrap_or_else(|_| panic!("{name} is a number, not {word}")))
    };
    let has = |name: &str| words.iter().any(|word| word == name);
    if what == "parent" {
        return be_a_parent();
    }
    let usual = Options::default();
    let options = Options {
        parent: number("parent").and_then(|id| u32::try_from(id).ok()),
        memory_bytes_max: number("memory"),
        descriptors_max: number("descriptors").unwrap_or(usual.descriptors_max),
        ..usual
    };
    let prepared = Prepared::new();
    let (go, wait) = mpsc::channel::<()>();
    let thread = has("threads").then(|| {
        let what = what.clone();
        std::thread::spawn(move || {
            wait.recv().expect("the walls are raised");
            act(&what, &Prepared::new_within())
        })
    });
    if !has("without") {
        let report = raise(&options);
        for line in report.to_string().lines() {
            say(&format!("wall {line}"));
        }
    }
    match thread {
        None => act(&what, &prepared),
        Some(thread) => {
            go.send(()).expect("the thread waits");
            thread.join().expect("the thread does not panic")
        }
    }
}

fn act(what: &str, prepared: &Prepared) -> ExitCode {
    if what == "wait" {
        say("waits");
        // Until the parent closes the pipe, which it does not before it has looked.
        let mut rest = Vec::new();
        io::stdin().read_to_end(&mut rest).expect("stdin can be read");
        return ExitCode::SUCCESS;
    }
    if let Some(attempt) = Attempt::by_name(what) {
        match attempt.run(prepared) {
            Ok(()) => say("went through"),
            Err(error) => say(&format!("error {}", error.raw_os_error().unwrap_or(0))),
        }
        return ExitCode::SUCCESS;
    }
    let Some(need) = needs::ALL.iter().find(|need| need.0 == what) else {
        say(&format!("unknown: {what}"));
        return ExitCode::FAILURE;
    };
    need.1(prepared);
    say("works");
    ExitCode::SUCCESS
}

/// Starts a child that must not outlive this process, says its id and waits to be killed.
fn be_a_parent() -> ExitCode {
    let own = std::env::current_exe().expect("the program has a path");
    let mut child = Command::new(own);
    child.args(["wait", &format!("parent={}", std::process::id())]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
    let mut said = io::BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    while line != "waits\n" {
        line.clear();
        assert!(io::BufRead::read_line(&mut said, &mut line).expect("it can be read") > 0, "the child ended");
    }
    // `wait` would close it, and the child would end by itself.
    let _pipe = child.stdin.take();
    say(&format!("child {}", child.id()));
    let _ = child.wait();
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("stdout can be written");
}
