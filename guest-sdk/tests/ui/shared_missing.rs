use sateen::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Bound(u64);

fn main() {
    let _ = Shared::new(Bound(7));
}
