//! Parameters and results of every size and alignment.

use probe::parameters;
use sateen_tests::grid::gives_everywhere;

#[test]
fn megabytes_travel() {
    gives_everywhere("megabytes", &["12"], parameters::megabytes(12));
    gives_everywhere("megabyte_results", &["12"], parameters::megabyte_results(12));
}

#[test]
fn parameters_too_large_for_a_record_are_intact() {
    gives_everywhere("wide", &["200"], parameters::wide(200));
}

#[test]
fn parameters_and_results_without_bytes_work() {
    gives_everywhere("empty", &["200"], 400);
}

#[test]
fn parameters_aligned_to_sixteen_bytes_are_intact() {
    gives_everywhere("alignment", &["200"], parameters::alignment(200));
}

#[test]
fn every_serde_type_can_be_encoded() {
    gives_everywhere("shapes", &["3"], parameters::shapes(3));
}
