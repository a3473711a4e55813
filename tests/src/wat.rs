//! Modules written as text: good ones, and hostile ones that call the ABI directly.

use std::fmt::Write;
use std::time::Duration;

use sateen_host::{App, Engine, Finished, Limits, Output, Run, RunError, RunOptions};

use crate::grid::finish;
#[cfg(unix)]
use crate::real_host::RealHost;

/// All imports of the ABI, each under its own name.
pub const IMPORTS: &str = r#"
    (import "sateen" "attach" (func $attach (param i32)))
    (import "sateen" "latent" (func $latent (param i32 i32)))
    (import "sateen" "register" (func $register (param i32 i32 i32) (result i32)))
    (import "sateen" "expose" (func $expose (param i32 i32 i32 i32) (result i32)))
    (import "sateen" "sync" (func $sync (param i32) (result i64)))
    (import "sateen" "sync_any" (func $sync_any (param i32 i32 i32) (result i64)))
    (import "sateen" "wants_record" (func $wants_record (param i32) (result i32)))
    (import "sateen" "record" (func $record (param i32 i32 i32)))
    (import "sateen" "take" (func $take (param i32)))
    (import "sateen" "abandon" (func $abandon (param i32)))
    (import "sateen" "attempt" (func $attempt (param i32) (result i64)))
    (import "sateen" "panic" (func $panic (param i32 i32)))
    (import "sateen" "fail" (func $fail (param i32 i32 i32)))
    (import "sateen" "log" (func $log (param i32 i32)))
    (import "sateen" "progress" (func $progress (param i64 i64)))
    (import "sateen" "input" (func $input (param i32 i32) (result i64)))
    (import "sateen" "share" (func $share (param i32 i32 i32) (result i32)))
    (import "sateen" "open" (func $open (param i32) (result i32)))
    (import "sateen" "close" (func $close (param i32)))
    (import "sateen" "mention" (func $mention (param i32)))
    (import "sateen" "catch_up" (func $catch_up (param i32) (result i64)))
    (import "sateen" "update" (func $update (param i32 i32 i32 i32) (result i32)))
    (import "sateen" "snapshot" (func $snapshot (param i32 i32 i32)))
    (import "sateen" "hold" (func $hold (param i32 i32)))
    (import "sateen" "measure" (func $measure (param i32 i32 i32 i32) (result i32)))"#;

/// The rest of every app: the marker of the ABI, a page of memory, and in it the name `j` of a job
/// at 16 and the outcome `42` at 64, four bytes long.
pub const FRAME: &str = r#"
    (memory (export "memory") 1)
    (data (i32.const 16) "j")
    (data (i32.const 64) "\00\0242")
    (func (export "sateen_abi_1"))"#;

/// The place of the outcome `42`, as an entry point returns it.
pub const GOOD: &str = "(i64.const 0x4000000004)";

/// A job named `j` with an empty result.
pub const JOB: &str = r#"(func (export "sateen_job_j") (param i32) (result i64) (i64.const 0))"#;

/// An app whose entry point runs `body` and then returns 42. It has a job `j`.
pub fn app(body: &str) -> String {
    app_with(JOB, body)
}

