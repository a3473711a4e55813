//! Exports that make values before the first job, and do something else.

use std::time::Duration;

use sateen_host::Limits;

use crate::wat::End::{Broken, Fine, Limit};
use crate::wat::{app_with, bytes, ends, ends_under, tight};

/// Work that takes longer than a copy of an image.
const WORK: &str = "(local $n i32) (loop
    (local.set $n (i32.add (local.get $n) (i32.const 1)))
    (br_if 0 (i32.lt_u (local.get $n) (i32.const 10000000))))";

/// An app that prepares by `prepare`, and whose entry point then runs `body`.
fn prepares(prepare: &str, body: &str) -> String {
    app_with(&format!(r#"(func (export "sateen_prepare_p") {prepare})"#), body)
}

/// What needs a job is refused.
pub fn what_needs_a_job_is_refused() {
    for (call, name) in [
        ("(call $attach (i32.const 0))", "attach"),
        ("(drop (call $register (i32.const 16) (i32.const 1) (i32.const 128)))", "register"),
        ("(drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))", "expose"),
        ("(drop (call $attempt (i32.const 0)))", "attempt"),
        ("(call $progress (i64.const 1) (i64.const 2))", "progress"),
        ("(drop (call $share (i32.const 128) (i32.const 0) (i32.const 0)))", "share"),
        ("(drop (call $open (i32.const 128)))", "open"),
        ("(call $hold (i32.const 16) (i32.const 1))", "hold"),
        ("(drop (call $measure (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))", "measure"),
    ] {
        let why = format!("it calls `{name}` while it prepares `p`").leak();
        ends(name, &prepares(call, ""), Broken(why));
    }
    for call in [
        "(drop (call $sync (i32.const 1)))",
        "(call $abandon (i32.const 1))",
        "(call $mention (i32.const 1))",
    ] {
        ends(call, &prepares(call, ""), Broken(""));
    }
}

/// Traps and limits are those of the job that needs the value.
pub fn traps_and_limits_are_those_of_the_job_that_needs_the_value() {
    for prepare in [
        "unreachable",
        "(i32.store8 (i32.const 0x10000) (i32.const 0))",
        "(drop (memory.grow (i32.const 256)))",
        "(call $panic (i32.const 16) (i32.const 1)) unreachable",
    ] {
        ends(prepare, &prepares(prepare, ""), Fine);
    }
    let recursion = app_with(r#"(func $f (call $f)) (func (export "sateen_prepare_p") (call $f))"#, "");
    ends("recursion", &recursion, Fine);
}

/// It is stopped as a job is.
pub fn it_is_stopped_as_a_job_is() {
    let limits = Limits { wall_time_max: Some(Duration::from_millis(100)), ..tight() };
    for prepare in ["(loop (br 0))", "(loop (drop (call $input (i32.const 16) (i32.const 1))) (br 0))"] {
        let module = bytes(&prepares(prepare, ""));
        ends_under(&limits, prepare, &module, Limit("raise it with --time-limit"));
    }
    let limits = Limits { cpu_time_max: Some(Duration::from_millis(100)), ..tight() };
    let module = bytes(&prepares("(loop (br 0))", ""));
    ends_under(&limits, "processor time", &module, Limit("raise it with"));
}

/// Exports of another type break the abi.
pub fn exports_of_another_type_break_the_abi() {
    for ty in ["(param i32)", "(result i32) (i32.const 0)"] {
        ends(ty, &prepares(ty, ""), Broken("the export that prepares `p`"));
    }
    let global = r#"(global (export "sateen_prepare_p") i32 (i32.const 0))"#;
    ends("a global", &app_with(global, ""), Fine);
}

/// The entry point and its jobs trap unless the memory and the global are as `prepare` has left them.
pub fn jobs_begin_with_the_memory_and_the_globals_that_were_prepared() {
    let global = r#"(global $g (export "g") (mut i32) (i32.const 1))"#;
    let prepare = format!(
        r#"(func (export "sateen_prepare_p") {WORK}
            (drop (memory.grow (i32.const 3)))
            (i32.store (i32.const 0x2fff0) (i32.const 7))
            (i32.store (i32.const 1024) (i32.const 0))
            (global.set $g (i32.const 5)))"#
    );
    let is_prepared = "(if (i32.or
        (i32.or (i32.ne (memory.size) (i32.const 4)) (i32.ne (i32.load (i32.const 0x2fff0)) (i32.const 7)))
        (i32.or (i32.load (i32.const 1024)) (i32.ne (global.get $g) (i32.const 5)))) (then unreachable))";
    let job =
        format!(r#"(func (export "sateen_job_j") (param i32) (result i64) {is_prepared} (i64.const 0))"#);
    let fields = format!(r#"(data (i32.const 1024) "1") {global} {prepare} {job}"#);
    ends("the first", &app_with(&fields, is_prepared), Fine);
    // Until another worker has run its job.
    let spawns = "(local $job i32)
        (call $attach (i32.const 512))
        (drop (call $register (i32.const 16) (i32.const 1) (i32.const 576)))
        (loop $again
          (local.set $job (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
          (br_if $again (i32.eqz (local.get $job)))
          (br_if $again (i64.eq (i64.const 1) (i64.shr_u (call $sync (local.get $job)) (i64.const 32)))))";
    ends("copies", &app_with(&fields, &format!("{spawns} {is_prepared}")), Fine);
}

/// An instance may remember something in a global that the host cannot see.
pub fn there_is_no_image_of_hidden_state() {
    let fields = r#"(global $g (mut i32) (i32.const 0)) (func (export "sateen_prepare_p") (call $attach (i32.const 0)))"#;
    ends("a global", &app_with(fields, ""), Fine);
    let fields = r#"(table 1 funcref) (func (export "sateen_prepare_p") (call $attach (i32.const 0)) (table.set (i32.const 0) (ref.null func)))"#;
    ends("a table", &app_with(fields, ""), Fine);
}
