//! Known automata, and strings that they label.

use std::path::PathBuf;

use grammar::{main, plain};
use sateen::BadInput;
use sateen::testing::set_input;

fn both(depth: Option<u32>, breadth: Option<u32>) -> Result<String, BadInput> {
    let found = main(depth, breadth);
    assert_eq!(plain(depth, breadth), found, "the plain version finds the same");
    found
}

/// The smallest automaton that labels all strings correctly has five states, as DFA-Inductor proved.
#[test]
fn five_states_suffice() {
    set_input("train", *include_bytes!("../data/dfa_300_2_5.txt"));
    for (depth, breadth) in [(None, None), (Some(0), None), (Some(3), Some(2)), (Some(1), Some(1))] {
        assert_eq!(both(depth, breadth).as_deref(), Ok("5\n1.0000"), "{depth:?} {breadth:?}");
    }
}

/// Abbadingo One's first problem, whose strings an automaton of 63 states labelled (Lang, Pearlmutter and
/// Price 1998).
#[test]
fn no_more_states_than_abbadingos_target() {
    set_input("train", *include_bytes!("../data/abbadingo_1.txt"));
    let found = both(Some(1), Some(3)).expect("an automaton");
    let (states, accuracy) = found.split_once('\n').expect("two lines");
    assert!(states.parse::<u32>().expect("a number") <= 63, "{states} states");
    assert_eq!(accuracy, "1.0000");
}

/// A language with a known smallest automaton: the number of 1s less that of 0s, modulo n, is 0.
fn labelled(states: i64, count: u64, seed: u64) -> String {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = format!("{count} 2\n");
    for _ in 0..count {
        let symbols: Vec<u64> = (0..random(14)).map(|_| random(2)).collect();
        let sum: i64 = symbols.iter().map(|symbol| 2 * symbol.cast_signed() - 1).sum();
        let words: Vec<String> = symbols.iter().map(ToString::to_string).collect();
        text += &format!("{} {} {}\n", i32::from(sum % states == 0), symbols.len(), words.join(" "));
    }
    text
}

#[test]
fn languages_learned_from_strings_are_right_on_others() {
    for states in 2..9 {
        set_input("train", labelled(states, 600, 1));
        set_input("test", labelled(states, 500, 2));
        assert_eq!(both(None, None), Ok(format!("{states}\n1.0000")));
    }
    // On strings of another language it is wrong, except the empty string.
    set_input("test", "3 2\n1 0\n1 1 0\n0 1 1\n");
    assert_eq!(both(None, None).as_deref(), Ok("8\n0.6666"));
}

#[test]
fn odd_samples_are_learned() {
    for (train, expected) in [
        ("0 2\n", "1\n1.0000"),
        ("1 0\n1 0\n", "1\n1.0000"),
        ("2 2\n1 0\n0 1 1\n", "2\n1.0000"),
        // More symbols, most of which do not occur.
        ("3 9\n1 1 8\n0 0\n0 2 8 8\n", "2\n1.0000"),
    ] {
        set_input("train", train);
        assert_eq!(both(None, None).as_deref(), Ok(expected), "{train:?}");
    }
}

#[test]
fn bad_input_is_refused() {
    let refused = |depth, breadth| both(depth, breadth).expect_err("it is refused").0;
    assert_eq!(refused(None, None), "the app needs the input `train`; give it with --input train=FILE");
    set_input("train", "2 2\n1 2 0 1\n\n0 2 0 1\n");
    assert_eq!(
        refused(None, None),
        "input `train`, line 4: the same string as on line 2, with the other label"
    );
    set_input("train", "1 2\n1 1 2\n");
    assert!(refused(None, None).starts_with("input `train`, line 2: `2` where symbol 1 of 1"));
    set_input("train", "1 2\n1 1 1\n");
    set_input("test", "1 2\n-1 1 1\n");
    assert!(refused(None, None).starts_with("input `test`, line 2: `-1` where a label"));
    assert_eq!(refused(Some(13), None), "the depth is 13, but 0 to 12 is expected");
    assert_eq!(refused(None, Some(0)), "the breadth is 0, but 1 to 1000 is expected");
}

/// Every line of merges ends with an automaton that labels its training strings correctly.
#[test]
fn the_open_data_set_is_learned() {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("dfa/abbadingo_train.7");
    let Ok(train) = std::fs::read(&path) else {
        eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
        return;
    };
    set_input("train", train);
    assert!(both(Some(1), Some(2)).is_ok_and(|found| found.ends_with("\n1.0000")));
}
