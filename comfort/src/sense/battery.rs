//! The machine's batteries.

use starship_battery::units::ratio::percent;
use starship_battery::{Manager, State};

use super::Battery;
use crate::preferences::Percent;

/// A source of the battery's state.
pub trait BatterySource {
    /// The battery; `None` if there is none that can be read.
    fn battery(&mut self) -> Option<Battery>;
}

/// The batteries that the system reports.
#[derive(Default)]
pub struct Batteries {
    manager: Option<Manager>,
}

impl BatterySource for Batteries {
    fn battery(&mut self) -> Option<Battery> {
        if self.manager.is_none() {
            self.manager = Manager::new().ok();
        }
        let all = self.manager.as_ref()?.batteries().ok()?;
        let each = all.flatten().map(|one| {
            let charge = one.state_of_charge().get::<percent>().round().clamp(0.0, 100.0) as u8;
            Battery { is_discharging: one.state() == State::Discharging, charge: Percent::of(charge) }
        });
        together(each)
    }
}

/// Several batteries as one: the machine runs on battery if any of them discharges. The fullest one counts, as systems
/// empty them one after another.
pub fn together(each: impl Iterator<Item = Battery>) -> Option<Battery> {
    each.reduce(|one, other| Battery {
        is_discharging: one.is_discharging || other.is_discharging,
        charge: one.charge.max(other.charge),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batteries_are_seen_as_one() {
        let battery = |is_discharging, charge| Battery { is_discharging, charge: Percent::of(charge) };
        assert_eq!(together([].into_iter()), None);
        assert_eq!(together([battery(false, 7), battery(true, 40)].into_iter()), Some(battery(true, 40)));
        assert_eq!(together([battery(false, 90), battery(false, 40)].into_iter()), Some(battery(false, 90)));
    }
}
