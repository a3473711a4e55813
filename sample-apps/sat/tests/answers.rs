//! Published answers, and models that are checked here.

use std::fs;
use std::path::PathBuf;

use sateen::testing::set_input;

/// The verdict, after checking its model against the text of the formula.
fn checked_verdict(cnf: &str, output: &str) -> bool {
    let mut lines = output.lines();
    let verdict = lines.next().expect("there is a first line");
    if verdict == "s UNSATISFIABLE" {
        assert_eq!(lines.next(), None);
        return false;
    }
    assert_eq!(verdict, "s SATISFIABLE");
    let mut numbers = Vec::new();
    for line in lines {
        assert!(line.len() <= 78, "{line}");
        let words = line.strip_prefix("v ").expect("a line of values");
        numbers.extend(words.split(' ').map(|word| word.parse::<i64>().expect("a number")));
    }
    assert_eq!(numbers.pop(), Some(0));

    let words =
        cnf.lines().take_while(|line| !line.starts_with('%')).filter(|line| !line.starts_with(['c', 'p']));
    let literals: Vec<i64> =
        words.flat_map(str::split_ascii_whitespace).map(|word| word.parse().expect("a literal")).collect();
    for clause in literals.split(|literal| *literal == 0).filter(|clause| !clause.is_empty()) {
        assert!(clause.iter().any(|literal| numbers.contains(literal)), "{clause:?} does not hold");
    }
    for number in &numbers {
        assert!(!numbers.contains(&-number), "both {number} and its negation");
    }
    true
}

fn solve(cnf: &str) -> bool {
    set_input("cnf", cnf);
    let output = sat::main(None, None, None).expect("a formula");
    assert_eq!(sat::plain(None, None, None).as_ref(), Ok(&output), "the plain version finds the same model");
    checked_verdict(cnf, &output)
}

#[test]
fn the_smallest_formulas() {
    assert!(solve("p cnf 0 0\n"));
    assert!(solve("p cnf 3 0\n"));
    assert!(!solve("p cnf 3 1\n0\n"));
    assert!(solve("p cnf 2 3\n1 2 0\n-1 2 0\n-2 1 0\n"));
    assert!(!solve("p cnf 2 4\n1 2 0\n-1 2 0\n-2 1 0\n-1 -2 0\n"));
    assert!(!solve("p cnf 1 2\n1 0\n-1 0\n"));
}

#[test]
fn pigeons_do_not_fit() {
    for holes in 1..=7 {
        let output = sat::main(Some("holes".to_owned()), Some(holes), None);
        assert_eq!(output.as_deref(), Ok("s UNSATISFIABLE"), "{holes} holes");
    }
}

/// Random formulas around the threshold, compared with exhaustive search.
#[test]
fn random_formulas_agree_with_exhaustive_search() {
    const VARIABLES: u32 = 16;
    let mut verdicts = [0, 0];
    for seed in 0..40 {
        let random = || Some("random".to_owned());
        let output = sat::main(random(), Some(VARIABLES), Some(seed)).expect("a formula");
        let found = output.starts_with("s SATISFIABLE");
        let source = sat::Source::Random { variables: VARIABLES, seed };
        let formula = source.formula().expect("a formula");
        let exists = (0..1_u32 << VARIABLES).any(|bits| {
            formula.clauses().iter().all(|clause| {
                clause.iter().any(|literal| {
                    let number = literal.to_dimacs();
                    (bits >> (number.unsigned_abs() - 1) & 1 == 1) == (number > 0)
                })
            })
        });
        assert_eq!(found, exists, "seed {seed}");
        verdicts[usize::from(found)] += 1;
    }
    assert!(verdicts[0] > 3 && verdicts[1] > 3, "both verdicts occur: {verdicts:?}");
}

/// SATLIB and DIMACS instances with published answers; `PROVENANCE.md` beside them names the sources.
#[test]
fn published_instances() {
    const KNOWN: [(&str, bool); 21] = [
        ("aim-50-1_6-yes1-4", true),
        ("ais8", true),
        ("bf0432-007", false),
        ("factor2708413pos", true),
        ("flat75-4", true),
        ("fpga10_8_sat_rcr", true),
        ("hole6", false),
        ("hole7", false),
        ("hole8", false),
        ("par8-1-c", true),
        ("uf100-01", true),
        ("uf200-01", true),
        ("uf250-01", true),
        ("uf50-01", true),
        ("uf50-07", true),
        ("uuf100-01", false),
        ("uuf175-01", false),
        ("uuf200-01", false),
        ("uuf250-01", false),
        ("uuf50-01", false),
        ("uuf50-07", false),
    ];
    let data = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    for (name, satisfiable) in KNOWN {
        let path = data.join("sat").join(format!("{name}.cnf"));
        match fs::read_to_string(&path) {
            Ok(cnf) => assert_eq!(solve(&cnf), satisfiable, "{name}"),
            Err(_) => eprintln!(
                "SKIPPED {name}: {} is not there; SATEEN_DATA names the folder of the data",
                path.display()
            ),
        }
    }
}
