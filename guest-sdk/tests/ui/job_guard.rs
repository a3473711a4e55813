use sateen::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Bodies(u64);

#[shared]
impl Bodies {}

fn has_step(bodies: &Shared<Bodies>, step: u64) -> bool {
    bodies.read().0 >= step
}

#[job(guard = has_step)]
fn forces(bodies: Shared<Bodies>, step: u64) -> u64 {
    bodies.read().0 + step
}

#[job(guard = "has_step")]
fn quoted(bodies: Shared<Bodies>, step: u64) -> u64 {
    bodies.read().0 + step
}

fn is_there(_bodies: &Shared<Bodies>) {}

#[job(guard = is_there)]
fn silent(bodies: Shared<Bodies>) -> u64 {
    bodies.read().0
}

fn main() {}
