//! Completion scripts and man pages, made from a program's own flags.

use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use clap::{Command, Subcommand};
use clap_complete::Shell;

use crate::explained;

/// Subcommands that each program has.
#[derive(Debug, Clone, Subcommand)]
pub enum Generate {
    /// Print a completion script for a shell
    Completions {
        /// The shell that will read the script
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Write the man pages of this program to a folder
    Man {
        /// The folder, which is made if it does not exist
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

impl Generate {
    /// Runs the command for `program`, whose flags it uses.
    ///
    /// # Errors
    /// Names what cannot be written, and says why.
    pub fn run(&self, mut program: Command) -> Result<(), String> {
        match self {
            Self::Completions { shell } => {
                let name = program.get_name().to_owned();
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut program, name, &mut script);
                match io::stdout().write_all(&script) {
                    // The reader has closed the pipe and needs no more.
                    Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                        Err(format!("stdout cannot be written: {}", explained(&error)))
                    }
                    _ => Ok(()),
                }
            }
            Self::Man { folder } => std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(program, folder))
                .map_err(|error| format!("{} cannot be written: {}", folder.display(), explained(&error))),
        }
    }
}
