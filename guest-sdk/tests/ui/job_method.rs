use sateen::prelude::*;

struct Board(u64);

impl Board {
    #[job]
    fn count(&self) -> u64 {
        self.0
    }
}

fn main() {}
