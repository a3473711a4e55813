//! Runs commands, and prints them on stderr, with the time that long ones take.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The time of a command that takes less is not worth a line.
const SHORT: Duration = Duration::from_secs(10);

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
    for (name, _) in std::env::vars_os() {
        if is_of_this_package(&name) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether cargo has set the variable to tell xtask about its own package. Build scripts depend on some of these (ring's does), and
/// would run again whenever `cargo build` follows `cargo xtask`.
fn is_of_this_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// `cargo` with `arguments`.
pub fn cargo<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
}

/// Runs `command`, and returns an error if it fails.
pub fn run(mut command: Command) -> Result<()> {
    eprintln!("+ {}", shown(&command));
    let since = Instant::now();
    let status = command.status().with_context(|| format!("{} cannot be started", shown(&command)))?;
    let took = since.elapsed();
    if took >= SHORT {
        eprintln!("+ took {} s: {}", took.as_secs(), shown(&command));
    }
    if !status.success() {
        bail!("{} failed ({status})", shown(&command));
    }
    Ok(())
}

/// As `run`, with the command's stdout redirected to stderr.
pub fn aside(mut command: Command) -> Result<()> {
    command.stdout(std::io::stderr());
    run(command)
}

/// What `command` writes to stdout; an error with what it writes to stderr if it fails.
pub fn output(mut command: Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{} cannot be started", shown(&command)))?;
    if !output.status.success() {
        bail!("{} failed: {}", shown(&command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// The command as typed in a shell.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).to_string_lossy().into_owned();
    let arguments = command.get_args().map(|word| {
        let path = Path::new(word);
        path.strip_prefix(root()).unwrap_or(path).to_string_lossy().into_owned()
    });
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_do_not_hear_of_this_package() {
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "these tests are run by cargo");
        let heard = command("env", [] as [&str; 0]).output().expect("`env` runs");
        let heard = String::from_utf8_lossy(&heard.stdout);
        assert!(heard.contains("PATH="), "{heard}");
        assert!(!heard.contains("CARGO_PKG_") && !heard.contains("CARGO_MANIFEST_"), "{heard}");
    }
}
