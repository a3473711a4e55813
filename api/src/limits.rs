//! Limits of runs as the API names them, and limits of requests that both sides know.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Approximate maximum length of a job's call, with its parameters, where it is shown alone.
pub const CALL_BYTES_MAX: usize = 4096;
/// Number of digits of a job's key, or of its beginning. Fewer digits may easily match another job.
pub const KEY_DIGITS: RangeInclusive<usize> = 8..=64;
/// Maximum bytes of the words for which runs are searched.
pub const SEARCH_BYTES_MAX: usize = 256;
/// Maximum runs in one answer.
pub const RUNS_LISTED_MAX: u32 = 1000;
/// Maximum length of a publisher's name, in bytes.
pub const PUBLISHER_BYTES_MAX: usize = 64;
/// Range of the maximum number of runs that are not over, for a token with such a quota.
pub const TOKEN_RUNS_MAX: RangeInclusive<u32> = 1..=1_000_000;

/// A run's limits. Submitted and shown limits have the same fields. They are two types because only one of them may
/// have unknown fields.
macro_rules! limits_of_a_run {
    ($(#[$($of_type:tt)*])* $name:ident, $(#[$($of_field:tt)*])*) => {
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS, JsonSchema)]
        $(#[$($of_type)*])*
        pub struct $name {
            /// Linear memory of one instance.
            $(#[$($of_field)*])*
            pub memory_bytes: Option<u64>,
            /// Stack of one instance.
            $(#[$($of_field)*])*
            pub stack_bytes: Option<u64>,
            /// A result, a job's parameters, or an output.
            $(#[$($of_field)*])*
            pub output_bytes: Option<u64>,
            /// All replicas of the run's shared objects on one host.
            $(#[$($of_field)*])*
            pub shared_bytes: Option<u64>,
            /// How long a job's guard may be false, in milliseconds.
            $(#[$($of_field)*])*
            pub guard_wait_ms: Option<u64>,
            /// How long the run may be under way, in milliseconds: the time during which a host has its root
            /// job.
            $(#[$($of_field)*])*
            pub time_ms: Option<u64>,
            /// Processor time of its jobs on all hosts together, in milliseconds.
            $(#[$($of_field)*])*
            pub cpu_ms: Option<u64>,
        }

        impl From<sateen_protocol::RunLimits> for $name {
            fn from(limits: sateen_protocol::RunLimits) -> Self {
                // Named one by one, so that none that is added is forgotten.
                let sateen_protocol::RunLimits {
                    memory_bytes_max,
                    stack_bytes_max,
                    output_bytes_max,
                    shared_bytes_max,
                    guard_wait_ms_max,
                    time_ms_max,
                    cpu_ms_max,
                } = limits;
                Self {
                    memory_bytes: memory_bytes_max,
                    stack_bytes: stack_bytes_max,
                    output_bytes: output_bytes_max,
                    shared_bytes: shared_bytes_max,
                    guard_wait_ms: guard_wait_ms_max,
                    time_ms: time_ms_max,
                    cpu_ms: cpu_ms_max,
                }
            }
        }

        impl From<$name> for sateen_protocol::RunLimits {
            fn from(limits: $name) -> Self {
                Self {
                    memory_bytes_max: limits.memory_bytes,
                    stack_bytes_max: limits.stack_bytes,
                    output_bytes_max: limits.output_bytes,
                    shared_bytes_max: limits.shared_bytes,
                    guard_wait_ms_max: limits.guard_wait_ms,
                    time_ms_max: limits.time_ms,
                    cpu_ms_max: limits.cpu_ms,
                }
            }
        }
    };
}

limits_of_a_run!(
    /// For limits that are not set, the host's default holds.
    RunLimits,
);

limits_of_a_run!(
    /// For limits that are not given, the host's default holds.
    #[serde(deny_unknown_fields)]
    SubmittedLimits,
    // An older coordinator refuses a limit that it does not know, even if the limit is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_the_same_in_the_protocol() {
        let limits = sateen_protocol::RunLimits {
            memory_bytes_max: Some(1),
            stack_bytes_max: Some(2),
            output_bytes_max: Some(3),
            shared_bytes_max: Some(4),
            guard_wait_ms_max: Some(5),
            time_ms_max: Some(6),
            cpu_ms_max: Some(7),
        };
        let shown = json!({"memory_bytes": 1, "stack_bytes": 2, "output_bytes": 3, "shared_bytes": 4,
            "guard_wait_ms": 5, "time_ms": 6, "cpu_ms": 7});
        assert_eq!(json!(RunLimits::from(limits.clone())), shown);
        assert_eq!(json!(SubmittedLimits::from(limits.clone())), shown);
        assert_eq!(sateen_protocol::RunLimits::from(RunLimits::from(limits.clone())), limits);
        assert_eq!(sateen_protocol::RunLimits::from(SubmittedLimits::from(limits.clone())), limits);
    }

    #[test]
    fn only_limits_that_are_named_are_submitted() {
        let limits = SubmittedLimits { output_bytes: Some(7), ..SubmittedLimits::default() };
        assert_eq!(json!(limits), json!({"output_bytes": 7}));
        assert_eq!(serde_json::from_value::<SubmittedLimits>(json!(limits)).ok(), Some(limits));
    }

    #[test]
    fn a_limit_that_is_not_known_is_refused_in_a_submission_alone() {
        let newer = json!({"memory_bytes": 1, "sleep_ms": 2});
        assert!(serde_json::from_value::<SubmittedLimits>(newer.clone()).is_err());
        let shown = RunLimits { memory_bytes: Some(1), ..RunLimits::default() };
        assert_eq!(serde_json::from_value::<RunLimits>(newer).ok(), Some(shown));
    }
}
