//! What a module offers, read from its bytes without running any of them.

use sateen_protocol::ROOT_KIND;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use wasmparser::{ExternalKind, FuncType, Operator, Parser, Payload, ValidPayload, Validator, WasmFeatures};

/// The version of the ABI that hosts of this release run.
const ABI_VERSION: u32 = 1;
const ABI_PREFIX: &str = "sateen_abi_";
const MAIN_PREFIX: &str = "sateen_main_";
const JOB_PREFIX: &str = "sateen_job_";

/// What hosts accept: see `FEATURES` in the host's engine, which has the last word.
const FEATURES: WasmFeatures = WasmFeatures::MVP
    .union(WasmFeatures::MUTABLE_GLOBAL)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::CALL_INDIRECT_OVERLONG)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::BULK_MEMORY_OPT)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::SIMD)
    .union(WasmFeatures::GC_TYPES);

/// What is known of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// How far its results can depend on the machine: `integer` or `float`.
    pub determinism: String,
    /// Names of its entry points, sorted.
    pub entry_points: Vec<String>,
    /// Names of its jobs, sorted; a job's kind is its place here.
    pub jobs: Vec<String>,
}

impl About {
    /// The name of a job kind. The root's is that of its entry point.
    pub fn job<'a>(&'a self, kind: u32, entry_point: &'a str) -> &'a str {
        if kind == ROOT_KIND {
            return entry_point;
        }
        self.jobs.get(kind as usize).map_or("unknown", String::as_str)
    }
}

/// Why a module is not published.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It is something else.
    #[error("not a wasm module: it does not begin with the wasm magic number")]
    NotWasm,
    /// It is a component.
    #[error("a component, not a core module; build for wasm32-unknown-unknown (`sateen build`)")]
    Component,
    /// It is broken, or uses what hosts do not allow.
    #[error("not a valid module, at byte {0}: {1}")]
    Invalid(u64, String),
    /// It has no export of the ABI.
    #[error(
        "not a Sateen app: it has no export {ABI_PREFIX}{ABI_VERSION}; was it built with `sateen build`?"
    )]
    NoAbi,
    /// It is for another version of the ABI.
    #[error(
        "made for version {0} of the ABI, and this grid runs version {ABI_VERSION}; update the older of the two"
    )]
    OtherAbi(u32),
    /// There is nothing to run in it.
    #[error("it has no entry point: mark a function with #[main]")]
    NoEntryPoint,
}

/// Reads and validates a module.
///
/// # Errors
/// When no host could run it.
pub fn inspect(bytes: &[u8]) -> Result<About, Refusal> {
    if !bytes.starts_with(b"\0asm") {
        return Err(Refusal::NotWasm);
    }
    if Parser::is_component(bytes) {
        return Err(Refusal::Component);
    }
    let found =
        read(bytes).map_err(|error| Refusal::Invalid(error.offset() as u64, error.message().to_owned()))?;
    match found.abi {
        None => return Err(Refusal::NoAbi),
        Some(ABI_VERSION) => {}
        Some(other) => return Err(Refusal::OtherAbi(other)),
    }
    if found.about.entry_points.is_empty() {
        return Err(Refusal::NoEntryPoint);
    }
    Ok(found.about)
}

struct Found {
    about: About,
    abi: Option<u32>,
}

fn read(bytes: &[u8]) -> Result<Found, wasmparser::BinaryReaderError> {
    let mut validator = Validator::new_with_features(FEATURES);
    let mut allocations = Default::default();
    let (mut entry_points, mut jobs, mut abi, mut floats) = (Vec::new(), Vec::new(), None, false);
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        if let ValidPayload::Func(to_validate, body) = validator.payload(&payload)? {
            let mut function = to_validate.into_validator(allocations);
            function.validate(&body)?;
            allocations = function.into_allocations();
        }
        match payload {
            Payload::TypeSection(reader) => {
                for ty in reader.into_iter_err_on_gc_types() {
                    let _: FuncType = ty?;
                }
            }
            Payload::ExportSection(reader) => {
                for export in reader {
                    let export = export?;
                    if !matches!(export.kind, ExternalKind::Func | ExternalKind::FuncExact) {
                        continue;
                    }
                    if let Some(name) = export.name.strip_prefix(MAIN_PREFIX) {
                        entry_points.push(name.to_owned());
                    } else if let Some(name) = export.name.strip_prefix(JOB_PREFIX) {
                        jobs.push(name.to_owned());
                    } else if let Some(version) = export.name.strip_prefix(ABI_PREFIX) {
                        abi = abi.max(version.parse().ok());
                    }
                }
            }
            Payload::CodeSectionEntry(body) if !floats => {
                for operator in body.get_operators_reader()? {
                    floats |= makes_float(&operator?);
                }
            }
            _ => {}
        }
    }
    entry_points.sort();
    jobs.sort();
    let determinism = if floats { "float" } else { "integer" }.to_owned();
    Ok(Found { about: About { determinism, entry_points, jobs }, abi })
}

/// Whether `operator` can give a NaN whose bits depend on the machine, as
/// `sateen check` sees it. Constants, moves, compares, sign operations and conversions to or from whole
/// numbers cannot.
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

    fn of(wat: &str) -> Result<About, Refusal> {
        inspect(&wat::parse_str(wat).expect("the test's own text is valid"))
    }

    #[test]
    fn what_an_app_offers_is_read() {
        let about = of(r#"(module
            (func (export "sateen_abi_1"))
            (func (export "sateen_main_main") (param f64) (result f64) (f64.sqrt (local.get 0)))
            (func (export "sateen_job_b"))
            (func (export "sateen_job_a")))"#)
        .expect("an app");
        assert_eq!(about.entry_points, ["main"]);
        assert_eq!(about.jobs, ["a", "b"]);
        assert_eq!(about.determinism, "float");
        assert_eq!(
            (about.job(1, "main"), about.job(ROOT_KIND, "main"), about.job(7, "main")),
            ("b", "main", "unknown")
        );
    }

    #[test]
    fn what_no_host_could_run_is_refused() {
        assert_eq!(inspect(b"hello"), Err(Refusal::NotWasm));
        assert_eq!(inspect(b"\0asm\x0d\0\x01\0"), Err(Refusal::Component));
        assert_eq!(of("(module)"), Err(Refusal::NoAbi));
        assert_eq!(of(r#"(module (func (export "sateen_abi_2")))"#), Err(Refusal::OtherAbi(2)));
        assert_eq!(of(r#"(module (func (export "sateen_abi_1")))"#), Err(Refusal::NoEntryPoint));
        assert!(matches!(of("(module (memory 1 1 shared))"), Err(Refusal::Invalid(..))));
    }
}
