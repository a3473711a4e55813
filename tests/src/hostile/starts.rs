//! Start functions, and data and elements that are initialised before any call.

use std::time::Duration;

use sateen_host::Limits;

use crate::wat::End::{Fine, Limit, Trap};
use crate::wat::{app_with, bytes, ends, ends_under, tight};

/// An app with this start function.
pub fn starting(body: &str) -> String {
    app_with(&format!("(func $start {body}) (start $start)"), "")
}

/// A start function is a guest like any other.
pub fn a_start_function_is_a_guest_like_any_other() {
    ends("good", &starting("nop"), Fine);
    ends("trap", &starting("unreachable"), Trap("unreachable"));
    ends("deep", &starting("(call $start)"), Limit("raise it with --stack"));
    ends("grow", &starting("(drop (memory.grow (i32.const 10000)))"), Limit("raise it with --memory"));
    let limits = Limits { wall_time_max: Some(Duration::from_millis(200)), ..tight() };
    let endless = bytes(&starting("(loop (br 0))"));
    ends_under(&limits, "endless", &endless, Limit("raise it with --time-limit"));
}

/// Data and elements out of bounds trap.
pub fn data_and_elements_out_of_bounds_trap() {
    let data = r#"(data (i32.const 65535) "ab")"#;
    ends(data, &app_with(data, ""), Trap("out of bounds"));
    let far = r#"(data (i32.const -1) "a")"#;
    ends(far, &app_with(far, ""), Trap("out of bounds"));
    let elements = "(table 1 funcref) (func $f) (elem (i32.const 1) $f)";
    ends(elements, &app_with(elements, ""), Trap("out of bounds"));
}
