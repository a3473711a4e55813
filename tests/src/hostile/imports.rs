//! Every import of the ABI, called with arguments that no SDK would pass.

use crate::wat::End::{self, Broken, Fails, Fine, Limit, Trap};
use crate::wat::{app, app_with, ends};

fn all(cases: &[(&str, End)]) {
    for (body, end) in cases {
        ends(body, &app(body), *end);
    }
}

/// Take stays in memory.
pub fn take_stays_in_memory() {
    all(&[
        ("(call $take (i32.const 65535))", Fine),
        ("(call $take (i32.const 65536))", Broken("outside its memory")),
        ("(call $take (i32.const 0xffffffff))", Broken("outside its memory")),
        // Nothing is left to take: nothing is written, at any address.
        ("(call $take (i32.const 0)) (call $take (i32.const 0))", Fine),
        ("(call $take (i32.const 0)) (call $take (i32.const 65537))", Broken("outside its memory")),
    ]);
}

/// Attach may point anywhere.
pub fn attach_may_point_anywhere() {
    for address in ["0", "65528", "65529", "65535", "65536", "0xfffffffc", "0xffffffff"] {
        let body = format!("(call $attach (i32.const {address}))");
        ends(&body, &app(&body), Fine);
    }
    let often = "(local $n i32) (loop $more (call $attach (i32.add (local.get $n) (i32.const 4096)))
        (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))";
    ends("attach often", &app(often), Fine);
}

/// The guest shows as its stack of latent jobs what is none.
pub fn latent_may_point_anywhere() {
    for words in ["0", "16", "65524", "65525", "0xffffffff"] {
        for length_at in ["0", "24", "65535", "0xffffffff"] {
            let body = format!(
                "(i32.store (i32.const 20) (i32.const -1)) (i32.store (i32.const 24) (i32.const -1))
                 (call $latent (i32.const {words}) (i32.const {length_at}))"
            );
            ends(&body, &app(&body), Fine);
        }
    }
}

/// Register checks the name and the record.
pub fn register_checks_the_name_and_the_record() {
    const MEMORY: &str = "outside its memory";
    all(&[
        ("(drop (call $register (i32.const 16) (i32.const 1) (i32.const 1024)))", Fine),
        ("(drop (call $register (i32.const 16) (i32.const 1) (i32.const 65512)))", Fine),
        ("(drop (call $register (i32.const 16) (i32.const 1) (i32.const 65513)))", Broken(MEMORY)),
        ("(drop (call $register (i32.const 16) (i32.const 1) (i32.const 0xfffffff0)))", Broken(MEMORY)),
        ("(drop (call $register (i32.const 65536) (i32.const 1) (i32.const 1024)))", Broken(MEMORY)),
        (
            "(drop (call $register (i32.const 0xffffffff) (i32.const 0xffffffff) (i32.const 0)))",
            Broken(MEMORY),
        ),
        ("(drop (call $register (i32.const 17) (i32.const 1) (i32.const 1024)))", Broken("does not export")),
        ("(drop (call $register (i32.const 16) (i32.const 0) (i32.const 1024)))", Broken("does not export")),
        (
            "(drop (call $register (i32.const 0) (i32.const 65536) (i32.const 1024)))",
            Broken("does not export"),
        ),
        (
            "(loop $more (drop (call $register (i32.const 16) (i32.const 1) (i32.const 1024))) (br $more))",
            Broken("more kinds than it has jobs"),
        ),
    ]);
}

/// Expose checks the kind and the parameters.
pub fn expose_checks_the_kind_and_the_parameters() {
    all(&[
        ("(drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))", Fine),
        ("(drop (call $expose (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))", Broken("of the kind 1")),
        ("(drop (call $expose (i32.const -1) (i32.const 0) (i32.const 0) (i32.const 0)))", Broken("of the kind 4294967295")),
        ("(drop (call $expose (i32.const 0) (i32.const 65530) (i32.const 7) (i32.const 0)))", Broken("outside its memory")),
        ("(drop (call $expose (i32.const 0) (i32.const -1) (i32.const 1) (i32.const 0)))", Broken("outside its memory")),
        ("(drop (call $expose (i32.const 0) (i32.const 0) (i32.const -1) (i32.const 0)))", Limit("the parameters of a job are 4")),
        // Without a sync: stolen jobs are stopped, and the others are forgotten.
        ("(local $n i32) (loop $more (drop (call $expose (i32.const 0) (i32.const 0) (i32.const 65536) (i32.const 0)))
            (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))", Fine),
    ]);
}

