//! What the owner of a machine has agreed to. The owner is asked once; again if another coordinator asks, if workers would
//! have a higher priority, or if a new release's defaults would use more. Preferences that the owner set count as consent.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sateen_command_line::refused;
use serde::{Deserialize, Serialize};

use crate::preferences::{KEYS, Key, Limits, Preferences, Resolved, Source, Value};

/// The consent of a machine's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The coordinator for whose grid the machine computes.
    pub coordinator: String,
    /// When the owner agreed, in seconds since 1970.
    pub agreed_s: u64,
    /// The priority of workers at that time. Older releases asked only for the lowest and recorded none.
    #[serde(default)]
    priority: WorkerPriority,
    /// The preferences at that time.
    granted: BTreeMap<String, String>,
}

/// The priority of a host's workers over other programs of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerPriority {
    /// The lowest.
    #[default]
    Idle,
    /// The same as that of other programs.
    Normal,
}

impl WorkerPriority {
    /// The processor time that workers get, for their machine's owner to read.
    fn text(self) -> &'static str {
        match self {
            Self::Idle => "only processor time that no other program wants",
            Self::Normal => "the same as that of your programs, which become slower while the host computes",
        }
    }
}

impl Consent {
    /// The owner agrees to these preferences and this priority.
    pub fn to(coordinator: &str, resolved: &Resolved, priority: WorkerPriority, agreed_s: u64) -> Self {
        let granted =
            resolved.settings().map(|(key, setting)| (key.name.to_owned(), setting.value.to_string()));
        Self { coordinator: coordinator.to_owned(), agreed_s, priority, granted: granted.collect() }
    }

    /// The file in a host's data folder.
    pub fn path(data_folder: &Path) -> PathBuf {
        data_folder.join("consent.json")
    }

