//! `sateen`, the developer's command.
#![forbid(unsafe_code)]

mod build;
mod check;
mod ended;
mod exit;
mod files;
mod flags;
mod grid;
mod new;
mod progress;
mod run;
mod test;

use std::process::ExitCode;

use flags::Command;

fn main() -> ExitCode {
    // A child process of `sateen check`, like those of hosts.
    #[cfg(unix)]
    if let Some((command, words)) = std::env::args().skip(1).collect::<Vec<_>>().split_first()
        && command == sateen_host::COMPILE_COMMAND
    {
        return sateen_host::compile_module(words);
    }
    let command = match flags::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    let result = match command {
        Command::New(flags) => new::new(&flags),
        Command::Build(flags) => build::build(&flags),
        Command::Test(flags) => test::test(&flags),
        Command::Check(flags) => check::check(&flags),
        Command::Run(flags) => run::run(flags),
        Command::Publish(flags) => grid::publish(&flags),
        Command::Unpublish(flags) => grid::unpublish(&flags),
        Command::Apps(flags) => grid::apps(&flags),
        Command::Submit(flags) => grid::submit(&flags),
        Command::Ps(flags) => grid::ps(&flags),
        Command::Status(flags) => grid::status(&flags),
        Command::Tree(flags) => grid::tree(&flags),
        Command::Wait(flags) => grid::wait(&flags),
        Command::Result(flags) => grid::result(&flags),
        Command::Cancel(flags) => grid::cancel(&flags),
        Command::Suspend(flags) => grid::suspend(&flags),
        Command::Resume(flags) => grid::resume(&flags),
        Command::Rm(flags) => grid::remove(&flags),
        Command::Hosts(flags) => grid::hosts(&flags),
        Command::Host(what) => grid::host_keys(&what),
        Command::Watch(flags) => grid::watch(&flags),
        Command::Replay(flags) => grid::replay(&flags),
        Command::Login(flags) => grid::login(&flags),
        Command::Logout(flags) => grid::logout(&flags),
        Command::Token(command) => grid::token(&command),
        Command::Audit(flags) => grid::audit(&flags),
        Command::Generate(what) => what.run(flags::program()).map_err(exit::Failure::usage),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
