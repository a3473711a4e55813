//! Known movements of bodies.

use std::path::PathBuf;

use barneshut::{Bodies, Law, Tree, main, parse, plain, simulate_plain};
use sateen::BadInput;
use sateen::testing::set_input;

/// The distance of two positions.
fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The pulls on all bodies, with cells opened according to `opening`.
fn pulls(bodies: &Bodies, opening: f64) -> barneshut::Pulls {
    let tree = Tree::new(&bodies.points(), opening);
    let law = Law { opening, ..bodies.law };
    tree.unsorted(tree.pulls(&law, 0..tree.count(), true))
}

/// A file of the data set, if it exists.
fn data(name: &str) -> Option<String> {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("nbody").join(name);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
    }
    text
}

#[test]
fn two_bodies_circle_each_other() {
    // Half a mass each, 1 apart: the speed of each is a half, and an orbit takes 2π.
    let steps = 4000;
    let law =
        Law { gravity: 1.0, softening2: 0.0, opening: 0.5, step: 2.0 * std::f64::consts::PI / steps as f64 };
    let bodies = Bodies {
        law,
        masses: vec![0.5; 2],
        places: vec![[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]],
        speeds: vec![[0.0, 0.3, 0.4], [0.0, -0.3, -0.4]],
    };
    let half = simulate_plain(bodies.clone(), steps / 2);
    assert!(distance(half.bodies.places[0], bodies.places[1]) < 1e-5);
    let whole = simulate_plain(bodies.clone(), steps);
    assert!(distance(whole.bodies.places[0], bodies.places[0]) < 1e-5);
    // Kinetic energy ¼ · ½, potential energy −½ · ½ / 1.
    assert!((whole.before + 0.125).abs() < 1e-12 && (whole.after + 0.125).abs() < 1e-6);
}

#[test]
fn the_tree_pulls_as_all_bodies_do() {
    let bodies = Bodies::plummer(2000);
    let [exact, near] = [0.0, bodies.law.opening].map(|opening| pulls(&bodies, opening).changes.0);
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let size = mean(exact.iter().map(|change| distance(*change, [0.0; 3])).collect());
    let error = mean(exact.iter().zip(&near).map(|(a, b)| distance(*a, *b)).collect());
    assert!(error > 0.0 && error < 0.01 * size, "{error} of {size}");
    // Compared with sums over all pairs, in any order.
    for (nth, found) in exact.iter().enumerate().step_by(97) {
        let mut change = [0.0; 3];
        for (other, mass) in bodies.places.iter().zip(&bodies.masses) {
            let square = distance(*other, bodies.places[nth]).powi(2) + bodies.law.softening2;
            for axis in 0..3 {
                change[axis] += mass * (other[axis] - bodies.places[nth][axis]) / (square * square.sqrt());
            }
        }
        assert!(distance(change, *found) < 1e-9 * size, "body {nth}");
    }
}

#[test]
fn a_star_cluster_keeps_its_energy() {
    // In the units of the model the energy is −¼; a sample of 3000 stars is some hundredths off.
    let course = simulate_plain(Bodies::plummer(3000), 30);
    assert!((course.before + 0.25).abs() < 0.01, "{}", course.before);
    assert!((course.after - course.before).abs() < 1e-3, "{} {}", course.before, course.after);
}

#[test]
fn all_versions_give_the_same_bits() {
    for (count, steps) in [(2, 3), (16, 2), (17, 2), (100, 4), (1500, 2)] {
        let answer = plain(count.to_string(), steps).expect("the number of bodies is allowed");
        for flags in [vec![], vec!["--shared".to_owned()]] {
            let found = main(count.to_string(), steps, flags.clone());
            assert_eq!(found.as_ref(), Ok(&answer), "{count} bodies, {flags:?}");
        }
    }
}

#[test]
fn bodies_in_one_place_do_not_make_an_endless_tree() {
    let mut bodies = Bodies::plummer(50);
    for place in &mut bodies.places[10..40] {
        *place = [0.1, 0.2, 0.3];
    }
    let course = simulate_plain(bodies, 2);
    assert!(course.after.is_finite());
}

/// Šuvakov and Dmitrašinović's orbits (Physical Review Letters, 2013): after a period the bodies are back.
/// Only those that tolerate the rounding of their five published digits.
#[test]
fn three_bodies_come_back() {
    let Some(table) = data("3body.tab") else { return };
    let mut tried = 0;
    let steady = |line: &&str| [" moth I", " goggles"].iter().any(|name| line.trim_end().ends_with(name));
    for line in table.lines().filter(steady) {
        let numbers: Vec<f64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let [x, y, time] = numbers[..] else { continue };
        let steps = 400_000;
        let law = Law { gravity: 1.0, softening2: 0.0, opening: 0.0, step: time / steps as f64 };
        let start = Bodies {
            law,
            masses: vec![1.0; 3],
            places: vec![[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3]],
            speeds: vec![[x, y, 0.0], [x, y, 0.0], [-2.0 * x, -2.0 * y, 0.0]],
        };
        let end = simulate_plain(start.clone(), steps).bodies;
        for (place, back) in start.places.iter().zip(end.places) {
            assert!(distance(*place, back) < 5e-3, "{line}: {place:?} {back:?}");
        }
        tried += 1;
    }
    assert_eq!(tried, 2);
}

/// The energies of `PROVENANCE.md`, by direct sum without softening.
#[test]
fn galaxies_have_their_energies() {
    for (name, energy) in
        [("galaxy2.txt", 5.613_278_636e33 - 2.034_458_324e34), ("galaxymerge1.txt", -1.966_518_356e34)]
    {
        let Some(text) = data(name) else { continue };
        let mut bodies = parse(&text).expect("the file is right");
        bodies.law.softening2 = 0.0;
        let found = bodies.energy(&pulls(&bodies, 0.0).potentials);
        assert!((found / energy - 1.0).abs() < 1e-8, "{name}: {found} {energy}");
        set_input("bodies", text);
        let answer = plain("file".to_owned(), 1).expect("the file is right");
        assert_eq!(main("file".to_owned(), 1, vec![]), Ok(answer), "{name}");
    }
}

#[test]
fn bad_input_is_refused() {
    let refused = |bodies: &str, steps| main(bodies.to_owned(), steps, vec![]).expect_err("it is wrong").0;
    assert_eq!(
        refused("one", 1),
        "argument `bodies` is `one`, but a number is expected, 2 to 1000000, or `file`"
    );
    assert_eq!(refused("2", 1_000_001), "1000001 steps are too many; at most 1000000 are allowed");
    assert_eq!(refused("file", 1), "the app needs the input `bodies`; give it with --input bodies=FILE");
    let flag = main("2".to_owned(), 1, vec!["--share".to_owned()]);
    assert_eq!(flag, Err(BadInput("`--share` where --shared, or nothing more, is expected".to_owned())));
    set_input("bodies", "3\n0\n");
    let why = "input `bodies`, line 2: `0` where the radius of the universe is expected, a number above 0";
    assert_eq!(plain("file".to_owned(), 1), Err(BadInput(why.to_owned())));
}
