//! Properties of a module, read from its bytes without running them, and reasons to refuse it.

use sateen_abi::{PREPARE_PREFIX, VERSION, VERSION_PREFIX};
use std::collections::BTreeMap;
use std::fmt;

use wasmparser::Parser;

use crate::limits::{ModuleLimits, size, sizes};
use crate::pitfall::Pitfall;
use crate::read::read;
use crate::shape::JobShape;

/// How far a module's results can depend on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Determinism {
    /// No float operations: the same bits everywhere.
    Integer,
    /// Float operations: the same bits everywhere except those of a NaN, unless run strictly.
    Float,
}

impl fmt::Display for Determinism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Integer => "integer (no float operations: the same bits on every machine)",
            Self::Float => {
                "float (the same on every machine except for the bits of a NaN; --strict-nan fixes those)"
            }
        })
    }
}

/// An import of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The imported module's name.
    pub module: String,
    /// The imported item's name.
    pub name: String,
    /// Its type.
    pub ty: String,
}

/// An export of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: &'static str,
}

/// Everything known about a module.
#[derive(Debug, Clone, Default)]
pub struct Inspection {
    /// blake3 of its bytes.
    pub hash: String,
    /// The version of the ABI it is for, if any.
    pub abi: Option<u32>,
    /// Its imports.
    pub imports: Vec<Import>,
    /// Its exports.
    pub exports: Vec<Export>,
    /// Names of its jobs, sorted.
    pub jobs: Vec<String>,
    /// Names of its entry points, sorted.
    pub mains: Vec<String>,
    /// Signatures of jobs and entry points as written by the SDK.
    pub manifest: Vec<String>,
    /// Full paths of the functions of jobs whose name differs from the function's.
    pub functions_of_renamed_jobs: BTreeMap<String, String>,
    /// The encoding of jobs' parameters and results according to the SDK, by the jobs' names.
    pub shapes: BTreeMap<String, String>,
    /// How far its results can depend on the machine; `None` if the module could not be read.
    pub determinism: Option<Determinism>,
    /// Bytes in all.
    pub module_bytes: u64,
    /// Bytes of code.
    pub code_bytes: u64,
    /// Bytes of data.
    pub data_bytes: u64,
    /// Functions defined.
    pub functions: u64,
    /// Bytes of memory at the start.
    pub memory_bytes: u64,
    /// The module's own limit on its memory, in bytes, if it has one.
    pub memory_bytes_max: Option<u64>,
    /// Table elements at the start.
    pub table_elements: u64,
    /// Code that would not do what its author expects; such a module runs nevertheless.
    pub pitfalls: Vec<Pitfall>,
    /// Reasons to refuse it; empty if there are none.
    pub refusals: Vec<String>,
}

/// Inspects the module `bytes` against `limits`.
pub fn inspect(bytes: &[u8], limits: &ModuleLimits) -> Inspection {
    let mut inspection = Inspection {
        hash: blake3::hash(bytes).to_hex().to_string(),
        module_bytes: bytes.len() as u64,
        ..Inspection::default()
    };
    if bytes.len() > limits.module_bytes_max {
        // A longer file may have been read only up to the limit.
        let limit = size(limits.module_bytes_max as u64);
        inspection.refuse(format!("the module is larger than the limit of {limit}"));
        return inspection;
    }
    if !bytes.starts_with(b"\0asm") {
        inspection.refuse("not a wasm module: it does not begin with the wasm magic number".to_owned());
        return inspection;
    }
    if Parser::is_component(bytes) {
        inspection.refuse(
            "a component, not a core module; build for wasm32-unknown-unknown (`sateen build`)".to_owned(),
        );
        return inspection;
    }
    match read(bytes, &mut inspection) {
        Ok(()) => inspection.judge(limits),
        Err(error) => inspection.refuse(format!(
            "not a valid module, at byte {} of {}: {}",
            error.offset(),
            bytes.len(),
            error.message()
        )),
    }
    inspection
}

impl Inspection {
    pub(crate) fn refuse(&mut self, why: String) {
        self.refusals.push(why);
    }

    /// How the parameters and result of `job` are encoded, if the module says so.
    pub fn shape_of(&self, job: &str) -> Option<JobShape> {
        JobShape::parse(self.shapes.get(job)?)
    }

    /// Names of the functions that make values of a run's inputs alone.
    pub fn prepares(&self) -> impl Iterator<Item = &str> {
        let functions = self.exports.iter().filter(|export| export.kind == "function");
        functions.filter_map(|export| export.name.strip_prefix(PREPARE_PREFIX))
    }

