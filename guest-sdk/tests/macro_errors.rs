//! What cannot be a job or an entry point is reported at the user's own code.

#[test]
fn errors_of_the_macros_point_at_the_users_code() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
