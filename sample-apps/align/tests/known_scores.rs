//! Scores that other programs have found.

use std::path::PathBuf;

use align::{main, plain};
use sateen::BadInput;
use sateen::testing::set_input;

/// UniProt P69905 and P68871, human haemoglobin alpha and beta.
const ALPHA: &str = ">HBA_HUMAN alpha\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNAL\n\
                     SALSDLHAHKLRVDPVNFKLLSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR\n";
const BETA: &str = ">HBB_HUMAN beta\nMVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDN\n\
                    LKGTFATLSELHCDKLHVDPENFRLLGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH\n";

const HEAD: &str = "query\tsubject\tscore\tquery_from\tquery_to\tsubject_from\tsubject_to";

fn both(arguments: [Option<&str>; 3]) -> Result<String, BadInput> {
    let [matrix, open, extend] = arguments.map(|word| word.map(str::to_owned));
    let found = main(matrix.clone(), open.clone(), extend.clone());
    assert_eq!(plain(matrix, open, extend), found, "the plain version finds the same");
    found
}

/// The scores, line by line.
fn scores(table: &str) -> Vec<String> {
    table.lines().skip(1).map(|line| line.split('\t').nth(2).expect("a score").to_owned()).collect()
}

#[test]
fn haemoglobins_score_what_emboss_documents() {
    set_input("queries", ALPHA);
    set_input("subjects", BETA);
    // EMBOSS, `water`: 293.5, from LSPADK and LTPEEK on to KY; its sequences there have no first M.
    let expected = format!("{HEAD}\nHBA_HUMAN\tHBB_HUMAN\t293.5\t3\t141\t4\t146");
    assert_eq!(both([None, None, None]), Ok(expected));
    let whole = both([Some("BLOSUM62"), Some("10"), Some("1")]).expect("a table");
    assert_eq!(scores(&whole), ["291"]);
}

#[test]
fn nothing_in_common_scores_nothing() {
    set_input("queries", ">a\nAAAA\n");
    set_input("subjects", ">t\nTTTT\n>u\nTTAT");
    let table = both([Some("DNA"), None, None]);
    assert_eq!(table, Ok(format!("{HEAD}\na\tt\t0\t0\t0\t0\t0\na\tu\t5\t1\t1\t3\t3")));
}

#[test]
fn bad_input_is_refused() {
    let refused = |arguments| both(arguments).expect_err("it is refused").0;
    set_input("queries", ALPHA);
    set_input("subjects", "ACGT");
    assert!(refused([None, None, None]).starts_with("input `subjects`, line 1: `>` and a sequence's name"));
    set_input("subjects", BETA);
    assert!(refused([Some("PAM"), None, None]).contains("no matrix `PAM`"));
    assert!(refused([None, Some("ten"), None]).contains("to open a gap costs `ten`"));
    assert!(
        refused([Some("DNA"), None, None])
            .starts_with("input `queries`, line 2: `L` is not a letter of EDNAFULL")
    );
}

/// parasail's scores.
#[test]
fn globins_and_genomes_score_what_parasail_finds() {
    let globins = include_bytes!("../data/globins.fasta");
    set_input("queries", *globins);
    set_input("subjects", *globins);
    let table = both([None, Some("10"), Some("1")]).expect("a table");
    let scores_of_all: Vec<i32> =
        scores(&table).iter().map(|score| score.parse().expect("a score")).collect();
    assert_eq!(scores_of_all[..7], [775, 645, 291, 273, 103, 128, 47]);
    let above_diagonal = (0..7).flat_map(|row| (row + 1..7).map(move |column| row * 7 + column));
    assert_eq!(above_diagonal.map(|at| scores_of_all[at]).sum::<i32>(), 3861);

    set_input("queries", *include_bytes!("../data/dengue1.fasta"));
    set_input("subjects", *include_bytes!("../data/dengue2.fasta"));
    let table = both([Some("EDNAFULL"), Some("10"), Some("1")]).expect("a table");
    assert_eq!(scores(&table), ["24908"]);
}

/// parasail's scores; `PROVENANCE.md` beside the data has them.
#[test]
fn the_open_data_set_is_aligned() {
    let data = std::env::var_os("SATEEN_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if !data.join("dna").is_dir() {
        eprintln!("skipped: {} does not exist; set SATEEN_DATA to the data set's folder", data.display());
        return;
    }
    for (query, subject, score) in
        [("phix174_NC_001422", "denv1_NC_001477", "3358"), ("sars_cov_2_MN908947", "denv1_NC_001477", "7115")]
    {
        for (input, name) in [("queries", query), ("subjects", subject)] {
            let path = data.join(format!("dna/{name}.fasta"));
            set_input(input, std::fs::read(path).expect("it is beside the others"));
        }
        let table = both([Some("EDNAFULL"), Some("10"), Some("1")]).expect("a table");
        assert_eq!(scores(&table), [score], "{query} with {subject}");
    }
}
