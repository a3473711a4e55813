//! An app that is ready to run.

use std::sync::Arc;

use sateen_abi::{ATTEMPT, JOB_PREFIX, MAIN_PREFIX};
use sateen_module::{Determinism, Inspection};
use sateen_protocol::{BlobHash, JobKey, KeyMaker};
use wasmtime::{Module, ModuleExport};

use super::cache::{Code, Compiled, is_copyable};
use super::pages::Pages;
use super::preparation::Preparation;
use super::{ModuleCache, inspect};
use crate::engine::Engine;
use crate::failure::RunError;
use crate::guest::linker;

/// A module, inspected and compiled for an engine. Clones are cheap.
#[derive(Clone)]
pub struct App(pub(crate) Arc<Loaded>);

pub(crate) struct Loaded {
    pub hash: BlobHash,
    pub inspection: Inspection,
    pub engine: Engine,
    pub pages: Arc<Pages>,
    pub memory: ModuleExport,
    /// Initial memory of an instance, in bytes.
    pub memory_bytes_min: usize,
    /// The address at which the module's own stack ends, in its memory.
    pub stack_pointer: Option<ModuleExport>,
    /// By kind: the job's name and its export.
    pub jobs: Vec<(String, ModuleExport)>,
    pub attempt: Option<ModuleExport>,
    /// What it makes of a run's inputs before it has a job.
    pub preparation: Preparation,
    /// Whether the module takes jobs from sets: only such a guest has the control word for them.
    pub has_sets: bool,
    /// Whether the module reports what a profile needs: only such a guest has the control word for it.
    pub measures: bool,
}

fn refused(error: wasmtime::Error) -> RunError {
    RunError::BadInput(format!("the module cannot be loaded: {error:#}"))
}

impl App {
    /// Loads the module `bytes`, from the `cache` if it has been compiled before.
    ///
    /// # Errors
    /// If the module is refused; the message says why.
    pub fn load(engine: &Engine, bytes: &[u8], cache: Option<&ModuleCache>) -> Result<Self, RunError> {
        Self::load_by(engine, bytes, |hash| {
            if let Some(compiled) = cache.and_then(|cache| cache.get(engine, hash)) {
                return Ok(compiled);
            }
            let code = Module::new(&engine.inner, engine.stoppable(bytes)?).map_err(refused)?;
            let compiled = Compiled { code, is_copyable: is_copyable(bytes) };
            if let Some(cache) = cache {
                // A full disk must not stop a run.
                let _ = cache.put(engine, hash, &compiled);
            }
            Ok(compiled)
        })
    }

    /// The module `bytes` with its code, both from the supervisor of this process, which has compiled it.
    ///
    /// # Errors
    /// If the module is refused, or the code is for another engine.
    pub(crate) fn of_host(
        engine: &Engine,
        bytes: &[u8],
        code: Vec<u8>,
        is_copyable: bool,
    ) -> Result<Self, RunError> {
        let code = Code { bytes: code, is_copyable };
        let other = || RunError::Host("the code from the host cannot be loaded".to_owned());
        Self::load_by(engine, bytes, |_| code.load(engine).ok_or_else(other))
    }

    /// Like [`load`](Self::load), but the code of the module with this hash comes from `compiled`.
    pub(super) fn load_by(
        engine: &Engine,
        bytes: &[u8],
        compiled: impl FnOnce(&blake3::Hash) -> Result<Compiled, RunError>,
    ) -> Result<Self, RunError> {
        let inspection = inspect(bytes, &engine.limits);
        if let Some(why) = inspection.refusal() {
            return Err(RunError::BadInput(why.to_owned()));
        }
        let hash = blake3::hash(bytes);
        let Compiled { code: module, is_copyable } = compiled(&hash)?;
        let export = |name: &str| module.get_export_index(name);
        let memory = export("memory").ok_or_else(|| RunError::BadInput("it exports no memory".to_owned()))?;
        let jobs = (inspection.jobs.iter())
            .filter_map(|name| Some((name.clone(), export(&format!("{JOB_PREFIX}{name}"))?)))
            .collect();
        let attempt = export(ATTEMPT);
        let stack_pointer = export("__stack_pointer");
        let measures = module.imports().any(|import| import.name() == "measure");
        let has_sets = module.imports().any(|import| import.name() == "sync_any");
        let memory_bytes_min = (module.exports())
            .find_map(|export| Some(export.ty().memory()?.minimum()))
            .and_then(|pages| usize::try_from(pages << 16).ok())
            .unwrap_or(0);
        let preparation = if is_copyable {
            Preparation::of(&inspection, &module, bytes, engine.is_pooled)
        } else {
            Preparation::default()
        };
        let pages = Pages::new(module, linker(&engine.inner).map_err(refused)?);
        Ok(Self(Arc::new(Loaded {
            hash: BlobHash(*hash.as_bytes()),
            inspection,
            engine: engine.clone(),
            pages: Arc::new(pages),
            memory,
            memory_bytes_min,
            stack_pointer,
            jobs,
            attempt,
            preparation,
            has_sets,
            measures,
        })))
    }

