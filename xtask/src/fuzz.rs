//! `cargo xtask fuzz`: the targets in tests/fuzz, with libFuzzer on the stable toolchain.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::corpus;
use crate::shell::{cargo, command, root, run};

const TARGETS: [&str; 3] = ["frames", "host", "coordinator"];
/// The flags that cargo-fuzz passes, without a sanitizer, which would need nightly.
const INSTRUMENTATION: &str = "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
const INPUT_BYTES_MAX: usize = 16 << 10;
/// A target with fewer counters was built without instrumentation.
const COUNTERS_MIN: usize = 1000;

/// Runs each target, or the named ones, for a number of seconds, all at once; `--seeds` rebuilds the corpus, and
/// `--add` adds a file to it.
pub fn fuzz(arguments: &[&str]) -> Result<()> {
    let mut seconds = 60;
    let mut named = Vec::new();
    let mut makes_seeds = false;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--seeds" => makes_seeds = true,
            "--add" => return add(Path::new(rest.next().context("--add needs a file")?)),
            "--build" => return build(),
            "--seconds" => {
                let number = rest.next().and_then(|word| word.parse().ok());
                seconds = number.context("--seconds needs a number")?;
            }
            target if TARGETS.contains(&target) => named.push(target),
            other => bail!("there is no fuzz target `{other}`; there are {}", TARGETS.join(", ")),
        }
    }
    let targets = if named.is_empty() { TARGETS.to_vec() } else { named };
    build()?;
    if makes_seeds {
        return make_seeds(&targets);
    }
    corpus::unpack(&corpus::archive(), &unpacked())?;
    // All at once, one thread each; all results are reported.
    let failures: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            targets.iter().map(|target| scope.spawn(move || run_target(target, seconds))).collect();
        let results = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.filter_map(Result::err).collect()
    });
    for failure in &failures {
        eprintln!("{failure:#}");
    }
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// The folder of uncommitted files.
fn folder() -> PathBuf {
    root().join("target/fuzz")
}

fn build() -> Result<()> {
    let mut build = cargo(["build", "--release", "--locked", "--manifest-path", "tests/fuzz/Cargo.toml"]);
    // With an explicit target triple, build scripts are not instrumented.
    build.args(["--target", &triple()?]).arg("--target-dir").arg(folder());
    build.env("RUSTFLAGS", INSTRUMENTATION);
    run(build)
}

fn triple() -> Result<String> {
    let output = command("rustc", ["-vV"]).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let triple = text.lines().find_map(|line| line.strip_prefix("host: "));
    triple.map(str::to_owned).context("rustc does not name its host machine")
}

fn binary(target: &str) -> Result<PathBuf> {
    Ok(folder().join(triple()?).join("release").join(target))
}

/// The folder with the unpacked corpus.
fn unpacked() -> PathBuf {
    folder().join("unpacked")
}

fn run_target(target: &str, seconds: u64) -> Result<()> {
    let found = folder().join("corpus").join(target);
    let artifacts = folder().join("artifacts");
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&artifacts)?;
    let mut fuzz = command(binary(target)?, [found, unpacked().join(target)]);
    fuzz.args([
        format!("-max_total_time={seconds}"),
        format!("-max_len={INPUT_BYTES_MAX}"),
        format!("-artifact_prefix={}/{target}-", artifacts.display()),
        "-timeout=10".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    eprintln!("+ {target} for {seconds} s");
    let mut child = fuzz.stderr(Stdio::piped()).spawn().with_context(|| format!("{target} cannot start"))?;
    let stderr = child.stderr.take().context("stderr is piped")?;
    let mut counters = 0;
    for line in BufReader::new(stderr).lines() {
        let line = line?;
        if let Some((before, _)) = line.split_once(" inline 8-bit counters") {
            counters = before.rsplit('(').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        }
        // libFuzzer prints a line for every new path, which would bury the rest.
        if !line.contains("\tNEW ") && !line.contains("\tREDUCE ") {
            eprintln!("{target}: {line}");
        }
    }
    if !child.wait()?.success() {
        bail!("{target} found an input that breaks it; see {}", artifacts.display());
    }
    if counters < COUNTERS_MIN {
        bail!(
            "{target} ran without coverage: {counters} counters of coverage, so rustc did not instrument it"
        );
    }
    Ok(())
}

/// Builds the corpus: those of the stories' inputs that reach code that the rest does not,
/// and the inputs that it already has.
fn make_seeds(targets: &[&str]) -> Result<()> {
    let seeds = folder().join("seeds");
    let mut stories = cargo(["test", "--locked", "--package", "sateen-protocol", "--test", "stories"]);
    stories.env("SATEEN_TOLD", &seeds);
    run(stories)?;
    corpus::unpack(&corpus::archive(), &unpacked())?;
    for target in targets {
        let corpus = unpacked().join(target);
        fs::create_dir_all(&corpus)?;
        let mut merge = command(binary(target)?, [corpus, seeds.join(target)]);
        merge.args(["-merge=1".to_owned(), format!("-max_len={INPUT_BYTES_MAX}")]);
        run(merge)?;
    }
    corpus::pack(&unpacked(), &corpus::archive())
}

/// Adds an input that broke a target to the corpus.
fn add(file: &Path) -> Result<()> {
    corpus::unpack(&corpus::archive(), &unpacked())?;
    corpus::add(file, &TARGETS, &unpacked())?;
    corpus::pack(&unpacked(), &corpus::archive())
}
