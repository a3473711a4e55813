//! A figure: a measurement, its baseline, and the goal that it must reach.

use serde::{Deserialize, Serialize};

use crate::measure::Samples;

/// The direction of improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Lower is better.
    Lower,
    /// Higher is better.
    Higher,
}

/// The bar that a figure must reach, and the aim that it should reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Worse than this is a failure.
    pub bar: f64,
    /// The value to strive for.
    pub aim: f64,
}

/// One figure, with a value for each round.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The benchmark that it comes from.
    pub bench: &'static str,
    /// Its name.
    pub name: String,
    /// Values, round by round.
    pub samples: Samples,
    /// `ratio`, or the unit of the values.
    pub unit: &'static str,
    /// The baseline, measured in the same rounds.
    pub baseline: String,
    /// Absent where a figure is only reported.
    pub goal: Option<Goal>,
    /// The direction of improvement.
    pub better: Better,
}

impl Figure {
    /// A ratio; lower is better.
    pub fn ratio(bench: &'static str, name: impl Into<String>, samples: Samples) -> Self {
        Self {
            bench,
            name: name.into(),
            samples,
            unit: "ratio",
            baseline: String::new(),
            goal: None,
            better: Better::Lower,
        }
    }

    /// Sets another unit.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Makes higher values better.
    pub fn higher(mut self) -> Self {
        self.better = Better::Higher;
        self
    }

    /// Names the baseline.
    pub fn against(mut self, baseline: impl Into<String>) -> Self {
        self.baseline = baseline.into();
        self
    }

    /// Sets the bar and the aim.
    pub fn goal(mut self, bar: f64, aim: f64) -> Self {
        self.goal = Some(Goal { bar, aim });
        self
    }

    /// The figure itself: the median of the rounds.
    pub fn value(&self) -> f64 {
        self.samples.median()
    }
}

/// Formats with three significant digits, or all digits before the point.
pub fn shown(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        let texts = [0.1234, 0.9999, 12.345, 1234.5].map(shown);
        assert_eq!(texts, ["0.123", "1.00", "12.3", "1234"]);
    }
}
