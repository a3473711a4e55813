//! `sateen`, the developer's command.

mod build;
mod check;
mod exit;
mod files;
mod flags;
mod new;
mod progress;
mod run;

use std::process::ExitCode;

use flags::Command;

fn main() -> ExitCode {
    let command = match flags::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    let result = match command {
        Command::New(flags) => new::new(&flags),
        Command::Build(flags) => build::build(&flags),
        Command::Check(flags) => check::check(&flags),
        Command::Run(flags) => run::run(flags),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
