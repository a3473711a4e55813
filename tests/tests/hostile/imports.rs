//! Every import of the ABI, called with what no SDK would pass.

use sateen_tests::wat::End::{self, Broken, Fails, Fine, Limit, Trap};
use sateen_tests::wat::{app, app_with, ends};

fn all(cases: &[(&str, End)]) {
    for (body, end) in cases {
        ends(body, &app(body), *end);
    }
}

#[test]
fn take_stays_in_memory() {
    all(&[
        ("(call $take (i32.const 65535))", Fine),
        ("(call $take (i32.const 65536))", Broken("outside its memory")),
        ("(call $take (i32.const 0xffffffff))", Broken("outside its memory")),
        // Nothing is left to take: nothing is written, wherever that would be.
        ("(call $take (i32.const 0)) (call $take (i32.const 0))", Fine),
        ("(call $take (i32.const 0)) (call $take (i32.const 65537))", Broken("outside its memory")),
    ]);
}

#[test]
fn attach_may_point_anywhere() {
    for address in ["0", "65528", "65529", "65535", "65536", "0xfffffffc", "0xffffffff"] {
        let body = format!("(call $attach (i32.const {address}))");
        ends(&body, &app(&body), Fine);
    }
    let often = "(local $n i32) (loop $more (call $attach (i32.add (local.get $n) (i32.const 4096)))
        (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))";
    ends("attach often", &app(often), Fine);
}

#[test]
fn register_checks_the_name_and_the_record() {
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

#[test]
fn expose_checks_the_kind_and_the_parameters() {
    all(&[
        ("(drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))", Fine),
        ("(drop (call $expose (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))", Broken("of the kind 1")),
        ("(drop (call $expose (i32.const -1) (i32.const 0) (i32.const 0) (i32.const 0)))", Broken("of the kind 4294967295")),
        ("(drop (call $expose (i32.const 0) (i32.const 65530) (i32.const 7) (i32.const 0)))", Broken("outside its memory")),
        ("(drop (call $expose (i32.const 0) (i32.const -1) (i32.const 1) (i32.const 0)))", Broken("outside its memory")),
        ("(drop (call $expose (i32.const 0) (i32.const 0) (i32.const -1) (i32.const 0)))", Limit("the parameters of a job is 4")),
        // Without a sync: whoever took them is stopped, and the others are forgotten.
        ("(local $n i32) (loop $more (drop (call $expose (i32.const 0) (i32.const 0) (i32.const 65536) (i32.const 0)))
            (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 100000))))", Fine),
    ]);
}

#[test]
fn sync_and_abandon_know_what_was_exposed() {
    const EXPOSE: &str = "(local $job i32)
        (local.set $job (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";
    for call in ["(drop (call $sync (i32.const N)))", "(call $abandon (i32.const N))"] {
        for number in ["0", "1", "2", "-1", "0x7fffffff"] {
            let body = call.replace('N', number);
            ends(&body, &app(&body), Broken("which it has not exposed"));
        }
    }
    let sync = "(drop (call $sync (local.get $job)))";
    let abandon = "(call $abandon (local.get $job))";
    for once in [sync, abandon] {
        let body = format!("{EXPOSE} {once}");
        ends(&body, &app(&body), Fine);
        for twice in [sync, abandon] {
            let body = format!("{EXPOSE} {once} {twice}");
            ends(&body, &app(&body), Broken("which it has not exposed"));
        }
    }
}

#[test]
fn sync_any_knows_what_was_exposed_and_where_the_list_is() {
    const EXPOSE: &str =
        "(i32.store (i32.const 512) (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
        (i32.store (i32.const 516) (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";
    let any = |list: &str, count: &str| {
        format!("{EXPOSE} (drop (call $sync_any (i32.const {list}) (i32.const {count}) (i32.const 1)))")
    };
    let unknown = [("0", "1"), ("512", "2"), ("508", "1"), ("520", "1")];
    // The pair is known; what lies beside it is not.
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
    // The same one twice is that one; it is gone afterwards.
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
    // Whether it waits is any number; none is a wait without end, for there is nothing to wait for.
    for waits in ["0", "2", "-1"] {
        let body =
            format!("{EXPOSE} (drop (call $sync_any (i32.const 512) (i32.const 2) (i32.const {waits})))");
        ends(waits, &app(&body), Fine);
    }
}

/// A whole run records nothing; `tests/portion` has what is asked for.
#[test]
fn record_needs_to_be_asked() {
    for number in ["0", "1", "-1"] {
        let body = format!(
            "(drop (call $expose (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
            (call $record (i32.const {number}) (i32.const 0) (i32.const 0))"
        );
        ends(&body, &app(&body), Broken("which it was not asked to"));
    }
}

#[test]
fn attempt_needs_its_export() {
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

/// A module whose `sateen_attempt` does `attempt` and whose entry point does `body`.
fn attempting(attempt: &str, body: &str) -> String {
    app_with(&format!(r#"(func $again (export "sateen_attempt") (param i32) {attempt})"#), body)
}

#[test]
fn an_attempt_catches_what_is_the_guests_own() {
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

#[test]
fn an_attempt_does_not_catch_limits() {
    let body = "(drop (call $attempt (i32.const 0)))";
    ends("deep", &attempting("(call $again (local.get 0))", body), Limit("raise it with --stack"));
    ends("grow", &attempting("(drop (memory.grow (i32.const 1000)))", body), Limit("raise it with --memory"));
    ends(
        "nested",
        &attempting("(drop (call $attempt (i32.const 0)))", body),
        Limit("raise it with --attempts"),
    );
}

#[test]
fn what_a_guest_says_of_its_end_is_checked() {
    all(&[
        ("(call $fail (i32.const 1) (i32.const 0) (i32.const 0))", Broken("none failed")),
        ("(call $fail (i32.const 2) (i32.const 65536) (i32.const 1))", Broken("outside its memory")),
        ("(call $fail (i32.const 2) (i32.const -1) (i32.const -1))", Broken("outside its memory")),
        ("(call $fail (i32.const 99) (i32.const 65) (i32.const 3))", Fails("42")),
        ("(call $fail (i32.const -1) (i32.const 0) (i32.const -1))", Fails("42")),
        ("(call $panic (i32.const 65536) (i32.const 1))", Broken("outside its memory")),
        // A panic that no trap follows was none.
        ("(call $panic (i32.const 66) (i32.const 2))", Fine),
        ("(call $panic (i32.const 66) (i32.const 2)) unreachable", Fails("42")),
        (
            "(call $panic (i32.const 66) (i32.const 2)) (drop (i32.div_u (i32.const 1) (i32.const 0)))",
            Trap("divide by zero"),
        ),
    ]);
}

#[test]
fn log_input_and_progress_bear_anything() {
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
