use sateen::prelude::*;

struct Graph;

#[prepare(name = "other")]
fn named() -> Graph {
    Graph
}

#[prepare]
fn of(n: u64) -> Graph {
    Graph
}

#[prepare]
fn nothing() {}

#[prepare]
fn borrowed() -> &str {
    "a"
}

#[prepare]
fn unnamed() -> impl Iterator<Item = u64> {
    0..3
}

#[prepare]
fn generic<T: Default>() -> T {
    T::default()
}

#[prepare]
async fn later() -> Graph {
    Graph
}

impl Graph {
    #[prepare]
    fn within() -> u64 {
        1
    }
}

fn main() {}
