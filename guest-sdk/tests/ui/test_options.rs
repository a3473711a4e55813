#[sateen::test]
fn takes(n: u64) -> u64 {
    n
}

#[sateen::test(input(a = b"x"))]
fn other() {}

#[sateen::test]
#[should_panic]
fn panics() {}

fn main() {}
