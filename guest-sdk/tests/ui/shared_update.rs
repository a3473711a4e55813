use sateen::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct Unchanged(u64);

#[shared]
impl Unchanged {
    #[update]
    fn look(&self) {}
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Answering(u64);

#[shared]
impl Answering {
    #[update]
    fn add(&mut self, more: u64) -> u64 {
        self.0 += more;
        self.0
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Borrowing(String);

#[shared]
impl Borrowing {
    #[update]
    fn set(&mut self, text: &str) {
        self.0 = text.to_owned();
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Named(u64);

#[shared]
impl Named {
    #[update]
    fn read(&mut self) {}
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Free(u64);

#[shared]
impl Free {
    #[update(soon)]
    fn later(&mut self) {}
}

fn main() {}
