use std::borrow::Cow;

use wasmparser::{Operator, Parser, Payload, Validator, WasmFeatures};

use super::{POLL_WORD, STOP_WORD, rewrite};

/// What the functions of the rewritten module do, one letter for an instruction of interest: `p`oll, `s`top, `l`oop,
/// `c`all, `i`ndirect call, bulk operation `b`.
fn checks(text: &str) -> Vec<String> {
    let module = wat::parse_str(text).unwrap();
    let rewritten = rewrite(&module).unwrap();
    validate(&rewritten);
    let mut functions = Vec::new();
    for payload in Parser::new(0).parse_all(&rewritten) {
        let Payload::CodeSectionEntry(body) = payload.unwrap() else { continue };
        let mut letters = String::new();
        let mut is_poll = false;
        for operator in body.get_operators_reader().unwrap() {
            let letter = match operator.unwrap() {
                Operator::I32AtomicLoad { memarg } => {
                    is_poll = memarg.offset == POLL_WORD;
                    assert!(is_poll || memarg.offset == STOP_WORD);
                    if is_poll { 'p' } else { 's' }
                }
                Operator::Call { .. } if is_poll => {
                    is_poll = false;
                    continue;
                }
                Operator::Loop { .. } => 'l',
                Operator::Call { .. } => 'c',
                Operator::CallIndirect { .. } => 'i',
                operator if crate::survey::is_bulk(&operator) => 'b',
                _ => continue,
            };
            letters.push(letter);
        }
        functions.push(letters);
    }
    functions
}

fn validate(module: &[u8]) {
    let features = WasmFeatures::default().union(WasmFeatures::MULTI_MEMORY).union(WasmFeatures::THREADS);
    Validator::new_with_features(features).validate_all(module).unwrap();
}

#[test]
fn loops_stop_and_loops_that_call_poll() {
    let text = r#"(module
        (func $leaf (param i32))
        (func $f (loop (loop (br 0)) (call $leaf (i32.const 1)) (loop (br 0)) (br 0)) (call $leaf (i32.const 1)))
    )"#;
    assert_eq!(checks(text), ["", "lplsclsc"]);
}

/// As Rust's checks of bounds do.
#[test]
fn a_call_that_never_returns_is_no_call_of_the_loop() {
    let text = r#"(module
        (func $panic unreachable)
        (func $f (loop (if (i32.const 1) (then (call $panic) unreachable)) (br 0)))
    )"#;
    assert_eq!(checks(text), ["", "lsc"]);
}

#[test]
fn recursion_polls_at_an_entry() {
    assert_eq!(checks("(module (func $f (call $f)))"), ["pc"]);
    assert_eq!(checks("(module (func $f (call $g)) (func $g (call $f)) (func (call $f)))"), ["pc", "c", "c"]);
}

#[test]
fn recursion_through_a_table_or_an_attempt_polls() {
    let table = r#"(module
        (type $t (func)) (type $u (func (param i32))) (type $v (func))
        (table funcref (elem $f $g))
        (func $f (type $t) (call_indirect (type $v) (i32.const 0)))
        (func $g (type $u))
        (func $h (call_indirect (type $u) (i32.const 1) (i32.const 1)))
    )"#;
    assert_eq!(checks(table), ["pi", "", "i"]);
    let attempt = r#"(module
        (import "sateen" "attempt" (func $attempt (param i32) (result i64)))
        (func $f (export "sateen_attempt") (param i32) (drop (call $attempt (i32.const 0))))
    )"#;
    assert_eq!(checks(attempt), ["pc"]);
    // A function may also come into a table from code.
    let code = r#"(module
        (type $t (func)) (table 1 funcref) (elem declare func $f)
        (func $f (table.set (i32.const 0) (ref.func $f)) (call_indirect (type $t) (i32.const 0)))
    )"#;
    assert_eq!(checks(code), ["pi"]);
}

#[test]
fn bulk_operations_poll_unless_they_are_short() {
    let text = r#"(module (memory 1)
        (func (param i32) (memory.fill (i32.const 0) (i32.const 0) (local.get 0)))
        (func (memory.copy (i32.const 0) (i32.const 0) (i32.const 4095)))
        (func (memory.copy (i32.const 0) (i32.const 0) (i32.const 4096)))
        (func (param i32) (loop (memory.fill (i32.const 0) (i32.const 0) (local.get 0)) (br 0)))
    )"#;
    assert_eq!(checks(text), ["pb", "b", "pb", "lppb"]);
}

#[test]
fn a_module_without_cycles_is_left_as_it_is() {
    let module = wat::parse_str("(module (memory 1) (func $f) (func (call $f)))").unwrap();
    assert!(matches!(rewrite(&module).unwrap(), Cow::Borrowed(same) if same == module));
}

/// Everything that refers to a function or a memory by its index.
#[test]
fn indices_are_those_of_the_rewritten_module() {
    let text = r#"(module
        (import "sateen" "log" (func $log (param i32 i32)))
        (memory (export "memory") 1) (data (i32.const 8) "text") (data $passive "more")
        (table 2 funcref) (elem (i32.const 0) $f $log)
        (global funcref (ref.func $f))
        (start $f)
        (func $f (export "f")
            (loop
                (i32.store offset=4 (i32.const 0) (i32.load8_u (i32.const 9)))
                (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 1))
                (drop (memory.grow (i32.const 1)))
                (v128.store (i32.const 16) (v128.load (i32.const 0)))
                (call $log (i32.const 8) (memory.size))))
    )"#;
    let module = wat::parse_str(text).unwrap();
    let rewritten = rewrite(&module).unwrap();
    validate(&rewritten);
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(&rewritten) {
        match payload.unwrap() {
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export.unwrap();
                    assert_eq!(
                        (export.name, export.index),
                        if export.name == "f" { ("f", 2) } else { ("memory", 1) }
                    );
                }
            }
            Payload::StartSection { func, .. } => assert_eq!(func, 2),
            Payload::CustomSection(section) => {
                let wasmparser::KnownCustom::Name(reader) = section.as_known() else {
                    panic!("another section")
                };
                for name in reader {
                    if let wasmparser::Name::Function(functions) = name.unwrap() {
                        names.extend(functions.into_iter().map(|named| {
                            let named = named.unwrap();
                            (named.index, named.name.to_owned())
                        }));
                    }
                }
            }
            _ => {}
        }
    }
    assert_eq!(names, [(0, "log".to_owned()), (2, "f".to_owned())]);
}

#[test]
fn names_that_cannot_be_read_are_left_out() {
    let mut module = wat::parse_str("(module (func (loop (br 0))))").unwrap();
    // A custom section `name` with one byte that begins a subsection which never comes.
    module.extend([0, 6, 4]);
    module.extend(b"name");
    module.push(1);
    let rewritten = rewrite(&module).unwrap();
    validate(&rewritten);
    assert!(!rewritten.windows(4).any(|bytes| bytes == b"name"));
}

#[test]
fn what_is_no_module_is_an_error() {
    let error = rewrite(b"\0asm\x01\0\0\0\x01\xff").unwrap_err().to_string();
    assert!(error.contains("unexpected end"), "{error}");
}
