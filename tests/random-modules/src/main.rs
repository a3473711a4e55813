//! Whether modules do the same with the checks that make them stoppable (see `sateen_rewriter`): random modules, each run
//! without checks, with checks that never poll, and with checks that always do. And whether modules that may not end do
//! end when they are asked to, with all optimisations: the compiler must leave no check out.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use arbitrary::Unstructured;
use sateen_rewriter::{MODULE, POLL, POLL_WORDS, STOP_WORDS, WORDS, WORDS_EACH, rewrite};
use wasm_smith::Config;
use wasmtime::{
    Caller, Engine, Extern, ExternType, Instance, Linker, MemoryType, Module, Mutability, OptLevel,
    SharedMemory, Store, Trap, Val,
};

/// Loops and calls that a random module may make.
const TURNS_MAX: u32 = 1_000;
/// When modules that may not end are asked to stop: while they run, as words may be read before.
const ASKED_AFTER: Duration = Duration::from_millis(5);
/// Maximum time for which a module that was asked to stop may continue.
const STOPS_WITHIN: Duration = Duration::from_secs(20);
/// How a module ends that was asked to stop in a poll.
const STOPPED: &str = "stopped in a poll";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
    let Some(&[count, first]) = numbers.as_deref().and_then(|numbers| numbers.first_chunk::<2>()) else {
        eprintln!("usage: random-modules COUNT FIRST_SEED");
        return ExitCode::from(2);
    };
    match compare(count, first) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("random-modules: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Compares the modules of `count` seeds; returns how many do something else with checks.
fn compare(count: u64, first: u64) -> Result<u64> {
    let next = AtomicU64::new(first);
    let tallies = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..std::thread::available_parallelism().map_or(1, usize::from))
            .map(|_| scope.spawn(|| compare_all(&next, first + count)))
            .collect();
        let tallies =
            threads.into_iter().map(|thread| thread.join().ok().context("a comparison panicked")?);
        tallies.collect::<Result<Vec<Tally>>>()
    })?;
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let (differences, checked, polls) =
        (sum(|tally| tally.differences), sum(|tally| tally.rewritten), sum(|tally| tally.polls));
    let stopped = sum(|tally| tally.stopped);
    println!(
        "{count} random modules from seed {first}: {checked} have checks, which polled {polls} times; {stopped} without \
         bounds were stopped; {differences} differ"
    );
    ensure!(checked > count / 4 && polls > count && stopped > count / 100, "too few modules need checks");
    Ok(differences)
}

#[derive(Default)]
struct Tally {
    differences: u64,
    rewritten: u64,
    polls: u64,
    /// Modules that still ran when they were asked to stop.
    stopped: u64,
}

fn compare_all(next: &AtomicU64, end: u64) -> Result<Tally> {
    let [plain, stoppable] = [false, true].map(|has_words| engine(has_words, OptLevel::None));
    let (plain, stoppable) = (plain.map_err(known)?, stoppable.map_err(known)?);
    let optimised = engine(true, OptLevel::Speed).map_err(known)?;
    let mut tally = Tally::default();
    loop {
        let seed = next.fetch_add(1, SeqCst);
        if seed >= end {
            return Ok(tally);
        }
        if let Ok(module) = random_module(seed, false) {
            let checked = rewrite(&module).with_context(|| format!("seed {seed}"))?;
            let _watched = watch(seed);
            let still_ran = stop(&optimised, &checked).map_err(|error| anyhow!("seed {seed}: {error:#}"))?;
            tally.stopped += u64::from(still_ran);
        }
        // Of some seeds the generator makes nothing.
        let Ok(module) = random_module(seed, true) else { continue };
        let checked = rewrite(&module).with_context(|| format!("seed {seed}"))?;
        if checked.as_ref() == module {
            continue;
        }
        tally.rewritten += 1;
        let failed = |error: wasmtime::Error| anyhow!("seed {seed}: {error:#}");
        let compiled = Module::new(&plain, &module).map_err(failed)?;
        let (expected, _) = outcome(&compiled, None).map_err(failed)?;
        // Once without a poll, and once with a poll at each check.
        for news in [News::None, News::Poll] {
            let (found, count) = with_news(&stoppable, &checked, news).map_err(failed)?;
            tally.polls += count;
            if found != expected {
                tally.differences += 1;
                eprintln!("seed {seed} does {found:?} instead of {expected:?}");
                break;
            }
        }
    }
}

/// Ends this process if the module of the seed has not ended in time: nothing else could end it.
fn watch(seed: u64) -> mpsc::Sender<()> {
    let (ended, is_over) = mpsc::channel();
    std::thread::spawn(move || {
        if is_over.recv_timeout(STOPS_WITHIN) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("seed {seed} without bounds does not stop");
            std::process::exit(1);
        }
    });
    ended
}

fn engine(has_words: bool, level: OptLevel) -> wasmtime::Result<Engine> {
    let mut config = wasmtime::Config::new();
    config.cranelift_opt_level(level).cranelift_nan_canonicalization(true).shared_memory(has_words);
    // Frames are larger with checks: no module may come near the end of the stack.
    config.max_wasm_stack(1 << 20);
    config.wasm_branch_hinting(true);
    config.memory_reservation(0).memory_guard_size(0);
    Engine::new(&config)
}

/// The engine's error in the form of all others.
fn known(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}

