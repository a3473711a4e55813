//! State in statics, which violates an app's contract, is detected.

use sateen_tests::grid::{gives, pristine, shared};

#[test]
fn pristine_detects_state_in_statics() {
    // 0 + 1 + … + 9 in one instance; each job starts afresh in an instance of its own.
    gives("misuse", &["10"], 45, &[shared(1)]);
    gives("misuse", &["10"], 0, &[pristine(1), pristine(2), pristine(4)]);
}

/// Jobs that find the stack of latent jobs full move onto it later, where they get instances of their own.
#[test]
fn pristine_detects_state_in_more_jobs_than_the_stack_holds() {
    for entry in ["misuse_in_bulk", "misuse_in_a_set"] {
        gives(entry, &["3"], 3, &[shared(1)]);
        gives(entry, &["20000"], 0, &[pristine(2)]);
    }
}
