//! The tasks of this repo; `cargo xtask` lists them. Each does all set-up that it needs.

mod build;
mod checks;
mod demo;
mod setup;
mod shell;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask TASK
  build               the binaries and the apps, under dist/
  demo                build what is needed, and run a real problem to its answer
  test                every test
  check               formatting, lints, documentation, licences (what CI does before the tests)
  bench NAME [FLAG…]  one benchmark, or all of them: spawn, leaf, scale, start, all; --json for machines
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["build"] => build::build(),
        ["demo"] => demo::demo(),
        ["test"] => test::test(),
        ["check"] => checks::check(),
        ["bench", rest @ ..] => build::bench(rest),
        [] | ["help" | "--help" | "-h"] => {
            eprint!("{USAGE}");
            return if words.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
        [other, ..] => {
            eprintln!("xtask: there is no task `{other}`");
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
