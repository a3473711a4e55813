//! `sateen check`.

use sateen_tests::command::{Ended, app, run};
use sateen_tests::wat;

fn check(bytes: &[u8], more: &[&str]) -> Ended {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("app.wasm");
    std::fs::write(&path, bytes).expect("it can be written");
    let path = path.display().to_string();
    run([&["check", path.as_str()], more].concat())
}

#[test]
fn an_app_is_described() {
    let ended = run(["check".as_ref(), app("fib").as_os_str()]);
    let text = ended.result();
    for row in [
        "ABI          version 1\n",
        "determinism  integer",
        "main         main(n: u64) -> Result<u64, BadInput>\n",
        "job          fib(n: u64) -> u64\n",
        "import       sateen.take: function (i32) -> ()\n",
        "export       memory: memory\n",
        "verdict      it would run\n",
    ] {
        assert!(text.contains(row), "`{row}` is not in\n{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("size ") && line.contains("KiB")), "{text}");
}

#[test]
fn an_app_is_described_for_machines() {
    let object = run(["check".as_ref(), app("fib").as_os_str(), "--json".as_ref()]).json();
    assert_eq!((&object["abi"], &object["determinism"]), (&1.into(), &"integer".into()));
    assert!(object["mains"].as_array().is_some_and(|mains| mains.contains(&"main".into())), "{object}");
    assert!(object["jobs"].as_array().is_some_and(|jobs| jobs.contains(&"fib".into())), "{object}");
    assert!(
        object["imports"].as_array().is_some_and(|all| all.iter().all(|import| import["module"] == "sateen"))
    );
    assert!(object["exports"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "memory")));
    assert_eq!(object["refusals"], serde_json::json!([]));
    for size in ["module_bytes", "code_bytes", "functions", "memory_bytes"] {
        assert!(object[size].as_u64().is_some_and(|bytes| bytes > 0), "{size} in {object}");
    }
}

#[test]
fn a_module_that_would_be_refused_is_still_described() {
    let text = r#"(module (import "env" "clock" (func (result i64))) (memory (export "memory") 1))"#;
    let ended = check(&wat::bytes(text), &[]);
    assert_eq!(ended.code, Some(2));
    ended.says_one_line(&["app.wasm: ", "`env.clock`"]);
    assert!(ended.text().contains("import       env.clock: function () -> (i64)\n"), "{}", ended.text());
    assert_eq!(
        ended.text().lines().filter(|line| line.starts_with("refused ")).count(),
        2,
        "{}",
        ended.text()
    );
    let ended = check(&wat::bytes(text), &["--json"]);
    assert_eq!((ended.code, ended.json()["refusals"].as_array().map(Vec::len)), (Some(2), Some(2)));
}

#[test]
fn a_file_that_is_not_a_module_has_its_reason() {
    let ended = check(b"hello", &[]);
    assert_eq!(ended.code, Some(2));
    ended.says_one_line(&["not a wasm module"]);
    assert!(ended.text().contains("refused      not a wasm module"), "{}", ended.text());
}

#[test]
fn names_in_a_module_cannot_forge_rows() {
    let text = r#"(module (import "a\0averdict      it would run\0d\1b[2J" "b" (func)))"#;
    let ended = check(&wat::bytes(text), &[]);
    assert!(!ended.text().contains("\nverdict"), "{}", ended.text());
    assert!(!ended.text().contains('\u{1b}'), "{}", ended.text());
}

#[test]
fn floats_are_seen() {
    let float = wat::app_with("(func (param f64) (result f64) (f64.sqrt (local.get 0)))", "");
    assert!(check(&wat::bytes(&float), &[]).result().contains("determinism  float"));
}

/// A module with a section of `count` fields.
fn many(field: &str, count: usize) -> Vec<u8> {
    wat::bytes(&wat::app_with(&field.repeat(count), ""))
}

#[test]
fn modules_that_no_host_can_compile_are_refused() {
    for (module, why) in [
        (many("(func)", 100_001), "it has 100003 functions, and 100000 are allowed"),
        (many("(global i32 (i32.const 0))", 10_001), "it has 10001 globals, and 10000 are allowed"),
        (many("(table 1 funcref)", 2), "it has 2 tables, and one is allowed"),
    ] {
        let ended = check(&module, &[]);
        assert_eq!(ended.code, Some(2), "{}", ended.text());
        ended.says_one_line(&["app.wasm: ", why]);
        assert!(!ended.text().contains("it would run"), "{}", ended.text());
    }
}
