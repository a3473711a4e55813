use sateen::prelude::*;

#[job]
fn pointer(n: *const u64) -> bool {
    n.is_null()
}

fn main() {}
