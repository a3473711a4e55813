//! Running commands, with what they are told on stderr.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The repo's top folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// `program` with `arguments`, in the repo's top folder.
pub fn command<I: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = I>,
) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// `cargo` with `arguments`.
pub fn cargo<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
}

/// Runs `command`, and fails if it does.
pub fn run(mut command: Command) -> Result<()> {
    eprintln!("+ {}", shown(&command));
    let status = command.status().with_context(|| format!("{} cannot be started", shown(&command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(&command));
    }
    Ok(())
}

/// As `run`, with the command's stdout on stderr.
pub fn aside(mut command: Command) -> Result<()> {
    command.stdout(std::io::stderr());
    run(command)
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| {
            let word = word.to_string_lossy();
            let name = Path::new(word.as_ref())
                .strip_prefix(root())
                .map_or(word.as_ref().into(), Path::to_string_lossy);
            name.into_owned()
        })
        .collect::<Vec<_>>()
        .join(" ")
}
