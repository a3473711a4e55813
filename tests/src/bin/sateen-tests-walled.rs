//! Runs an app within the walls of the system: the engine is made and the app is loaded before, all threads start after.
//!
//! ```text
//! sateen-tests-walled APP.wasm                       compiles it for the cache (SATEEN_CACHE_DIR)
//! sateen-tests-walled APP.wasm FUNCTION PARENT_ID [NAME=FILE …] [-- ARG …]
//! ```
//!
//! The result goes to stdout, the report on the walls goes to stderr, and so does the error of a run that fails.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use sateen_host::{App, Engine, Limits, ModuleCache, Output, Run, RunOptions};
use sateen_walls::{Options, raise};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let module = std::fs::read(words.next().expect("an app")).expect("the module can be read");
    let engine = Engine::new(&Limits::default(), false).expect("this machine can run guests");
    let cache = ModuleCache::of_user().expect("there is a folder for it");
    let app = App::load(&engine, &module, Some(&cache)).expect("it is a good app");
    let Some(function) = words.next() else { return ExitCode::SUCCESS };
    let parent: u32 = words.next().and_then(|word| word.parse().ok()).expect("the id of the parent");
    let inputs: BTreeMap<String, Vec<u8>> = words
        .by_ref()
        .take_while(|word| word != "--")
        .map(|word| {
            let (name, file) = word.split_once('=').expect("NAME=FILE");
            (name.to_owned(), std::fs::read(file).expect("the input can be read"))
        })
        .collect();
    let arguments = words.collect();
    let report = raise(&Options { parent: Some(parent), ..Options::default() });
    say(&report.to_string());
    let options = RunOptions { function, arguments, inputs, threads: 4, ..RunOptions::default() };
    match Run::start(&app, options).and_then(Run::wait) {
        Ok(finished) => {
            let bytes = match finished.output {
                Output::Text(text) => format!("{text}\n").into_bytes(),
                Output::Bytes(bytes) => bytes,
            };
            std::io::stdout().write_all(&bytes).expect("stdout can be written");
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
