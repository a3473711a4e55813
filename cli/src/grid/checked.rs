//! How far a run's results are checked, in a sentence.

use sateen_api::{Caught, Checked};

use super::columns::{percent, seconds};
use crate::progress::counted;

/// How far results are checked, and which hosts gave wrong ones.
pub fn how_checked(checked: &Checked) -> String {
    let units = match (checked.units, checked.is_checking, checked.units_checked) {
        (units, false, 0) => {
            format!("{} reported, to be checked once there is a result", counted(units, "unit", "units"))
        }
        (units, _, done) => format!("{done} of {}", counted(units, "unit", "units")),
    };
    let share = checked.work_share.filter(|_| checked.units_checked > 0);
    let share = share.map_or_else(String::new, |share| format!(", {} of the work", percent(share, 1.0)));
    let checks = match checked.checks {
        0 => String::new(),
        checks => {
            format!("; {} in all, which took {}", counted(checks, "check", "checks"), seconds(checked.work_s))
        }
    };
    let barred: Vec<&str> = checked.barred.iter().map(|barred| barred.host.as_str()).collect();
    let liars = match barred.as_slice() {
        [] => String::new(),
        [one] => format!("; {one} gave a wrong result and is barred"),
        several => format!("; {} gave wrong results and are barred", several.join(", ")),
    };
    let new = match checked.without_standing {
        None | Some(0) => String::new(),
        Some(new) => format!("; {} without standing", counted(new, "owner", "owners")),
    };
    format!("{units}{share}{checks}{liars}{new}{}", how_found(&checked.caught))
}

/// How probably hosts that lied were found.
fn how_found(caught: &[Caught]) -> String {
    let parts: Vec<String> = caught
        .iter()
        .map(|Caught { one_in, probability }| {
            // Rounded down: only what is certain is 100 %.
            let probability = format!("{:.0} %", (100.0 * probability).floor());
            match one_in {
                1 => format!("in all of its units: {probability}"),
                _ => format!("in one of {one_in}: {probability}"),
            }
        })
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("; a host that lied was found with a probability of at least ({})", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use sateen_api::Run;
    use serde_json::json;

    use super::super::view::read;
    use super::*;

    #[test]
    fn how_results_are_checked_is_shown_with_the_hosts_that_gave_wrong_ones() {
        let shown = |checked: serde_json::Value| {
            let run = json!({
                "run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "running",
                "trust": "quorum=2", "checked": checked,
            });
            let run: Run = read(&run).expect("a run");
            run.figures.checked.as_ref().map(how_checked)
        };
        assert_eq!(shown(serde_json::Value::Null), None);
        let reported = shown(json!({"units": 1})).expect("a row");
        assert_eq!(reported, "1 unit reported, to be checked once there is a result");
        let barred = json!([{"host": "h7", "key": "ab"}]);
        let half = json!({"is_checking": true, "units": 4, "units_checked": 2, "work_share": 0.75, "checks": 3, "work_s": 1.5, "barred": barred});
        assert_eq!(
            shown(half).expect("a row"),
            "2 of 4 units, 75 % of the work; 3 checks in all, which took 1.5 s; h7 gave a wrong result and is barred"
        );
        let caught = json!([{"one_in": 1, "probability": 1.0}, {"one_in": 10, "probability": 0.9999}]);
        let audited = json!({"units": 40, "units_checked": 2, "work_share": 0.05, "checks": 2, "work_s": 2.0, "without_standing": 1, "caught": caught});
        assert_eq!(
            shown(audited).expect("a row"),
            "2 of 40 units, 5 % of the work; 2 checks in all, which took 2.0 s; 1 owner without standing; a host that lied was found with a \
             probability of at least (in all of its units: 100 %; in one of 10: 99 %)"
        );
    }
}