    /// The blake3 hash of the module's bytes.
    pub fn hash(&self) -> BlobHash {
        self.0.hash
    }

    /// Where its code is in memory.
    pub(crate) fn code(&self) -> std::ops::Range<*const u8> {
        self.0.pages.module().image_range()
    }

    /// The key of a run's root job, and its encoded parameters: the entry point `function` with the words
    /// `arguments`. `salt` stands for everything else on which its result depends.
    ///
    /// # Errors
    /// If the arguments cannot be encoded.
    pub fn root_key(
        &self,
        function: &str,
        arguments: &[String],
        salt: &[u8],
    ) -> Result<(JobKey, Vec<u8>), RunError> {
        let parameters = encode_arguments(arguments)?;
        Ok((self.main_keys(function, salt).key(&parameters), parameters))
    }

    /// The key of the job `name` with these encoded parameters.
    pub fn job_key(&self, name: &str, parameters: &[u8], salt: &[u8]) -> JobKey {
        self.job_keys(name, salt).key(parameters)
    }

    /// Makes the keys of the entry point `name`.
    pub(crate) fn main_keys(&self, name: &str, salt: &[u8]) -> KeyMaker {
        self.keys(&format!("main {name}"), salt)
    }

    /// Makes the keys of the job `name`.
    pub(crate) fn job_keys(&self, name: &str, salt: &[u8]) -> KeyMaker {
        self.keys(&format!("job {name}"), salt)
    }

    fn keys(&self, function: &str, salt: &[u8]) -> KeyMaker {
        KeyMaker::new(sateen_abi::VERSION, self.profile(), self.0.hash, function, salt)
    }

    /// How the module's results depend on the machine, as part of its keys: no floats, floats, floats with
    /// canonical NaNs.
    fn profile(&self) -> u8 {
        match (self.0.inspection.determinism, self.0.engine.strict_nan) {
            (Some(Determinism::Integer), _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        }
    }

    /// The properties of the module.
    pub fn inspection(&self) -> &Inspection {
        &self.0.inspection
    }

    /// The export of the entry point `name`.
    ///
    /// # Errors
    /// If there is none; the message lists the existing ones.
    pub(crate) fn main(&self, name: &str) -> Result<ModuleExport, RunError> {
        let found = self.0.pages.module().get_export_index(&format!("{MAIN_PREFIX}{name}"));
        found.ok_or_else(|| {
            let mains = &self.0.inspection.mains;
            RunError::BadInput(if mains.is_empty() {
                "the app has no entry point; mark a function with #[main]".to_owned()
            } else {
                format!("the app has no entry point `{name}`; it has: {}", mains.join(", "))
            })
        })
    }

    /// The export of the job `name`.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn job(&self, name: &str) -> Result<ModuleExport, RunError> {
        let found = self.0.jobs.iter().find(|(known, _)| known == name);
        found.map(|(_, export)| *export).ok_or_else(|| {
            RunError::BadInput(format!("the app has no job `{name}`; was it built from the same source?"))
        })
    }

    /// Each job's name, and its function's name or full path.
    pub(crate) fn job_functions(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let functions = &self.0.inspection.functions_of_renamed_jobs;
        self.0.jobs.iter().map(|(name, _)| (name.as_str(), functions.get(name).unwrap_or(name).as_str()))
    }
}

/// The parameters of an entry point.
pub fn encode_arguments(words: &[String]) -> Result<Vec<u8>, RunError> {
    postcard::to_allocvec(words).map_err(|error| RunError::Host(error.to_string()))
}
