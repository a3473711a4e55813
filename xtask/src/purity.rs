//! `cargo xtask purity`: checks that the protocol's machines need nothing from outside.
//!
//! Linked as a wasm module for no operating system, with all inputs of the machines, they
//! import nothing: no clock, no randomness, no files, no sockets, no threads.

use anyhow::{Context, Result, bail};
use wasmparser::{Parser, Payload, Validator};

use crate::build::target_folder;
use crate::setup::wasm_target;
use crate::shell::{cargo, run};

/// In a smaller module, the linker has removed the machines.
const MODULE_BYTES_MIN: usize = 100 << 10;
/// The module's export.
const EXPORT: &str = "drive";

/// Builds `tests/protocol-harness` as a module, and checks it.
pub fn purity() -> Result<()> {
    wasm_target()?;
    let wasm = ["rustc", "--locked", "--target", "wasm32-unknown-unknown"];
    let module = ["--package", "sateen-protocol-harness", "--lib", "--crate-type", "cdylib"];
    // Unoptimised, it compiles in half the time.
    let soon = ["--config", "profile.dev.package.sateen-protocol.opt-level=0"];
    run(cargo(wasm.into_iter().chain(soon).chain(module)))?;
    let path = target_folder()?.join("wasm32-unknown-unknown/debug/sateen_protocol_harness.wasm");
    let bytes = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    check(&bytes).context("protocol is not pure")
}

fn check(module: &[u8]) -> Result<()> {
    Validator::new().validate_all(module)?;
    let (mut imports, mut drives) = (Vec::new(), false);
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    imports.push(format!("{}.{}", import.module, import.name));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    drives |= export?.name == EXPORT;
                }
            }
            _ => {}
        }
    }
    if !imports.is_empty() {
        bail!("it imports {}; find the cause with `cargo tree -p sateen-protocol`", imports.join(", "));
    }
    if !drives || module.len() < MODULE_BYTES_MIN {
        bail!("the module of {} bytes does not contain the machines", module.len());
    }
    eprintln!("protocol is pure: {} KiB of wasm without an import", module.len() >> 10);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    /// A module with one import, of a clock.
    const IMPURE: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x0d\x01\x03env\x05clock\0\0";

    #[test]
    fn an_import_is_found() {
        let error = check(IMPURE).expect_err("it imports a clock").to_string();
        assert!(error.contains("env.clock"), "{error}");
    }

    #[test]
    fn an_empty_module_proves_nothing() {
        let error = check(b"\0asm\x01\0\0\0").expect_err("it contains nothing").to_string();
        assert!(error.contains("does not contain"), "{error}");
    }
}
