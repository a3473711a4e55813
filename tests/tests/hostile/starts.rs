//! Start functions, and data and elements that are initialised before any call.

use std::time::Duration;

use sateen_host::Limits;
use sateen_tests::wat::End::{Broken, Fine, Limit, Trap};
use sateen_tests::wat::{app_with, bytes, ends, ends_under, tight};

fn starting(body: &str) -> String {
    app_with(&format!("(func $start {body}) (start $start)"), "")
}

#[test]
pub fn a_start_function_is_a_guest_like_any_other() {
    ends("good", &starting("nop"), Fine);
    ends("trap", &starting("unreachable"), Trap("unreachable"));
    ends("deep", &starting("(call $start)"), Limit("raise it with --stack"));
    ends("grow", &starting("(drop (memory.grow (i32.const 10000)))"), Limit("raise it with --memory"));
    let limits = Limits { wall_time_max: Some(Duration::from_millis(200)), ..tight() };
    let endless = bytes(&starting("(loop (br 0))"));
    ends_under(&limits, "endless", &endless, Limit("raise it with --time-limit"));
}

#[test]
fn a_start_function_cannot_use_memory_through_the_host() {
    for call in [
        "(call $take (i32.const 0))",
        "(call $log (i32.const 16) (i32.const 1))",
        "(drop (call $register (i32.const 16) (i32.const 1) (i32.const 1024)))",
        "(drop (call $input (i32.const 16) (i32.const 1)))",
        "(call $fail (i32.const 2) (i32.const 16) (i32.const 1))",
    ] {
        ends(call, &starting(call), Broken("before it is started"));
    }
    ends("attach", &starting("(call $attach (i32.const 0))"), Fine);
    ends("sync", &starting("(drop (call $sync (i32.const 1)))"), Broken("which it has not exposed"));
}

#[test]
pub fn data_and_elements_out_of_bounds_trap() {
    let data = r#"(data (i32.const 65535) "ab")"#;
    ends(data, &app_with(data, ""), Trap("out of bounds"));
    let far = r#"(data (i32.const -1) "a")"#;
    ends(far, &app_with(far, ""), Trap("out of bounds"));
    let elements = "(table 1 funcref) (func $f) (elem (i32.const 1) $f)";
    ends(elements, &app_with(elements, ""), Trap("out of bounds"));
}
