use std::borrow::Cow;
use std::collections::HashSet;

use wasmparser::{Operator, Parser, Payload, Validator, WasmFeatures};

use super::{POLL_WORDS, WORDS_EACH, rewrite};

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
        let mut words = HashSet::new();
        let mut operators =
            body.get_operators_reader().unwrap().into_iter().map(|operator| operator.unwrap());
        while let Some(operator) = operators.next() {
            let letter = match operator {
                Operator::I32Load { memarg } | Operator::I32AtomicLoad { memarg } if memarg.memory == 0 => {
                    let is_poll = memarg.offset >= POLL_WORDS;
                    let word = memarg.offset / 4 % WORDS_EACH;
                    let is_atomic = matches!(operator, Operator::I32AtomicLoad { .. });
                    assert!(memarg.offset < POLL_WORDS + 4 * WORDS_EACH && (word == 0) == is_atomic);
                    assert!(is_atomic || words.insert(memarg.offset), "two checks read one word");
                    while !matches!(operators.next(), Some(Operator::End)) {}
                    if is_poll { 'p' } else { 's' }
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
        (func $f (param i32)
            (loop
                (loop (br_if 0 (local.get 0)))
                (call $leaf (i32.const 1))
                (loop (br_if 0 (local.get 0)))
                (br_if 0 (local.get 0)))
            (call $leaf (i32.const 1)))
    )"#;
    assert_eq!(checks(text), ["", "lplsclsc"]);
}

#[test]
fn loops_poll_in_the_functions_that_they_call() {
    let text =
        r#"(module (func $f (loop (call $f) (br_if 0 (i32.const 1))) (loop (br_if 0 (i32.const 1)))))"#;
    assert_eq!(checks(text), ["plcls"]);
}

#[test]
fn each_check_of_a_function_reads_a_word_of_its_own() {
    let loops = |count: usize| format!("(func {})", "(loop (br_if 0 (i32.const 1)))".repeat(count));
    let text = format!("(module {} {})", loops(300), loops(1));
    assert_eq!(checks(&text), ["ls".repeat(300), "ls".to_owned()]);
}

#[test]
fn parameters_pass_through_the_poll_of_an_entry() {
    let text = r#"(module
        (func $f (param i32 f64) (call $f (local.get 0) (local.get 1)))
        (func $g (param i32 f64) (result i64) (call $g (local.get 0) (local.get 1)))
        (func $h (param i32 i32 i32 i32 i32 i32 i32) (call $h (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
            (i32.const 0) (i32.const 0) (i32.const 0)))
    )"#;
    assert_eq!(checks(text), ["pc", "pc", "pc", "c"], "one is added, which polls");
    let module = wat::parse_str(text).unwrap();
    let (mut sets, mut hints) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(&rewrite(&module).unwrap()) {
        match payload.unwrap() {
            Payload::CodeSectionEntry(body) => sets.push(
                (body.get_operators_reader().unwrap().into_iter())
                    .filter(|operator| matches!(operator, Ok(Operator::LocalSet { .. })))
                    .count(),
            ),
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::BranchHints(reader) = section.as_known() {
                    hints.extend(reader.into_iter().map(|function| {
                        let function = function.unwrap();
                        (
                            function.func,
                            function.hints.into_iter().filter(|hint| !hint.as_ref().unwrap().taken).count(),
                        )
                    }));
                }
            }
            _ => {}
        }
    }
    assert_eq!(sets, [2, 2, 0, 0]);
    assert_eq!(hints, [(1, 1), (2, 1), (3, 1)], "the poll is imported first");
}

/// As Rust's checks of bounds do.
#[test]
fn a_call_that_never_returns_is_not_a_call_of_the_loop() {
    let text = r#"(module
        (func $panic unreachable)
        (func $f (loop (if (i32.const 1) (then (call $panic) unreachable)) (br 0)))
    )"#;
    assert_eq!(checks(text), ["", "lscccc"], "its body is there four times");
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
    assert_eq!(checks(attempt), ["pc", "c"]);
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
    assert_eq!(checks(text), ["pb", "b", "pb", "lpb"]);
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
                let reader = match section.as_known() {
                    wasmparser::KnownCustom::Name(reader) => reader,
                    wasmparser::KnownCustom::BranchHints(_) => continue,
                    _ => panic!("another section"),
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
fn a_function_that_is_too_long_with_checks_is_named() {
    use wasm_encoder::{CodeSection, Function, FunctionSection, Module, TypeSection};
    const NOP: u8 = 1;
    const END: u8 = 0xb;
    // loop, i32.const 1, br_if 0, end
    const LOOP: &[u8] = &[3, 0x40, 0x41, 1, 0xd, 0, END];
    let with = |nops: usize, loops: usize| {
        let mut code = vec![NOP; nops];
        code.extend(LOOP.repeat(loops));
        let (mut types, mut functions, mut bodies) =
            (TypeSection::new(), FunctionSection::new(), CodeSection::new());
        types.ty().function([], []);
        for code in [Vec::new(), code] {
            functions.function(0);
            let mut function = Function::new([]);
            function.raw(code.into_iter().chain([END]));
            bodies.function(&function);
        }
        let mut module = Module::new();
        module.section(&types).section(&functions).section(&bodies);
        let module = module.finish();
        rewrite(&module).map(|rewritten| validate(&rewritten)).map_err(|error| error.to_string())
    };
    // Copies of a thousand loops are too long, checks alone are not.
    assert_eq!(with(7_630_000, 1_000), Ok(()));
    let error = with(7_650_000, 500).unwrap_err();
    assert!(error.starts_with("function 1 has 765") && error.contains("split it"), "{error}");
}

#[test]
fn bytes_that_are_not_a_module_are_an_error() {
    let error = rewrite(b"\0asm\x01\0\0\0\x01\xff").unwrap_err().to_string();
    assert!(error.contains("unexpected end"), "{error}");
}
