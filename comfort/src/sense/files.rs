//! Batteries and temperatures from files like those of Linux's `/sys/class`.

use std::fs;
use std::path::{Path, PathBuf};

use super::Battery;
use super::battery::{BatterySource, together};
use super::heat::{HeatSource, hottest};
use crate::preferences::Percent;

/// Batteries in a folder like `/sys/class/power_supply`.
pub struct FileBattery(pub PathBuf);

impl BatterySource for FileBattery {
    fn battery(&mut self) -> Option<Battery> {
        let supplies = fs::read_dir(&self.0).ok()?.flatten().map(|entry| entry.path());
        together(supplies.filter_map(|supply| {
            if word(&supply.join("type"))? != "Battery" {
                return None;
            }
            let charge = word(&supply.join("capacity"))?.parse().ok()?;
            let is_discharging = word(&supply.join("status"))? == "Discharging";
            Some(Battery { is_discharging, charge: Percent::of(charge) })
        }))
    }
}

/// Temperatures in a folder like `/sys/class/hwmon`.
pub struct FileHeat(pub PathBuf);

impl HeatSource for FileHeat {
    fn celsius(&mut self) -> Option<f32> {
        let chips = fs::read_dir(&self.0).ok()?.flatten().map(|entry| entry.path());
        let mut sensors = Vec::new();
        for chip in chips {
            let name = word(&chip.join("name")).unwrap_or_default();
            for entry in fs::read_dir(&chip).into_iter().flatten().flatten() {
                let file = entry.file_name();
                let is_input =
                    file.to_str().is_some_and(|file| file.starts_with("temp") && file.ends_with("_input"));
                let millidegrees = word(&entry.path()).and_then(|text| text.parse::<f32>().ok());
                sensors.extend(
                    millidegrees.filter(|_| is_input).map(|millidegrees| (name.clone(), millidegrees / 1e3)),
                );
            }
        }
        hottest(sensors.iter().map(|(name, celsius)| (name.as_str(), *celsius)))
    }
}

/// A file's text, without spaces at its ends.
pub fn word(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}