/// An exposed job in `$job`.
pub const EXPOSE: &str = "(local $job i32)
    (local.set $job (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";
/// Waits for it.
pub const SYNC: &str = "(drop (call $sync (local.get $job)))";
/// Gives it up.
pub const ABANDON: &str = "(call $abandon (local.get $job))";

/// Sync and abandon check that the job was exposed.
pub fn sync_and_abandon_check_that_the_job_was_exposed() {
    for call in ["(drop (call $sync (i32.const N)))", "(call $abandon (i32.const N))"] {
        for number in ["0", "1", "2", "-1", "0x7fffffff"] {
            let body = call.replace('N', number);
            ends(&body, &app(&body), Broken("which it has not exposed"));
        }
    }
    for once in [SYNC, ABANDON] {
        let body = format!("{EXPOSE} {once}");
        ends(&body, &app(&body), Fine);
        let body = format!("{EXPOSE} {once} {SYNC}");
        ends(&body, &app(&body), Broken("which it has not exposed"));
    }
    let body = format!("{EXPOSE} {ABANDON} {ABANDON}");
    ends(&body, &app(&body), Broken("which it has not exposed"));
}

/// Sync any checks the jobs and the place of the list.
pub fn sync_any_checks_the_jobs_and_the_place_of_the_list() {
    const EXPOSE: &str =
        "(i32.store (i32.const 512) (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (i32.store (i32.const 516) (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";
    let any = |list: &str, count: &str| {
        format!("{EXPOSE} (drop (call $sync_any (i32.const {list}) (i32.const {count}) (i32.const 1)))")
    };
    let unknown = [("0", "1"), ("512", "2"), ("508", "1"), ("520", "1")];
    // The pair is known; neighbouring words are not.
    for (list, count) in unknown {
        let end = if list == "512" { Fine } else { Broken("which it has not exposed") };
        ends(list, &app(&any(list, count)), end);
    }
    for count in ["0", "3", "-1", "0x800000", "0x40000000"] {
        ends(count, &app(&any("512", count)), Broken("jobs and has exposed 2"));
    }
    for list in ["65532", "65535", "65536", "-1", "-4"] {
        ends(list, &app(&any(list, "2")), Broken("outside its memory"));
    }
    // The same job twice counts as that job; it is gone afterwards.
    let twice = format!("{EXPOSE} (i32.store (i32.const 516) (i32.load (i32.const 512)))");
    let call = "(drop (call $sync_any (i32.const 512) (i32.const 2) (i32.const 1)))";
    ends("one twice", &app(&format!("{twice} {call}")), Fine);
    ends(
        "one twice, twice",
        &app(&format!("{twice} {call} {call}")),
        Broken("any of 2 jobs and has exposed 1"),
    );
    let once = call.replacen("(i32.const 2)", "(i32.const 1)", 1);
    ends("one, twice", &app(&format!("{twice} {once} {once}")), Broken("which it has not exposed"));
    // The flag for waiting may be any number, and none waits for ever, as there is nothing to wait for.
    for waits in ["0", "2", "-1"] {
        let body =
            format!("{EXPOSE} (drop (call $sync_any (i32.const 512) (i32.const 2) (i32.const {waits})))");
        ends(waits, &app(&body), Fine);
    }
}

/// Attempt needs its export.
pub fn attempt_needs_its_export() {
    let body = "(drop (call $attempt (i32.const 0)))";
    ends("no export", &app(body), Broken("does not export sateen_attempt"));
    let other = [
        r#"(global (export "sateen_attempt") i32 (i32.const 0))"#,
        r#"(func (export "sateen_attempt"))"#,
        r#"(func (export "sateen_attempt") (param i64))"#,
        r#"(func (export "sateen_attempt") (param i32) (result i32) (i32.const 0))"#,
    ];
    for field in other {
        ends(field, &app_with(field, body), Broken("sateen_attempt"));
    }
}

/// A module whose `sateen_attempt` runs `attempt` and whose entry point runs `body`.
fn attempting(attempt: &str, body: &str) -> String {
    app_with(&format!(r#"(func $again (export "sateen_attempt") (param i32) {attempt})"#), body)
}

/// An attempt catches the guest's own failures.
pub fn an_attempt_catches_the_guests_own_failures() {
    let caught = "(if (i64.eqz (i64.shr_u (call $attempt (i32.const 0)) (i64.const 32))) (then unreachable))";
    for failing in [
        "unreachable",
        "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
        "(drop (i32.load (i32.const 0x7fffffff)))",
        "(call $fail (i32.const 2) (i32.const 0) (i32.const 0))",
        "(call $fail (i32.const 1) (i32.const 0) (i32.const 0))",
        "(call $abandon (i32.const 9))",
        "(call $panic (i32.const 0) (i32.const 0)) unreachable",
    ] {
        ends(failing, &attempting(failing, caught), Fine);
    }
    let not_taken = "(drop (call $attempt (i32.const 0))) (call $take (i32.const 65535))";
    ends("the error does not fit", &attempting("unreachable", not_taken), Broken("outside its memory"));
}

/// An attempt does not catch limits.
pub fn an_attempt_does_not_catch_limits() {
    let body = "(drop (call $attempt (i32.const 0)))";
    ends("deep", &attempting("(call $again (local.get 0))", body), Limit("raise it with --stack"));
    ends("grow", &attempting("(drop (memory.grow (i32.const 1000)))", body), Limit("raise it with --memory"));
    ends(
        "nested",
        &attempting("(drop (call $attempt (i32.const 0)))", body),
        Limit("`sateen run --attempts` raises the limit"),
    );
}

/// A guest's report of its end is checked.
pub fn a_guests_report_of_its_end_is_checked() {
    all(&[
        ("(call $fail (i32.const 1) (i32.const 0) (i32.const 0))", Broken("none failed")),
        ("(call $fail (i32.const 2) (i32.const 65536) (i32.const 1))", Broken("outside its memory")),
        ("(call $fail (i32.const 2) (i32.const -1) (i32.const -1))", Broken("outside its memory")),
        ("(call $fail (i32.const 99) (i32.const 65) (i32.const 3))", Fails("42")),
        ("(call $fail (i32.const -1) (i32.const 0) (i32.const -1))", Fails("42")),
        ("(call $panic (i32.const 65536) (i32.const 1))", Broken("outside its memory")),
        // A panic without a following trap has no effect.
        ("(call $panic (i32.const 66) (i32.const 2))", Fine),
        ("(call $panic (i32.const 66) (i32.const 2)) unreachable", Fails("42")),
        (
            "(call $panic (i32.const 66) (i32.const 2)) (drop (i32.div_u (i32.const 1) (i32.const 0)))",
            Trap("divide by zero"),
        ),
    ]);
}

/// Log input and progress accept anything.
pub fn log_input_and_progress_accept_anything() {
    all(&[
        ("(call $log (i32.const 65536) (i32.const 0))", Fine),
        ("(call $log (i32.const 65536) (i32.const 1))", Broken("outside its memory")),
        ("(call $log (i32.const -1) (i32.const -1))", Broken("outside its memory")),
        ("(call $log (i32.const 0) (i32.const -1))", Fine),
        ("(drop (call $input (i32.const 0) (i32.const 0)))", Fine),
        ("(drop (call $input (i32.const 0) (i32.const -1)))", Fine),
        ("(drop (call $input (i32.const -1) (i32.const 2)))", Broken("outside its memory")),
        ("(call $progress (i64.const -1) (i64.const 0))", Fine),
        ("(call $progress (i64.const -1) (i64.const -1))", Fine),
        ("(call $progress (i64.const 0) (i64.const -1))", Fine),
    ]);
}

/// An object of one byte, whose number is in `$o`; its id is at 1024.
pub const SHARE: &str = "(local $o i32)
    (local.set $o (call $share (i32.const 1024) (i32.const 64) (i32.const 1)))";

/// Share checks the value and the place of the id.
pub fn share_checks_the_value_and_the_place_of_the_id() {
    const MEMORY: &str = "outside its memory";
    all(&[
        ("(drop (call $share (i32.const 65520) (i32.const 0) (i32.const 0)))", Fine),
        ("(drop (call $share (i32.const 65521) (i32.const 0) (i32.const 0)))", Broken("16 bytes at 65521")),
        ("(drop (call $share (i32.const -1) (i32.const 0) (i32.const 0)))", Broken("16 bytes at 4294967295")),
        (
            "(drop (call $share (i32.const 0) (i32.const 65535) (i32.const 2)))",
            Broken("is at 65535, 2 bytes long"),
        ),
        ("(drop (call $share (i32.const 0) (i32.const -1) (i32.const 1)))", Broken(MEMORY)),
        ("(drop (call $share (i32.const 0) (i32.const 0) (i32.const -1)))", Limit("a shared object is 4")),
    ]);
}

/// Open checks where the id is.
pub fn open_checks_where_the_id_is() {
    all(&[
        ("(drop (call $open (i32.const 65521)))", Broken("is at 65521, 16 bytes long")),
        ("(drop (call $open (i32.const -1)))", Broken("outside its memory")),
    ]);
    let body = format!("{SHARE} (drop (call $open (i32.const 1024)))");
    ends("open", &app(&body), Fine);
    let body = format!("{SHARE} (loop $more (drop (call $open (i32.const 1024))) (br $more))");
    ends("open for ever", &app(&body), Broken("more than 65536 shared objects open"));
}

/// Objects are known by their numbers.
pub fn objects_are_known_by_their_numbers() {
    for call in [
        "(call $close (i32.const N))",
        "(call $mention (i32.const N))",
        "(drop (call $catch_up (i32.const N)))",
        "(drop (call $update (i32.const N) (i32.const 0) (i32.const 0) (i32.const 0)))",
        "(call $snapshot (i32.const N) (i32.const 0) (i32.const 0))",
    ] {
        for number in ["0", "2", "-1", "0x7fffffff"] {
            let body = format!("{SHARE} {}", call.replace('N', number));
            ends(&body, &app(&body), Broken("which it has not opened"));
        }
        let body = format!("{SHARE} {}", call.replace('N', "1"));
        ends(&body, &app(&body), Fine);
        let body = format!("{SHARE} (call $close (i32.const 1)) {}", call.replace('N', "1"));
        ends(&body, &app(&body), Broken("which it has not opened"));
    }
}

/// Updates and snapshots stay in memory.
pub fn updates_and_snapshots_stay_in_memory() {
    for call in ["(drop (call $update (local.get $o) A (i32.const 0)))", "(call $snapshot (local.get $o) A)"]
    {
        for (place, end) in [
            ("(i32.const 65535) (i32.const 1)", Fine),
            ("(i32.const 65535) (i32.const 2)", Broken("is at 65535, 2 bytes long")),
            ("(i32.const -1) (i32.const 1)", Broken("outside its memory")),
            ("(i32.const 0) (i32.const -1)", Limit("is 4")),
        ] {
            let body = format!("{SHARE} {}", call.replace('A', place));
            ends(&body, &app(&body), end);
        }
    }
}

/// Caught-up updates are taken, and must fit at their destination.
pub fn catching_up_is_taken_within_memory() {
    let catch_up = "(drop (call $catch_up (local.get $o)))";
    // The value and an update of three bytes, each with its length: twelve bytes.
    let update = "(drop (call $update (local.get $o) (i32.const 64) (i32.const 3) (i32.const 0)))";
    for (address, end) in
        [("65524", Fine), ("65525", Broken("12 bytes at 65525")), ("-1", Broken("outside its memory"))]
    {
        let body = format!("{SHARE} {update} {catch_up} (call $take (i32.const {address}))");
        ends(&body, &app(&body), end);
    }
    let read = format!(
        "{SHARE} {update} {catch_up} (call $take (i32.const 2048))
        (if (i64.ne (i64.load (i32.const 2048)) (i64.const 0x0000030000000001)) (then unreachable))"
    );
    ends("the value, then the update", &app(&read), Fine);
}

/// Endless updates meet the limit on shared objects; so do objects that mention one another.
pub fn shared_objects_are_bounded() {
    let limits = sateen_host::Limits { shared_bytes_max: 4 << 20, ..crate::wat::tight() };
    let update = "(loop $more (drop (call $update (local.get $o) (i32.const 0) (i32.const 1024) (i32.const 0))) (br $more))";
    let nested = "(loop $more (call $mention (local.get $o)) (call $close (local.get $o))
        (local.set $o (call $share (i32.const 1024) (i32.const 0) (i32.const 1024))) (br $more))";
    for body in [update, nested] {
        let module = crate::wat::bytes(&app(&format!("{SHARE} {body}")));
        crate::wat::ends_under(&limits, body, &module, Limit("raise it with --max-shared"));
    }
}

/// Holding ends.
pub fn holding_ends() {
    let limits =
        sateen_host::Limits { guard_wait_max: std::time::Duration::from_millis(100), ..crate::wat::tight() };
    for (body, end) in [
        (
            "(call $hold (i32.const 16) (i32.const 1)) (call $hold (i32.const 16) (i32.const 1))",
            Limit("the guard `j` of the job `main` was false for "),
        ),
        (
            "(loop $more (call $hold (i32.const 16) (i32.const 1)) (br $more))",
            Limit("raise the limit with --guard-limit"),
        ),
        ("(call $hold (i32.const 65536) (i32.const 1))", Broken("outside its memory")),
    ] {
        let module = crate::wat::bytes(&app(body));
        crate::wat::ends_under(&limits, body, &module, end);
    }
}

/// A broken replica ends the run even within an attempt.
pub fn a_broken_replica_ends_the_run_even_within_an_attempt() {
    let body = "(drop (call $attempt (i32.const 0)))";
    for fault in [3, 4] {
        let fail = format!("(call $fail (i32.const {fault}) (i32.const 65) (i32.const 3))");
        ends("fail", &attempting(&fail, body), Fails("failed"));
    }
}
