//! `cargo sateen …`, which is the same as `sateen …`: cargo runs the program `cargo-sateen` of the search path.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// As `sateen` ends when nothing can be done.
const UNABLE: u8 = 4;

fn main() -> ExitCode {
    // Cargo passes the name of its subcommand first.
    let mut words = std::env::args_os().skip(1).peekable();
    words.next_if(|word| word == "sateen");
    let mut command = Command::new(beside().unwrap_or_else(|| "sateen".into()));
    command.args(words);
    match command.status() {
        Ok(status) => {
            ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(UNABLE))
        }
        Err(error) => {
            // Nowhere to say it if this fails.
            let _ = writeln!(
                std::io::stderr(),
                "cargo-sateen: `sateen` cannot be run ({error}); put it in the folder of cargo-sateen, or on the PATH"
            );
            ExitCode::from(UNABLE)
        }
    }
}

/// The `sateen` that was installed with this.
fn beside() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.with_file_name(format!("sateen{}", std::env::consts::EXE_SUFFIX))).filter(|path| path.is_file())
}
