//! A figure: what was measured, against what, and what it must reach.

use serde::{Deserialize, Serialize};

use crate::measure::Samples;

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The less the better.
    Lower,
    /// The more the better.
    Higher,
}

/// What a figure must reach, and what it should.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Worse than this is a failure.
    pub bar: f64,
    /// What to strive for.
    pub aim: f64,
}

/// One figure, with a value for each round.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The benchmark that it comes from.
    pub bench: &'static str,
    /// What it is.
    pub name: String,
    /// Round by round.
    pub samples: Samples,
    /// `ratio`, or what the values are measured in.
    pub unit: &'static str,
    /// What it is set against, measured in the same rounds.
    pub baseline: String,
    /// Absent where a figure is only reported.
    pub goal: Option<Goal>,
    /// Which way is good.
    pub better: Better,
}

impl Figure {
    /// A relation of which less is better.
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

    /// In another unit.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Of which more is better.
    pub fn higher(mut self) -> Self {
        self.better = Better::Higher;
        self
    }

    /// Set against this.
    pub fn against(mut self, baseline: impl Into<String>) -> Self {
        self.baseline = baseline.into();
        self
    }

    /// With something to reach.
    pub fn goal(mut self, bar: f64, aim: f64) -> Self {
        self.goal = Some(Goal { bar, aim });
        self
    }

    /// The figure itself: the median of the rounds.
    pub fn value(&self) -> f64 {
        self.samples.median()
    }
}

/// Three significant digits, or all before the point.
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
