//! The sample apps as a user runs them: known answers, and bad input that is reported by file and line.

use sateen_tests::command::{Ended, app, run};
use sateen_tests::root;
use tempfile::TempDir;

/// Runs `run APP ARG… --input NAME=FILE…` with files of the app's own folder `data`, on `threads` threads.
fn run_app(name: &str, threads: &str, arguments: &[&str], inputs: &[(&str, &str)]) -> Ended {
    let given = inputs.iter().map(|(input, file)| {
        format!("--input={input}={}", root().join(format!("sample-apps/{name}/data/{file}")).display())
    });
    let words =
        ["run".to_owned(), app(name).display().to_string(), "--threads".to_owned(), threads.to_owned()];
    run(words.into_iter().chain(given).chain(arguments.iter().map(ToString::to_string)))
}

/// Runs `run APP ARG… --input NAME=FILE…`, with files that contain these texts.
fn run_texts(name: &str, arguments: &[&str], inputs: &[(&str, &str)]) -> Ended {
    let folder = TempDir::new().expect("a temporary folder can be made");
    run_texts_in(&folder, name, arguments, inputs)
}

/// The same, with files in `folder`.
fn run_texts_in(folder: &TempDir, name: &str, arguments: &[&str], inputs: &[(&str, &str)]) -> Ended {
    let given: Vec<String> = (inputs.iter())
        .map(|(input, text)| {
            let path = folder.path().join(input);
            std::fs::write(&path, text).expect("a temporary file can be written");
            format!("--input={input}={}", path.display())
        })
        .collect();
    let words = ["run".to_owned(), app(name).display().to_string()];
    run(words.into_iter().chain(given).chain(arguments.iter().map(ToString::to_string)))
}

#[test]
fn primefactors_prints_what_factor_prints() {
    for threads in ["1", "4"] {
        let numbers = [
            "0",
            "1",
            "360",
            "18446744073709551617",
            "340282366920938463463374607431768211297",
            "11111111111111111111111111111111111111111111111",
        ];
        let expected = "0:\n1:\n360: 2 2 2 3 3 5\n18446744073709551617: 274177 67280421310721\n\
                        340282366920938463463374607431768211297: 340282366920938463463374607431768211297\n\
                        11111111111111111111111111111111111111111111111: \
                        35121409 316362908763458525001406154038726382279\n";
        let ended = run_app("primefactors", threads, &numbers, &[]);
        assert_eq!((ended.code, ended.text()), (Some(0), expected), "{ended:?}");
        assert!(ended.stderr.contains("35121409 divides 1111"), "it logs what it finds: {ended:?}");
    }
    run_app("primefactors", "1", &["12", "1e9"], &[])
        .fails_with(2, &["`1e9` is not a whole number from 0 to 2^512 - 1"]);
    run_app("primefactors", "1", &[], &[]).fails_with(2, &["a number is missing"]);
}

#[test]
fn setcover_finds_published_optima() {
    // The same cover, whichever worker finds it.
    for (file, optimum) in [("stn27.txt", "18\n"), ("scp41.txt", "429\n"), ("scpe1.txt", "5\n")] {
        let [alone, together] =
            ["1", "4"].map(|threads| run_app("setcover", threads, &[], &[("scp", file)]).result().to_owned());
        assert!(alone.starts_with(optimum), "{file}: {alone}");
        assert_eq!(alone, together);
    }
    run_app("setcover", "1", &[], &[]).fails_with(2, &["the app needs the input `scp`"]);
}

#[test]
fn align_scores_what_parasail_scores() {
    let genomes = [("queries", "dengue1.fasta"), ("subjects", "dengue2.fasta")];
    for threads in ["1", "4"] {
        let table = run_app("align", threads, &["EDNAFULL", "10", "1"], &genomes);
        let expected = "query\tsubject\tscore\tquery_from\tquery_to\tsubject_from\tsubject_to\n\
                        NC_001477.1\tNC_001474.2\t24908\t1\t10735\t1\t10723\n";
        assert_eq!(table.result(), expected);
    }
    let globins = [("queries", "globins.fasta"), ("subjects", "globins.fasta")];
    let table = run_app("align", "2", &["BLOSUM62", "10", "1"], &globins);
    let scores = table.result().lines().skip(1).map(|line| line.split('\t').nth(2).expect("a score"));
    assert_eq!(scores.take(7).collect::<Vec<_>>(), ["775", "645", "291", "273", "103", "128", "47"]);

    run_texts("align", &["PAM"], &[("queries", ">a\nA\n"), ("subjects", ">b\nA\n")])
        .fails_with(2, &["no matrix `PAM`; BLOSUM62 (proteins) or EDNAFULL (DNA) is expected"]);
}

