fn main() {
    let a: Vec<String> = std::env::args().collect();
    let items = if a[1].contains('/') {
        knapsack::parse(&std::fs::read_to_string(&a[1]).unwrap()).unwrap()
    } else {
        knapsack::generate(a[1].parse().unwrap(), a[2].parse().unwrap())
    };
    let t = std::time::Instant::now();
    let s = knapsack::solve_plain(&items);
    eprintln!("{:?} plain {} {} items", t.elapsed(), s.profit, s.chosen.len());
    let w: i64 = s.chosen.iter().map(|&i| items.items[i].weight).sum();
    let p: i64 = s.chosen.iter().map(|&i| items.items[i].profit).sum();
    assert!(w <= items.capacity && p == s.profit);
    if items.capacity < 20_000_000 {
        let mut b = vec![0i64; items.capacity as usize + 1];
        for i in &items.items {
            for c in (i.weight as usize..b.len()).rev() {
                b[c] = b[c].max(b[c - i.weight as usize] + i.profit);
            }
        }
        assert_eq!(b[items.capacity as usize], s.profit);
    }
    let t = std::time::Instant::now();
    let r = if a[1].contains('/') {
        sateen::testing::set_input("items", std::fs::read(&a[1]).unwrap());
        knapsack::main(None, None)
    } else {
        knapsack::main(Some(a[1].parse().unwrap()), Some(a[2].parse().unwrap()))
    };
    eprintln!("{:?} spawning", t.elapsed());
    assert_eq!(r.unwrap(), s.to_string());
}
