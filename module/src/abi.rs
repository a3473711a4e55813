//! The names of the ABI: how a module and its host find one another.

use wasmparser::{ValType, WasmFeatures};

/// The version that this release speaks.
pub const ABI_VERSION: u32 = 1;
/// What the export that tells the version begins with, before the version.
pub const ABI_PREFIX: &str = "sateen_abi_";
/// The module that all imports name.
pub const IMPORT_MODULE: &str = "sateen";
/// What a job's export begins with, before its name.
pub const JOB_PREFIX: &str = "sateen_job_";
/// What an entry point's export begins with, before its name.
pub const MAIN_PREFIX: &str = "sateen_main_";

/// What the export that tells the shapes of a job begins with, before its name.
pub const SHAPE_PREFIX: &str = "sateen_shape_";

const I32: ValType = ValType::I32;
const I64: ValType = ValType::I64;

/// Every import, with its parameters and results.
pub const IMPORTS: [(&str, &[ValType], &[ValType]); 24] = [
    ("attach", &[I32], &[]),
    ("register", &[I32, I32, I32], &[I32]),
    ("expose", &[I32, I32, I32, I32], &[I32]),
    ("sync", &[I32], &[I64]),
    ("sync_any", &[I32, I32, I32], &[I64]),
    ("wants_record", &[I32], &[I32]),
    ("record", &[I32, I32, I32], &[]),
    ("take", &[I32], &[]),
    ("abandon", &[I32], &[]),
    ("attempt", &[I32], &[I64]),
    ("panic", &[I32, I32], &[]),
    ("fail", &[I32, I32, I32], &[]),
    ("log", &[I32, I32], &[]),
    ("progress", &[I64, I64], &[]),
    ("input", &[I32, I32], &[I64]),
    ("share", &[I32, I32, I32], &[I32]),
    ("open", &[I32], &[I32]),
    ("close", &[I32], &[]),
    ("mention", &[I32], &[]),
    ("catch_up", &[I32], &[I64]),
    ("update", &[I32, I32, I32, I32], &[I32]),
    ("snapshot", &[I32, I32, I32], &[]),
    ("hold", &[I32, I32], &[]),
    ("measure", &[I32, I32, I32, I32], &[I32]),
];

/// What a module may use: the features that give the same bits on every machine, and that Rust and
/// C compilers emit. Threads, relaxed SIMD, 64-bit and multiple memories, GC and exceptions are out.
pub const FEATURES: WasmFeatures = WasmFeatures::MVP
    .union(WasmFeatures::MUTABLE_GLOBAL)
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::CALL_INDIRECT_OVERLONG)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::BULK_MEMORY_OPT)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::SIMD);
