//! Figures that are shown as parts of a whole, rounded so that they add up to it.

use super::columns::seconds;

/// Parts of their sum, in percent; empty if there is nothing to divide.
pub fn percents(parts: &[f64]) -> Vec<String> {
    if parts.iter().sum::<f64>() > 0.0 {
        apportioned(parts, 100).into_iter().map(|part| format!("{part} %")).collect()
    } else {
        vec![String::new(); parts.len()]
    }
}

/// The times that `whole_s` consists of.
pub fn times(whole_s: f64, parts_s: &[f64]) -> Vec<String> {
    let unit_s = unit_of(whole_s);
    // A small part is more exact than the whole.
    if whole_s <= 0.0 || parts_s.iter().any(|part_s| unit_of(*part_s) != unit_s) {
        return parts_s.iter().copied().map(seconds).collect();
    }
    let parts = apportioned(parts_s, (whole_s / unit_s).round() as u64);
    parts.into_iter().map(|part| seconds(part as f64 * unit_s)).collect()
}

/// The unit in which [`seconds`] rounds.
fn unit_of(time_s: f64) -> f64 {
    match time_s {
        s if s < 0.000_999_5 => 1e-6,
        s if s < 0.999_5 => 1e-3,
        s if s < 100.0 => 0.1,
        s if s.round() < 6000.0 => 1.0,
        _ => 360.0,
    }
}

/// `whole` units in proportion to the parts: those with the largest remainders are rounded up.
fn apportioned(parts: &[f64], whole: u64) -> Vec<u64> {
    let sum: f64 = parts.iter().sum();
    let exact = |part: f64| part / sum * whole as f64;
    let mut units: Vec<u64> = parts.iter().map(|part| exact(*part) as u64).collect();
    let mut places: Vec<usize> = (0..parts.len()).collect();
    places.sort_by(|one, other| exact(parts[*other]).fract().total_cmp(&exact(parts[*one]).fract()));
    let missing = whole.saturating_sub(units.iter().sum()) as usize;
    places.into_iter().take(missing).for_each(|place| units[place] += 1);
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares summed to 99 or 101 %, and the work in a result and the lost work to more than all work.
    #[test]
    fn parts_add_up_to_the_whole() {
        assert_eq!(percents(&[0.795, 0.190, 0.015]), ["80 %", "19 %", "1 %"]);
        assert_eq!(percents(&[1.0, 1.0, 1.0]), ["34 %", "33 %", "33 %"]);
        assert_eq!(percents(&[3.0, 0.0, 1.0]), ["75 %", "0 %", "25 %"]);
        assert_eq!((percents(&[0.0]), percents(&[]).len()), (vec![String::new()], 0));
        assert_eq!(times(6.52, &[3.26, 3.26]), ["3.3 s", "3.2 s"]);
        assert_eq!(times(12.0, &[9.0, 3.0]), ["9.0 s", "3.0 s"]);
        assert_eq!(times(200.9, &[100.4, 100.5]), ["1 min 40 s", "1 min 41 s"]);
        assert_eq!(times(6.5, &[6.44, 0.06]), ["6.4 s", "60 ms"]);
        assert_eq!(times(0.0, &[0.0, 0.0]), ["0 s", "0 s"]);
    }
}
