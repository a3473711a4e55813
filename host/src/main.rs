//! `sateen-host`, the volunteer's host.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::main()
}
