//! Optima that others have found, or that exhaustive search finds.

use std::path::PathBuf;

use sateen::BadInput;
use sateen::testing::set_input;
use setcover::{Cover, Instance, main, parse, plain, solve_plain};

/// The best cover, which both versions must print. It is checked, with its cost.
fn solved(text: &str) -> Cover {
    let instance = parse(text).expect("an instance");
    let cover = solve_plain(&instance);
    check(&instance, &cover);
    set_input("scp", text);
    assert_eq!(plain(), Ok(cover.to_string()));
    assert_eq!(main(), Ok(cover.to_string()));
    cover
}

fn check(instance: &Instance, cover: &Cover) {
    assert!(cover.columns.is_sorted_by(|a, b| a < b));
    let covers_all =
        instance.covers.iter().all(|row| row.iter().any(|column| cover.columns.contains(column)));
    assert!(covers_all);
    assert_eq!(cover.columns.iter().map(|column| instance.costs[*column as usize]).sum::<i64>(), cover.cost);
}

#[test]
fn what_is_printed() {
    set_input("scp", "3 4\n5 4 9 3\n3 1 2 3\n2 3 4\n2 1 2\n");
    assert_eq!(main().as_deref(), Ok("7\n2 4"));
    set_input("scp", "0 1\n1\n");
    assert_eq!((main().as_deref(), plain().as_deref()), (Ok("0\n"), Ok("0\n")));
    set_input("scp", "2 1\n1\n1 1\n1 x\n");
    let refused = BadInput(
        "input `scp`, line 4: `x` where a column that covers row 2 of 2 is expected, a whole number from 0 to 1"
            .to_owned(),
    );
    assert_eq!((main(), plain()), (Err(refused.clone()), Err(refused)));
}

#[test]
fn exhaustive_search_finds_no_better_cover() {
    let mut state = 3_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..300 {
        let (rows, columns) = (1 + random(14), 1 + random(11));
        let dearest = [1, 3, 20][round % 3];
        let costs: Vec<i64> =
            (0..columns).map(|_| random(dearest) as i64 + i64::from(round % 2 == 0)).collect();
        let covers: Vec<Vec<u32>> =
            (0..rows).map(|_| (0..=random(4)).map(|_| random(columns) as u32).collect()).collect();
        let instance = Instance::new(costs, covers);
        let cover = solve_plain(&instance);
        check(&instance, &cover);
        let best = (0..1_u32 << columns)
            .filter(|bits| instance.covers.iter().all(|row| row.iter().any(|column| bits >> column & 1 == 1)))
            .map(|bits| {
                (0..columns).filter(|nth| bits >> nth & 1 == 1).map(|nth| instance.costs[nth as usize]).sum()
            })
            .min();
        assert_eq!(Some(cover.cost), best, "round {round}");
    }
}

/// OR-Library's and Fulkerson, Nemhauser and Trotter's.
#[test]
fn published_optima() {
    for (text, optimum) in [
        (include_str!("../data/stn27.txt"), 18),
        (include_str!("../data/scp41.txt"), 429),
        (include_str!("../data/scpe1.txt"), 5),
        (include_str!("../data/stn45.txt"), 30),
    ] {
        assert_eq!(solved(text).cost, optimum);
    }
}

#[test]
fn the_open_data_set_is_solved() {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    for (name, optimum) in [("stn9", 5), ("stn27", 18), ("scp41", 429)] {
        let path = folder.join(format!("setcover/{name}.txt"));
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
            continue;
        };
        assert_eq!(solved(&text).cost, optimum, "{name}");
    }
}
