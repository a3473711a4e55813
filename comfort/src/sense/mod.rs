//! What the machine senses.
//!
//! The devices of terminals are read on the caller's thread, as that never blocks. What may block has a thread of its own:
//! the X server, logind, and the sensors of temperature, battery, load and power. These threads read seldom while no guest
//! computes ([`Pace`]).

mod battery;
mod files;
mod heat;
mod load;
#[cfg(target_os = "linux")]
mod logind;
mod pace;
mod power;
mod terminals;
#[cfg(target_os = "linux")]
mod x11;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::preferences::Percent;

pub use battery::{Batteries, BatterySource};
pub use files::{FileBattery, FileHeat};
pub use heat::{Heat, HeatSource};
pub use load::{Load, LoadSource};
pub use pace::Pace;
pub use power::{Power, PowerSource};
pub use terminals::Terminals;

/// Intervals of the sensors' thread, while guests compute and otherwise.
const SENSORS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// What is known of the machine. `None` stands for unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Readings {
    /// Time since the last input of a user.
    pub idle: Option<Duration>,
    /// The battery.
    pub battery: Option<Battery>,
    /// The temperature of the hottest processor, in °C.
    pub temperature_c: Option<f32>,
    /// The load of all programs except this one and its children, in per cent of all processors.
    pub others_load_percent: Option<f32>,
    /// The power that the processors draw, in watts.
    pub watts: Option<f32>,
    /// Bytes that the host has sent and received today.
    pub transferred_bytes: Option<u64>,
}

/// The machine's battery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Battery {
    /// Whether the machine runs on it.
    pub is_discharging: bool,
    /// Its charge.
    pub charge: Percent,
}

/// A source of the time since the last input.
pub trait IdleSource {
    /// Time since the last input that this source knows of; `None` if it knows nothing.
    fn idle(&mut self) -> Option<Duration>;
}

/// Where the machine's files are.
#[derive(Debug, Clone, Default)]
pub struct Place(Option<PathBuf>);

impl Place {
    /// A folder whose `dev`, `proc` and `sys` stand for those of the machine. Without one, it is this machine.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// Whether it is this machine.
    pub fn is_machine(&self) -> bool {
        self.0.is_none()
    }

    /// The path of a file or folder, for example `proc/stat`.
    pub fn at(&self, path: &str) -> PathBuf {
        self.0.as_deref().unwrap_or(Path::new("/")).join(path)
    }
}

/// What other threads have read.
#[derive(Default)]
struct Shared {
    /// Without the time since the last input.
    sensed: Mutex<Readings>,
    /// The moments of the last input by source; `None` while a source knows of none.
    inputs: Mutex<Vec<(&'static str, Option<Instant>)>>,
    /// Why senses are missing.
    missing: Mutex<Vec<String>>,
}

/// A handle with which a thread reports.
#[derive(Clone)]
pub(crate) struct Reporter {
    shared: Arc<Shared>,
    pace: Pace,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Reporter {
    /// The source knows how long ago the last input was. If that is news, the governor is woken.
    pub fn idle(&self, source: &'static str, idle: Option<Duration>) {
        let input = idle.and_then(|idle| Instant::now().checked_sub(idle));
        let mut inputs = self.shared.inputs.lock();
        let known = match inputs.iter_mut().find(|(name, _)| *name == source) {
            Some((_, known)) => std::mem::replace(known, input),
            None => {
                inputs.push((source, input));
                None
            }
        };
        drop(inputs);
        if input > known {
            (self.wake)();
        }
    }

    /// A sense is missing: reported once.
    pub fn missing(&self, why: String) {
        let mut missing = self.shared.missing.lock();
        if !missing.contains(&why) {
            tracing::info!("{why}");
            missing.push(why);
        }
    }

    /// The pace at which to read.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }
}

/// The senses of a machine, as long as this is held.
pub struct Senses {
    terminals: Terminals,
    shared: Arc<Shared>,
    pace: Pace,
}

impl Senses {
    /// Begins to sense. `wake` is called, on any thread, when there is news that cannot wait.
    ///
    /// A thread that cannot be started is a missing sense.
    pub fn start(place: &Place, wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        let shared = Arc::<Shared>::default();
        let pace = Pace::default();
        let reporter = Reporter { shared: shared.clone(), pace: pace.clone(), wake };
        let own = (place.clone(), reporter.clone());
        spawn("sateen-sensors", &reporter, move || sense(&own.0, &own.1));
        #[cfg(target_os = "linux")]
        if place.is_machine() {
            x11::start(&reporter);
            logind::start(&reporter);
        }
        Self { terminals: Terminals::new(place.at("dev")), shared, pace }
    }

    /// Whether guests compute: if so, senses are read often.
    pub fn set_computing(&self, is_computing: bool) {
        self.pace.set(is_computing);
    }

    /// What is known now.
    pub fn readings(&mut self) -> Readings {
        let elsewhere = self.shared.inputs.lock().iter().filter_map(|(_, input)| *input).max();
        let elsewhere = elsewhere.map(|input| input.elapsed());
        let idle = [self.terminals.idle(), elsewhere].into_iter().flatten().min();
        Readings { idle, ..*self.shared.sensed.lock() }
    }

