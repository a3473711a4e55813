//! Reads `/metrics` by the strict rules of the OpenMetrics format.

use std::collections::{BTreeMap, BTreeSet};

/// Samples by name and labels, as written.
pub type Samples = BTreeMap<String, f64>;

/// A scrape.
#[derive(Debug)]
pub struct Scrape {
    /// All samples.
    pub samples: Samples,
}

/// Allowed endings of a name, by the type of its family.
fn suffixes(kind: &str) -> &'static [&'static str] {
    match kind {
        "counter" => &["_total"],
        "gauge" => &[""],
        "histogram" => &["_bucket", "_sum", "_count"],
        "info" => &["_info"],
        other => panic!("a family of the type {other}"),
    }
}

impl Scrape {
    /// Reads a scrape.
    ///
    /// # Panics
    /// When the text breaks a rule.
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
        let (mut types, mut helped) = (BTreeMap::<String, String>::new(), BTreeSet::new());
        let mut samples = Samples::new();
        let mut family = String::new();
        for line in text.lines().take_while(|line| *line != "# EOF") {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap_or_else(|| panic!("no help in {line:?}"));
                assert!(helped.insert(name.to_owned()), "HELP twice: {line}");
                assert!(help.len() > 5 && !help.ends_with(['\n', ' ']), "{line:?}");
                name.clone_into(&mut family);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("no type in {line:?}"));
                assert_eq!(name, family, "TYPE comes right behind its HELP: {line}");
                assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "TYPE twice: {line}");
                assert!(kind != "counter" || !name.ends_with("_total"), "{line}");
            } else if let Some(rest) = line.strip_prefix("# UNIT ") {
                let (name, unit) = rest.split_once(' ').unwrap_or_else(|| panic!("no unit in {line:?}"));
                assert!(name == family && name.ends_with(&format!("_{unit}")), "{line}");
            } else {
                let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value in {line:?}"));
                let name = sample.split('{').next().unwrap_or_default();
                let kind = types.get(&family).unwrap_or_else(|| panic!("{line} has no TYPE before it"));
                let fits = suffixes(kind).iter().any(|suffix| name == format!("{family}{suffix}"));
                assert!(fits, "{line} does not belong to the {kind} {family}");
                assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
                let number: f64 = value.parse().unwrap_or_else(|_| panic!("{line} has no number"));
                assert!(number.is_finite() && number >= 0.0, "{line}");
                assert!(samples.insert(sample.to_owned(), number).is_none(), "twice: {line}");
            }
        }
        let scrape = Self { samples };
        scrape.check_histograms();
        scrape
    }

    /// Checks that buckets grow, and that the last contains everything.
    fn check_histograms(&self) {
        let mut last: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        let mut buckets: Vec<(String, f64, f64)> = Vec::new();
        for (sample, value) in &self.samples {
            let Some((name, labels)) = sample.split_once("_bucket{") else { continue };
            let labels = labels.trim_end_matches('}');
            let (bounds, others): (Vec<&str>, Vec<&str>) =
                labels.split(',').partition(|label| label.starts_with("le="));
            let bound = bounds[0].trim_start_matches("le=").trim_matches('"');
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().expect("a bound") };
            buckets.push((format!("{name}_count{{{}}}", others.join(",")), bound, *value));
        }
        buckets.sort_by(|one, other| (&one.0, one.1).partial_cmp(&(&other.0, other.1)).expect("numbers"));
        for (histogram, bound, value) in buckets {
            let before = last.insert(histogram.clone(), (bound, value));
            assert!(before.is_none_or(|(_, before)| before <= value), "{histogram} falls at {bound}");
        }
        assert!(!last.is_empty(), "there are histograms");
        for (histogram, (bound, value)) in last {
            assert!(bound.is_infinite(), "{histogram} has no bucket without a bound");
            assert_eq!(self.samples.get(&histogram), Some(&value), "{histogram}");
        }
    }

    /// The sum of all samples with a name, and with these labels if any are given.
    #[track_caller]
    pub fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let of_name = self.samples.iter().filter(|(sample, _)| sample.split('{').next() == Some(name));
        let found: Vec<f64> = of_name
            .filter(|(sample, _)| labels.iter().all(|label| sample.contains(label)))
            .map(|(_, value)| *value)
            .collect();
        assert!(!found.is_empty(), "there is no {name} {labels:?}");
        found.iter().sum()
    }

    /// All names of samples.
    pub fn names(&self) -> BTreeSet<String> {
        self.samples.keys().map(|sample| sample.split('{').next().unwrap_or_default().to_owned()).collect()
    }

    /// All samples that must only grow.
    pub fn counters(&self) -> Samples {
        let is_counter = |sample: &str| {
            let name = sample.split('{').next().unwrap_or_default();
            ["_total", "_bucket", "_count", "_sum"].iter().any(|suffix| name.ends_with(suffix))
        };
        self.samples.iter().filter(|(sample, _)| is_counter(sample)).map(|(k, v)| (k.clone(), *v)).collect()
    }
}

#[test]
#[should_panic(expected = "twice")]
fn a_repeated_sample_is_found() {
    Scrape::parse("# HELP a_b The words.\n# TYPE a_b gauge\na_b 1\na_b 1\n# EOF\n");
}

#[test]
#[should_panic(expected = "does not belong")]
fn a_counter_without_its_ending_is_found() {
    Scrape::parse("# HELP a_b The words.\n# TYPE a_b counter\na_b 1\n# EOF\n");
}
