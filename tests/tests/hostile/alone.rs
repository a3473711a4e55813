//! Calls of imports that end otherwise on a grid, where other hosts, recordings and limits of the whole run have a part.

use sateen_tests::wat::End::Broken;
use sateen_tests::wat::{app, ends};

use crate::imports::{ABANDON, EXPOSE, SHARE, SYNC};

/// In a portion, its recording may be abandoned.
#[test]
fn a_job_that_was_synced_cannot_be_abandoned() {
    let body = format!("{EXPOSE} {SYNC} {ABANDON}");
    ends(&body, &app(&body), Broken("which it has not exposed"));
}

/// On a grid, a limit of the host comes before.
#[test]
fn shared_objects_are_not_made_without_end() {
    let body = "(loop $more (drop (call $share (i32.const 0) (i32.const 0) (i32.const 1))) (br $more))";
    ends(body, &app(body), Broken("more than 65536 shared objects open"));
}

/// On a grid, another host may have it.
#[test]
fn an_object_to_which_no_job_has_a_reference_is_not_opened() {
    let gone = format!("{SHARE} (call $close (local.get $o)) (drop (call $open (i32.const 1024)))");
    for body in ["(drop (call $open (i32.const 1024)))", &gone] {
        ends(body, &app(body), Broken("to which no job has a reference"));
    }
}
