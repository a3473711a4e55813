//! The imports and wasm features that a module may use.

use sateen_abi::import::{self, Type};
use wasmparser::{ValType, WasmFeatures};

/// Whether the ABI has an import of this name and type.
pub fn is_import(name: &str, takes: &[ValType], gives: &[ValType]) -> bool {
    let is =
        |types: &[Type], found: &[ValType]| types.iter().copied().map(value_type).eq(found.iter().copied());
    import::ALL.iter().any(|import| import.name == name && is(import.takes, takes) && is(import.gives, gives))
}

fn value_type(of: Type) -> ValType {
    match of {
        Type::I32 => ValType::I32,
        Type::I64 => ValType::I64,
    }
}

/// Wasm features that a module may use: those with the same bits on every machine that Rust and
/// C compilers emit. Threads, relaxed SIMD, 64-bit and multiple memories, GC and exceptions are excluded.
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
