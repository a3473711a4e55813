use sateen::prelude::*;

struct Bound(u64);

#[shared]
impl Bound {
    #[update]
    fn lower(&mut self, to: u64) {
        self.0 = self.0.min(to);
    }
}

fn main() {}
