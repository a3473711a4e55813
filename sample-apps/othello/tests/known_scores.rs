//! Counts and scores that others have found.

use std::path::PathBuf;

use othello::{main, plain};
use sateen::testing::set_input;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// The answer, which must be the same from both versions.
fn answer(line: &str) -> String {
    let answer = plain(words(line)).expect("the words are right");
    assert_eq!(main(words(line)).as_ref(), Ok(&answer), "{line}");
    answer
}

/// Aart Bik's counts, confirmed by others.
#[test]
fn games_are_counted() {
    let counts = [1_u64, 4, 12, 56, 244, 1396, 8200, 55_092, 390_216, 3_005_288, 24_571_284];
    for (depth, count) in counts.into_iter().enumerate() {
        assert_eq!(answer(&format!("perft {depth}")), count.to_string());
    }
}

/// The FFO suite's positions with at most 16 empty squares: the first figure is the score.
#[test]
fn endgames_have_their_published_scores() {
    let folder = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    for file in ["fforum-1-19-odd.obf", "fforum-20-39-odd.obf"] {
        let path = folder.join("othello").join(file);
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", path.display());
            continue;
        };
        for (nth, line) in text.lines().enumerate() {
            let (position, scores) = line.split_once(';').expect("scores follow the position");
            if position.matches(['-', '.']).count() > 16 {
                continue;
            }
            let score = scores.split([':', ';']).nth(1).expect("a score");
            set_input("positions", text.as_str());
            assert_eq!(answer(&format!("solve {}", nth + 1)), score, "{file}, line {}", nth + 1);
        }
    }
}

#[test]
fn both_versions_find_the_same_value_and_move() {
    for depth in 1..=8 {
        let found = answer(&format!("search {depth}"));
        // All four first moves are equivalent by symmetry.
        assert!(found.ends_with("\nD3"), "{found}");
    }
    let midgame = "--------------------O-----XXOX---OXXXX---OOXX----O-X--------------";
    assert_eq!(answer(&format!("search 6 {} O", &midgame[..64])), {
        let without = main(words(&format!("search 6 {} O --no-abort", &midgame[..64])));
        without.expect("the words are right")
    });
}

#[test]
fn positions_are_counted_when_asked() {
    let text = main(words("search 6 --stats")).expect("the words are right");
    let counted = text.lines().nth(2).and_then(|line| line.strip_suffix(" positions"));
    assert!(counted.is_some_and(|count| count.parse::<u64>().is_ok_and(|count| count > 100)), "{text}");
}

#[test]
fn a_finished_game_has_its_score() {
    let full = format!("{}{}", "X".repeat(40), "O".repeat(24));
    assert_eq!(answer(&format!("solve {full} X")), "+16");
    assert_eq!(answer(&format!("solve {full} O")), "-16");
    assert_eq!(answer(&format!("search 3 {full} O")), "-16.00\npass");
}

#[test]
fn bad_input_is_refused() {
    let refused = main(words("solve 1 2 3 4"));
    assert!(refused.as_ref().is_err_and(|why| why.0.contains("one of these is expected: perft DEPTH")));
    assert_eq!(plain(words("solve 1 2 3 4")), refused);
}