#[test]
fn grammar_finds_the_smallest_automaton() {
    for threads in ["1", "4"] {
        let found = run_app("grammar", threads, &["3", "2"], &[("train", "dfa_300_2_5.txt")]);
        assert_eq!(found.result(), "5\n1.0000\n");
    }
    let train = "4 2\n1 1 0\n0 1 1\n1 2 1 1\n0 2 0 1\n";
    let found = run_texts("grammar", &[], &[("train", train), ("test", "2 2\n1 3 0 1 1\n1 1 1\n")]);
    assert_eq!(found.result(), "2\n0.5000\n");
}

#[test]
fn tsp_finds_published_optima() {
    for (file, optimum) in
        [("bays29.tsp", "2020\n1 "), ("gr24.tsp", "1272\n1 "), ("ulysses16.tsp", "6859\n1 ")]
    {
        let [alone, together] =
            ["1", "4"].map(|threads| run_app("tsp", threads, &[], &[("tsp", file)]).result().to_owned());
        assert!(alone.starts_with(optimum), "{file}: {alone}");
        assert_eq!(alone, together);
    }
}

#[test]
fn qap_finds_published_optima() {
    for (file, optimum) in [("chr12a.dat", "9552\n"), ("nug12.dat", "578\n"), ("tai12a.dat", "224416\n")] {
        let [alone, together] =
            ["1", "4"].map(|threads| run_app("qap", threads, &[], &[("dat", file)]).result().to_owned());
        assert!(alone.starts_with(optimum), "{file}: {alone}");
        assert_eq!(alone, together);
    }
}

#[test]
fn barneshut_moves_bodies_alike_on_any_number_of_workers() {
    let [alone, together] =
        ["1", "4"].map(|threads| run_app("barneshut", threads, &["2000", "2"], &[]).result().to_owned());
    // In its units, a star cluster's energy is -0.25.
    assert!(alone.starts_with("-2.4") || alone.starts_with("-2.5"), "{alone}");
    assert_eq!(alone, together);
    let natively = barneshut::plain("2000".to_owned(), 2).expect("this many bodies can be made");
    assert_eq!(alone.trim_end(), natively);
    let shared = run_app("barneshut", "4", &["2000", "2", "--shared"], &[]);
    assert_eq!(shared.result(), alone);
}

#[test]
fn othello_counts_solves_and_searches() {
    for threads in ["1", "4"] {
        assert_eq!(run_app("othello", threads, &["perft", "8"], &[]).result(), "390216\n");
        for (line, score) in [("1", "+18\n"), ("2", "+2\n"), ("5", "-8\n")] {
            let positions = [("positions", "fforum-1-19-odd.obf")];
            assert_eq!(run_app("othello", threads, &["solve", line], &positions).result(), score);
        }
        let [with, without] = [&["search", "8"][..], &["search", "8", "--no-abort"]]
            .map(|words| run_app("othello", threads, words, &[]).result().to_owned());
        assert!(with.ends_with("\nD3\n") && with == without, "{with} {without}");
    }
}

#[test]
fn raytracer_draws_the_same_bits_on_any_number_of_workers_and_natively() {
    let scene = include_str!("../../../sample-apps/raytracer/scenes/marbles.txt");
    sateen::testing::set_input("scene", scene);
    let natively = raytracer::plain(None).expect("it is a scene");
    assert!(include_bytes!("../../../sample-apps/raytracer/scenes/marbles.png") == natively.as_slice());
    for threads in ["1", "4"] {
        let drawn = run_texts("raytracer", &["--threads", threads], &[("scene", scene)]);
        assert!(drawn.code == Some(0) && drawn.stdout == natively, "{}", drawn.stderr);
    }
}

