//! `sateen check`: the contents of a module, and why a host would refuse it or could not compile
//! it.

use std::fmt::Write;

use sateen_command_line::{explained, wrap};
#[cfg(unix)]
use sateen_host::{Compiler, ModuleCache, Priority};
use sateen_host::{Engine, Inspection, Limits, Pitfall, RunError, crates_with, inspect, size};
use serde_json::json;

use crate::exit::{Failure, visible};
use crate::files::{print, print_json, read_module};
use crate::flags::Check as Flags;

pub fn check(flags: &Flags) -> Result<(), Failure> {
    let limits = Limits::default();
    let bytes = read_module(&flags.app, &limits)?;
    let mut inspection = inspect(&bytes, &limits);
    if inspection.refusal().is_none()
        && let Err(error) = compile(&bytes, &limits)
    {
        inspection.refusals.push(why_not(&error, &inspection));
    }
    let warnings = warnings(&inspection, &bytes);
    if flags.json {
        print_json(&as_json(&inspection, &warnings))
    } else {
        print(as_text(&inspection, &warnings, wrap::width()).as_bytes())
    }
    .or_else(Failure::unless_reader_gone)?;
    match inspection.refusal() {
        None => Ok(()),
        Some(why) => Err(Failure::usage(format!("{}: {why}", flags.app.display()))),
    }
}

#[cfg(not(unix))]
fn compile(bytes: &[u8], limits: &Limits) -> Result<(), RunError> {
    sateen_host::App::load(&Engine::new(limits, false)?, bytes, None).map(drop)
}

/// Compiles the module like a host without a memory limit.
#[cfg(unix)]
fn compile(bytes: &[u8], limits: &Limits) -> Result<(), RunError> {
    let failed = |error: std::io::Error| {
        RunError::Host(format!("the app cannot be compiled here: {}", explained(&error)))
    };
    let compiler = Compiler::of_this_program(None, Priority::Normal).map_err(failed)?;
    // Do not use this user's cache: a module in it says nothing about hosts.
    let folder = tempfile::tempdir().map_err(failed)?;
    let cache = ModuleCache::open(&folder.path().join("modules")).map_err(failed)?;
    compiler.load(&Engine::new(limits, false)?, bytes, &cache, &|| false).map(drop)
}

/// The error, and the size of the module that could not be compiled.
fn why_not(error: &RunError, inspection: &Inspection) -> String {
    match error {
        RunError::Host(why) => {
            let (functions, code) = (inspection.functions, size(inspection.code_bytes));
            format!("{why}: its {functions} functions have {code} of code")
        }
        error => error.to_string(),
    }
}

/// The advice about each pitfall of the module, and the crates with which it came.
pub fn warnings(inspection: &Inspection, bytes: &[u8]) -> Vec<String> {
    let warning = |pitfall: &Pitfall| {
        let crates: Vec<String> =
            crates_with(*pitfall, bytes).iter().map(|name| format!("`{name}`")).collect();
        match crates.as_slice() {
            [] => pitfall.advice().to_owned(),
            [one] => format!("{}; found in the crate {one}", pitfall.advice()),
            several => format!("{}; found in the crates {}", pitfall.advice(), several.join(", ")),
        }
    };
    inspection.pitfalls.iter().map(warning).collect()
}

/// For a terminal of `width` columns, if it is one.
fn as_text(inspection: &Inspection, warnings: &[String], width: Option<usize>) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let line = format!("{:<12} {}", visible(name), visible(&value));
        for line in wrap::wrap(&line, 13, width.unwrap_or(usize::MAX)) {
            let _ = writeln!(text, "{line}");
        }
    };
    row("module", inspection.hash.clone());
    row(
        "size",
        format!(
            "{} ({} of code in {} functions, {} of data)",
            size(inspection.module_bytes),
            size(inspection.code_bytes),
            inspection.functions,
            size(inspection.data_bytes)
        ),
    );
    row(
        "memory",
        format!(
            "{} to begin with, a table of {} elements",
            size(inspection.memory_bytes),
            inspection.table_elements
        ),
    );
    row("ABI", inspection.abi.map_or_else(|| "none".to_owned(), |version| format!("version {version}")));
    if let Some(class) = inspection.determinism {
        row("determinism", class.to_string());
    }
    for signature in &inspection.manifest {
        let (kind, signature) = signature.split_once(' ').unwrap_or(("", signature));
        row(kind, signature.to_owned());
    }
    for import in &inspection.imports {
        row("import", format!("{}.{}: {}", import.module, import.name, import.ty));
    }
    for export in &inspection.exports {
        row("export", format!("{}: {}", export.name, export.kind));
    }
    for warning in warnings {
        row("warning", warning.clone());
    }
    if inspection.refusals.is_empty() {
        row("verdict", "it would run".to_owned());
    }
    for why in &inspection.refusals {
        row("refused", why.clone());
    }
    text
}

fn as_json(inspection: &Inspection, warnings: &[String]) -> serde_json::Value {
    json!({
        "module": inspection.hash,
        "abi": inspection.abi,
        "determinism": inspection.determinism.map(|class| format!("{class:?}").to_lowercase()),
        "module_bytes": inspection.module_bytes,
        "code_bytes": inspection.code_bytes,
        "data_bytes": inspection.data_bytes,
        "functions": inspection.functions,
        "memory_bytes": inspection.memory_bytes,
        "table_elements": inspection.table_elements,
        "jobs": inspection.jobs,
        "mains": inspection.mains,
        "manifest": inspection.manifest,
        "shapes": inspection.shapes,
        "imports": inspection.imports.iter().map(|import| json!({
            "module": import.module, "name": import.name, "type": import.ty,
        })).collect::<Vec<_>>(),
        "exports": inspection.exports.iter().map(|export| json!({
            "name": export.name, "kind": export.kind,
        })).collect::<Vec<_>>(),
        "warnings": warnings,
        "refusals": inspection.refusals,
    })
}
