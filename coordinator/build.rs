//! Embeds the pages, if they were built, in the program: every file, both raw and compressed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Error, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> Result<(), Error> {
    // As cargo sets it now: the value compiled into this script may name another copy of the repo.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let ui = Path::new(&package).join("../web-ui");
    let built = ui.join("dist");
    let mut files = BTreeMap::new();
    if built.join("index.html").is_file() {
        println!("cargo::rerun-if-changed={}", built.display());
        collect(&built, &built, &mut files)?;
    } else if ui.is_dir() {
        // The pages may be built later.
        println!("cargo::rerun-if-changed={}", ui.display());
    } else {
        println!("cargo::rerun-if-changed=build.rs");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let mut source = String::from("&[\n");
    for (number, (path, file)) in files.iter().enumerate() {
        let compressed = out.join(format!("{number}.gz"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&fs::read(file)?)?;
        fs::write(&compressed, encoder.finish()?)?;
        // Writing to a string cannot fail.
        let _ = writeln!(
            source,
            "    Asset {{ path: {path:?}, bytes: include_bytes!({file:?}), gzip: include_bytes!({compressed:?}) }},"
        );
    }
    source.push(']');
    fs::write(out.join("assets.rs"), source)
}

/// All files below a folder, by their paths with `/`.
fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if let Ok(relative) = path.strip_prefix(root) {
            let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
            // Source maps and dot files are for developers.
            if !parts.iter().any(|part| part.starts_with('.'))
                && path.extension().is_none_or(|end| end != "map")
            {
                files.insert(parts.join("/"), path.canonicalize()?);
            }
        }
    }
    Ok(())
}
