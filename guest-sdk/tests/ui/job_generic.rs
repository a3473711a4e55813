use sateen::prelude::*;

#[job]
fn double<T: Clone>(value: T) -> (T, T) {
    (value.clone(), value)
}

#[job]
fn array<const N: usize>(values: [u64; N]) -> u64 {
    values.iter().sum()
}

#[job]
fn borrowed<'a>(value: std::borrow::Cow<'a, str>) -> u64 {
    value.len() as u64
}

fn main() {}
