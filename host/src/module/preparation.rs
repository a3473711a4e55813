//! The values that an app makes of a run's inputs before it has a job.

use sateen_abi::PREPARE_PREFIX;
use sateen_module::{Inspection, has_start};
use wasmtime::{Module, ModuleExport, Mutability};

/// The exports that make such values, and what the host must know to keep an image of them.
#[derive(Default)]
pub struct Preparation {
    /// Each function's name and export, in the order of their names.
    pub functions: Vec<(String, ModuleExport)>,
    /// The mutable globals that the module exports.
    pub globals: Vec<ModuleExport>,
    /// Whether parts of an image can be mapped into instances: their memories do not move, and a new one has nothing but the
    /// module's data.
    pub is_mappable: bool,
}

impl Preparation {
    /// That of a `module` whose instances can be copied. For another one it is empty: each instance makes the values when it
    /// uses them. The memories of its instances are `pooled`, or else may move.
    pub fn of(inspection: &Inspection, module: &Module, bytes: &[u8], pooled: bool) -> Self {
        let mut names: Vec<&str> = inspection.prepares().collect();
        names.sort_unstable();
        let export = |name: &str| module.get_export_index(name);
        let function = |name: &str| Some((name.to_owned(), export(&format!("{PREPARE_PREFIX}{name}"))?));
        let global = |name: &str, mutability| (mutability == Mutability::Var).then(|| export(name))?;
        let globals =
            module.exports().filter_map(|known| global(known.name(), known.ty().global()?.mutability()));
        let functions: Vec<_> = names.into_iter().filter_map(function).collect();
        let is_mappable = pooled && !functions.is_empty() && !has_start(bytes);
        Self { functions, globals: globals.collect(), is_mappable }
    }
}
