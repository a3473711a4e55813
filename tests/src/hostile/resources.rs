//! Guests that exceed the available resources.

use std::time::{Duration, Instant};

use sateen_host::Limits;

use crate::wat::End::{Fine, Limit, Trap};
use crate::wat::{app, app_with, bytes, ends, ends_under, tight};

/// Memory grows to its limit and no further.
pub fn memory_grows_to_its_limit_and_no_further() {
    ends("to the limit", &app("(drop (memory.grow (i32.const 255)))"), Fine);
    for pages in ["256", "65535", "65536", "163840", "-1"] {
        let body = format!("(drop (memory.grow (i32.const {pages})))");
        ends(&body, &app(&body), Limit("raise it with --memory"));
    }
    // The guest's own maximum is not a limit of the run.
    let bounded = app_with("", "(drop (memory.grow (i32.const 10)))")
        .replace("(memory (export \"memory\") 1)", "(memory (export \"memory\") 1 2)");
    ends("its own maximum", &bounded, Fine);
}

/// Tables grow to their limit and no further.
pub fn tables_grow_to_their_limit_and_no_further() {
    let grow = |elements: &str| {
        let body = format!("(drop (table.grow $t (ref.null func) (i32.const {elements})))");
        app_with("(table $t 0 funcref)", &body)
    };
    ends("to the limit", &grow("100000"), Fine);
    ends("beyond", &grow("100001"), Limit("a table of 100001 elements"));
    ends("far beyond", &grow("-1"), Limit("a table of"));
}

/// Endless recursion meets the stack limit.
pub fn endless_recursion_meets_the_stack_limit() {
    ends(
        "plain",
        &app_with("(func $f (call $f))", "(call $f)"),
        Limit("stack of 1 MiB allows; raise it with --stack"),
    );
    let indirect = "(table 1 funcref) (type $t (func)) (elem (i32.const 0) $f) (func $f (call_indirect (type $t) (i32.const 0)))";
    ends("indirect", &app_with(indirect, "(call $f)"), Limit("raise it with --stack"));
    let large = format!("(func $f {} (call $f))", "(local i64)".repeat(1000));
    ends("large frames", &app_with(&large, "(call $f)"), Limit("raise it with --stack"));
}

/// Traps are the guest's own.
pub fn traps_are_the_guests_own() {
    let cases = [
        ("unreachable", "unreachable"),
        ("(drop (i32.div_u (i32.const 1) (i32.const 0)))", "divide by zero"),
        ("(drop (i32.div_s (i32.const 0x80000000) (i32.const -1)))", "integer overflow"),
        ("(drop (i32.trunc_f32_s (f32.const nan)))", "conversion to integer"),
        ("(drop (i64.load (i32.const 65529)))", "out of bounds"),
        ("(i32.store8 (i32.const 0x10000) (i32.const 0))", "out of bounds"),
        ("(memory.fill (i32.const 1) (i32.const 0) (i32.const -1))", "out of bounds"),
        ("(memory.copy (i32.const 0) (i32.const 1) (i32.const 65536))", "out of bounds"),
    ];
    for (body, word) in cases {
        ends(body, &app(body), Trap(word));
    }
    let null = "(table 1 funcref) (type $t (func))";
    ends("null", &app_with(null, "(call_indirect (type $t) (i32.const 0))"), Trap("uninitialized"));
    ends("beyond", &app_with(null, "(call_indirect (type $t) (i32.const 9))"), Trap("undefined"));
}

/// A single instruction cannot be interrupted, so the memory that it can touch is bounded.
pub fn bulk_operations_end_soon_after_the_time_limit() {
    let limits =
        Limits { wall_time_max: Some(Duration::from_millis(300)), memory_bytes_max: 1 << 30, ..tight() };
    let fill = "(drop (memory.grow (i32.const 16383)))
        (loop (memory.fill (i32.const 0) (i32.const 7) (i32.const 0x40000000)) (br 0))";
    let started = Instant::now();
    ends_under(&limits, "fill", &bytes(&app(fill)), Limit("raise it with --time-limit"));
    assert!(started.elapsed() < Duration::from_secs(10), "it took {:?}", started.elapsed());
}

/// Loops of every kind are interrupted.
pub fn loops_of_every_kind_are_interrupted() {
    let limits = Limits { wall_time_max: Some(Duration::from_millis(100)), ..tight() };
    let loops = [
        "(loop (br 0))",
        "(local $n i64) (loop (local.set $n (i64.add (local.get $n) (i64.const 1))) (br 0))",
        "(loop (loop (loop (br 2))))",
        "(loop $l (br_table $l $l $l (i32.const 1)))",
        "(loop (call $log (i32.const 16) (i32.const 1)) (br 0))",
        "(loop (call $progress (i64.const 1) (i64.const 2)) (br 0))",
        "(loop (drop (call $input (i32.const 16) (i32.const 1))) (br 0))",
        "(loop (drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))) (br 0))",
    ];
    for body in loops {
        ends_under(&limits, body, &bytes(&app(body)), Limit("raise it with --time-limit"));
    }
}
