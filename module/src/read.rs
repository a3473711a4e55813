//! Reads a module's sections, and validates it at the same time.

use sateen_abi::{JOB_PREFIX, MAIN_PREFIX, PREPARE_PREFIX, VERSION_PREFIX, import};
use wasmparser::{
    BinaryReaderError, ExternalKind, FuncType, KnownCustom, Operator, Parser, Payload, TypeRef, ValType,
    Validator, WasmFeatures,
};

use crate::abi::{FEATURES, is_import};
use crate::inspect::{Determinism, Export, Import, Inspection};
use crate::limits::{
    EXPORTS_MAX, FOREIGN_SHOWN_MAX, FUNCTIONS_MAX, GLOBALS_MAX, IMPORTS_MAX, MANIFEST_BYTES_MAX,
    MANIFEST_LINES_MAX, NAME_BYTES_MAX, NAMES_BYTES_MAX, TABLES_MAX, size,
};
use crate::pitfall;
use crate::shape::SHAPES_SECTION;

const PAGE_BYTES: u64 = 64 << 10;
const MANIFEST_SECTION: &str = "sateen.manifest";

/// Reads and validates the whole module.
pub fn read(bytes: &[u8], inspection: &mut Inspection) -> Result<(), BinaryReaderError> {
    let mut validator = Validator::new_with_features(FEATURES.union(WasmFeatures::GC_TYPES));
    let mut types: Vec<Option<FuncType>> = Vec::new();
    let mut floats = false;
    let mut foreign = Vec::new();
    let mut allocations = Default::default();
    let (mut names_bytes, mut manifest_bytes, mut manifest_lines) = (0, 0, 0);

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
                if refuse_too_many(inspection, "imports", reader.count(), IMPORTS_MAX) {
                    return Ok(());
                }
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
            Payload::FunctionSection(reader) => {
                inspection.functions = u64::from(reader.count());
                if refuse_too_many(inspection, "functions", reader.count(), FUNCTIONS_MAX) {
                    return Ok(());
                }
            }
            Payload::GlobalSection(reader)
                if refuse_too_many(inspection, "globals", reader.count(), GLOBALS_MAX) =>
            {
                return Ok(());
            }
            Payload::MemorySection(reader) => {
                for memory in reader {
                    let memory = memory?;
                    inspection.memory_bytes += memory.initial.saturating_mul(PAGE_BYTES);
                    inspection.memory_bytes_max =
                        memory.maximum.map(|pages| pages.saturating_mul(PAGE_BYTES));
                }
            }
            Payload::TableSection(reader) => {
                if refuse_too_many(inspection, "tables", reader.count(), TABLES_MAX) {
                    return Ok(());
                }
                for table in reader {
                    inspection.table_elements += table?.ty.initial;
                }
            }
            Payload::ExportSection(reader) => {
                if refuse_too_many(inspection, "exports", reader.count(), EXPORTS_MAX) {
                    return Ok(());
                }
                for export in reader {
                    let export = export?;
                    names_bytes += export.name.len();
                    if let Err(why) = check_name(export.name, names_bytes) {
                        inspection.refuse(why);
                        return Ok(());
                    }
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
            Payload::CustomSection(section) if section.name() == SHAPES_SECTION => {
                // Shapes are not essential: those that are too long are ignored.
                let text = String::from_utf8_lossy(section.data());
                if section.data().len() <= MANIFEST_BYTES_MAX {
                    let lines = text.lines().take(MANIFEST_LINES_MAX);
                    let shapes = lines.filter_map(|line| line.split_once(' '));
                    inspection.shapes =
                        shapes.map(|(job, shape)| (job.to_owned(), shape.to_owned())).collect();
                }
            }
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                manifest_bytes += section.data().len();
                manifest_lines += section.data().iter().filter(|byte| **byte == b'\n').count() + 1;
                if manifest_bytes > MANIFEST_BYTES_MAX || manifest_lines > MANIFEST_LINES_MAX {
                    inspection.refuse(format!(
                        "its manifest is longer than the {MANIFEST_LINES_MAX} lines and {} that are allowed",
                        size(MANIFEST_BYTES_MAX as u64)
                    ));
                    return Ok(());
                }
                let text = String::from_utf8_lossy(section.data());
                for line in text.lines() {
                    match line.strip_prefix("function ").and_then(|rest| rest.split_once(' ')) {
                        Some((job, path)) => {
                            inspection.functions_of_renamed_jobs.insert(job.to_owned(), path.to_owned());
                        }
                        None => inspection.manifest.push(line.to_owned()),
                    }
                }
            }
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(names) = section.as_known() {
                    inspection.pitfalls = pitfall::find(&names);
                }
            }
            _ => {}
        }
    }
    inspection.jobs.sort();
    inspection.mains.sort();
    inspection.manifest.sort();
    inspection.determinism = Some(if floats { Determinism::Float } else { Determinism::Integer });
    if !foreign.is_empty() {
        let is_browser = foreign.iter().any(|import| import.contains("__wbindgen"));
        let hint = if is_browser {
            " (wasm-bindgen's imports come from a crate that is set up for browsers; switch off its feature `js` or the like)"
        } else {
            ""
        };
        let more = match foreign.len().saturating_sub(FOREIGN_SHOWN_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        foreign.truncate(FOREIGN_SHOWN_MAX);
        inspection.refuse(format!(
            "it imports what no host offers: {}{more}; an app may import nothing but Sateen's ABI{hint}",
            foreign.join(", ")
        ));
    }
    Ok(())
}

/// Refuses a module if a section is too long, and returns whether it is.
fn refuse_too_many(inspection: &mut Inspection, what: &str, count: u32, most: usize) -> bool {
    let is_too_long = count as usize > most;
    if is_too_long {
        let allowed = if most == 1 { "one is allowed".to_owned() } else { format!("{most} are allowed") };
        inspection.refuse(format!("it has {count} {what}, and {allowed}"));
    }
    is_too_long
}

/// Names of jobs and entry points appear in answers, trees and logs: they must be short, with visible characters only.
fn check_name(name: &str, names_bytes: usize) -> Result<(), String> {
    if name.len() > NAME_BYTES_MAX || names_bytes > NAMES_BYTES_MAX {
        return Err(format!(
            "the names of its exports are longer than allowed: {NAME_BYTES_MAX} bytes each, {} in all",
            size(NAMES_BYTES_MAX as u64)
        ));
    }
    let is_shown = [JOB_PREFIX, MAIN_PREFIX, PREPARE_PREFIX].iter().any(|prefix| name.starts_with(prefix));
    if is_shown && !name.chars().all(|letter| letter.is_ascii_graphic() || letter.is_alphanumeric()) {
        return Err(format!(
            "the name of its export `{}` has characters that are not visible",
            name.escape_debug()
        ));
    }
    Ok(())
}

/// An import's type, and whether the ABI has it.
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
    let known = module == import::MODULE && is_import(name, ty.params(), ty.results());
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
        } else if let Some(version) = name.strip_prefix(VERSION_PREFIX).and_then(|text| text.parse().ok()) {
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

/// Whether `operator` can produce a NaN whose bits depend on the machine. Constants, moves, compares,
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
