//! Modules that are refused before any of them runs, with reasons.

use crate::wat::End::Refused;
use crate::wat::{FRAME, IMPORTS, JOB, app, app_with, ends};

/// Foreign imports are refused by name.
pub fn foreign_imports_are_refused_by_name() {
    let cases = [
        (
            r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#,
            "`wasi_snapshot_preview1.fd_write`",
        ),
        (r#"(import "env" "memory" (memory 1))"#, "`env.memory` (memory)"),
        (r#"(import "env" "t" (table 1 funcref))"#, "`env.t` (table)"),
        (r#"(import "env" "g" (global i32))"#, "`env.g` (global)"),
        (r#"(import "sateen" "clock" (func (result i64)))"#, "`sateen.clock`"),
        (r#"(import "sateen" "take" (func (param i64)))"#, "`sateen.take`"),
        (r#"(import "sateen" "take" (global i32))"#, "`sateen.take` (global)"),
        (r#"(import "SATEEN" "take" (func (param i32)))"#, "`SATEEN.take`"),
        (r#"(import "" "" (func))"#, "`.`"),
    ];
    for (import, name) in cases {
        let text = format!(
            r#"(module {import} {} (func (export "sateen_main_main") (param i32) (result i64) (i64.const 0)))"#,
            FRAME.replace(
                r#"(memory (export "memory") 1)"#,
                if import.contains("(memory") {
                    r#"(export "memory" (memory 0))"#
                } else {
                    r#"(memory (export "memory") 1)"#
                }
            )
        );
        ends(import, &text, Refused(name));
    }
}

/// Modules that are not apps are refused.
pub fn modules_that_are_not_apps_are_refused() {
    ends("no ABI", r#"(module (memory (export "memory") 1))"#, Refused("not a Sateen app"));
    let newer = app("").replace("sateen_abi_1", "sateen_abi_2");
    ends("newer ABI", &newer, Refused("made for version 2 of the ABI"));
    let both = app_with(r#"(func (export "sateen_abi_7"))"#, "");
    ends("two ABIs", &both, Refused("made for version 7 of the ABI"));
    let older = app("").replace("sateen_abi_1", "sateen_abi_0");
    ends("older ABI", &older, Refused("build it again"));
    let strange = app("").replace("sateen_abi_1", "sateen_abi_99999999999");
    ends("ABI beyond numbers", &strange, Refused("not a Sateen app"));
    let no_memory = app("").replace(r#"(export "memory")"#, "");
    ends("no memory", &no_memory, Refused("exports no memory"));
    let other = app("").replace(
        r#"(memory (export "memory") 1)"#,
        r#"(memory 1) (global (export "memory") i32 (i32.const 0))"#,
    );
    ends("a memory that is none", &other, Refused("exports no memory"));
    ends("no entry", &format!("(module {IMPORTS} {FRAME} {JOB})"), Refused("no entry point"));
    let named = app("").replace("sateen_main_main", "sateen_main_other");
    ends("another entry", &named, Refused("no entry point `main`; it has: other"));
}

/// Modules with too much memory are refused.
pub fn modules_with_too_much_memory_are_refused() {
    let memory = |pages: &str| app("").replace(r#""memory") 1)"#, &format!(r#""memory") {pages})"#));
    ends("memory", &memory("257"), Refused("raise it with --memory"));
    ends("all memory", &memory("65536"), Refused("raise it with --memory"));
    ends("table", &app_with("(table 100001 funcref)", ""), Refused("a table of 100001 elements"));
    ends("tables", &app_with("(table 60000 funcref) (table 60000 funcref)", ""), Refused("it has 2 tables"));
}

/// Within the limits in total, but in a form that the sandbox does not support.
pub fn modules_that_the_sandbox_cannot_hold_are_refused_without_a_panic() {
    ends("two tables", &app_with("(table 1 funcref) (table 1 funcref)", ""), Refused("it has 2 tables"));
    let globals = "(global (mut i64) (i64.const 0))".repeat(200_000);
    ends("many globals", &app_with(&globals, ""), Refused(""));
    let locals = format!("(func {})", "(local i64)".repeat(60_000));
    ends("many locals", &app_with(&locals, ""), Refused("not a valid module"));
}

/// Features beyond the profile are refused.
pub fn features_beyond_the_profile_are_refused() {
    for field in [
        "(memory 1)",
        "(memory $more i64 1)",
        "(memory $more 1 1 shared)",
        "(tag)",
        "(func (param v128 v128 v128) (result v128) (f32x4.relaxed_madd (local.get 0) (local.get 1) (local.get 2)))",
        "(func $f (return_call $f))",
        "(type (struct (field i32)))",
        "(func (result i32) (i32.atomic.load (i32.const 0)))",
    ] {
        ends(field, &app_with(field, ""), Refused("not a valid module"));
    }
}
