//! The values that an app makes of a run's inputs before it has a job.

use sateen_abi::PREPARE_PREFIX;
use sateen_module::Inspection;
use wasmtime::{Module, ModuleExport, Mutability};

/// The exports that make such values, and what the host must know to keep an image of them.
#[derive(Default)]
pub struct Preparation {
    /// Each function's name and export, in the order of their names.
    pub functions: Vec<(String, ModuleExport)>,
    /// The mutable globals that the module exports.
    pub globals: Vec<ModuleExport>,
}

impl Preparation {
    /// That of a `module` whose instances can be copied. For another one it is empty: each instance makes the values when it
    /// uses them.
    pub fn of(inspection: &Inspection, module: &Module) -> Self {
        let mut names: Vec<&str> = inspection.prepares().collect();
        names.sort_unstable();
        let export = |name: &str| module.get_export_index(name);
        let function = |name: &str| Some((name.to_owned(), export(&format!("{PREPARE_PREFIX}{name}"))?));
        let global = |name: &str, mutability| (mutability == Mutability::Var).then(|| export(name))?;
        let globals =
            module.exports().filter_map(|known| global(known.name(), known.ty().global()?.mutability()));
        Self { functions: names.into_iter().filter_map(function).collect(), globals: globals.collect() }
    }
}
