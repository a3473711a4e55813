//! Other load on the machine during a measurement.

use std::fmt;
use std::fs;

/// Processor time since the system's start, in the system's ticks.
pub struct Usage {
    total: u64,
    idle: u64,
    /// Withheld by a hypervisor.
    stolen: u64,
    /// Used by this process and its ended children.
    own: u64,
}

/// Shares of all processor time between two readings, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interference {
    /// Used by others.
    pub others: f64,
    /// Withheld by a hypervisor.
    pub withheld: f64,
}

impl Usage {
    /// The present usage, where the system reports it (Linux).
    pub fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?, &fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// proc(5): `cpu user nice system idle iowait irq softirq steal …`; in a process's line the
    /// fields 14 to 17, counted from 1, are its user and system time and those of its children.
    fn parse(system: &str, process: &str) -> Option<Self> {
        let all: Vec<u64> = (system.lines().next()?.split_ascii_whitespace().skip(1).take(8))
            .map_while(|word| word.parse().ok())
            .collect();
        let [_, _, _, idle, waiting, _, _, stolen] = *all.as_slice() else { return None };
        // The command's name, in parentheses, may contain any characters.
        let (_, fields) = process.rsplit_once(')')?;
        let own =
            (fields.split_ascii_whitespace().skip(11).take(4)).filter_map(|word| word.parse::<u64>().ok());
        Some(Self { total: all.iter().sum(), idle: idle + waiting, stolen, own: own.sum() })
    }

    /// Whether other processes have used enough since then to disturb a measurement. Intervals too short for the
    /// system's ticks count as undisturbed.
    pub fn is_disturbed_since(&self) -> bool {
        const TICKS_MIN: u64 = 50;
        const SHARE_MAX: f64 = 0.05;
        Self::now().is_some_and(|now| {
            let Interference { others, withheld } = now.since(self);
            now.total - self.total >= TICKS_MIN && others + withheld > SHARE_MAX
        })
    }

    /// Other processes' use since `earlier`.
    pub fn since(&self, earlier: &Self) -> Interference {
        let total = (self.total - earlier.total).max(1) as f64;
        let spent = |usage: &Self| usage.idle + usage.stolen + usage.own;
        let accounted = (spent(self) - spent(earlier)) as f64;
        Interference {
            others: (1.0 - accounted / total).max(0.0),
            withheld: (self.stolen - earlier.stolen) as f64 / total,
        }
    }
}

impl fmt::Display for Interference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (others, withheld) = (self.others * 100.0, self.withheld * 100.0);
        write!(
            f,
            "other processes used {others:.1} % of the processors' time, and a hypervisor withheld {withheld:.1} %"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_is_neither_idle_nor_own_is_others() {
        let usage = |system: &str, own: u64| {
            let process = format!("7 (a) b) R 1 1 1 0 -1 0 0 0 0 0 {own} 0 0 0 20 0");
            Usage::parse(&format!("cpu {system}\ncpu0 0\n"), &process).expect("it is well formed")
        };
        let (before, after) = (usage("0 0 0 100 0 0 0 0 0 0", 0), usage("70 0 20 190 0 0 0 20 0 0", 70));
        let interference = after.since(&before);
        assert!((interference.others - 0.1).abs() < 1e-9, "{interference}");
        assert!((interference.withheld - 0.1).abs() < 1e-9, "{interference}");
    }
}
