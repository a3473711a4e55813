//! `sateen check`: what a module is, and why it would be refused.

use std::fmt::Write;

use sateen_host::{Inspection, Limits, inspect, size};
use serde_json::json;

use crate::exit::{Failure, visible};
use crate::files::{print, print_json, read_module};
use crate::flags::Check as Flags;

pub fn check(flags: &Flags) -> Result<(), Failure> {
    let limits = Limits::default();
    let bytes = read_module(&flags.app, &limits)?;
    let inspection = inspect(&bytes, &limits);
    if flags.json { print_json(&as_json(&inspection)) } else { print(as_text(&inspection).as_bytes()) }?;
    match inspection.refusal() {
        None => Ok(()),
        Some(why) => Err(Failure::usage(format!("{}: {why}", flags.app.display()))),
    }
}

fn as_text(inspection: &Inspection) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{:<12} {}", visible(name), visible(&value));
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
    for pitfall in &inspection.pitfalls {
        row("warning", pitfall.advice().to_owned());
    }
    if inspection.refusals.is_empty() {
        row("verdict", "it would run".to_owned());
    }
    for why in &inspection.refusals {
        row("refused", why.clone());
    }
    text
}

fn as_json(inspection: &Inspection) -> serde_json::Value {
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
        "warnings": inspection.pitfalls.iter().map(|pitfall| pitfall.advice()).collect::<Vec<_>>(),
        "refusals": inspection.refusals,
    })
}
