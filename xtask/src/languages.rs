//! Builds apps in languages other than Rust: C, with the distribution's clang and lld, and AssemblyScript, with Node.

use std::path::Path;

use anyhow::{Context, Result};

use crate::setup::has;
use crate::shell::{aside, command, root};

/// The folder of the C header.
const C: &str = "guest-sdk/c";
/// The folder of the AssemblyScript module and its compiler.
const ASSEMBLY_SCRIPT: &str = "guest-sdk/assemblyscript";

/// Builds the app in `folder` to `module`, if it is in one of these languages and its compiler is installed. Otherwise
/// reports what is missing; with `install`, first tries to install the compiler.
pub fn build_app(folder: &Path, module: &Path, install: bool) -> Result<()> {
    let source = |extension: &str| {
        let entries =
            std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).min()
    };
    if let Some(source) = source("c") {
        if has_c(install) {
            return c(&source, module);
        }
        say_missing(folder, "clang and lld, 14 or later (Debian and Ubuntu: apt install clang lld)");
    } else if let Some(source) = source("ts") {
        if has_assembly_script() {
            return assembly_script(&source, module);
        }
        say_missing(folder, "Node, 20 or later, with npm and a network");
    }
    Ok(())
}

fn say_missing(folder: &Path, what: &str) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    eprintln!("xtask: the app {name} is left out: it needs {what}");
}

fn has_c(install: bool) -> bool {
    let is_here = || has("clang") && has("wasm-ld");
    if !is_here() && install && has("apt-get") {
        eprintln!("xtask: clang and lld are missing: installing them");
        let packages = ["install", "--yes", "--no-install-recommends", "clang", "lld"];
        // Without permission to install, the next check reports what is missing.
        let _ = aside(command("apt-get", ["update", "--quiet"]));
        let _ = aside(command("apt-get", packages));
    }
    is_here()
}

/// Compiles one C file with the header `sateen.h`.
pub fn c(source: &Path, module: &Path) -> Result<()> {
    let flags = [
        "--target=wasm32",
        "-std=c11",
        "-O3",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-mbulk-memory",
        "-mmutable-globals",
        "-msign-ext",
        "-nostdlib",
        "-Wl,--no-entry",
        "-Wl,--export=__stack_pointer",
        "-I",
        C,
        "-o",
    ];
    let mut clang = command("clang", flags);
    clang.arg(module).arg(source);
    aside(clang).with_context(|| format!("{} cannot be compiled", source.display()))
}

fn has_assembly_script() -> bool {
    let compiler = root().join(ASSEMBLY_SCRIPT).join("node_modules/.bin/asc");
    if !compiler.exists() && has("npm") {
        let mut install = command("npm", ["ci", "--no-fund", "--no-audit"]);
        install.current_dir(root().join(ASSEMBLY_SCRIPT));
        // Without a network, the next check reports what is missing.
        let _ = aside(install);
    }
    compiler.exists() && has("node")
}

fn assembly_script(source: &Path, module: &Path) -> Result<()> {
    let mut compiler = command(root().join(ASSEMBLY_SCRIPT).join("node_modules/.bin/asc"), [source]);
    let abort = format!("abort={ASSEMBLY_SCRIPT}/sateen/abort");
    compiler.args(["-O3", "--runtime", "incremental", "--use", &abort, "--outFile"]).arg(module);
    aside(compiler).with_context(|| format!("{} cannot be compiled", source.display()))
}
