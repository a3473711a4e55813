//! Malformed jobs, and false counters.

use crate::wat::End::{Broken, Fine, Limit, Trap};
use crate::wat::{app_with, ends};

/// Spawns the job, gives the other worker time to take it before the sync, and spawns another one if it came too late, or if
/// there were enough.
pub const SPAWN_AND_SYNC: &str = "(local $job i32) (local $n i32) (local $what i64)
    (loop $again
        (local.set $job (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (local.set $n (i32.const 0))
        (loop $more (br_if $more (i32.lt_u
            (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 30000000))))
        (br_if $again (i32.eqz (local.get $job)))
        (local.set $what (i64.shr_u (call $sync (local.get $job)) (i64.const 32)))
        (br_if $again (i32.wrap_i64 (i64.and (local.get $what) (i64.const 1)))))
    (if (i64.eq (local.get $what) (i64.const 2))
        (then (call $fail (i32.const 1) (i32.const 0) (i32.const 0)) unreachable))";

fn job(body: &str) -> String {
    app_with(&format!(r#"(func (export "sateen_job_j") (param i32) (result i64) {body})"#), SPAWN_AND_SYNC)
}

/// A stolen job's violation reaches its parent's sync.
pub fn a_stolen_jobs_violation_reaches_its_parents_sync() {
    ends("good", &job("(i64.const 0)"), Fine);
    ends("trap", &job("unreachable"), Trap("unreachable"));
    ends("result", &job("(i64.const 0xffffffff00000001)"), Broken("its result is at 4294967295"));
    ends("large result", &job("(i64.const 0xffffffff)"), Limit("raise it with --max-output"));
    ends("import", &job("(call $abandon (i32.const 1)) (i64.const 0)"), Broken("which it has not exposed"));
}

/// A job of another type breaks the abi without a panic.
pub fn a_job_of_another_type_breaks_the_abi_without_a_panic() {
    for field in [
        r#"(func (export "sateen_job_j"))"#,
        r#"(func (export "sateen_job_j") (param i32) (result i32) (i32.const 0))"#,
    ] {
        ends(field, &app_with(field, SPAWN_AND_SYNC), Broken("another type"));
    }
    let none = r#"(global (export "sateen_job_j") i32 (i32.const 0))"#;
    ends(none, &app_with(none, SPAWN_AND_SYNC), Broken("of the kind 0"));
}

/// Each job exposes two more and returns without waiting.
pub fn a_fork_bomb_fizzles_out() {
    let expose = "(drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";
    ends("bomb", &job(&format!("{expose} {expose} (i64.const 0)")), Fine);
}
