#[sateen::main(name = "other")]
fn run(n: u64) -> u64 {
    n
}

#[sateen::main]
async fn later(n: u64) -> u64 {
    n
}

fn main() {}