    /// Whether it can ask for inputs.
    pub fn reads_inputs(&self) -> bool {
        self.imports.iter().any(|import| import.module == "sateen" && import.name == "input")
    }

    /// The first reason to refuse the module, if there is one.
    pub fn refusal(&self) -> Option<&str> {
        self.refusals.first().map(String::as_str)
    }

    fn judge(&mut self, limits: &ModuleLimits) {
        match self.abi {
            None => self.refuse(format!(
                "not a Sateen app: it has no export {VERSION_PREFIX}{VERSION}; was it built with `sateen build`?"
            )),
            Some(version) if version > VERSION => self.refuse(format!(
                "made for version {version} of the ABI, and this build supports version {VERSION}; update Sateen"
            )),
            Some(version) if version < VERSION => self.refuse(format!(
                "made for version {version} of the ABI, and this build supports version {VERSION}; build it again"
            )),
            Some(_) => {}
        }
        if !self.exports.iter().any(|export| export.name == "memory" && export.kind == "memory") {
            self.refuse("it exports no memory named `memory`".to_owned());
        }
        if self.memory_bytes > limits.memory_bytes_max as u64 {
            let (is, limit) = sizes(self.memory_bytes, limits.memory_bytes_max as u64);
            self.refuse(format!(
                "it needs {is} of initial memory and the limit is {limit}; raise it with --memory"
            ));
        }
        if self.table_elements > limits.table_elements_max as u64 {
            self.refuse(format!(
                "it needs a table of {} elements and the limit is {}",
                self.table_elements, limits.table_elements_max
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ModuleLimits = ModuleLimits::widest(8 << 20);

    fn of(wat: &str) -> Inspection {
        inspect(&wat::parse_str(wat).expect("the test's own text is valid"), &LIMITS)
    }

    #[test]
    fn an_app_is_read() {
        let app = of(r#"(module
            (import "sateen" "take" (func (param i32)))
            (memory (export "memory") 2)
            (func (export "sateen_abi_1"))
            (func (export "sateen_main_main") (param i32) (result i64) (i64.const 0))
            (func (export "sateen_job_b") (param i32) (result i64) (i64.const 0))
            (func (export "sateen_job_a") (param i32) (result i64) (i64.const 0)))"#);
        assert_eq!(app.refusal(), None);
        assert_eq!(app.jobs, ["a", "b"]);
        assert_eq!(app.mains, ["main"]);
        assert_eq!(app.memory_bytes, 2 * 65536);
        assert_eq!(app.determinism, Some(Determinism::Integer));
    }

    #[test]
    fn only_an_app_that_imports_the_function_reads_inputs() {
        let import = r#"(import "sateen" "input" (func (param i32 i32) (result i64)))"#;
        assert!(of(&format!("(module {import})")).reads_inputs());
        assert!(!of("(module (memory 1) (data (i32.const 0) \"data\"))").reads_inputs());
    }

    #[test]
    fn pitfalls_are_found_by_their_names() {
        let app = of(r#"(module
            (func $_ZN3std2io5stdio6_print17h0123456789abcdefE)
            (func $_RNvNtNtNtCs1_3std3sys6random11unsupported19hashmap_random_keys)
            (func $_RNvNtCs1_4core3fmt17pointer_fmt_inner)
            (func $_RNvMNtNtNtCs1_3std2io5stdioNtB2_6Stderr4lock)
            (func $_RNvMNtNtCs1_3std2io8buffered9BufReaderNtNtB1t_5stdio8StdinRaw)
            (func $_RNvNtCs1_3std7process4exit)
            (func $_RNvNtNtCs1_3std6thread9functions5sleep)
            (func $_ZN3std2fs4File4open17h2a8bf8bc1520973cE)
            (func $my_instant_now_and_hashmap))"#);
        let expected = [
            Pitfall::RandomState,
            Pitfall::Address,
            Pitfall::Print,
            Pitfall::Sleep,
            Pitfall::File,
            Pitfall::Stdin,
            Pitfall::Process,
        ];
        assert_eq!(app.pitfalls, expected);
        assert_eq!(of("(module (func $f))").pitfalls, []);
    }

    #[test]
    fn foreign_imports_are_named() {
        let app = of(
            r#"(module (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32))))"#,
        );
        let refusal = app.refusal().expect("it is refused");
        assert!(
            refusal.contains("`wasi_snapshot_preview1.fd_write` (function (i32, i32, i32, i32) -> (i32))"),
            "{refusal}"
        );
    }

    #[test]
    fn an_import_of_the_abi_with_another_type_is_foreign() {
        let app = of(r#"(module (import "sateen" "take" (func (param i64))))"#);
        assert!(app.refusal().expect("it is refused").contains("sateen.take"));
    }

    #[test]
    fn other_files_are_refused_in_one_sentence() {
        let text = inspect(b"hello", &LIMITS);
        assert!(text.refusal().is_some_and(|why| why.starts_with("not a wasm module")));
        let component = inspect(b"\0asm\x0d\0\x01\0", &LIMITS);
        assert!(component.refusal().is_some_and(|why| why.starts_with("a component")));
        let mut truncated = wat::parse_str("(module (func (export \"f\")))").expect("valid");
        truncated.truncate(truncated.len() - 3);
        assert!(
            inspect(&truncated, &LIMITS)
                .refusal()
                .is_some_and(|why| why.starts_with("not a valid module, at byte"))
        );
    }

    #[test]
    fn names_and_manifests_that_would_fill_memory_are_refused() {
        let refusal = |wat: &str| of(wat).refusal().expect("it is refused").to_owned();
        for (name, why) in [
            ("a\\01", "not visible"),
            ("a\\e2\\80\\ae", "not visible"),
            ("a b", "not visible"),
            (&*"x".repeat(1000), "longer than allowed"),
        ] {
            let refused = refusal(&format!(r#"(module (func (export "sateen_job_{name}")))"#));
            assert!(refused.contains(why) && refused.len() < 500, "{refused}");
        }
        let many = |count: usize, name: &dyn Fn(usize) -> String| -> String {
            let exports: String = (0..count).map(|n| format!(r#"(export "{}" (func 0))"#, name(n))).collect();
            format!("(module (func) {exports})")
        };
        assert!(refusal(&many(20_000, &|n| n.to_string())).contains("20000 exports"));
        assert!(refusal(&many(1000, &|n| format!("{n:0>200}"))).contains("128 KiB in all"));
        let manifest = |text: &str| refusal(&format!(r#"(module (@custom "sateen.manifest" "{text}"))"#));
        assert!(manifest(&"\\n".repeat(1 << 20)).contains("manifest is longer"));
        assert!(manifest(&"x".repeat(1 << 20)).contains("manifest is longer"));
        let imports = r#"(import "env" "f" (func))"#;
        assert!(refusal(&format!("(module {})", imports.repeat(2000))).contains("2000 imports"));
        let refused = refusal(&format!("(module {})", imports.repeat(1000)));
        assert!(refused.contains("and 992 more"), "{refused}");
        // Written by the SDK and other languages.
        let fine = of(r#"(module (memory (export "memory") 1) (func (export "sateen_abi_1"))
            (func (export "sateen_job_größe::<u8>")))"#);
        assert_eq!(fine.refusal(), None);
    }

    #[test]
    fn other_abis_are_refused() {
        let newer = of(r#"(module (memory (export "memory") 1) (func (export "sateen_abi_7")))"#);
        assert!(
            newer.refusal().is_some_and(|why| why.contains("version 7") && why.contains("update Sateen"))
        );
        let none = of(r#"(module (memory (export "memory") 1))"#);
        assert!(none.refusal().is_some_and(|why| why.starts_with("not a Sateen app")));
    }

    #[test]
    fn features_that_are_not_deterministic_are_refused() {
        for wat in [
            "(module (memory 1 1 shared))",
            "(module (memory i64 1))",
            "(module (memory 1) (memory 1))",
            "(module (func (param v128 v128 v128) (result v128) (f32x4.relaxed_madd (local.get 0) (local.get 1) (local.get 2))))",
            "(module (tag))",
        ] {
            assert!(of(wat).refusal().is_some_and(|why| why.starts_with("not a valid module")), "{wat}");
        }
    }

    #[test]
    fn float_arithmetic_sets_the_class() {
        let float = of("(module (func (param f64) (result f64) (f64.mul (local.get 0) (local.get 0))))");
        assert_eq!(float.determinism, Some(Determinism::Float));
        let moves = of("(module (func (param f64) (result i64) (i64.trunc_sat_f64_s (local.get 0))))");
        assert_eq!(moves.determinism, Some(Determinism::Integer));
    }
}
