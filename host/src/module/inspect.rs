//! What a module is, read from its bytes without running any of them, and why it would be refused.

use std::fmt;

use wasmparser::{
    ExternalKind, FuncType, Operator, Parser, Payload, TypeRef, ValType, Validator, WasmFeatures,
};

use crate::engine::FEATURES;
use crate::guest::{ABI_VERSION, IMPORT_MODULE, IMPORTS, JOB_PREFIX, MAIN_PREFIX};
use crate::limits::{Limits, size};

const PAGE_BYTES: u64 = 64 << 10;
const ABI_PREFIX: &str = "sateen_abi_";
const MANIFEST_SECTION: &str = "sateen.manifest";

/// How far a module's results can depend on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Determinism {
    /// No float operations: the same bits everywhere.
    Integer,
    /// Float operations: the same bits everywhere but for those of a NaN, unless run strictly.
    Float,
}

impl fmt::Display for Determinism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Integer => "integer (no float operations: the same bits on every machine)",
            Self::Float => {
                "float (the same on every machine but for the bits of a NaN; --strict-nan fixes those)"
            }
        })
    }
}

/// Something that a module wants from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The module it names.
    pub module: String,
    /// The item it names.
    pub name: String,
    /// What it should be.
    pub ty: String,
}

/// Something that a module offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: &'static str,
}

/// What is known of a module.
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
    /// Signatures of jobs and entry points as the SDK wrote them.
    pub manifest: Vec<String>,
    /// How far its results can depend on the machine; `None` when it could not be read.
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
    /// Table elements at the start.
    pub table_elements: u64,
    /// Why it would be refused; empty when it would not.
    pub refusals: Vec<String>,
}

/// Inspects the module `bytes` as if it were to run under `limits`.
pub fn inspect(bytes: &[u8], limits: &Limits) -> Inspection {
    let mut inspection = Inspection {
        hash: blake3::hash(bytes).to_hex().to_string(),
        module_bytes: bytes.len() as u64,
        ..Inspection::default()
    };
    if bytes.len() > limits.module_bytes_max {
        inspection.refuse(format!(
            "the module is {} and the limit is {}",
            size(bytes.len() as u64),
            size(limits.module_bytes_max as u64)
        ));
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
    fn refuse(&mut self, why: String) {
        self.refusals.push(why);
    }

    /// The first reason to refuse the module, if there is one.
    pub fn refusal(&self) -> Option<&str> {
        self.refusals.first().map(String::as_str)
    }

    fn judge(&mut self, limits: &Limits) {
        match self.abi {
            None => self.refuse(format!(
                "not a Sateen app: it has no export {ABI_PREFIX}{ABI_VERSION}; was it built with `sateen build`?"
            )),
            Some(version) if version > ABI_VERSION => self.refuse(format!(
                "made for version {version} of the ABI, and this build speaks version {ABI_VERSION}; update Sateen"
            )),
            Some(version) if version < ABI_VERSION => self.refuse(format!(
                "made for version {version} of the ABI, and this build speaks version {ABI_VERSION}; build it again"
            )),
            Some(_) => {}
        }
        if !self.exports.iter().any(|export| export.name == "memory" && export.kind == "memory") {
            self.refuse("it exports no memory named `memory`".to_owned());
        }
        if self.memory_bytes > limits.memory_bytes_max as u64 {
            self.refuse(format!(
                "it wants {} of memory to begin with and the limit is {}; raise it with --memory",
                size(self.memory_bytes),
                size(limits.memory_bytes_max as u64)
            ));
        }
        if self.table_elements > limits.table_elements_max as u64 {
            self.refuse(format!(
                "it wants a table of {} elements and the limit is {}",
                self.table_elements, limits.table_elements_max
            ));
        }
    }
}

/// Reads, and on the way validates, the whole module.
fn read(bytes: &[u8], inspection: &mut Inspection) -> Result<(), wasmparser::BinaryReaderError> {
    let mut validator = Validator::new_with_features(FEATURES.union(WasmFeatures::GC_TYPES));
    let mut types: Vec<Option<FuncType>> = Vec::new();
    let mut floats = false;
    let mut foreign = Vec::new();
    let mut allocations = Default::default();

    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let wasmparser::ValidPayload::Func(to_validate, body) = validator.payload(&payload)? {
            let mut function = to_validate.into_validator(allocations);
            function.validate(&body)?;
            allocations = function.into_allocations();
        }
        match payload {
            Payload::TypeSection(reader) => {
                for ty in reader.into_iter_err_on_gc_types() {
                    types.push(Some(ty?));
                }
            }
            Payload::ImportSection(reader) => {
                for import in reader.into_imports() {
                    let import = import?;
                    let (ty, known) = judge_import(import.module, import.name, import.ty, &types);
                    let import =
                        Import { module: import.module.to_owned(), name: import.name.to_owned(), ty };
                    if !known {
                        foreign.push(format!("`{}.{}` ({})", import.module, import.name, import.ty));
                    }
                    inspection.imports.push(import);
                }
            }
            Payload::FunctionSection(reader) => inspection.functions = u64::from(reader.count()),
            Payload::MemorySection(reader) => {
                for memory in reader {
                    inspection.memory_bytes += memory?.initial.saturating_mul(PAGE_BYTES);
                }
            }
            Payload::TableSection(reader) => {
                for table in reader {
                    inspection.table_elements += table?.ty.initial;
                }
            }
            Payload::ExportSection(reader) => {
                for export in reader {
                    let export = export?;
                    note_export(inspection, export.name, export.kind);
                }
            }
            Payload::CodeSectionStart { size, .. } => inspection.code_bytes = u64::from(size),
            Payload::CodeSectionEntry(body) if !floats => {
                for operator in body.get_operators_reader()? {
                    floats |= makes_float(&operator?);
                }
            }
            Payload::DataSection(reader) => {
                for data in reader {
                    inspection.data_bytes += data?.data.len() as u64;
                }
            }
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                let text = String::from_utf8_lossy(section.data());
                inspection.manifest.extend(text.lines().map(str::to_owned));
            }
            _ => {}
        }
    }
    inspection.jobs.sort();
    inspection.mains.sort();
    inspection.manifest.sort();
    inspection.determinism = Some(if floats { Determinism::Float } else { Determinism::Integer });
    if !foreign.is_empty() {
        inspection.refuse(format!(
            "it imports what no host offers: {}; an app may import nothing but Sateen's ABI",
            foreign.join(", ")
        ));
    }
    Ok(())
}

