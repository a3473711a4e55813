//! Figures of runs that never fall while the coordinator runs.

use std::collections::BTreeMap;

use serde_json::Value;

/// Where they are in a run.
const FIGURES: [&str; 8] = [
    "/jobs/executed",
    "/jobs/exposed",
    "/jobs/recorded",
    "/work_s",
    "/elapsed_s",
    "/checked/checks",
    "/checked/work_s",
    "/root_losses",
];

/// Figures of runs, as they were last.
#[derive(Debug, Default)]
pub struct Grown {
    of: BTreeMap<u64, [f64; FIGURES.len()]>,
}

impl Grown {
    /// The figures of a run that have fallen since the last call, in sentences. Answers must be given in their order.
    pub fn check(&mut self, run: &Value) -> Vec<String> {
        let Some(number) = run["run"].as_u64() else { return Vec::new() };
        let was = self.of.get(&number).copied().unwrap_or_default();
        let mut is = was;
        for (figure, is) in FIGURES.iter().zip(&mut is) {
            // One that is not known has not fallen.
            *is = run.pointer(figure).and_then(Value::as_f64).unwrap_or(*is);
        }
        self.of.insert(number, is);
        let fallen = FIGURES.iter().zip(was.into_iter().zip(is)).filter(|(_, (was, is))| is < was);
        let sentence = |(figure, (was, is))| format!("run {number}: {figure} was {was}, and is {is}");
        fallen.map(sentence).collect()
    }

    /// The coordinator was restarted: what hosts had reported in its last moments is not saved.
    pub fn restarted(&mut self) {
        self.of.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_figure_that_falls_is_found_until_the_coordinator_is_restarted() {
        let mut grown = Grown::default();
        let run = |executed, work_s| json!({"run": 7, "jobs": {"executed": executed}, "work_s": work_s});
        assert_eq!(grown.check(&run(203, 1.5)), [] as [&str; 0]);
        assert_eq!(grown.check(&run(204, 1.5)), [] as [&str; 0]);
        let fallen = ["run 7: /jobs/executed was 204, and is 203", "run 7: /work_s was 1.5, and is 1.49993"];
        assert_eq!(grown.check(&run(203, 1.49993)), fallen);
        assert_eq!(grown.check(&json!({"run": 8})), [] as [&str; 0], "it is another run");
        grown.restarted();
        assert_eq!(grown.check(&run(1, 0.0)), [] as [&str; 0]);
    }
}
