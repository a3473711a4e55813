//! `sateen build`: an app's crate becomes one wasm module.

mod shapes;

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use sateen_command_line::explained;
use sateen_host::{Limits, Pitfall, inspect, size};
use serde_json::Value;

use crate::check::warnings;
use crate::exit::{APP_FAILED, Failure, say};
use crate::files::{readable, refuse_stdout};
use crate::flags::{Build as Flags, CargoFlags};

const TARGET: &str = "wasm32-unknown-unknown";

pub fn build(flags: &Flags) -> Result<(), Failure> {
    let (package, manifest) = find_app(flags.manifest_path.as_deref(), &flags.cargo)?;
    let output = flags.output.clone().unwrap_or_else(|| PathBuf::from(format!("{package}.wasm")));
    refuse_stdout(&output)?;
    if has_other_contents(&output) {
        return Err(Failure::usage(format!(
            "output {}: this file exists and is not a module; name another with --output",
            output.display()
        )));
    }
    let compiled = match compile(&manifest, flags.stack, &flags.cargo, Product::App) {
        Err(failure) if failure.code != APP_FAILED => return Err(failure),
        compiled => compiled,
    };
    let built = compiled.and_then(|compiled| put_app(&package, compiled, &output));
    if built.is_err() && is_module(&output) && std::fs::remove_file(&output).is_ok() {
        say(format!("{}, of an earlier build, is removed", output.display()));
    }
    built
}

/// Whether a file is a wasm module, for example from an earlier build.
fn is_module(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && magic == *b"\0asm"
}

/// Whether a file would be lost if a module replaced it.
fn has_other_contents(path: &Path) -> bool {
    let about = std::fs::metadata(path);
    about.is_ok_and(|about| about.is_file() && about.len() > 0) && !is_module(path)
}

fn put_app(package: &str, Compiled { module, pitfalls }: Compiled, output: &Path) -> Result<(), Failure> {
    let mut inspection = inspect(&module, &Limits::default());
    if inspection.abi.is_none() && inspection.imports.is_empty() {
        return Err(Failure::usage(format!(
            "{package} compiles, but uses nothing of the crate `sateen`; add `sateen` to [dependencies], and mark a function \
             with #[sateen::main]"
        )));
    }
    if let Some(why) = inspection.refusal() {
        return Err(Failure::usage(format!("{package} compiles, but would be refused: {why}")));
    }
    if inspection.mains.is_empty() {
        return Err(Failure::usage(format!(
            "{package} compiles, but has no entry point; mark a function with #[main]"
        )));
    }
    let bytes = shapes::with_shapes(module, &inspection);
    put(&bytes, output)?;
    inspection.pitfalls.extend(pitfalls);
    inspection.pitfalls.sort_unstable();
    inspection.pitfalls.dedup();
    for warning in warnings(&inspection, &bytes) {
        say(format!("warning: {package} contains {warning}"));
    }
    say(format!("built {} ({})", output.display(), size(bytes.len() as u64)));
    Ok(())
}

/// The app's name and its Cargo.toml: the given one, or that of this folder or one above.
pub fn find_app(named: Option<&Path>, flags: &CargoFlags) -> Result<(String, PathBuf), Failure> {
    find_package(&find_manifest(named)?, flags)
}

fn find_manifest(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let usage = |message: String| Failure::usage(message);
    if let Some(path) = named {
        return path.canonicalize().map_err(|_| usage(format!("{}: there is no such file", path.display())));
    }
    let here = std::env::current_dir()
        .map_err(|error| usage(format!("this folder cannot be read: {}", explained(&error))))?;
    let found = here.ancestors().map(|folder| folder.join("Cargo.toml")).find(|path| path.is_file());
    found.ok_or_else(|| {
        usage("there is no Cargo.toml here or above; `sateen new NAME` makes an app".to_owned())
    })
}

