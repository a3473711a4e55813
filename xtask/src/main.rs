//! The tasks of this repo; `cargo xtask` lists them. Each task does its own set-up.

mod abi;
mod build;
mod checks;
mod corpus;
mod demo;
mod docs;
mod figures;
mod files;
mod fuzz;
mod harness;
mod lanes;
mod languages;
mod pack;
mod prose;
mod purity;
mod python;
mod setup;
mod shape;
mod shell;
mod test;
mod web_ui;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask TASK
  build               the dashboard, the binaries and the apps, under dist/
  demo                a grid, a real problem, a host that is killed halfway, the answer; --stay keeps the grid
  test                every test, with the pages' in Node and Chromium; --without-pages leaves these out
  test --quick        unit tests, stories, golden bytes, the fuzz corpus, some fixed seeds and one small cluster: under
                      three minutes
  check               formatting, lints, documentation, licences (what CI does beside the tests); --without-licences
  licences            licences, sources and advisories of all dependencies (check does this as well)
  purity              whether the protocol's machines need nothing from outside (check does this as well)
  fuzz [TARGET…]      the fuzz targets, for 60 s each; --seconds N; --seeds rebuilds their corpus; --add FILE adds
                      a file that broke a target to it; --build only builds them
  types               the dashboard's types and the book's tables of fields, from the types of the API
  abi                 the constants of the SDKs for C and AssemblyScript, from the crate `abi`
  docs                the book under docs/, built to target/book, with up-to-date code and figures in the pages
  dist                an archive for Linux on x86-64 under dist/: static programs, apps, the SDK, man pages, completions,
                      licences, a bill of materials, checksums
  bench NAME [FLAG…]  one benchmark, or `all`; without a NAME, the list; --json for machines, --save for the page,
                      --app=APP for one of the apps
  bench seeds         many schedules of faults of all families: --seeds N, --first SEED, --faults FAMILIES, --json
  bench histories     many simulated histories as users see them: --seeds N, --first SEED, --faults FAMILIES, --json
  bench planted       whether planted bugs are caught: --seeds N, --until-caught, --resume, --table, --json, NAME…
  bench mutants       the share of the protocol's mutants that tests and 1,000 seeds catch: --sample N, --draw SEED,
                      --seeds N, --resume, --json
  bench modules       whether random modules do the same with the checks that make them stoppable: --modules N,
                      --first SEED
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["build"] => build::build(),
        ["demo"] => demo::demo(false),
        ["demo", "--stay"] => demo::demo(true),
        ["test", flags @ ..] => test::test(flags),
        ["check", flags @ ..] => checks::check(flags),
        ["licences"] => checks::licences(),
        ["purity"] => purity::purity(),
        ["fuzz", rest @ ..] => fuzz::fuzz(rest),
        ["types"] => web_ui::types(),
        ["abi"] => abi::write(),
        ["docs"] => docs::docs(),
        ["dist"] => pack::dist(),
        ["bench", program @ ("seeds" | "histories" | "planted"), rest @ ..] => {
            harness::simulator(program, rest)
        }
        ["bench", "mutants", rest @ ..] => harness::mutants(rest),
        ["bench", "modules", rest @ ..] => harness::modules(rest),
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
