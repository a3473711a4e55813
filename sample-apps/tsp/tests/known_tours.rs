//! Optima that others have found, and tours found here by exhaustive search.

use std::path::PathBuf;

use sateen::BadInput;
use sateen::testing::set_input;
use tsp::{Tour, Ways, generate, in_turn, main, nodes, parse, parse_tour, plain, solve_plain, unshared};

/// TSPLIB's list of optimal values, each with the check of the answer.
const SHARED: [(&str, i64); 7] = [
    ("burma14", 3323),
    ("ulysses16", 6859),
    ("gr17", 2085),
    ("gr21", 2707),
    ("gr24", 1272),
    ("fri26", 937),
    ("bays29", 2020),
];

/// The best tour of all, found by exhaustive search.
fn by_trying(ways: &Ways) -> Tour {
    fn extend(ways: &Ways, path: &mut Vec<u8>, best: &mut Option<Tour>) {
        if path.len() == ways.count() {
            let tour = Tour::of(ways, path.clone());
            if best.as_ref().is_none_or(|best| tour < *best) {
                *best = Some(tour);
            }
        }
        for city in 0..ways.count() as u8 {
            if !path.contains(&city) {
                path.push(city);
                extend(ways, path, best);
                path.pop();
            }
        }
    }
    let mut best = None;
    extend(ways, &mut vec![0], &mut best);
    best.expect("there is a tour")
}

#[test]
fn small_instances_agree_with_exhaustive_search() {
    for seed in 0..40 {
        for count in 3..=8 {
            // Coarse lengths, so that many tours are equally long and the first of them must be found.
            let fine = generate(count, seed);
            let coarse = Ways::new(count, |from, to| fine.length(from, to) / (100 + 100 * (seed as i64 % 5)));
            for ways in [&fine, &coarse] {
                assert_eq!(solve_plain(ways, None), by_trying(ways), "{count} cities, seed {seed}");
            }
        }
    }
}

#[test]
fn both_versions_find_the_same_tour() {
    for seed in 0..12 {
        for count in [3, 9, 14, 18] {
            let answer = plain(Some(count), Some(seed)).expect("the number of cities is allowed");
            assert_eq!(main(Some(count), Some(seed)), Ok(answer), "{count} cities, seed {seed}");
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
        let path = folder.join("tsp").join(format!("{name}.tsp"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
            continue;
        };
        let ways = parse(&text).expect("the file is an instance");
        let tour = solve_plain(&ways, None);
        assert_eq!(tour.length, optimum, "{name}");
        assert_eq!(Tour::of(&ways, tour.order.clone()), tour, "{name}");
        let mut cities = tour.order.clone();
        cities.sort_unstable();
        assert!(cities.into_iter().eq(0..ways.count() as u8), "{name}");
        if let Ok(published) = std::fs::read_to_string(folder.join("tsp").join(format!("{name}.opt.tour"))) {
            let order = parse_tour(&published, ways.count()).expect("the file is a tour");
            assert!(tour <= Tour::of(&ways, order), "{name}: the published tour is not better");
        }
        set_input("tsp", text);
        assert_eq!(main(None, None), Ok(tour.to_string()), "{name}");
    }
}

#[test]
fn the_tour_is_printed_from_the_first_city() {
    let text =
        "DIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 9\n3 9 0\n4 9 9\nEOF\n";
    set_input("tsp", text);
    assert_eq!(main(None, None), Ok("36\n1 2 4 3".to_owned()));
}

#[test]
fn a_shared_tour_saves_paths() {
    let counted = |count: Result<u64, BadInput>| count.expect("the number of cities is allowed");
    let shared = counted(nodes(Some(40), Some(1)));
    assert!(shared > 0 && shared < counted(in_turn(Some(40), Some(1))));
    let shared = counted(nodes(Some(22), Some(2)));
    assert!(shared > 0 && shared < counted(unshared(Some(22), Some(2))));
}

#[test]
fn a_known_tour_saves_paths_and_changes_no_answer() {
    let (count, seed) = (Some(40), Some(1));
    let answer = main(count, seed).expect("the number of cities is allowed");
    let without = nodes(count, seed).expect("the same");
    let (_, tour) = answer.split_once('\n').expect("the second line is the tour");
    let backwards: Vec<&str> = tour.split(' ').rev().collect();
    set_input(
        "tour",
        format!("TYPE : TOUR\nDIMENSION : 40\nTOUR_SECTION\n{}\n-1\nEOF\n", backwards.join("\n")),
    );
    assert_eq!((main(count, seed), plain(count, seed)), (Ok(answer.clone()), Ok(answer.clone())));
    let with = nodes(count, seed).expect("the same");
    assert!(with < without, "{with} of {without}");
    // A tour that is worse than the initial one.
    let orders: Vec<String> = (1..=40).map(|city| city.to_string()).collect();
    set_input("tour", format!("TOUR_SECTION\n{}", orders.join(" ")));
    assert_eq!((main(count, seed), nodes(count, seed)), (Ok(answer), Ok(without)));
    set_input("tour", "TOUR_SECTION\n1 2 3\n");
    let refused = BadInput("input `tour`, line 2: the tour ends after 3 of 40 cities".to_owned());
    assert_eq!((main(count, seed), plain(count, seed)), (Err(refused.clone()), Err(refused)));
}

#[test]
fn bad_input_is_refused() {
    set_input("tsp", "TYPE: TSP\nDIMENSION: many\n");
    let refused =
        BadInput("input `tsp`, line 2: `many` where the number of cities is expected, 3 to 64".to_owned());
    assert_eq!(main(None, None), Err(refused.clone()));
    assert_eq!(plain(None, None), Err(refused));
    let refused = BadInput("2 cities cannot be generated, but 3 to 64 can".to_owned());
    assert_eq!(main(Some(2), None), Err(refused));
}
