//! Checks the files under `ops/` against the programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sateen_tests::cluster::Cluster;
use sateen_tests::root;
use serde_json::Value;

use crate::metrics::scrape;

fn ops(path: &str) -> PathBuf {
    root().join("ops").join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(ops(path)).unwrap_or_else(|error| panic!("ops/{path}: {error}"))
}

/// The metrics that a query names.
fn metrics_of(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("sateen_")).map(ToOwned::to_owned).collect()
}

/// All strings under this name, at any depth.
fn strings_named<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                match value {
                    Value::String(text) if field == name => found.push(text),
                    value => strings_named(value, name, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| strings_named(value, name, found)),
        _ => {}
    }
}

#[test]
fn panels_and_alerts_name_metrics_that_exist() {
    let cluster = Cluster::start(&[]);
    let names = scrape(&cluster).names();
    let dashboard: Value = serde_json::from_str(&read("grafana/sateen.json")).expect("JSON");
    let mut queries = Vec::new();
    strings_named(&dashboard, "expr", &mut queries);
    strings_named(&dashboard, "query", &mut queries);
    assert!(queries.len() > 40, "{queries:?}");
    let rules = read("prometheus/sateen-alerts.yml");
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert!(alerts.len() >= 10, "{rules}");
    let mut shown = BTreeSet::new();
    for query in queries.iter().chain(&alerts) {
        let named = metrics_of(query);
        assert!(!named.is_empty() || query.starts_with("up{") || *query == "prometheus", "{query}");
        for metric in named {
            assert!(names.contains(&metric), "{query} names {metric}, which /metrics has not");
            shown.insert(metric);
        }
    }
    // Every metric must be in a panel or an alert; parts of a histogram, and metrics for joins, suffice.
    let unseen: Vec<&String> = names
        .difference(&shown)
        .filter(|name| !["_sum", "_count"].iter().any(|part| name.ends_with(part)))
        .collect();
    let unseen: Vec<&&String> = unseen
        .iter()
        .filter(|name| {
            !["sateen_jobs_of_ended_runs_total", "sateen_frames_sent_total", "sateen_table_entries"]
                .contains(&name.as_str())
        })
        .collect();
    assert!(unseen.is_empty(), "no panel shows {unseen:?}");
    let mut kinds = Vec::new();
    strings_named(&dashboard, "type", &mut kinds);
    assert!(kinds.iter().filter(|kind| ["timeseries", "stat"].contains(kind)).count() > 20);
}

#[test]
fn each_alert_is_explained() {
    let docs = fs::read_to_string(root().join("docs/operations.md")).expect("the page");
    let rules = read("prometheus/sateen-alerts.yml");
    let alerts: BTreeSet<&str> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let explained: BTreeSet<&str> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .filter(|name| name.starts_with("Sateen"))
        .collect();
    assert_eq!(alerts, explained);
}

/// With Prometheus's own tool.
#[test]
fn prometheus_can_read_its_files() {
    for (check, file) in [("rules", "sateen-alerts.yml"), ("config", "prometheus.yml")] {
        let mut command = Command::new("promtool");
        let output = command.args(["check", check, file]).current_dir(ops("prometheus")).output();
        let Ok(output) = output else {
            eprintln!("not checked: there is no promtool here");
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{file}: {said}");
    }
}

/// The unit, with the program built here instead of the installed one.
fn unit_here(name: &str, program: &str, folder: &Path) -> PathBuf {
    let text = read(&format!("systemd/{name}"));
    let installed = format!("/usr/bin/{program}");
    assert!(text.contains(&format!("ExecStart={installed} ")), "{name}");
    let built = root().join("dist").join(program);
    let unit = folder.join(name);
    fs::write(&unit, text.replace(&installed, &built.display().to_string())).expect("written");
    unit
}

#[test]
fn units_are_sound() {
    let folder = tempfile::tempdir().expect("a folder");
    let units =
        [("sateen-coordinator.service", "sateen-coordinator"), ("sateen-host.service", "sateen-host")];
    for (name, program) in units {
        let unit = unit_here(name, program, folder.path());
        let text = fs::read_to_string(&unit).expect("it was written");
        for wall in
            ["DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=\n"]
        {
            assert!(text.contains(wall), "{name} has no {wall}");
        }
        // Hosts compile guests, so they must be able to run new code.
        let forbids = text.lines().any(|line| line.starts_with("MemoryDenyWriteExecute=yes"));
        assert_eq!(forbids, program == "sateen-coordinator", "{name}");
        let Ok(output) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
            eprintln!("not verified: there is no systemd-analyze here");
            continue;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        // Its complaints about this machine's other units are not this unit's fault.
        let about: Vec<&str> = said.lines().filter(|line| line.contains(name)).collect();
        assert!(about.is_empty(), "{about:?}");
    }
}

/// The flags that a unit passes to its program must exist.
#[test]
fn units_and_images_use_flags_that_exist() {
    let flags_of = |text: &str| -> BTreeSet<String> {
        let lines = text.lines().filter(|line| {
            let line = line.trim();
            ["ExecStart=", "ENTRYPOINT", "CMD"].iter().any(|start| line.starts_with(start))
        });
        let words = lines.flat_map(|line| line.split([' ', '"', ',', '[', ']']));
        words.filter(|word| word.starts_with("--")).map(ToOwned::to_owned).collect()
    };
    for (program, files) in [
        ("sateen-coordinator", ["systemd/sateen-coordinator.service", "container/coordinator.Containerfile"]),
        ("sateen-host", ["systemd/sateen-host.service", "container/host.Containerfile"]),
    ] {
        let output = Command::new(root().join("dist").join(program)).arg("--help").output().expect("it runs");
        let help = String::from_utf8_lossy(&output.stdout).into_owned();
        for file in files {
            let flags = flags_of(&read(file));
            assert!(flags.len() >= 2, "{file}: {flags:?}");
            for flag in flags {
                assert!(help.contains(&flag), "{file} names {flag}, which {program} has not");
            }
        }
    }
}

#[test]
fn images_do_not_run_as_root() {
    for file in ["container/coordinator.Containerfile", "container/host.Containerfile"] {
        let text = read(file);
        let stages: Vec<&str> = text.split("\nFROM ").skip(1).collect();
        assert!(stages.len() >= 2, "{file} builds and runs in one stage");
        let last = stages[stages.len() - 1];
        let user =
            last.lines().find_map(|line| line.strip_prefix("USER ")).unwrap_or_else(|| panic!("{file}"));
        assert!(!user.starts_with("0") && !user.starts_with("root"), "{file}: {user}");
        assert!(last.contains("VOLUME /data") && last.contains("ENTRYPOINT ["), "{file}");
        assert!(!text.contains(":latest"), "{file}");
    }
}
