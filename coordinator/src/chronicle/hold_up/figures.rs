//! The figures in the sentences.

pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share.max(0.0))
}

pub fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 99.95 => format!("{s:.1} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// A number of things.
pub fn counted(value: f64, one: &str, several: &str) -> String {
    let number = number(value);
    let noun = if number == "1" { one } else { several };
    format!("{number} {noun}")
}

/// For how long a run has waited of the time that has passed, and for which part of that for one of several reasons.
pub fn waited_so_far(waited_s: f64, passed_s: f64, part_s: Option<f64>) -> String {
    let part = part_s.map(|part_s| format!("; for {} of that", time(part_s))).unwrap_or_default();
    format!("It has waited for {} of {} so far{part}", time(waited_s), time(passed_s))
}