/// The app's name and its Cargo.toml.
fn find_package(manifest: &Path, flags: &CargoFlags) -> Result<(String, PathBuf), Failure> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"])
        .arg(manifest)
        .args(flags.of_dependencies())
        .output()
        .map_err(no_cargo)?;
    // Its warnings come again when the app is compiled.
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| Failure::usage(format!("{}: cargo cannot read it", manifest.display())))?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let manifest_of = |package: &Value| package["manifest_path"].as_str().map(PathBuf::from);
    let package = packages.iter().find(|package| match &flags.package {
        Some(name) => package["name"].as_str() == Some(name),
        None => manifest_of(package).as_deref() == Some(manifest),
    });
    let Some((package, manifest)) = package.and_then(|package| Some((package, manifest_of(package)?))) else {
        return Err(Failure::usage(match &flags.package {
            Some(name) => {
                let names = packages.iter().filter_map(|package| package["name"].as_str());
                let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                format!("{} has no package `{name}`; it has {}", manifest.display(), names.join(", "))
            }
            None => format!(
                "{} is a workspace and not a package; go to the app's own folder, or name it with --package",
                manifest.display()
            ),
        }));
    };
    let makes_module = (package["targets"].as_array().into_iter().flatten())
        .flat_map(|target| target["crate_types"].as_array().into_iter().flatten())
        .any(|kind| kind == "cdylib");
    if !makes_module {
        return Err(Failure::usage(format!(
            "{}: an app is a library of the type cdylib; add `crate-type = [\"cdylib\", \"rlib\"]` to [lib]",
            manifest.display()
        )));
    }
    if let Some(root) = metadata["workspace_root"].as_str().map(Path::new)
        && Some(root) != manifest.parent()
        && has_profile(&manifest)
    {
        say(format!(
            "warning: cargo ignores the profiles of {}, also `overflow-checks`; move them to {}",
            manifest.display(),
            root.join("Cargo.toml").display()
        ));
    }
    Ok((package["name"].as_str().unwrap_or("app").to_owned(), manifest))
}

/// Whether a Cargo.toml sets a profile.
fn has_profile(manifest: &Path) -> bool {
    let text = std::fs::read_to_string(manifest).unwrap_or_default();
    text.lines().any(|line| line.trim_start().starts_with("[profile"))
}

pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

pub fn no_cargo(error: std::io::Error) -> Failure {
    Failure::usage(format!("cargo cannot be started ({}); install Rust with rustup", explained(&error)))
}

/// Adds the wasm target to the toolchain if it is missing.
fn install_target() -> Result<(), Failure> {
    let folder = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(no_cargo)?;
    if Path::new(String::from_utf8_lossy(&folder.stdout).trim()).is_dir() {
        return Ok(());
    }
    say(format!("adding the target {TARGET} to this toolchain"));
    let added = Command::new("rustup").args(["target", "add", TARGET]).stdout(Stdio::null()).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Failure::usage(format!(
            "the toolchain has no target {TARGET}; try `rustup target add {TARGET}`"
        ))),
    }
}

/// The parts of an app to build.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// The app's module.
    App,
    /// The module that contains the app's tests as well.
    Tests,
}

/// A compiled app.
pub struct Compiled {
    pub module: Vec<u8>,
    /// Features that its own crate uses, and that leave no trace in the module.
    pub pitfalls: Vec<Pitfall>,
}

/// Compiles for speed, and keeps names for backtraces.
pub fn compile(
    manifest: &Path,
    stack: usize,
    flags: &CargoFlags,
    product: Product,
) -> Result<Compiled, Failure> {
    install_target()?;
    let mut command = cargo();
    match product {
        Product::App => command.arg("rustc"),
        Product::Tests => command.args(["test", "--no-run"]),
    };
    add_flags(
        &mut command,
        &[
            "-Ctarget-feature=+simd128".to_owned(),
            format!("-Clink-arg=-zstack-size={stack}"),
            // With it, the host can detect that the app ran out of this stack.
            "-Clink-arg=--export=__stack_pointer".to_owned(),
        ],
    );
    let format = if std::io::stderr().is_terminal() { "json-diagnostic-rendered-ansi" } else { "json" };
    let mut child = command
        .args(["--release", "--lib", "--target", TARGET, &format!("--message-format={format}")])
        .args(["--config", "profile.release.opt-level=3"])
        .args(["--config", "profile.release.lto=\"fat\""])
        .args(["--config", "profile.release.codegen-units=1"])
        .args(["--config", "profile.release.strip=\"debuginfo\""])
        .arg("--manifest-path")
        .arg(manifest)
        .args(flags.of_features())
        .args(flags.of_dependencies())
        .args(match product {
            Product::App => ["--", "--emit=mir"].as_slice(),
            Product::Tests => &[],
        })
        .stdout(Stdio::piped())
        .spawn()
        .map_err(no_cargo)?;
    let told = Told::read(child.stdout.take(), manifest, product);
    let status = child.wait().map_err(no_cargo)?;
    if !status.success() && !told.has_begun {
        return Err(Failure::usage("cargo has compiled nothing, for the reason above"));
    }
    if !status.success() {
        let message = match product {
            _ if told.needs_randomness => NO_RANDOMNESS,
            Product::App => "the app does not compile",
            Product::Tests => {
                "the app's tests do not compile for the sandbox; put `#[cfg(not(target_family = \"wasm\"))]` on those that \
                 are for this machine alone"
            }
        };
        return Err(Failure::new(APP_FAILED, message));
    }
    let module =
        told.module.ok_or_else(|| Failure::usage("cargo made no module; is the crate-type cdylib?"))?;
    let read = std::fs::read(&module);
    let bytes =
        read.map_err(|error| Failure::usage(format!("{}: {}", module.display(), readable(&error))))?;
    let mir = mir_beside(&module).and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    Ok(Compiled { module: bytes, pitfalls: Pitfall::in_mir(&String::from_utf8_lossy(&mir)) })
}

