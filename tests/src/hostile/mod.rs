//! The corpus of hostile modules, each with its expected end. They run in this process's own engine, or, within
//! [`RealHost::runs`](crate::real_host::RealHost::runs), on a host of a grid.

pub mod imports;
pub mod jobs;
pub mod prepares;
pub mod refusals;
pub mod resources;
pub mod results;
pub mod starts;

/// The corpus is at least as large as this.
pub const CASES_MIN: usize = 150;

/// Calls a macro with the paths of all tests whose modules may run anywhere.
#[macro_export]
macro_rules! hostile_modules {
    ($of_all:ident) => {
        $of_all! {
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
        }
    };
}

macro_rules! list {
    ($($file:ident :: $test:ident,)*) => {
        /// All tests whose modules may run anywhere.
        pub const ALL: &[fn()] = &[$($file::$test),*];
    };
}

hostile_modules!(list);