/// What an import is, and whether it is one of the ABI's.
fn judge_import(module: &str, name: &str, ty: TypeRef, types: &[Option<FuncType>]) -> (String, bool) {
    let TypeRef::Func(index) = ty else {
        let kind = match ty {
            TypeRef::Memory(_) => "memory",
            TypeRef::Table(_) => "table",
            TypeRef::Global(_) => "global",
            _ => "tag",
        };
        return (kind.to_owned(), false);
    };
    let Some(Some(ty)) = types.get(index as usize) else {
        return ("function".to_owned(), false);
    };
    let shown = format!("function {}", signature(ty.params(), ty.results()));
    let known = module == IMPORT_MODULE
        && IMPORTS.iter().any(|(abi, parameters, results)| {
            *abi == name && *parameters == ty.params() && *results == ty.results()
        });
    (shown, known)
}

fn signature(parameters: &[ValType], results: &[ValType]) -> String {
    let list = |types: &[ValType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("({}) -> ({})", list(parameters), list(results))
}

fn note_export(inspection: &mut Inspection, name: &str, kind: ExternalKind) {
    let function = matches!(kind, ExternalKind::Func | ExternalKind::FuncExact);
    if function {
        if let Some(job) = name.strip_prefix(JOB_PREFIX) {
            inspection.jobs.push(job.to_owned());
        } else if let Some(main) = name.strip_prefix(MAIN_PREFIX) {
            inspection.mains.push(main.to_owned());
        } else if let Some(version) = name.strip_prefix(ABI_PREFIX).and_then(|text| text.parse().ok()) {
            inspection.abi = inspection.abi.max(Some(version));
        }
    }
    let kind = match kind {
        ExternalKind::Func | ExternalKind::FuncExact => "function",
        ExternalKind::Table => "table",
        ExternalKind::Memory => "memory",
        ExternalKind::Global => "global",
        ExternalKind::Tag => "tag",
    };
    inspection.exports.push(Export { name: name.to_owned(), kind });
}

/// Whether `operator` can give a NaN whose bits depend on the machine. Constants, moves, compares,
/// sign operations and conversions to or from whole numbers cannot.
fn makes_float(operator: &Operator<'_>) -> bool {
    use Operator::*;
    matches!(
        operator,
        F32Ceil
            | F32Floor
            | F32Trunc
            | F32Nearest
            | F32Sqrt
            | F32Add
            | F32Sub
            | F32Mul
            | F32Div
            | F32Min
            | F32Max
            | F64Ceil
            | F64Floor
            | F64Trunc
            | F64Nearest
            | F64Sqrt
            | F64Add
            | F64Sub
            | F64Mul
            | F64Div
            | F64Min
            | F64Max
            | F32DemoteF64
            | F64PromoteF32
            | F32x4Ceil
            | F32x4Floor
            | F32x4Trunc
            | F32x4Nearest
            | F32x4Sqrt
            | F32x4Add
            | F32x4Sub
            | F32x4Mul
            | F32x4Div
            | F32x4Min
            | F32x4Max
            | F64x2Ceil
            | F64x2Floor
            | F64x2Trunc
            | F64x2Nearest
            | F64x2Sqrt
            | F64x2Add
            | F64x2Sub
            | F64x2Mul
            | F64x2Div
            | F64x2Min
            | F64x2Max
            | F32x4DemoteF64x2Zero
            | F64x2PromoteLowF32x4
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(wat: &str) -> Inspection {
        inspect(&wat::parse_str(wat).expect("the test's own text is valid"), &Limits::default())
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
        assert_eq!(app.memory_bytes, 2 * PAGE_BYTES);
        assert_eq!(app.determinism, Some(Determinism::Integer));
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
    fn what_is_no_module_is_refused_in_one_sentence() {
        let limits = Limits::default();
        let text = inspect(b"hello", &limits);
        assert!(text.refusal().is_some_and(|why| why.starts_with("not a wasm module")));
        let component = inspect(b"\0asm\x0d\0\x01\0", &limits);
        assert!(component.refusal().is_some_and(|why| why.starts_with("a component")));
        let mut truncated = wat::parse_str("(module (func (export \"f\")))").expect("valid");
        truncated.truncate(truncated.len() - 3);
        assert!(
            inspect(&truncated, &limits)
                .refusal()
                .is_some_and(|why| why.starts_with("not a valid module, at byte"))
        );
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
