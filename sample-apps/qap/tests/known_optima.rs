//! Optima that others have found, and assignments found here by exhaustive search.

use std::path::PathBuf;

use qap::{Assignment, Instance, generate, in_turn, main, nodes, parse, plain, solve_plain, unshared};
use sateen::BadInput;
use sateen::testing::set_input;

/// QAPLIB's optima. (nug16a takes half a minute; nug22, hours.)
const SHARED: [(&str, i64); 4] = [("chr12a", 9552), ("nug12", 578), ("nug14", 1014), ("tai12a", 224_416)];

/// The best assignment of all, found by exhaustive search.
fn by_trying(instance: &Instance) -> Assignment {
    fn extend(instance: &Instance, places: &mut Vec<u8>, best: &mut Option<Assignment>) {
        if places.len() == instance.size {
            let assignment = Assignment::of(instance, places.clone());
            if best.as_ref().is_none_or(|best| assignment < *best) {
                *best = Some(assignment);
            }
        }
        for place in 0..instance.size as u8 {
            if !places.contains(&place) {
                places.push(place);
                extend(instance, places, best);
                places.pop();
            }
        }
    }
    let mut best = None;
    extend(instance, &mut Vec::new(), &mut best);
    best.expect("there is an assignment")
}

#[test]
fn small_instances_agree_with_exhaustive_search() {
    for seed in 0..30 {
        for size in 1..=7 {
            let even = generate(size, seed);
            // Not symmetric, and with non-zero diagonals.
            let mut odd = even.clone();
            for (nth, entry) in odd.first.iter_mut().enumerate() {
                *entry = (*entry + nth as i64 * 7919 + seed as i64) % 5;
            }
            odd.second.reverse();
            odd.second[0] = 3;
            for instance in [&even, &odd] {
                assert_eq!(solve_plain(instance), by_trying(instance), "size {size}, seed {seed}");
            }
        }
    }
}

#[test]
fn both_versions_find_the_same_assignment() {
    for seed in 0..8 {
        for size in [1, 2, 5, 8, 10, 11, 12] {
            let answer = plain(Some(size), Some(seed)).expect("the number of facilities is allowed");
            assert_eq!(main(Some(size), Some(seed)), Ok(answer), "size {size}, seed {seed}");
        }
    }
}

#[test]
fn the_open_data_set_is_solved() {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    for (name, optimum) in SHARED {
        let path = folder.join("qap").join(format!("{name}.dat"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
            continue;
        };
        let instance = parse(&text).expect("the file is an instance");
        let solution = solve_plain(&instance);
        assert_eq!((solution.cost, instance.cost(&solution.places)), (optimum, optimum), "{name}");
        if let Ok(published) = std::fs::read_to_string(path.with_extension("sln")) {
            let numbers: Vec<i64> =
                published.split_ascii_whitespace().map(|word| word.parse().expect("a number")).collect();
            assert_eq!(numbers[1], optimum, "{name}");
            let places = numbers[2..].iter().map(|place| *place as u8 - 1).collect();
            assert!(solution <= Assignment::of(&instance, places), "{name}: the published one is not better");
        }
        set_input("dat", text);
        assert_eq!(main(None, None), Ok(solution.to_string()), "{name}");
    }
}

#[test]
fn the_assignment_is_printed() {
    set_input("dat", "3\n0 5 1\n5 0 0\n1 0 0\n0 9 2\n9 0 1\n2 1 0\n");
    // The pair with the flow of 5 gets locations at distance 1; the first of the two gets the end
    // that is nearer to the remaining location.
    assert_eq!(main(None, None), Ok("14\n3 2 1".to_owned()));
}

#[test]
fn a_shared_assignment_saves_bounds() {
    let [shared, in_turn, unshared] = [nodes, in_turn, unshared]
        .map(|count| count(Some(10), Some(1)).expect("the number of facilities is allowed"));
    assert!(shared > 0 && shared < in_turn && in_turn < unshared, "{shared} {in_turn} {unshared}");
}

#[test]
fn bad_input_is_refused() {
    set_input("dat", "2\n0 1\nx 0\n");
    let refused = BadInput(
        "input `dat`, line 3: `x` where row 2, column 1 of the matrix A is expected, a whole number from 0 to 1000000"
            .to_owned(),
    );
    assert_eq!(main(None, None), Err(refused.clone()));
    assert_eq!(plain(None, None), Err(refused));
    let refused = BadInput("33 facilities cannot be generated, but 1 to 32 can".to_owned());
    assert_eq!(main(Some(33), None), Err(refused));
}
