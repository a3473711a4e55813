//! The modules of these tests, submitted by a stranger to a host of a grid: they end there as they do in this process's
//! own engine, the host never goes, and another run that it has meanwhile is not disturbed.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use sateen_tests::cluster::{Cluster, count};
use sateen_tests::real_host::RealHost;

use crate::{imports, jobs, prepares, refusals, resources, results, starts};

/// All tests whose modules may run anywhere.
const TESTS: [fn(); 45] = [
    imports::take_stays_in_memory,
    imports::attach_may_point_anywhere,
    imports::latent_may_point_anywhere,
    imports::register_checks_the_name_and_the_record,
    imports::expose_checks_the_kind_and_the_parameters,
    imports::sync_and_abandon_check_that_the_job_was_exposed,
    imports::sync_any_checks_the_jobs_and_the_place_of_the_list,
    imports::attempt_needs_its_export,
    imports::an_attempt_catches_the_guests_own_failures,
    imports::an_attempt_does_not_catch_limits,
    imports::a_guests_report_of_its_end_is_checked,
    imports::log_input_and_progress_accept_anything,
    imports::share_checks_the_value_and_the_place_of_the_id,
    imports::open_checks_where_the_id_is,
    imports::objects_are_known_by_their_numbers,
    imports::updates_and_snapshots_stay_in_memory,
    imports::catching_up_is_taken_within_memory,
    imports::shared_objects_are_bounded,
    imports::holding_ends,
    imports::a_broken_replica_ends_the_run_even_within_an_attempt,
    jobs::a_stolen_jobs_violation_reaches_its_parents_sync,
    jobs::a_job_of_another_type_breaks_the_abi_without_a_panic,
    jobs::a_fork_bomb_fizzles_out,
    prepares::what_needs_a_job_is_refused,
    prepares::traps_and_limits_are_those_of_the_job_that_needs_the_value,
    prepares::it_is_stopped_as_a_job_is,
    prepares::exports_of_another_type_break_the_abi,
    prepares::jobs_begin_with_the_memory_and_the_globals_that_were_prepared,
    prepares::there_is_no_image_of_hidden_state,
    refusals::foreign_imports_are_refused_by_name,
    refusals::modules_that_are_not_apps_are_refused,
    refusals::modules_with_too_much_memory_are_refused,
    refusals::modules_that_the_sandbox_cannot_hold_are_refused_without_a_panic,
    refusals::features_beyond_the_profile_are_refused,
    resources::memory_grows_to_its_limit_and_no_further,
    resources::tables_grow_to_their_limit_and_no_further,
    resources::endless_recursion_meets_the_stack_limit,
    resources::traps_are_the_guests_own,
    resources::bulk_operations_end_soon_after_the_time_limit,
    resources::loops_of_every_kind_are_interrupted,
    results::a_result_lies_in_memory_and_is_not_too_large,
    results::an_invalid_outcome_is_the_apps_failure,
    results::an_entry_point_of_another_type_is_broken,
    starts::a_start_function_is_a_guest_like_any_other,
    starts::data_and_elements_out_of_bounds_trap,
];
/// Modules under way at a time.
const AT_ONCE: usize = 4;
/// The corpus is at least as large as this.
const CASES_MIN: usize = 150;

#[test]
fn hostile_modules_end_on_a_host_as_expected_and_disturb_nothing() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    cluster.start_host_with("ada", "here", &url, &["--threads", "2"]);
    cluster.await_hosts(1);
    let other = cluster.submit("nqueens", &["17"]);
    let host = RealHost::of(&cluster);
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(test) = TESTS.get(next.fetch_add(1, Relaxed)) {
                    host.runs(test);
                }
            });
        }
    });
    let wrong = host.wrong();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), host.cases(), wrong.join("\n"));
    assert!(host.cases() >= CASES_MIN, "{} modules", host.cases());
    eprintln!("{} modules", host.cases());
    let about = cluster.done(other, "95815104\n");
    assert_eq!([count(&about, "redone"), count(&about, "lost")], [0, 0], "it was disturbed: {about:#}");
    assert_eq!(cluster.api().metric("sateen_hosts_gone_total"), 0.0, "the host has never gone");
    assert!(!cluster.host_log("ada").contains("panicked"), "{}", cluster.host_log("ada"));
}
