//! The temperature of the processors.

use sysinfo::Components;

/// A source of temperatures.
pub trait HeatSource {
    /// The temperature of the hottest processor, in °C; `None` if none is reported.
    fn celsius(&mut self) -> Option<f32>;
}

/// The sensors that the system reports.
#[derive(Default)]
pub struct Heat {
    components: Option<Components>,
}

impl HeatSource for Heat {
    fn celsius(&mut self) -> Option<f32> {
        match &mut self.components {
            Some(components) => components.refresh(false),
            None => self.components = Components::new_with_refreshed_list().ok(),
        }
        let components = self.components.as_ref()?;
        hottest(components.iter().filter_map(|one| Some((one.label(), one.temperature()?))))
    }
}

/// The hottest processor or, if no sensor is known to be one of a processor, the hottest of all.
pub fn hottest<'a>(sensors: impl Iterator<Item = (&'a str, f32)>) -> Option<f32> {
    /// Parts of the names that the drivers of processors' sensors use.
    const PROCESSORS: [&str; 9] =
        ["coretemp", "k10temp", "zenpower", "cpu", "package", "core ", "tctl", "tdie", "soc"];
    // What a broken sensor reports is outside of this range.
    let sensors = sensors.filter(|(_, celsius)| (-40.0..150.0).contains(celsius));
    let (mut processors, mut all): (Option<f32>, Option<f32>) = (None, None);
    for (label, celsius) in sensors {
        let label = label.to_lowercase();
        all = Some(all.map_or(celsius, |most| most.max(celsius)));
        if PROCESSORS.iter().any(|name| label.contains(name)) {
            processors = Some(processors.map_or(celsius, |most| most.max(celsius)));
        }
    }
    processors.or(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_processor_counts() {
        let sensors = [("nvme Composite", 95.0), ("coretemp Core 0", 61.0), ("coretemp Package id 0", 64.5)];
        assert_eq!(hottest(sensors.into_iter()), Some(64.5));
        assert_eq!(hottest([("acpitz temp1", 40.0), ("temp2", 45.0)].into_iter()), Some(45.0));
        assert_eq!(hottest([("k10temp Tctl", 255.0), ("k10temp Tccd1", -128.0)].into_iter()), None);
        assert_eq!(hottest([("cpu", f32::NAN)].into_iter()), None);
    }
}
