//! Apps, and what to run of them.

use std::time::Duration;

use sateen_host::{App, Engine, Limits, ModuleCache, Turns};
use sateen_tests::{command, kept, probe};

/// An app as every host loads it.
pub fn load(module: &[u8]) -> App {
    let engine = Engine::new(&Limits::default(), false).expect("this machine can run guests");
    let cache = ModuleCache::open(&kept().join("cache")).expect("target/ can hold a cache");
    App::load(&engine, module, Some(&cache)).expect("it is a good app")
}

/// The module of a sample app.
pub fn sample(name: &str) -> Vec<u8> {
    std::fs::read(command::app(name)).expect("the app was built")
}

/// The probe app's module.
pub fn probe() -> Vec<u8> {
    probe::module().to_vec()
}

/// The entry point to run.
#[derive(Clone)]
pub struct Task {
    pub module: Vec<u8>,
    pub function: String,
    pub arguments: Vec<String>,
    pub record_every: Option<Duration>,
    pub turns: Option<Turns>,
}

impl Task {
    pub fn new(module: Vec<u8>, function: &str, arguments: &[&str]) -> Self {
        Self {
            module,
            function: function.to_owned(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            record_every: Some(Duration::from_millis(5)),
            turns: None,
        }
    }
}
