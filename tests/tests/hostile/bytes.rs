//! Files that are not modules, or not any more.

use std::time::{Duration, Instant};

use sateen_host::{App, Engine, Limits, RunError, inspect};
use sateen_tests::random::{Random, seed};
use sateen_tests::wat::End::Refused;
use sateen_tests::wat::{app, bytes, ends_under, goes_on, run, tight};
use sateen_tests::{command, probe};

#[test]
fn other_files_are_refused() {
    let cases: [(&str, &[u8], &'static str); 6] = [
        ("empty", b"", "not a wasm module"),
        ("text", b"(module)", "not a wasm module"),
        ("an ELF file", b"\x7fELF\x02\x01\x01\0\0\0\0\0", "not a wasm module"),
        ("magic only", b"\0asm", "not a valid module"),
        ("a component", b"\0asm\x0d\0\x01\0", "a component"),
        ("another version", b"\0asm\x02\0\0\0", "not a valid module"),
    ];
    for (name, module, why) in cases {
        ends_under(&tight(), name, module, Refused(why));
    }
}

/// Compiled code that is submitted as a module is never loaded.
#[test]
fn compiled_code_is_not_taken_for_a_module() {
    let engine = wat_engine();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let cache = sateen_host::ModuleCache::open(folder.path()).expect("it can hold a cache");
    App::load(&engine, &bytes(&app("")), Some(&cache)).expect("it is a good app");
    let code = std::fs::read_dir(folder.path())
        .expect("it can be read")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|kind| kind == "code"))
        .expect("the cache keeps the compiled module");
    let mut code = std::fs::read(code).expect("it can be read");
    ends_under(&tight(), "a cache file", &code, Refused("not a wasm module"));
    code.drain(..32);
    ends_under(&tight(), "its code", &code, Refused("not a wasm module"));
}

fn wat_engine() -> Engine {
    Engine::new(&tight(), false).expect("this machine can run guests")
}

#[test]
fn a_module_cut_off_anywhere_is_refused() {
    let module = bytes(&app("(call $take (i32.const 1024))"));
    let engine = wat_engine();
    let mut whole = 0;
    for length in 0..module.len() {
        let cut = &module[..length];
        let why = inspect(cut, &Limits::default()).refusal().map(str::to_owned);
        match App::load(&engine, cut, None).map(|_| ()) {
            Err(RunError::BadInput(said)) => assert_eq!(why, Some(said), "cut off at {length}"),
            Ok(()) => whole += 1,
            other => panic!("cut off at {length}: {other:?}"),
        }
    }
    assert_eq!(whole, 2, "without its names, and without its data, it is a module still");
    goes_on(&engine, "modules that were cut off");
}

/// Changes one to four bytes or bits, somewhere.
fn damage(module: &[u8], random: &mut Random) -> Vec<u8> {
    let mut damaged = module.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(damaged.len());
        match random.below(4) {
            0 => damaged[at] = random.number() as u8,
            1 => drop(damaged.remove(at)),
            _ => damaged[at] ^= 1 << random.below(8),
        }
    }
    damaged
}

#[test]
fn damaged_modules_are_inspected_without_a_panic() {
    let mut random = Random::new(seed(1));
    let (small, large) = (bytes(&app("")), std::fs::read(command::app("fib")).expect("it can be read"));
    let mut refused = 0;
    for round in 0..3_000 {
        let module = if round % 3 == 0 { &large } else { &small };
        refused += usize::from(inspect(&damage(module, &mut random), &Limits::default()).refusal().is_some());
    }
    assert!((1_000..3_000).contains(&refused), "some damage is seen and some is not: {refused} of 3000");
}

/// Modules with undetected damage are run under limits, and may end in any way, but must end.
#[test]
fn damaged_modules_run_to_some_end() {
    const BUDGET: Duration = Duration::from_secs(12);
    let limits = Limits { wall_time_max: Some(Duration::from_millis(100)), ..tight() };
    let engine = Engine::new(&limits, false).expect("this machine can run guests");
    let mut random = Random::new(seed(2));
    let small = bytes(&app(
        "(call $take (i32.const 1024)) (drop (call $register (i32.const 16) (i32.const 1) (i32.const 1024)))
        (call $abandon (call $expose (i32.const 0) (i32.const 0) (i32.const 9) (i32.const 0)))",
    ));
    let large = std::fs::read(command::app("fib")).expect("it can be read");
    let (mut ran, mut rounds) = (0, 0);
    let started = Instant::now();
    while started.elapsed() < BUDGET && rounds < 4_000 {
        rounds += 1;
        let module = damage(if rounds % 8 == 0 { &large } else { &small }, &mut random);
        if inspect(&module, &limits).refusal().is_some() {
            continue;
        }
        match run(&engine, &module) {
            Ok(_) | Err(RunError::Job(_) | RunError::App(_) | RunError::Limit(_)) => ran += 1,
            Err(RunError::BadInput(_)) => {}
            Err(error) => panic!("round {rounds}: {error:?}"),
        }
    }
    eprintln!("{ran} of {rounds} damaged modules ran");
    assert!(ran > 20, "only {ran} of {rounds} ran");
    goes_on(&engine, "damaged modules");
}

/// A whole app, damaged in its code only, so that it nearly always compiles or is refused.
#[test]
fn a_large_app_with_damage_in_it_does_no_harm() {
    let limits = Limits { wall_time_max: Some(Duration::from_millis(200)), ..tight() };
    let mut random = Random::new(seed(3));
    let module = probe::module();
    let engine = Engine::new(&limits, false).expect("this machine can run guests");
    let mut ran = 0;
    for _ in 0..400 {
        let damaged = damage(module, &mut random);
        if ran < 12 && inspect(&damaged, &limits).refusal().is_none() {
            ran += 1;
            // There is no entry point `main`: this tests loading only.
            assert!(matches!(run(&engine, &damaged), Err(RunError::BadInput(_))));
        }
    }
    goes_on(&engine, "a damaged app");
}
