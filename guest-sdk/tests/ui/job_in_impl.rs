use sateen::prelude::*;

struct Searcher;

impl Searcher {
    #[job]
    fn search(n: u64) -> u64 {
        n
    }
}

mod within {
    use sateen::prelude::*;

    #[job]
    fn fine(n: u64) -> u64 {
        n
    }

    pub trait Entry {
        #[main]
        fn entry(n: u64) -> u64 {
            n
        }
    }
}

fn main() {}