/// An app, its arguments, its inputs, the first of which is wrong, and the error after the file's name.
type Malformed =
    (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

const MALFORMED: [Malformed; 14] = [
    (
        "tsp",
        &[],
        &[("tsp", "TYPE: TSP\nDIMENSION: 2\n")],
        "line 2: `2` where the number of cities is expected, 3 to 64",
    ),
    (
        "tsp",
        &[],
        &[("tsp", "DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n1 3 4\n")],
        "line 4: the file ends where city 2 of 3 is expected",
    ),
    ("qap", &[], &[("dat", "1\n0\n\nx\n")], "line 4: `x` where row 1, column 1 of the matrix B is expected"),
    (
        "align",
        &["DNA"],
        &[("queries", ">a\nAC\nAQ\n"), ("subjects", ">b\nA\n")],
        "line 3: `Q` is not a letter of EDNAFULL",
    ),
    (
        "align",
        &["DNA"],
        &[("subjects", "ACGT\n"), ("queries", ">b\nA\n")],
        "line 1: `>` and a sequence's name are expected",
    ),
    (
        "grammar",
        &[],
        &[("train", "2 2\n1 1 0\n0 1 0\n")],
        "line 3: the same string as on line 2, with the other label",
    ),
    (
        "grammar",
        &[],
        &[("test", "1 2\n1 2 0\n"), ("train", "1 2\n1 1 0\n")],
        "line 2: the line ends where symbol 2 of 2 is expected",
    ),
    (
        "raytracer",
        &[],
        &[("scene", "size 9 9\nsphere ball 0 0 0 1\n")],
        "line 2: the material `ball` is not described above",
    ),
    (
        "setcover",
        &[],
        &[("scp", "1 2\n1 1\n1 3\n")],
        "line 3: `3` where a column that covers row 1 of 1 is expected",
    ),
    ("sat", &[], &[("cnf", "c fine\np cnf 2 2\n1 -2 0\n1 x 0\n")], "line 4: `x` where a literal, or 0 at"),
    (
        "sat",
        &[],
        &[("cnf", "c fine\np cnf two 2\n")],
        "line 2: `p cnf two 2` is not a header; `p cnf VARIABLES",
    ),
    ("knapsack", &[], &[("items", "2 5\n7 3\n\n8\n")], "line 4: the item's weight is missing"),
    (
        "barneshut",
        &["file", "1"],
        &[("bodies", "2\n5\n1 2 3 4\n")],
        "line 3: `1 2 3 4` where body 1 of 2 is expected",
    ),
    (
        "othello",
        &["solve", "2"],
        &[("positions", "X O\nXO-\n")],
        "line 2: `XO-` where 64 squares and the side to move are expected",
    ),
];

#[test]
fn a_malformed_file_is_reported_with_its_line_and_the_expectation() {
    for (name, arguments, inputs, told) in MALFORMED {
        let folder = TempDir::new().expect("a temporary folder can be made");
        let input = inputs[0].0;
        let file = folder.path().join(input).display().to_string();
        run_texts_in(&folder, name, arguments, inputs)
            .fails_with(2, &[&format!("input `{input}` ({file}), {told}")]);
    }
}

/// As in their tests: if an app's sums wrapped only in the sandbox, it would give a wrong answer there, without an
/// error.
#[test]
fn sums_that_overflow_panic_in_sample_apps() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("it can be read");
    let folders =
        std::fs::read_dir(root().join("sample-apps")).expect("it can be read").map_while(Result::ok);
    let mut apps = 0;
    for folder in folders.filter(|folder| folder.path().join("Cargo.toml").is_file()) {
        let name = folder.file_name().to_string_lossy().into_owned();
        // The manifest explains why these lack the checks, and what the checks would cost.
        if ["knapsack", "primefactors", "setcover"].contains(&name.as_str()) {
            continue;
        }
        let section = format!("[profile.release.package.{name}]\n");
        let (_, profile) = manifest.split_once(&section).unwrap_or_else(|| panic!("{section} is missing"));
        let profile = profile.split("\n[").next().unwrap_or_default();
        assert!(profile.lines().any(|line| line == "overflow-checks = true"), "{name}: {profile}");
        apps += 1;
    }
    assert!(apps >= 10, "{apps}");
}

/// Each step's serial part made a worker wait, for which ever more jobs with all bodies were kept ready: two workers took a
/// sixth longer.
#[test]
fn jobs_with_large_parameters_are_exposed_when_they_are_wanted() {
    let ended = run_app("barneshut", "2", &["40000", "6", "--json"], &[]);
    let jobs = &ended.json()["jobs"];
    let [spawned, exposed] = ["spawned", "exposed"].map(|name| jobs[name].as_u64().unwrap_or_default());
    assert!(exposed * 4 < spawned, "{exposed} of {spawned} jobs were exposed");
}
