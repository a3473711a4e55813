use std::borrow::Cow;
use std::collections::BTreeMap;

use sateen::prelude::*;

#[job]
fn lengths(texts: Vec<&str>) -> u64 {
    texts.len() as u64
}

#[job]
fn static_text(text: Option<&'static str>) -> u64 {
    text.map_or(0, str::len) as u64
}

#[job]
fn deep(map: BTreeMap<u64, ([u8; 4], Cow<'_, str>)>) -> u64 {
    map.len() as u64
}

#[job]
fn dynamic(choose: Box<dyn Fn(u64) -> u64>) -> u64 {
    choose(1)
}

#[job]
fn function(choose: fn(u64) -> u64) -> u64 {
    choose(1)
}

fn main() {}