    /// What was agreed to, if anything. A file that cannot be read counts as none: the owner is asked again.
    pub fn read(data_folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(Self::path(data_folder)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes it, completely or not at all.
    ///
    /// # Errors
    /// Says why the file cannot be written.
    pub fn save(&self, data_folder: &Path) -> Result<(), String> {
        let path = Self::path(data_folder);
        let written = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(data_folder)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            writeln!(file)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        written().map_err(|error| refused(&path.display().to_string(), &error))
    }

    /// What is asked for beyond this consent, each in a sentence; nothing if it is enough.
    pub fn lacks(&self, coordinator: &str, resolved: &Resolved, priority: WorkerPriority) -> Vec<String> {
        let mut lacking = Vec::new();
        if self.coordinator != coordinator {
            lacking.push(format!("it would compute for {coordinator}; you agreed to {}", self.coordinator));
        }
        if priority > self.priority {
            lacking.push(
                "its workers would have the priority of your own programs; you agreed to the lowest"
                    .to_owned(),
            );
        }
        for (key, setting) in resolved.settings().filter(|(_, setting)| setting.source == Source::Default) {
            // A new key's default must not take anything that was not there before; older programs did without.
            let Some(before) = self.granted.get(key.name).and_then(|text| key.kind.parse(text).ok()) else {
                continue;
            };
            if allows_more(key, &before, &setting.value) {
                let now = match &setting.value {
                    Value::Off => "have no limit".to_owned(),
                    value => format!("be {value}"),
                };
                lacking.push(format!("{} would {now}; you agreed to {before}", key.name));
            }
        }
        lacking
    }
}

/// Whether the new value lets a host use more of the machine than the old one.
fn allows_more(key: &Key, old: &Value, new: &Value) -> bool {
    let is_less_more = matches!(key.name, "battery-min" | "idle-after");
    match (old, new) {
        (Value::Off, _) => false,
        (_, Value::Off) => true,
        (Value::Percent(old), Value::Percent(new)) => {
            if is_less_more {
                new < old
            } else {
                new > old
            }
        }
        (Value::Time(old), Value::Time(new)) => is_less_more && new < old,
        (Value::Number(old), Value::Number(new)) => new > old,
        (Value::Bytes(old), Value::Bytes(new)) => new > old,
        (Value::Switch(old), Value::Switch(new)) => old != new && (*new == (key.name == "on-battery")),
        (Value::Names(old), Value::Names(new)) => match key.name.ends_with("-refused") {
            true => old.iter().any(|name| !new.contains(name)),
            false => !old.is_empty() && (new.is_empty() || new.iter().any(|name| !old.contains(name))),
        },
        (Value::Hours(old), Value::Hours(new)) => !new.are_within(old),
        _ => old != new,
    }
}

/// What a host may use of the machine, for its owner to read before agreeing.
pub fn described(
    coordinator: &str,
    processors: usize,
    resolved: &Resolved,
    priority: WorkerPriority,
) -> String {
    let preferences = resolved.preferences();
    let mut lines = vec![format!("This machine would compute for {coordinator}. It may use:")];
    let mut line = |name: &str, text: String| lines.push(format!("  {name:<12} {text}"));
    line("processors", processors_text(processors, &preferences));
    line("priority", priority.text().to_owned());
    let Limits { memory_bytes, disk_bytes, bandwidth_bytes_s, daily_transfer_bytes, .. } = preferences.limits;
    let size = |bytes: Option<u64>| {
        bytes.map_or_else(|| "no limit".to_owned(), |bytes| Value::Bytes(bytes).to_string())
    };
    line("memory", size(memory_bytes));
    line("disk", size(disk_bytes));
    let network = match (bandwidth_bytes_s, daily_transfer_bytes) {
        (None, None) => "no limit".to_owned(),
        (Some(bytes), None) => format!("{} a second", size(Some(bytes))),
        (None, Some(bytes)) => format!("{} a day", size(Some(bytes))),
        (Some(second), Some(day)) => format!("{} a second, {} a day", size(Some(second)), size(Some(day))),
    };
    line("network", network);
    line("hours", preferences.hours.to_string());
    line(
        "battery",
        match preferences.battery.on_battery {
            true => format!("yes, down to a charge of {}", preferences.battery.battery_min),
            false => "no: it pauses on battery".to_owned(),
        },
    );
    if let Some(celsius) = preferences.machine.temperature_max_c {
        line("heat", format!("it pauses above {celsius} °C"));
    }
    lines.push("Apps come from other people. They run in a sandbox, without access to your files, devices or network.".to_owned());
    lines.push(format!(
        "`sateen-host config show` shows all {} preferences, and `sateen-host config set KEY VALUE` changes one.",
        KEYS.len()
    ));
    lines.join("\n")
}

fn processors_text(processors: usize, preferences: &Preferences) -> String {
    let threads = preferences.limits.threads.map_or(processors, |threads| threads.min(processors));
    let share = &preferences.share;
    let idle = format!("{} of {threads} while nobody uses the machine", share.idle);
    match share.in_use.get() {
        0 => {
            let minutes = Value::Time(share.idle_after);
            format!("{idle} (no input for {minutes}), none while somebody does")
        }
        _ => format!("{idle}, {} while somebody does", share.in_use),
    }
}

#[cfg(test)]
mod tests {
    use super::WorkerPriority::{Idle, Normal};
    use super::*;
    use crate::preferences::{Given, Profile, resolve};

    const GRID: &str = "http://grid.example.org:7700";

    fn resolved(flags: &[(&str, &str)]) -> Resolved {
        let flags = flags.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        resolve(&Given { flags, ..Given::default() }).expect("sound")
    }

    #[test]
    fn a_consent_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Consent::read(folder.path()), None);
        let consent = Consent::to(GRID, &resolved(&[]), Idle, 1_800_000_000);
        consent.save(folder.path()).expect("saved");
        assert_eq!(Consent::read(folder.path()), Some(consent));
        fs::write(Consent::path(folder.path()), "{").expect("written");
        assert_eq!(Consent::read(folder.path()), None);
        let error = Consent::to(GRID, &resolved(&[]), Idle, 0)
            .save(Path::new("/proc/nowhere"))
            .expect_err("no folder");
        assert!(error.contains("/proc/nowhere/consent.json"), "{error}");
    }

