//! An app that is ready to run.

use std::sync::Arc;

use wasmtime::{InstancePre, Module, ModuleExport};

use super::{Inspection, ModuleCache, inspect};
use crate::engine::Engine;
use crate::failure::RunError;
use crate::guest::{Guest, JOB_PREFIX, MAIN_PREFIX, linker};

/// A module, inspected and compiled for an engine. Cheap to clone.
#[derive(Clone)]
pub struct App(pub(crate) Arc<Loaded>);

pub(crate) struct Loaded {
    pub inspection: Inspection,
    pub engine: Engine,
    pub instance_pre: InstancePre<Guest>,
    pub memory: ModuleExport,
    /// Where its own stack ends, in its memory.
    pub stack_pointer: Option<ModuleExport>,
    /// By kind: the job's name and its export.
    pub jobs: Vec<(String, ModuleExport)>,
    pub attempt: Option<ModuleExport>,
}

impl App {
    /// Loads the module `bytes`, from the `cache` if it has been compiled before.
    ///
    /// # Errors
    /// When the module is refused; the message says why.
    pub fn load(engine: &Engine, bytes: &[u8], cache: Option<&ModuleCache>) -> Result<Self, RunError> {
        let inspection = inspect(bytes, &engine.limits);
        if let Some(why) = inspection.refusal() {
            return Err(RunError::BadInput(why.to_owned()));
        }
        let refused =
            |error: wasmtime::Error| RunError::BadInput(format!("the module cannot be loaded: {error:#}"));

        let hash = blake3::hash(bytes);
        let module = match cache.and_then(|cache| cache.get(engine, &hash)) {
            Some(module) => module,
            None => {
                let module = Module::new(&engine.inner, bytes).map_err(refused)?;
                if let Some(cache) = cache {
                    // A full disk must not stop a run.
                    let _ = cache.put(engine, &hash, &module);
                }
                module
            }
        };
        let export = |name: &str| module.get_export_index(name);
        let memory = export("memory").ok_or_else(|| RunError::BadInput("it exports no memory".to_owned()))?;
        let jobs = (inspection.jobs.iter())
            .filter_map(|name| Some((name.clone(), export(&format!("{JOB_PREFIX}{name}"))?)))
            .collect();
        let attempt = export("sateen_attempt");
        let stack_pointer = export("__stack_pointer");
        let instance_pre =
            linker(&engine.inner).and_then(|linker| linker.instantiate_pre(&module)).map_err(refused)?;
        Ok(Self(Arc::new(Loaded {
            inspection,
            engine: engine.clone(),
            instance_pre,
            memory,
            stack_pointer,
            jobs,
            attempt,
        })))
    }

    /// What the module is.
    pub fn inspection(&self) -> &Inspection {
        &self.0.inspection
    }

    /// Where the entry point `name` is.
    ///
    /// # Errors
    /// When there is none; the message lists those there are.
    pub(crate) fn main(&self, name: &str) -> Result<ModuleExport, RunError> {
        let found = self.0.instance_pre.module().get_export_index(&format!("{MAIN_PREFIX}{name}"));
        found.ok_or_else(|| {
            let mains = &self.0.inspection.mains;
            RunError::BadInput(if mains.is_empty() {
                "the app has no entry point; mark a function with #[main]".to_owned()
            } else {
                format!("the app has no entry point `{name}`; it has: {}", mains.join(", "))
            })
        })
    }

    /// Each job's name, and its function's name or whole path.
    pub(crate) fn job_functions(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let functions = &self.0.inspection.functions_of_renamed_jobs;
        self.0.jobs.iter().map(|(name, _)| (name.as_str(), functions.get(name).unwrap_or(name).as_str()))
    }
}