/// As `app`, with `fields` in place of the job.
pub fn app_with(fields: &str, body: &str) -> String {
    let main = format!(r#"(func (export "sateen_main_main") (param i32) (result i64) {body} {GOOD})"#);
    format!("(module {IMPORTS} {FRAME} {fields} {main})")
}

/// The bytes of a module in text.
#[track_caller]
pub fn bytes(text: &str) -> Vec<u8> {
    match wat::parse_str(text) {
        Ok(bytes) => bytes,
        Err(error) => panic!("the test's own text is wrong: {error}\n{text}"),
    }
}

/// A module whose function has thousands of values that live through a loop: minutes of work for a compiler.
///
/// # Panics
/// Never: writing to a string succeeds.
#[must_use]
pub fn takes_long_to_compile() -> Vec<u8> {
    const LOCALS: usize = 3000;
    let mut text = String::from("(func (export \"sateen_job_j\") (param i32) (result i64)");
    let mut write = |line: String| text.write_str(&line).expect("memory is enough");
    (0..LOCALS).for_each(|local| write(format!("(local $v{local} i64)")));
    for local in 0..LOCALS {
        write(format!(
            "(local.set $v{local} (i64.mul (i64.extend_i32_u (local.get 0)) (i64.const {})))",
            local * 7 + 3
        ));
    }
    write("(loop $again".to_owned());
    for local in 0..LOCALS {
        let [zero, left, right] = [local * 37, local + 1, local * 13].map(|other| other % LOCALS);
        write(format!(
            "(if (i64.eqz (local.get $v{zero})) (then
               (local.set $v{local} (i64.add (local.get $v{left}) (local.get $v{right})))))"
        ));
    }
    write("(br_if $again (i32.eqz (local.get 0)))) (i64.const 0)".to_owned());
    (0..LOCALS).for_each(|local| write(format!("(i64.add (local.get $v{local}))")));
    write(")".to_owned());
    bytes(&app_with(&text, ""))
}

/// Limits under which a hostile module ends soon.
pub fn tight() -> Limits {
    Limits {
        memory_bytes_max: 16 << 20,
        stack_bytes_max: 1 << 20,
        output_bytes_max: 1 << 20,
        instances_max: 16,
        attempts_max: 16,
        wall_time_max: Some(Duration::from_secs(10)),
        ..Limits::default()
    }
}

/// Runs the module on two workers.
pub fn run(engine: &Engine, module: &[u8]) -> Result<Finished, RunError> {
    let app = App::load(engine, module, None)?;
    finish(Run::start(&app, RunOptions { threads: 2, ..RunOptions::default() })?)
}

/// The expected end of a hostile module.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// It does no harm and returns 42.
    Fine,
    /// It is refused before any of it runs.
    Refused(&'static str),
    /// It breaks the ABI, which counts as its failure.
    Broken(&'static str),
    /// It traps.
    Trap(&'static str),
    /// It fails in its own words.
    Fails(&'static str),
    /// It meets a limit.
    Limit(&'static str),
}

/// Runs the module in text and asserts its end; afterwards a good app must run on the same engine.
#[track_caller]
pub fn ends(name: &str, text: &str, end: End) {
    ends_under(&tight(), name, &bytes(text), end);
}

/// As `ends`, for a module's bytes under other limits.
#[track_caller]
pub fn ends_under(limits: &Limits, name: &str, module: &[u8], end: End) {
    #[cfg(unix)]
    if RealHost::takes(limits, name, module, end) {
        return;
    }
    let engine = Engine::new(limits, false).expect("this machine can run guests");
    let result = run(&engine, module).map(|finished| finished.output);
    let as_expected = match (&result, end) {
        (Ok(Output::Text(text)), End::Fine) => text == "42",
        (Err(RunError::BadInput(why)), End::Refused(word)) => why.contains(word),
        (Err(RunError::Job(failure)), End::Broken(word)) => {
            failure.message.starts_with("the module breaks the ABI: ") && failure.message.contains(word)
        }
        (Err(RunError::Job(failure)), End::Trap(word)) => {
            failure.message.starts_with("trap: ") && failure.message.contains(word)
        }
        (Err(RunError::Job(failure)), End::Fails(word)) => failure.message.contains(word),
        (Err(RunError::App(why)), End::Fails(word)) => why.contains(word),
        (Err(RunError::Limit(limit)), End::Limit(word)) => limit.to_string().contains(word),
        _ => false,
    };
    assert!(as_expected, "{name}: {result:?}, not {end:?}");
    goes_on(&engine, name);
}

/// Asserts that a good app runs on `engine`, after any other module.
#[track_caller]
pub fn goes_on(engine: &Engine, after: &str) {
    let good = run(engine, &bytes(&app("(call $take (i32.const 1024))")));
    let output = good.map(|finished| finished.output);
    assert!(matches!(&output, Ok(Output::Text(text)) if text == "42"), "after {after}: {output:?}");
}
