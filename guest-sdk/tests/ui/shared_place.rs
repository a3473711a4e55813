use sateen::prelude::*;

#[shared]
#[derive(serde::Serialize, serde::Deserialize)]
struct Bound(u64);

#[shared]
impl Clone for Bound {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

struct Pair<T>(T, T);

#[shared]
impl<T> Pair<T> {}

#[shared(quickly)]
impl Bound {}

#[update]
fn lower(_bound: u64) {}

fn main() {}