    #[test]
    fn more_is_asked_for_only_if_the_owner_has_not_set_it() {
        let consent = Consent::to(GRID, &resolved(&[("share-in-use", "0"), ("memory", "1G")]), Idle, 0);
        assert_eq!(
            consent.lacks(GRID, &resolved(&[("share-in-use", "50"), ("memory", "8G")]), Idle),
            Vec::<String>::new()
        );
        // Another program's defaults.
        let lacking = consent.lacks(
            GRID,
            &resolve(&Given { profile: Profile::Dedicated, ..Given::default() }).expect("sound"),
            Idle,
        );
        let about = |name: &str| lacking.iter().any(|line| line.starts_with(name));
        assert!(about("share-in-use would be 100; you agreed to 0"), "{lacking:?}");
        assert!(about("temperature-max would have no limit; you agreed to"), "{lacking:?}");
        assert!(
            about("on-battery") && about("battery-min") && about("temperature-max") && about("memory"),
            "{lacking:?}"
        );
        assert!(!about("hours") && !about("share-idle"), "{lacking:?}");
        let lacking = consent.lacks("http://other:7700", &resolved(&[]), Idle);
        assert!(lacking[0].contains("http://other:7700") && lacking[0].contains(GRID), "{lacking:?}");
    }

    /// The text promised time that no other program wants also to owners whose host had normal priority.
    #[test]
    fn a_higher_priority_is_described_and_asked_for() {
        let resolved = resolved(&[]);
        let text = described(GRID, 8, &resolved, Normal);
        assert!(
            text.contains("priority     the same as that of your programs") && !text.contains("only"),
            "{text}"
        );
        for (agreed, asked, lacking) in
            [(Idle, Idle, 0), (Idle, Normal, 1), (Normal, Normal, 0), (Normal, Idle, 0)]
        {
            let consent = Consent::to(GRID, &resolved, agreed, 0);
            let says = consent.lacks(GRID, &resolved, asked);
            assert_eq!(says.len(), lacking, "{agreed:?} to {asked:?}: {says:?}");
            assert!(says.iter().all(|line| line.contains("priority")), "{says:?}");
        }
        // The file of an older release.
        let mut file = serde_json::json!(Consent::to(GRID, &resolved, Normal, 0));
        file.as_object_mut().expect("an object").remove("priority").expect("it was there");
        let consent: Consent = serde_json::from_value(file).expect("it is read");
        assert_eq!(consent, Consent::to(GRID, &resolved, Idle, 0));
    }

    #[test]
    fn more_and_less_depend_on_the_key() {
        for (name, old, new, more) in [
            ("share-idle", "50", "51", true),
            ("share-idle", "51", "50", false),
            ("battery-min", "50", "40", true),
            ("idle-after", "3m", "1m", true),
            ("idle-after", "1m", "3m", false),
            ("hand-over-after", "1m", "5m", false),
            ("watts-max", "60", "off", true),
            ("watts-max", "off", "60", false),
            ("memory", "1G", "2G", true),
            ("on-battery", "false", "true", true),
            ("on-battery", "true", "false", false),
            ("require-walls", "true", "false", true),
            ("require-walls", "false", "true", false),
            ("apps-allowed", "ab", "", true),
            ("apps-allowed", "ab", "ab, cd", true),
            ("apps-allowed", "", "ab", false),
            ("apps-refused", "ab", "", true),
            ("apps-refused", "ab", "ab, cd", false),
            ("hours", "mon-fri", "mon-sat", true),
            ("hours", "mon-fri", "mon 8-9", false),
        ] {
            let key = crate::preferences::key_named(name).expect(name);
            let value =
                |text: &str| key.kind.parse(text).unwrap_or_else(|error| panic!("{name} {text}: {error}"));
            assert_eq!(allows_more(key, &value(old), &value(new)), more, "{name}: {old} to {new}");
        }
    }

    #[test]
    fn the_text_names_what_the_host_may_use() {
        let text = described(GRID, 8, &resolved(&[]), Idle);
        for part in [
            GRID,
            "100 % of 8 while nobody uses the machine (no input for 3m), none while somebody does",
            "memory       2G",
            "network      no limit",
            "it pauses on battery",
            "above 85 °C",
            "priority     only processor time that no other program wants\n",
            "config set",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let flags = [
            ("threads", "2"),
            ("share-in-use", "10"),
            ("bandwidth", "1M"),
            ("daily-transfer", "2G"),
            ("on-battery", "yes"),
        ];
        let text = described(GRID, 8, &resolved(&flags), Idle);
        for part in
            ["100 % of 2", "10 % while somebody does", "1M a second, 2G a day", "down to a charge of 50 %"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
