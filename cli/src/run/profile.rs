//! The output of `sateen run --profile`: the program's work and span, and what they mean for more
//! workers.

use std::fmt::Write;
use std::time::Duration;

use sateen_host::{PerSandbox, ProgramProfile};
use serde_json::{Value, json};

/// Numbers of workers for which the curve shows the time.
const WORKERS: [u32; 4] = [2, 10, 100, 1000];
/// Maximum kinds and depths shown as text: those with the most work.
const LEVELS_SHOWN: usize = 12;

/// For machines: times in seconds.
pub fn as_json(profile: &ProgramProfile) -> Value {
    let curve = WORKERS.map(|workers| {
        let time = profile.time_on(workers);
        json!({ "workers": workers, "time_s": time.as_secs_f64(), "speedup": ratio(profile.work, time) })
    });
    json!({
        "work_s": profile.work.as_secs_f64(),
        "span_s": profile.span.as_secs_f64(),
        "parallelism": (!profile.is_too_short()).then(|| ratio(profile.work, profile.span)),
        "span_is_bound": profile.is_span_bound(),
        "bound": "work / workers + span",
        "curve": curve,
        "levels": profile.levels,
        "per_sandbox": profile.per_sandbox,
        "depends_on": { "shared_objects": profile.shared_objects, "dropped_jobs": profile.dropped },
    })
}

/// Why the work depends on this run and not only on the program; one line for each reason.
fn reasons(profile: &ProgramProfile) -> Vec<String> {
    let named =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let mut reasons = Vec::new();
    if !profile.shared_objects.is_empty() {
        reasons.push(format!(
            "jobs update shared objects ({}): their work depends on what other jobs have found by then",
            named(&profile.shared_objects)
        ));
    }
    if !profile.dropped.is_empty() {
        reasons.push(format!(
            "jobs were dropped from sets ({}): what finishes first decides which",
            named(&profile.dropped)
        ));
    }
    reasons
}

/// For people.
pub fn text(profile: &ProgramProfile) -> String {
    if profile.is_too_short() {
        return format!(
            "work {}: too short to measure the span; profile a larger input\n",
            shown(profile.work.as_secs_f64())
        );
    }
    let [below, above] = if profile.is_span_bound() { ["below ", "above "] } else { [""; 2] };
    let mut text = format!(
        "work {}, span {below}{}: parallelism {above}{}\n",
        shown(profile.work.as_secs_f64()),
        shown(profile.span.as_secs_f64()),
        digits(ratio(profile.work, profile.span)),
    );
    let reasons = reasons(profile);
    if !reasons.is_empty() {
        text.push_str(
            "The work of this program depends on the schedule; these figures are those of this run.\n",
        );
        for reason in reasons {
            let _ = writeln!(text, "  {reason}");
        }
        text.push_str("  `--threads 1` measures what one worker has to do\n");
    }
    let PerSandbox { again, again_s, .. } = profile.per_sandbox;
    if again > 0 {
        let _ = writeln!(
            text,
            "not counted: {} in which sandboxes made for themselves, {}, what another had made",
            shown(again_s),
            if again == 1 { "once".to_owned() } else { format!("{again} times") }
        );
    }
    text.push_str("time on more workers, at most (work / workers + span, where no worker waits for hosts or messages):\n");
    for workers in WORKERS {
        let time = profile.time_on(workers);
        let speed_up = ratio(profile.work, time);
        // The bound says nothing where it is above the time of one worker.
        let says = if speed_up > 1.0 {
            format!("{:>5} times as fast", digits(speed_up))
        } else {
            "perhaps no faster".into()
        };
        let _ = writeln!(text, "{workers:>7} workers  {:>10}  {says}", shown(time.as_secs_f64()));
    }
    let mut levels: Vec<_> = profile.levels.iter().collect();
    levels.sort_by(|a, b| (b.mean_s * b.jobs as f64).total_cmp(&(a.mean_s * a.jobs as f64)));
    levels.truncate(LEVELS_SHOWN);
    levels.sort_by(|a, b| (&a.job, a.depth).cmp(&(&b.job, b.depth)));
    if !levels.is_empty() {
        text.push_str("jobs that were measured, with all below them:\n");
    }
    for level in levels {
        let _ = writeln!(
            text,
            "  {:<24} depth {:<3} {:>9} jobs of {:>10}",
            level.job,
            level.depth,
            level.jobs,
            shown(level.mean_s)
        );
    }
    text
}

