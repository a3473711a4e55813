use sateen::prelude::*;

#[job]
fn lengths(texts: Vec<&str>) -> u64 {
    texts.len() as u64
}

#[job]
fn static_text(text: Option<&'static str>) -> u64 {
    text.map_or(0, str::len) as u64
}

fn main() {}