/// A module of the kind that apps may be. One that `is_bounded` ends.
fn random_module(seed: u64, is_bounded: bool) -> Result<Vec<u8>> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(2048)
    .collect();
    let config = Config {
        min_funcs: 2,
        max_funcs: 12,
        max_memories: 1,
        max_memory32_bytes: 1 << 20,
        max_table_elements: 1_000,
        memory_max_size_required: true,
        table_max_size_required: true,
        max_instructions: 200,
        export_everything: true,
        exceptions_enabled: false,
        gc_enabled: false,
        memory64_enabled: false,
        // References to things outside need an engine that collects garbage.
        reference_types_enabled: false,
        relaxed_simd_enabled: false,
        shared_everything_threads_enabled: false,
        tail_call_enabled: false,
        threads_enabled: false,
        custom_page_sizes_enabled: false,
        wide_arithmetic_enabled: false,
        ..Config::default()
    };
    let mut module = wasm_smith::Module::new(config, &mut Unstructured::new(&bytes))
        .map_err(|error| anyhow!("seed {seed}: {error}"))?;
    if is_bounded {
        module.ensure_termination(TURNS_MAX).map_err(|error| anyhow!("seed {seed}: {error}"))?;
    }
    Ok(module.to_bytes())
}

/// What a module does: how it starts, how each function ends, and what its globals and memories are then.
#[derive(Debug, PartialEq, Eq)]
struct Outcome(Vec<String>);

/// What the words say to a module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    None,
    Poll,
    Stop,
}

/// Calls all functions of a module; returns the number of polls as well.
fn outcome(module: &Module, told: Option<(&SharedMemory, News)>) -> wasmtime::Result<(Outcome, u64)> {
    let engine = module.engine();
    let mut store = Store::new(engine, 0_u64);
    let mut linker = Linker::new(engine);
    let must_stop = matches!(told, Some((_, News::Stop)));
    linker.func_wrap(MODULE, POLL, move |mut caller: Caller<'_, u64>| {
        *caller.data_mut() += 1;
        if must_stop { Err(wasmtime::Error::msg(STOPPED)) } else { Ok(()) }
    })?;
    if let Some((words, _)) = told {
        linker.define(&store, MODULE, WORDS, words.clone())?;
    }
    linker.define_unknown_imports_as_default_values(&mut store, module)?;
    let instance = match linker.instantiate(&mut store, module) {
        Ok(instance) => instance,
        Err(error) => return Ok((Outcome(vec![ending(&error)]), *store.data())),
    };
    let mut outcome = Vec::new();
    let functions: Vec<_> =
        module.exports().filter(|export| matches!(export.ty(), ExternType::Func(_))).collect();
    for export in functions {
        let ExternType::Func(ty) = export.ty() else { continue };
        let Some(function) = instance.get_func(&mut store, export.name()) else { continue };
        let parameters: Option<Vec<Val>> = ty.params().map(|ty| Val::default_for_ty(&ty)).collect();
        let Some(parameters) = parameters else { continue };
        let mut results = vec![Val::I32(0); ty.results().len()];
        let end = match function.call(&mut store, &parameters, &mut results) {
            Ok(()) => results.iter().map(shown).collect::<Vec<_>>().join(" "),
            Err(error) => ending(&error),
        };
        outcome.push(end);
    }
    for export in module.exports() {
        match instance.get_export(&mut store, export.name()) {
            Some(Extern::Global(global)) if global.ty(&store).mutability() == Mutability::Var => {
                let value = global.get(&mut store);
                outcome.push(shown(&value));
            }
            Some(Extern::Memory(memory)) => {
                let mut hasher = DefaultHasher::new();
                memory.data(&store).hash(&mut hasher);
                outcome.push(format!("{} bytes, {:x}", memory.data_size(&store), hasher.finish()));
            }
            _ => {}
        }
    }
    Ok((Outcome(outcome), *store.data()))
}

/// Runs a module that may not end, which is asked to stop after a while. Returns whether it still ran then.
fn stop(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<bool> {
    let module = Module::new(engine, bytes)?;
    let words = SharedMemory::new(engine, MemoryType::shared(1, 1))?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let telling = scope.spawn(|| {
            std::thread::sleep(ASKED_AFTER);
            tell(engine, &words, News::Stop)
        });
        outcome(&module, Some((&words, News::Stop)))?;
        let still_ran = began.elapsed() >= ASKED_AFTER;
        telling.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(still_ran)
    })
}

/// What a module with checks does that is sent this news before it begins.
fn with_news(engine: &Engine, bytes: &[u8], news: News) -> wasmtime::Result<(Outcome, u64)> {
    let words = SharedMemory::new(engine, MemoryType::shared(1, 1))?;
    tell(engine, &words, news)?;
    outcome(&Module::new(engine, bytes)?, Some((&words, news)))
}

/// Sets the words that make a module poll or stop, which another module can do safely.
fn tell(engine: &Engine, words: &SharedMemory, news: News) -> wasmtime::Result<()> {
    let fill =
        |of: u64| format!("(memory.fill (i32.const {of}) (i32.const 1) (i32.const {}))", 4 * WORDS_EACH);
    let fills = match news {
        News::None => return Ok(()),
        News::Poll => fill(POLL_WORDS),
        News::Stop => fill(POLL_WORDS) + &fill(STOP_WORDS),
    };
    let text = format!("(module (import \"\" \"\" (memory 1 1 shared)) (func {fills}) (start 0))");
    let mut store = Store::new(engine, ());
    Instance::new(&mut store, &Module::new(engine, wat::parse_str(text)?)?, &[words.clone().into()])?;
    Ok(())
}

/// A value, or what kind of reference it is: functions have other numbers.
fn shown(value: &Val) -> String {
    match value {
        Val::FuncRef(function) => format!("function {}", function.is_some()),
        Val::ExternRef(reference) => format!("reference {}", reference.is_some()),
        Val::V128(bits) => format!("{:x}", bits.as_u128()),
        value => format!("{value:?}"),
    }
}

/// How a call ended. Frames are larger with checks, so how deep a recursion goes may differ.
fn ending(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    }
}
