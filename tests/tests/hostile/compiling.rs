//! Modules that take much time or memory to compile: a host compiles them in a child, within limits, and kills it when
//! they are not needed any more.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sateen_host::{COMPILE_COMMAND, Compiler, Engine, Limits, ModuleCache, Priority, RunError};
use sateen_tests::cluster::{Cluster, PATIENCE, SOON, binary, until};
use sateen_tests::wat::{app, bytes, takes_long_to_compile};

struct Setting {
    engine: Engine,
    cache: ModuleCache,
    _folder: tempfile::TempDir,
}

fn setting() -> Setting {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = ModuleCache::open(&folder.path().join("modules")).expect("a cache");
    let engine = Engine::new(&Limits::default(), false).expect("an engine");
    Setting { engine, cache, _folder: folder }
}

fn compiler() -> Compiler {
    Compiler {
        program: binary("sateen-host"),
        time_max: Duration::from_secs(60),
        memory_bytes_max: 1 << 30,
        priority: Priority::Normal,
        memory: None,
        attempts: Arc::default(),
    }
}

fn error_of(compiler: &Compiler, module: &[u8], is_unwanted: &dyn Fn() -> bool) -> RunError {
    let Setting { engine, cache, _folder } = setting();
    let loaded = compiler.load(&engine, module, &cache, is_unwanted);
    loaded.err().expect("it is not compiled")
}

#[test]
fn a_child_compiles_what_the_cache_then_has() {
    let Setting { engine, cache, _folder } = setting();
    let module = bytes(&app(""));
    compiler().load(&engine, &module, &cache, &|| false).expect("a good app");
    // A program that cannot compile is not called.
    let other = Compiler { program: "/bin/false".into(), ..compiler() };
    other.load(&engine, &module, &cache, &|| false).expect("it is in the cache");
    let error = other.load(&engine, &bytes(&app("(nop)")), &cache, &|| false);
    assert!(error.is_err(), "nothing was compiled");
}

#[test]
fn limits_of_compiling_are_named() {
    let module = takes_long_to_compile();
    let little = Compiler { memory_bytes_max: 64 << 20, ..compiler() };
    let error = error_of(&little, &module, &|| false).to_string();
    assert!(error.contains("takes more than 64 MiB of memory to compile here"), "{error}");
    let short = Compiler { time_max: Duration::from_millis(100), ..compiler() };
    // Other tests may use all processors; the error then gives that as the reason.
    let error = (0..30)
        .map(|_| error_of(&short, &module, &|| false).to_string())
        .find(|error| !error.ends_with("as the machine is busy"))
        .expect("the machine is not busy for ever");
    assert!(error.contains("takes more than 0.1 s of processor time to compile here"), "{error}");
    let error = error_of(&compiler(), &module, &|| true);
    assert!(matches!(error, RunError::Cancelled), "{error}");
}

/// Or an attacker would have a host compile the same module in one run after the other.
#[test]
fn a_module_that_reached_a_limit_is_compiled_once() {
    let module = takes_long_to_compile();
    let little = Compiler { memory_bytes_max: 64 << 20, ..compiler() };
    let first = error_of(&little, &module, &|| false).to_string();
    // A program that cannot compile is not called.
    let again = Compiler { program: "/nonexistent".into(), ..little };
    assert_eq!(error_of(&again, &module, &|| false).to_string(), first);
    assert!(first.contains("of memory to compile here"), "{first}");
}

#[test]
fn a_module_whose_compilation_was_stopped_rests() {
    let module = takes_long_to_compile();
    let compiler = compiler();
    // It is stopped after 1.8 seconds of processor time, of which one is free; all of it takes almost three. Others may
    // have the processors longer.
    let is_late = || compiling_ticks() > 180;
    assert!(matches!(error_of(&compiler, &module, &is_late), RunError::Cancelled));
    let began = Instant::now();
    let is_late = || began.elapsed() > Duration::from_millis(500);
    // Nothing would be compiled by this program, and nothing is.
    let again = Compiler { program: "/nonexistent".into(), ..compiler };
    assert!(
        matches!(error_of(&again, &module, &is_late), RunError::Cancelled),
        "it rests until it is not wanted"
    );
}

/// The processor time of this process's child that compiles, in hundredths of a second: there is one at a time.
fn compiling_ticks() -> u64 {
    let of = |child: &String, file| fs::read_to_string(format!("/proc/{child}/{file}")).unwrap_or_default();
    let compiling = children(std::process::id());
    let compiling = compiling.iter().filter(|child| of(child, "cmdline").contains(COMPILE_COMMAND));
    let ticks = |stat: String| {
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>()
    };
    compiling.map(|child| ticks(of(child, "stat"))).sum()
}

/// The children of a process.
fn children(id: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of_tasks = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    of_tasks.flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn a_child_ends_with_its_run_and_with_its_host() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with("ada", "here", &url, &["--priority", "idle"]);
    cluster.await_hosts(1);
    let id = cluster.host("ada").id();
    let module = cluster.folder().join("heavy.wasm");
    // An earlier attack on this machine may have left it in the cache: this module has another hash.
    let mut bytes = takes_long_to_compile();
    let name = std::process::id().to_string();
    bytes.extend([0, name.len() as u8 + 1, name.len() as u8]);
    bytes.extend(name.as_bytes());
    fs::write(&module, bytes).expect("a file");
    let compiles = |cluster: &Cluster| {
        let run = cluster.submit_module(&module, &[]);
        let child = until("a child compiles", PATIENCE, || children(id).first().cloned());
        // It has the lowest priority, the policy of idle tasks, once it has begun.
        until("the child stands back", PATIENCE, || {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
            let fields = stat.rsplit_once(')')?.1;
            (fields.split_whitespace().nth(38) == Some("5")).then_some(())
        });
        (run, child)
    };
    let is_gone = |child: &str| (!fs::exists(format!("/proc/{child}")).unwrap_or(false)).then_some(());

    let (run, child) = compiles(&cluster);
    cluster.sateen(["cancel", &run.to_string()]);
    until("the child is gone after the cancellation", SOON, || is_gone(&child));

    let (run, child) = compiles(&cluster);
    cluster.tell_host("ada", &["pause"]);
    until("the child is gone after the pause", SOON, || is_gone(&child));
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(children(id), [""; 0], "no other child continues with it");
    cluster.sateen(["cancel", &run.to_string()]);
    cluster.tell_host("ada", &["resume"]);

    let (_, child) = compiles(&cluster);
    cluster.kill_host("ada");
    until("the child is gone with its host", SOON, || is_gone(&child));
}
