//! The power that the processors draw, from their energy counters (RAPL).

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::files::word;

/// Readings that are closer together say nothing.
const APART_MIN: Duration = Duration::from_millis(200);

/// A source of power.
pub trait PowerSource {
    /// Average power since the last call, in watts; `None` at first, and if it is not known.
    fn watts(&mut self) -> Option<f32>;

    /// Whether the machine reports power.
    fn is_known(&self) -> bool;
}

/// The counters of all processors' packages.
pub struct Power {
    packages: Vec<Package>,
    read: Option<Instant>,
}

struct Package {
    folder: PathBuf,
    /// After this, in microjoules, the counter begins at 0.
    range_uj: u64,
    energy_uj: u64,
}

impl Power {
    /// The counters in a folder like `/sys/class/powercap`.
    pub fn new(folder: PathBuf) -> Self {
        let zones = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let packages = zones.filter_map(|folder| {
            let is_package = word(&folder.join("name"))?.starts_with("package");
            let range_uj = word(&folder.join("max_energy_range_uj"))?.parse().ok()?;
            let energy_uj = word(&folder.join("energy_uj"))?.parse().ok()?;
            is_package.then_some(Package { folder, range_uj, energy_uj })
        });
        Self { packages: packages.collect(), read: None }
    }
}

impl PowerSource for Power {
    fn watts(&mut self) -> Option<f32> {
        let now = Instant::now();
        let apart = self.read.map(|read| now - read);
        if self.packages.is_empty() || apart.is_some_and(|apart| apart < APART_MIN) {
            return None;
        }
        self.read = Some(now);
        let mut used_uj = 0;
        for package in &mut self.packages {
            let energy_uj = word(&package.folder.join("energy_uj"))?.parse().ok()?;
            used_uj += used(package.energy_uj, energy_uj, package.range_uj);
            package.energy_uj = energy_uj;
        }
        Some(used_uj as f32 / 1e6 / apart?.as_secs_f32())
    }

    fn is_known(&self) -> bool {
        !self.packages.is_empty()
    }
}

/// Energy between two readings of a counter.
fn used(before_uj: u64, now_uj: u64, range_uj: u64) -> u64 {
    if now_uj >= before_uj { now_uj - before_uj } else { now_uj + range_uj.saturating_sub(before_uj) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_of_all_packages_is_added() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |zone: &str, file: &str, text: &str| {
            fs::create_dir_all(folder.path().join(zone)).expect("made");
            fs::write(folder.path().join(zone).join(file), text).expect("written");
        };
        for (zone, name) in
            [("intel-rapl:0", "package-0\n"), ("intel-rapl:1", "package-1"), ("intel-rapl:0:0", "core")]
        {
            write(zone, "name", name);
            write(zone, "max_energy_range_uj", "262143328850\n");
            write(zone, "energy_uj", "262143000000\n");
        }
        let mut power = Power::new(folder.path().to_owned());
        assert!(power.is_known() && power.packages.len() == 2);
        assert_eq!(power.watts(), None);
        power.read = Instant::now().checked_sub(Duration::from_secs(10));
        // 100 J more, over the counter's end, and 300 J more.
        write("intel-rapl:0", "energy_uj", "99671150");
        write("intel-rapl:1", "energy_uj", "299671150");
        let watts = power.watts().expect("known");
        assert!((38.0..=40.01).contains(&watts), "{watts}");
        assert_eq!(power.watts(), None, "it was read a moment ago");
        assert!(!Power::new("/nonexistent".into()).is_known());
    }
}
