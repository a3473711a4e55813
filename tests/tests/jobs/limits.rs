//! Jobs that exceed a limit end with the limit's name, on any number of workers.

use std::time::Duration;

use sateen_host::{LimitExceeded, Limits, RunError};
use sateen_tests::grid::{Setting, call, limited, pristine, shared};

const SETTINGS: [Setting; 4] = [shared(1), shared(2), shared(8), pristine(2)];

/// The limit that `function` meets; afterwards the same app must still work on the same engine.
#[track_caller]
fn meets(limits: &Limits, function: &str, arguments: &[&str], setting: Setting) -> LimitExceeded {
    let app = limited(limits);
    let exceeded = match call(&app, function, arguments, setting) {
        Err(RunError::Limit(exceeded)) => exceeded,
        other => panic!("{function} {arguments:?} with {setting:?} gave {other:?}"),
    };
    let good = call(&app, "balanced", &["10"], setting).expect("the host continues");
    assert_eq!(good.output, sateen_host::Output::Text("55".to_owned()));
    exceeded
}

#[test]
fn loops_for_ever_end_with_the_time_limit() {
    let limit = Duration::from_millis(150);
    let limits = Limits { wall_time_max: Some(limit), ..Limits::default() };
    for function in ["loop_for_ever", "wait_for_ever", "spawn_and_sync_for_ever"] {
        for setting in SETTINGS {
            let met = meets(&limits, function, &[], setting);
            assert_eq!(met, LimitExceeded::WallTime(limit), "{function} with {setting:?}");
        }
    }
}

#[test]
fn loops_for_ever_end_with_the_processor_limit() {
    let limit = Duration::from_millis(150);
    let limits = Limits { cpu_time_max: Some(limit), ..Limits::default() };
    for function in ["loop_for_ever", "wait_for_ever", "spawn_and_sync_for_ever"] {
        for setting in [shared(1), shared(2)] {
            let met = meets(&limits, function, &[], setting);
            assert_eq!(met, LimitExceeded::CpuTime(limit), "{function} with {setting:?}");
        }
    }
}

#[test]
fn recursion_for_ever_meets_one_of_the_stacks() {
    for setting in SETTINGS {
        let met = meets(&Limits::default(), "recurse_for_ever", &[], setting);
        assert!(matches!(met, LimitExceeded::Stack { limit: 0x400_0000 }), "{met:?}");
        let met = meets(&Limits::default(), "recurse_in_memory_for_ever", &[], setting);
        assert_eq!(met, LimitExceeded::GuestStack, "with {setting:?}");
    }
}

#[test]
fn spawning_for_ever_meets_a_limit() {
    let small = Limits { memory_bytes_max: 64 << 20, ..Limits::default() };
    for setting in [shared(1), shared(2), shared(8)] {
        let met = meets(&small, "spawn_wider_for_ever", &[], setting);
        assert!(matches!(met, LimitExceeded::Memory { limit: 0x400_0000, .. }), "{met:?} with {setting:?}");
        let met = meets(&small, "spawn_deeper_for_ever", &[], setting);
        assert!(
            matches!(
                met,
                LimitExceeded::Stack { .. } | LimitExceeded::GuestStack | LimitExceeded::Memory { .. }
            ),
            "{met:?} with {setting:?}"
        );
    }
}

#[test]
fn ten_gibibytes_are_refused() {
    for setting in [shared(1), shared(2)] {
        let met = meets(&Limits::default(), "allocate", &["10"], setting);
        assert!(matches!(met, LimitExceeded::AddressSpace(_)), "{met:?}");
        let met = meets(&Limits::default(), "allocate", &["2"], setting);
        assert!(matches!(met, LimitExceeded::AddressSpace(_) | LimitExceeded::Memory { .. }), "{met:?}");
        let met = meets(&Limits::default(), "grow", &["10"], setting);
        assert!(matches!(met, LimitExceeded::Memory { asked, .. } if asked > 10 << 30), "{met:?}");
    }
}

#[test]
fn large_results_and_parameters_are_refused() {
    let limits = Limits { output_bytes_max: 1 << 20, ..Limits::default() };
    let names =
        [("large_output", "the result"), ("large_result", "the result"), ("large_parameter", "parameters")];
    for (function, name) in names {
        let met = meets(&limits, function, &["2"], pristine(2));
        let LimitExceeded::Output { what, asked, limit } = met else { panic!("{function}: {met:?}") };
        assert!(what.contains(name) && asked > 2 << 20 && limit == 1 << 20, "{what} {asked}");
    }
}

#[test]
fn a_gibibyte_is_not_returned() {
    let met = meets(&Limits::default(), "large_output", &["900"], shared(2));
    assert!(matches!(met, LimitExceeded::Output { .. } | LimitExceeded::Memory { .. }), "{met:?}");
}

#[test]
fn attempts_nested_without_end_meet_a_limit_that_can_be_raised() {
    for setting in [shared(1), shared(2)] {
        let met = meets(&Limits::default(), "attempted_chain", &["10000000"], setting);
        assert!(met.to_string().contains("; `sateen run --attempts` raises the limit"), "{met}");
    }
}
