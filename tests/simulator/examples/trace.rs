//! Prints what a seed does: `cargo run -p sateen-simulator --example trace -- SEED`.
#![allow(clippy::print_stdout)]

use sateen_simulator::families::Family;
use sateen_simulator::seed;

fn main() {
    let seed: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let families = std::env::var("SATEEN_FAULTS").map_or_else(
        |_| Family::ALL.to_vec(),
        |names| Family::parse(&names).unwrap_or_else(|name| panic!("there is no family {name}")),
    );
    let (mut world, calm_at, calm) = seed::build(seed, &families);
    world.trace.start_log();
    for process in &world.processes {
        println!("host {} {:?}", process.place, process.plan);
    }
    for (run, stored) in &world.server.runs {
        println!("run {run} {:?} {:?}", stored.spec, world.trees[run].root());
    }
    println!("faults until {:.3} s: {:#?}", calm_at.0 as f64 / 1e9, world.faults.schedule);
    let result = seed::finish(world, calm_at, &calm);
    for line in result.log {
        println!("{line}");
    }
    println!("{:#?} after {:.3} s", result.violations, result.end_s);
}