/// Work divided by time; very large if the time is zero.
fn ratio(work: Duration, time: Duration) -> f64 {
    work.as_secs_f64() / time.as_secs_f64().max(1e-9)
}

/// Seconds with their unit, three digits.
fn shown(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", digits(s)),
        s if s >= 1e-3 => format!("{} ms", digits(s * 1e3)),
        s => format!("{} µs", digits(s * 1e6)),
    }
}

fn digits(value: f64) -> String {
    let places = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> ProgramProfile {
        ProgramProfile {
            work: Duration::from_secs(8),
            span: Duration::from_millis(20),
            levels: Vec::new(),
            shared_objects: Vec::new(),
            dropped: Vec::new(),
            per_sandbox: PerSandbox::default(),
        }
    }

    #[test]
    fn work_that_depends_on_the_schedule_is_said_to() {
        assert!(!text(&profile()).contains("schedule"));
        let searching = ProgramProfile {
            shared_objects: vec!["Incumbent".to_owned(), "Facts".to_owned()],
            dropped: vec!["answer".to_owned()],
            ..profile()
        };
        let text = text(&searching);
        for said in ["depends on the schedule", "(`Incumbent`, `Facts`)", "(`answer`)", "`--threads 1`"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let again = PerSandbox { made: 1, again: 7, again_s: 0.014 };
        let text = super::text(&ProgramProfile { per_sandbox: again, ..profile() });
        assert!(text.contains("14.0 ms in which") && text.contains("7 times"), "{text}");
        let once = PerSandbox { made: 1, again: 1, again_s: 0.014 };
        let text = super::text(&ProgramProfile { per_sandbox: once, ..profile() });
        assert!(text.contains("themselves, once, what"), "{text}");
        let depends_on = json!({ "shared_objects": ["Incumbent", "Facts"], "dropped_jobs": ["answer"] });
        assert_eq!(as_json(&searching)["depends_on"], depends_on);
    }

    #[test]
    fn machines_get_the_bound_for_each_number_of_workers() {
        let value = as_json(&profile());
        assert_eq!((&value["parallelism"], &value["span_is_bound"]), (&json!(400.0), &json!(false)));
        let fine = as_json(&ProgramProfile { span: Duration::from_micros(500), ..profile() });
        assert_eq!(fine["span_is_bound"], true);
        assert_eq!(value["curve"][1], json!({ "workers": 10, "time_s": 0.82, "speedup": 8.0 / 0.82 }));
    }

    #[test]
    fn of_a_program_that_is_too_short_no_parallelism_is_claimed() {
        let tiny = Duration::from_nanos(96_700);
        let tiny = ProgramProfile { work: tiny, span: tiny, ..profile() };
        assert_eq!(text(&tiny), "work 96.7 µs: too short to measure the span; profile a larger input\n");
        let value = as_json(&tiny);
        assert_eq!((&value["parallelism"], &value["span_is_bound"]), (&Value::Null, &json!(true)));
    }

    #[test]
    fn people_get_units() {
        let text = text(&profile());
        assert!(text.starts_with("work 8.00 s, span 20.0 ms: parallelism 400\n"), "{text}");
        assert!(text.contains("   1000 workers     28.0 ms    286 times as fast"), "{text}");
        let fine = super::text(&ProgramProfile { span: Duration::from_micros(500), ..profile() });
        assert!(fine.starts_with("work 8.00 s, span below 500 µs: parallelism above 16000\n"), "{fine}");
        let serial = super::text(&ProgramProfile { span: Duration::from_secs(7), ..profile() });
        assert!(serial.contains("      2 workers      11.0 s  perhaps no faster"), "{serial}");
        assert!(serial.contains("     10 workers      7.80 s   1.03 times as fast"), "{serial}");
    }
}