/// The file with the MIR of the module's own crate: the newest of its name in the folder of dependencies.
fn mir_beside(module: &Path) -> Option<PathBuf> {
    let stem = module.file_stem()?.to_str()?;
    let files = std::fs::read_dir(module.parent()?.join("deps")).ok()?.filter_map(Result::ok);
    let is_it = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".mir"));
        name.and_then(|name| name.strip_prefix(stem))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let found = files.map(|file| file.path()).filter(|path| is_it(path));
    found.max_by_key(|path| path.metadata().and_then(|about| about.modified()).ok())
}

/// Explains why a crate that draws random numbers from the system does not compile.
const NO_RANDOMNESS: &str = "the app does not compile: one of its dependencies asks the system for random numbers, and a sandbox \
     has none; use that one (often `rand` or `uuid`) without its default features and with a seed that is a parameter, or \
     sateen::SplitMix64; `cargo tree -e features -i getrandom` says which it is";

/// Cargo's messages while it compiles.
#[derive(Default)]
struct Told {
    /// The module that cargo has made.
    module: Option<PathBuf>,
    /// Whether cargo began to compile: it refuses wrong features and a missing Cargo.lock before.
    has_begun: bool,
    /// Whether `getrandom` does not compile.
    needs_randomness: bool,
}

impl Told {
    /// Reads all messages, and shows those for the user.
    fn read(stdout: Option<ChildStdout>, manifest: &Path, product: Product) -> Self {
        let mut told = Self::default();
        let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
        for line in lines.map_while(Result::ok) {
            let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
            if let Some(text) = message["message"]["rendered"].as_str() {
                // If cargo shows its progress, erase that line first.
                let begin = if std::io::stderr().is_terminal() { "\r\u{1b}[K" } else { "" };
                eprint!("{begin}{text}");
                told.needs_randomness |=
                    message["target"]["name"] == "getrandom" && message["message"]["level"] == "error";
            }
            told.has_begun |= message["reason"] == "build-finished";
            if message["reason"] == "compiler-artifact"
                && message["manifest_path"].as_str().map(Path::new) == Some(manifest)
                && message["profile"]["test"].as_bool() == Some(product == Product::Tests)
            {
                let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let mut modules = files
                    .map(PathBuf::from)
                    .filter(|file| file.extension().is_some_and(|kind| kind == "wasm"));
                told.module = modules.next().or(told.module);
            }
        }
        told
    }
}

/// Passes `flags` to rustc, in addition to the user's own. If those come from the environment, cargo
/// reads no other source.
fn add_flags(command: &mut Command, flags: &[String]) {
    const SEPARATOR: &str = "\x1f";
    let of_user = match (std::env::var("CARGO_ENCODED_RUSTFLAGS"), std::env::var("RUSTFLAGS")) {
        (Ok(encoded), _) => encoded,
        (_, Ok(plain)) => plain.split_whitespace().collect::<Vec<_>>().join(SEPARATOR),
        _ => {
            let quoted: Vec<String> = flags.iter().map(|flag| format!("{flag:?}")).collect();
            command.args(["--config", &format!("target.{TARGET}.rustflags=[{}]", quoted.join(", "))]);
            return;
        }
    };
    let all: Vec<&str> = std::iter::once(of_user.as_str())
        .chain(flags.iter().map(String::as_str))
        .filter(|flag| !flag.is_empty())
        .collect();
    command.env("CARGO_ENCODED_RUSTFLAGS", all.join(SEPARATOR));
}

/// Writes the module in one step: a run that starts meanwhile sees either the old or the new one.
fn put(bytes: &[u8], output: &Path) -> Result<(), Failure> {
    let wrong = |error: std::io::Error| Failure::usage(format!("{}: {}", output.display(), readable(&error)));
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    let mut file = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.permissions(std::fs::Permissions::from_mode(0o644));
    }
    let mut file = file.tempfile_in(folder).map_err(wrong)?;
    std::io::Write::write_all(&mut file, bytes).map_err(wrong)?;
    file.persist(output).map_err(|error| wrong(error.error))?;
    Ok(())
}
