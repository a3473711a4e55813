//! The figures in the sentences.

pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share.max(0.0))
}

/// A number with as many digits as are worth saying.
pub fn number(value: f64) -> String {
    let text = if value < 0.95 { format!("{value:.2}") } else { format!("{value:.1}") };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub fn time(seconds: f64) -> String {
    time_of(seconds, seconds)
}

/// A part of `whole_s`, as exact as that is written.
pub fn time_of(seconds: f64, whole_s: f64) -> String {
    if whole_s < 99.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.max(0.0) as u64;
    match whole {
        s if s < 60 => format!("{s} s"),
        s if s < 7200 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s / 60 % 60),
    }
}

/// A number of things.
pub fn counted(value: f64, one: &str, several: &str) -> String {
    let number = number(value);
    let noun = if number == "1" { one } else { several };
    format!("{number} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_have_more_digits() {
        assert_eq!(
            [0.0, 0.17, 0.3, 0.96, 1.86, 2.0, 10.0, 100.04].map(number),
            ["0", "0.17", "0.3", "1", "1.9", "2", "10", "100"]
        );
    }

    #[test]
    fn parts_of_a_time_are_as_exact_as_the_whole() {
        assert_eq!(
            [0.3, 99.94, 99.96, 132.6, 7199.0, 9000.0].map(time),
            ["0.3 s", "99.9 s", "1 min 39 s", "2 min 12 s", "119 min 59 s", "2 h 30 min"]
        );
        assert_eq!([35.04, 70.0].map(|part| time_of(part, 80.0)), ["35.0 s", "70.0 s"]);
        assert_eq!([35.04, 70.0].map(|part| time_of(part, 132.6)), ["35 s", "1 min 10 s"]);
    }
}
