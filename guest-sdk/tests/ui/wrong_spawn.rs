use sateen::prelude::*;

#[job]
fn add(left: u64, right: u64) -> u64 {
    left + right
}

fn wrong() -> u64 {
    let sum = add::spawn(1, "two");
    sum.sync()
}

fn too_few() -> u64 {
    add::spawn(1).sync()
}

fn twice() -> u64 {
    let sum = add::spawn(1, 2);
    sum.sync() + sum.sync()
}

fn main() {}