    /// The senses that are missing, each with its reason.
    pub fn missing(&self) -> Vec<String> {
        self.shared.missing.lock().clone()
    }
}

impl Drop for Senses {
    fn drop(&mut self) {
        self.pace.end();
    }
}

/// Starts a thread, or reports that there is none.
pub(crate) fn spawn(name: &'static str, reporter: &Reporter, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = std::thread::Builder::new().name(name.to_owned()).spawn(work) {
        reporter
            .missing(format!("the thread {name} cannot be started ({error}), and what it senses is missing"));
    }
}

/// Reads the sensors until the end.
fn sense(place: &Place, reporter: &Reporter) {
    let (mut batteries, mut heat): (Box<dyn BatterySource>, Box<dyn HeatSource>) = match place.is_machine() {
        true => (Box::new(Batteries::default()), Box::new(Heat::default())),
        false => (
            Box::new(FileBattery(place.at("sys/class/power_supply"))),
            Box::new(FileHeat(place.at("sys/class/hwmon"))),
        ),
    };
    let mut load: Box<dyn LoadSource> = Box::new(Load::new(place.at("proc/stat")));
    let mut power: Box<dyn PowerSource> = Box::new(Power::new(place.at("sys/class/powercap")));
    let mut is_first = true;
    loop {
        let readings = Readings {
            idle: None,
            battery: batteries.battery(),
            temperature_c: heat.celsius(),
            others_load_percent: load.others_percent(),
            watts: power.watts(),
            transferred_bytes: None,
        };
        let before = std::mem::replace(&mut *reporter.shared.sensed.lock(), readings);
        if is_first {
            is_first = false;
            for (is_missing, why) in [
                (readings.battery.is_none(), "this machine has no battery that can be read"),
                (readings.temperature_c.is_none(), "this machine reports no temperature of its processors"),
                (!load.is_known(), "this machine does not report the load of its processors"),
                (
                    !power.is_known(),
                    "this machine does not report the power of its processors, or only to root",
                ),
            ] {
                if is_missing {
                    reporter.missing(why.to_owned());
                }
            }
        }
        if before != readings {
            (reporter.wake)();
        }
        if !reporter.pace.wait(SENSORS.0, SENSORS.1) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::SystemTime;

    use super::*;

    fn until(what: &str, is: impl Fn() -> bool) {
        let since = Instant::now();
        while !is() {
            assert!(since.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn this_machine_is_sensed_and_what_it_lacks_is_reported_once() {
        let mut senses = Senses::start(&Place::default(), Arc::new(|| {}));
        senses.set_computing(true);
        until("load is sensed", || senses.shared.sensed.lock().others_load_percent.is_some());
        let readings = senses.readings();
        assert!(
            readings.others_load_percent.is_some_and(|percent| (0.0..=100.0).contains(&percent)),
            "{readings:?}"
        );
        let missing = senses.missing();
        assert_eq!(
            readings.battery.is_none(),
            missing.iter().any(|why| why.contains("battery")),
            "{missing:?}"
        );
        let mut once = missing.clone();
        once.dedup();
        assert_eq!(once, missing);
    }

    #[test]
    fn a_folder_stands_for_a_machine() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        };
        write("dev/pts/0", "");
        write("sys/class/power_supply/BAT0/type", "Battery\n");
        write("sys/class/power_supply/BAT0/status", "Discharging\n");
        write("sys/class/power_supply/BAT0/capacity", "42\n");
        write("sys/class/hwmon/hwmon0/temp1_input", "96400\n");
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        let touch = |at| {
            let file = File::options().write(true).open(folder.path().join("dev/pts/0")).expect("open");
            file.set_times(FileTimes::new().set_accessed(at)).expect("set");
        };
        touch(hour_ago);
        let woken = Arc::new(AtomicUsize::new(0));
        let wakes = woken.clone();
        let wake = Arc::new(move || {
            wakes.fetch_add(1, SeqCst);
        });
        let mut senses = Senses::start(&Place::new(Some(folder.path().to_owned())), wake);
        until("it is sensed", || woken.load(SeqCst) > 0);
        let readings = senses.readings();
        assert_eq!(readings.battery, Some(Battery { is_discharging: true, charge: Percent::of(42) }));
        assert_eq!(readings.temperature_c, Some(96.4));
        assert!(readings.idle.is_some_and(|idle| (3599..3700).contains(&idle.as_secs())), "{readings:?}");
        touch(SystemTime::now());
        assert!(senses.readings().idle.is_some_and(|idle| idle.as_secs() < 60));
        write("sys/class/power_supply/BAT0/status", "Charging\n");
        // Otherwise it would look in ten seconds.
        senses.set_computing(true);
        until("it is on mains", || {
            senses.shared.sensed.lock().battery.is_some_and(|battery| !battery.is_discharging)
        });
    }

    #[test]
    fn threads_end_with_the_senses() {
        let senses = Senses::start(&Place::new(Some("/nonexistent".into())), Arc::new(|| {}));
        let shared = Arc::downgrade(&senses.shared);
        drop(senses);
        until("no thread is left", || shared.strong_count() == 0);
    }
}
