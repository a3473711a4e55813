//! Runs of apps in the sandbox, within this process, without the time to compile.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sateen_host::{App, Engine, Limits, Output, ProgramProfile, Run, RunOptions};

use crate::measure::{Took, time};
use crate::workloads::{Workload, fingerprint};

/// The folder in which `cargo xtask` puts built files.
pub fn dist() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dist")
}

/// An app, compiled.
pub struct Sandbox {
    app: App,
}

/// A finished run.
pub struct Timed {
    /// From start to end, instantiation and threads included.
    pub took: Took,
    /// Spawned jobs, without the root.
    pub spawns: u64,
    /// The app's text, or a text that identifies its bytes.
    pub text: String,
    /// Work and span, if the run was profiled.
    pub profile: Option<ProgramProfile>,
}

/// The bytes of a module that was built before.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .with_context(|| format!("{} is missing; `cargo xtask bench` builds it", path.display()))
}

impl Sandbox {
    /// The sample app `name`.
    pub fn app(name: &str) -> Result<Self> {
        Self::load(&dist().join("apps").join(format!("{name}.wasm")))
    }

    /// The sample app `name`, built without the checks of parameters and results.
    pub fn unchecked(name: &str) -> Result<Self> {
        Self::load(&dist().join("bench/unchecked").join(format!("{name}.wasm")))
    }

    /// The app `name` that only benchmarks use.
    pub fn bench_app(name: &str) -> Result<Self> {
        Self::load(&dist().join("bench").join(format!("{name}.wasm")))
    }

    /// The app `name` that only benchmarks use, which cannot be stopped while it computes.
    pub fn unstoppable(name: &str) -> Result<Self> {
        let bytes = read(&dist().join("bench").join(format!("{name}.wasm")))?;
        let engine = Engine::unstoppable(&Limits::default())?;
        Ok(Self { app: App::load(&engine, &bytes, None)? })
    }

    fn load(path: &Path) -> Result<Self> {
        let engine = Engine::new(&Limits::default(), false)?;
        Ok(Self { app: App::load(&engine, &read(path)?, None)? })
    }

    /// Starts the entry point `function` without arguments on one worker.
    pub fn start(&self, function: &str) -> Result<Run> {
        Ok(Run::start(
            &self.app,
            RunOptions { function: function.to_owned(), threads: 1, ..RunOptions::default() },
        )?)
    }

    /// Calls the entry point `function` on `threads` workers, without inputs.
    pub fn run(&self, function: &str, arguments: &[impl ToString], threads: usize) -> Result<Timed> {
        self.run_with(function, arguments, &[], threads, false)
    }

    /// Calls the entry point `function` on `threads` workers, with `inputs`.
    pub fn run_on(
        &self,
        function: &str,
        arguments: &[impl ToString],
        inputs: &[(&str, &[u8])],
        threads: usize,
    ) -> Result<Timed> {
        self.run_with(function, arguments, inputs, threads, false)
    }

    /// Calls the entry point `function` with the words and inputs of `workload` on `threads` workers.
    pub fn run_workload(&self, function: &str, workload: &Workload, threads: usize) -> Result<Timed> {
        self.run_with(function, &workload.words(), workload.inputs, threads, false)
    }

    /// As `run_workload`, profiled.
    pub fn run_workload_profiled(
        &self,
        function: &str,
        workload: &Workload,
        threads: usize,
    ) -> Result<Timed> {
        self.run_with(function, &workload.words(), workload.inputs, threads, true)
    }

    fn run_with(
        &self,
        function: &str,
        arguments: &[impl ToString],
        inputs: &[(&str, &[u8])],
        threads: usize,
        profile: bool,
    ) -> Result<Timed> {
        let options = RunOptions {
            function: function.to_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            inputs: inputs.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect(),
            threads,
            profile,
            ..RunOptions::default()
        };
        let (took, finished) = time(|| Run::start(&self.app, options)?.wait());
        let finished = finished?;
        let text = match finished.output {
            Output::Text(text) => text,
            Output::Bytes(bytes) => fingerprint(&bytes),
        };
        // The root is counted among the jobs, but it was not spawned.
        let spawns = finished.jobs.spawned - 1;
        Ok(Timed { took, spawns, text, profile: finished.profile })
    }
}
