//! An entry point's result is checked like everything else.

use crate::wat::End::{Broken, Fails, Fine, Limit};
use crate::wat::{FRAME, IMPORTS, ends};

fn returns(place: &str) -> String {
    format!(
        r#"(module {IMPORTS} {FRAME} (func (export "sateen_main_main") (param i32) (result i64) (i64.const {place})))"#
    )
}

/// A result lies in memory and is not too large.
pub fn a_result_lies_in_memory_and_is_not_too_large() {
    ends("good", &returns("0x4000000004"), Fine);
    ends("at the end", &returns("0x0001000000000001"), Broken("outside its memory"));
    ends("beyond", &returns("0xffffffff00000004"), Broken("outside its memory"));
    ends("across the end", &returns("0x0000fffe00000004"), Broken("outside its memory"));
    ends("around", &returns("0xffffffff000fffff"), Broken("outside its memory"));
    ends("as large as can be", &returns("-1"), Limit("raise it with --max-output"));
    ends("a byte too large", &returns("0x00100001"), Limit("the result of `main`"));
}

/// An invalid outcome is the app's failure.
pub fn an_invalid_outcome_is_the_apps_failure() {
    for place in ["0", "1", "0x1000000001", "0x4100000001", "0x4000000003"] {
        ends(place, &returns(place), Fails("its outcome cannot be read"));
    }
}

/// An entry point of another type is broken.
pub fn an_entry_point_of_another_type_is_broken() {
    for main in [
        r#"(func (export "sateen_main_main"))"#,
        r#"(func (export "sateen_main_main") (result i64) (i64.const 0))"#,
        r#"(func (export "sateen_main_main") (param i64) (result i64) (i64.const 0))"#,
        r#"(func (export "sateen_main_main") (param i32) (result i64 i64) (i64.const 0) (i64.const 0))"#,
    ] {
        ends(main, &format!("(module {IMPORTS} {FRAME} {main})"), Broken("another type"));
    }
}
