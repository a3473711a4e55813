//! `sateen new`: makes a new app.

use std::fs;
use std::path::{Path, PathBuf};

use crate::exit::{Failure, say};
use crate::files::readable;
use crate::flags::{New as Flags, Template};

/// The SDK in the checkout that this command was built from, until the crate is published. A command that was built for an
/// archive (`cargo xtask dist`) knows no checkout.
const CHECKOUT: Option<&str> = match option_env!("SATEEN_DIST") {
    Some(_) => None,
    None => Some(concat!(env!("CARGO_MANIFEST_DIR"), "/../guest-sdk")),
};
/// The SDK of an unpacked archive, from the folder above that of the command.
const PACKED: &str = "share/sateen/sdk/guest-sdk";

pub fn new(flags: &Flags) -> Result<(), Failure> {
    let folder = Path::new(&flags.name);
    let name = checked_name(folder)?;
    let sdk = match &flags.sdk {
        Some(path) => find_sdk(path)?,
        None => default_sdk()?,
    };
    if folder.symlink_metadata().is_ok() {
        return Err(Failure::usage(format!("{} already exists", folder.display())));
    }

    let template = flags.template;
    let (source, example) = match template {
        Template::Fib => (include_str!("../templates/fib.rs"), "40"),
        Template::Search => (include_str!("../templates/search.rs"), "12"),
        Template::Map => (include_str!("../templates/map.rs"), "1000000"),
        Template::Optimise => (include_str!("../templates/optimise.rs"), "14"),
        Template::Bag => (include_str!("../templates/bag.rs"), "--input tasks=tasks.csv"),
    };
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        made.map_err(|error| Failure::usage(format!("{}: {}", path.display(), readable(&error))))
    };
    let has_types = matches!(template, Template::Optimise | Template::Bag);
    write("Cargo.toml", &manifest(&name, &sdk, has_types))?;
    if matches!(template, Template::Bag) {
        write("tasks.csv", include_str!("../templates/tasks.csv"))?;
    }
    write("src/lib.rs", source)?;
    write("README.md", &readme(&name, example))?;
    write(".gitignore", "/target\n*.wasm\n")?;
    say(format!(
        "made {0}; next: cd {0} && sateen test && sateen build && sateen run {name}.wasm {example}",
        folder.display()
    ));
    Ok(())
}

/// The crate's name: the last part of the path, if it can be one.
fn checked_name(folder: &Path) -> Result<String, Failure> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let why = if !is_word {
        "use letters, digits, - and _, with a letter first"
    } else if ["self", "super", "crate"].contains(&name.as_str()) {
        "it is a keyword of Rust"
    } else if ["std", "core", "alloc", "test"].contains(&name.as_str()) {
        "a crate of Rust's standard library has this name"
    } else if ["sateen", "sateen-macros"].contains(&name.as_str()) {
        "a crate that every app depends on has this name"
    } else {
        return Ok(name);
    };
    Err(Failure::usage(format!("`{name}` cannot be an app's name: {why}")))
}

/// The SDK beside this command, or else that of its checkout.
fn default_sdk() -> Result<PathBuf, Failure> {
    let command = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let packed = command.and_then(|path| Some(path.parent()?.parent()?.join(PACKED)));
    match (packed.as_deref().and_then(|path| find_sdk(path).ok()), CHECKOUT) {
        (Some(found), _) => Ok(found),
        (None, Some(checkout)) => find_sdk(Path::new(checkout)),
        (None, None) => {
            let place = packed.map_or_else(|| PACKED.to_owned(), |path| path.display().to_string());
            Err(Failure::usage(format!(
                "the crate `sateen` is not at {place}, where the archive has it; say with --sdk where it is"
            )))
        }
    }
}

fn find_sdk(path: &Path) -> Result<PathBuf, Failure> {
    let found = path.canonicalize().ok().filter(|path| path.join("Cargo.toml").is_file());
    found.ok_or_else(|| {
        Failure::usage(format!("the crate `sateen` is not at {}; say with --sdk where it is", path.display()))
    })
}

/// `has_types`: whether the app has types of its own in parameters or results.
fn manifest(name: &str, sdk: &Path, has_types: bool) -> String {
    let serde = if has_types { "\nserde = { version = \"1\", features = [\"derive\"] }" } else { "" };
    let sdk = sdk.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        r#"[package]
name = "{name}"
version = "0.1.0"
edition = "2024"

[lib]
crate-type = ["cdylib", "rlib"] # the module, and a library for this machine's tests

[dependencies]
sateen = {{ path = "{sdk}" }}{serde}

# A sum that overflows panics in the sandbox as it does in tests. Without this line it wraps, a few per cent faster.
[profile.release]
overflow-checks = true

# An app stands alone, also inside another workspace.
[workspace]
"#
    )
}

fn readme(name: &str, example: &str) -> String {
    format!(
        "# {name}\n\n\
         ```\n\
         cargo test                      # on this machine, sequentially: no grid is needed\n\
         sateen test                     # the same, and in sandboxes, on several workers: all must agree\n\
         sateen build                    # makes {name}.wasm\n\
         sateen run {name}.wasm {example}\n\
         ```\n"
    )
}
