//! Optima that others have found, or that dynamic programming finds here.

use std::path::PathBuf;

use knapsack::{Item, Items, Solution, generate, main, parse, plain, solve_plain};
use sateen::BadInput;

/// The optima of the instances in the open data set, from its PROVENANCE.md.
const SHARED: [(&str, i64); 5] = [
    ("f2_l-d_kp_20_878.txt", 1024),
    ("f8_l-d_kp_23_10000.txt", 9767),
    ("jooken_n_400_c_1000000_g_6_f_0.1_eps_0.0001_s_300.txt", 984_994),
    ("knapPI_1_100_1000_1.txt", 9147),
    ("knapPI_3_100_1000_1.txt", 2397),
];

#[test]
fn a_small_instance_is_solved_and_printed() {
    sateen::testing::set_input("items", "4 10\n10 5\n40 4\n30 6\n50 3\n");
    let expected = "90\n2 4".to_owned();
    assert_eq!(main(None, None), Ok(expected.clone()));
    assert_eq!(plain(None, None), Ok(expected));
}

#[test]
fn odd_instances_are_solved() {
    let optimum = |text: &str| checked(&parse(text).expect("the text is an instance")).profit;
    assert_eq!(optimum("0 10"), 0);
    assert_eq!(optimum("1 0\n5 1"), 0);
    assert_eq!(optimum("3 0\n5 1\n7 0\n0 0"), 7, "items without weight always fit");
    assert_eq!(optimum("2 3\n5 4\n1 3"), 1, "an item may be too heavy on its own");
    assert_eq!(optimum("3 100\n5 4\n1 3\n0 2"), 6, "all fit");
    assert_eq!(optimum("3 5\n0 1\n0 2\n0 3"), 0, "no item is worth anything");
}

#[test]
fn many_small_instances_agree_with_dynamic_programming() {
    for seed in 0..60 {
        for count in [1, 2, 5, 12, 30] {
            let items = generate(count, seed);
            assert_eq!(checked(&items).profit, by_capacity(&items), "{count} items of seed {seed}");
        }
    }
}

#[test]
fn other_shapes_of_instances_agree_with_dynamic_programming() {
    for seed in 0..40 {
        let weights: Vec<i64> = generate(24, seed).items.iter().map(|item| item.weight).collect();
        let all: i64 = weights.iter().sum();
        let shapes: [fn(usize, i64) -> Item; 5] = [
            |_, weight| Item { weight, profit: weight },
            |_, weight| Item { weight, profit: weight + 100 },
            |nth, weight| Item { weight: 500 >> (nth % 4), profit: (500 >> (nth % 4)) + weight % 7 },
            |_, weight| Item { weight: weight % 5, profit: weight % 3 },
            |nth, weight| Item { weight, profit: (nth as i64 * 7919) % 1000 },
        ];
        for (shape, item) in shapes.iter().enumerate() {
            let items = weights.iter().enumerate().map(|(nth, &weight)| item(nth, weight)).collect();
            let items = Items { capacity: all * (1 + seed.cast_signed() % 7) / 8, items };
            assert_eq!(checked(&items).profit, by_capacity(&items), "shape {shape} of seed {seed}");
        }
    }
}

#[test]
fn both_versions_divide_a_long_search_and_agree_with_dynamic_programming() {
    let printed = plain(Some(200), Some(4)).expect("200 items can be generated");
    assert_eq!(main(Some(200), Some(4)), Ok(printed.clone()));
    let items = generate(200, 4);
    assert!(printed.starts_with(&format!("{}\n", by_capacity(&items))));
}

#[test]
fn the_open_data_set_is_solved() {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    for (name, optimum) in SHARED {
        let path = folder.join("knapsack").join(name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
            continue;
        };
        let items = parse(&text).expect("the file is an instance");
        let solution = checked(&items);
        assert_eq!(solution.profit, optimum, "{name}");
        sateen::testing::set_input("items", text);
        assert_eq!(main(None, None), Ok(solution.to_string()), "{name}");
    }
}

#[test]
fn bad_input_is_refused() {
    sateen::testing::set_input("items", "2 10\n1 2\n");
    let refused = BadInput("input `items`, line 2: the file ends where item 2 of 2 is expected".to_owned());
    assert_eq!(main(None, None), Err(refused.clone()));
    assert_eq!(plain(None, None), Err(refused));
    assert!(main(Some(1_000_000_000), None).is_err());
}

/// The plain version's solution, checked against the capacity and its own profit.
fn checked(items: &Items) -> Solution {
    let solution = solve_plain(items);
    let sum = |of: fn(&Item) -> i64| {
        solution.chosen.iter().map(|&position| of(&items.items[position])).sum::<i64>()
    };
    assert!(solution.chosen.is_sorted_by(|a, b| a < b));
    assert!(sum(|item| item.weight) <= items.capacity);
    assert_eq!(sum(|item| item.profit), solution.profit);
    solution
}

/// The optimum by dynamic programming over the capacity (Bellman).
fn by_capacity(items: &Items) -> i64 {
    let mut best = vec![0; usize::try_from(items.capacity).expect("the capacity is small") + 1];
    for item in &items.items {
        let weight = usize::try_from(item.weight).expect("weights are not negative");
        for room in (weight..best.len()).rev() {
            best[room] = best[room].max(best[room - weight] + item.profit);
        }
    }
    best[best.len() - 1]
}
