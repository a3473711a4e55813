//! Preferences, consent, pauses and the service, as the owner of a machine meets them.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::command::{Host, NOBODY, command, run};

/// Not this machine, and nobody either: the addresses are for documentation.
const GRID: &str = "http://192.0.2.7:7700";

fn shown(folder: &Path, words: &[&str]) -> Value {
    let (code, stdout, stderr) = run(folder, &[words, &["config", "show", "--json"]].concat());
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

fn setting<'a>(shown: &'a Value, key: &str) -> &'a Value {
    let all = shown["preferences"].as_array().expect("a list");
    all.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("{key} is not in {shown:#}"))
}

#[test]
fn each_preference_is_shown_with_its_source() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    let plain = shown(&folder, &["--coordinator", GRID]);
    assert!(!folder.exists(), "showing preferences changes nothing");
    let expected = serde_json::json!({ "layer": "default" });
    assert_eq!((&setting(&plain, "idle-after")["source"], &plain["dedicated"]), (&expected, &false.into()));
    assert_eq!(setting(&plain, "share-in-use")["value"], "0");
    assert_eq!(setting(&shown(&folder, &[]), "share-in-use")["value"], "100", "this user's own grid");

    assert_eq!(run(&folder, &["config", "set", "share-idle", "50"]).0, 0);
    let path = run(&folder, &["config", "path"]).1.trim().to_owned();
    assert_eq!(Path::new(&path), folder.join("preferences.toml"));
    let written = fs::read_to_string(&path).expect("it was written");
    fs::write(&path, written.replace("share-idle = 50", "share-idle = 50 # half\nshare-idel = 7"))
        .expect("written");
    let mut words = command(&folder, &["--idle-after", "90s", "config", "show", "--json"]);
    let output =
        words.env("SATEEN_HOURS", "sat-sun").env("SATEEN_WATTS_MAX", "lots").output().expect("it runs");
    let told: Value = serde_json::from_slice(&output.stdout).expect("one object");
    for (key, value, layer) in [
        ("share-idle", "50", "file"),
        ("hours", "sat-sun", "environment"),
        ("watts-max", "off", "default"),
        ("idle-after", "90s", "flag"),
    ] {
        let one = setting(&told, key);
        assert_eq!(
            (one["value"].as_str(), one["source"]["layer"].as_str()),
            (Some(value), Some(layer)),
            "{one}"
        );
    }
    let warnings: Vec<&str> =
        told["warnings"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let [unknown, absurd] = warnings[..] else { panic!("{warnings:?}") };
    assert!(unknown.contains("`share-idel`") && unknown.contains("did you mean `share-idle`?"), "{unknown}");
    assert!(absurd.contains("SATEEN_WATTS_MAX") && absurd.contains("'lots'"), "{absurd}");

    // As text, the sources are in the last column, and comments stay.
    let (code, text, said) = run(&folder, &["config", "show"]);
    let line = text.lines().find(|line| line.starts_with("share-idle ")).unwrap_or_default();
    assert!(code == 0 && line.ends_with(&path) && said.contains("share-idel"), "{text}{said}");
    assert_eq!(run(&folder, &["config", "set", "share_idle", "60"]).0, 0);
    assert!(fs::read_to_string(&path).expect("there").contains("share-idle = 60 # half"));
    assert_eq!(run(&folder, &["config", "set", "share-idle"]).0, 0);
    assert_eq!(setting(&shown(&folder, &[]), "share-idle")["source"]["layer"], "default");
}

#[test]
fn preferences_that_make_no_sense_cost_exit_code_2_if_somebody_types_them() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    for (words, said) in [
        (&["config", "set", "share", "5"][..], "did you mean `share-"),
        (&["config", "set", "share-idle", "half"], "'half' for share-idle"),
        (&["--share-in-use", "101"], "--share-in-use"),
        (&["--hours", "mondays 8-9", "config", "show"], "--hours"),
        (&["join", GRID, "--temperature-max", "5000"], "--temperature-max"),
    ] {
        let (code, stdout, stderr) = run(&folder, words);
        assert_eq!((code, stdout.as_str()), (2, ""), "{words:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.trim_end().lines().count() == 1, "{words:?}: {stderr}");
    }
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("version"), "1\n").expect("written");
    // A newer file is said, and what is known of it counts.
    fs::write(folder.join("preferences.toml"), "version = 7\nshare-idle = 40\nlight = \"dim\"\n")
        .expect("written");
    let told = shown(&folder, &[]);
    assert_eq!(setting(&told, "share-idle")["value"], "40");
    assert!(told["warnings"][0].as_str().is_some_and(|why| why.contains("newer")), "{told:#}");
    let (code, _, said) = run(&folder, &["config", "set", "share-idle", "30"]);
    assert!(code == 2 && said.contains("newer"), "{said}");
    // A file that cannot be understood is not passed over: it may forbid what the defaults allow.
    fs::write(folder.join("preferences.toml"), "share-idle = = 40\n").expect("written");
    let (code, _, said) = run(&folder, &["--coordinator", NOBODY]);
    assert!(code == 2 && said.contains("not valid TOML") && said.contains("preferences.toml"), "{said}");
}

#[test]
fn no_machine_computes_for_strangers_without_consent() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    for words in [&["join", GRID][..], &["--coordinator", GRID]] {
        let output = command(&folder, words).stdin(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        for part in
            [GRID, "no input for 3m", "2G", "pauses on battery", "sateen-host join", "--yes", "--dedicated"]
        {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    assert!(!folder.join("consent.json").exists());
    let (code, _, said) = run(&folder, &["service", "install"]);
    assert!(code == 2 && said.contains("join URL --no-start"), "{said}");

    assert_eq!(run(&folder, &["join", GRID, "--yes", "--no-start"]).0, 0);
    assert!(folder.join("consent.json").exists());
    // The owner is not asked again, and the host knows its grid.
    let mut host = Host::start(&folder, &["--page", "off"]);
    let line = host.line_with("cannot reach the coordinator", 1);
    assert!(line.contains("192.0.2.7"), "{line}");
    drop(host);
    // Preferences that the owner set count as consent; another grid and a higher priority do not.
    assert_eq!(run(&folder, &["config", "set", "share-in-use", "50"]).0, 0);
    let mut host = Host::start(&folder, &["--page", "off"]);
    host.line_with("cannot reach the coordinator", 1);
    drop(host);
    let (code, _, said) = run(&folder, &["--coordinator", "http://192.0.2.8:7700"]);
    assert!(code == 2 && said.contains("you agreed to http://192.0.2.7:7700"), "{said}");
    let (code, _, said) = run(&folder, &["--priority", "normal"]);
    assert!(
        code == 2 && said.contains("the priority of your own programs; you agreed to the lowest"),
        "{said}"
    );
    // A newer program's default that takes more.
    let consent = fs::read_to_string(folder.join("consent.json")).expect("there");
    let less = consent.replace(r#""memory": "2G""#, r#""memory": "1G""#);
    assert_ne!(less, consent);
    fs::write(folder.join("consent.json"), less).expect("written");
    let (code, _, said) = run(&folder, &[]);
    assert!(code == 2 && said.contains("memory would be 2G; you agreed to 1G"), "{said}");
    let mut host = Host::start(&folder, &["--dedicated"]);
    host.line_with("cannot reach the coordinator", 1);
}

#[test]
fn the_owner_is_asked_on_a_terminal() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    for (answer, code, is_kept) in [("n\n", 130, false), ("yes\n", 0, true)] {
        let line = format!(
            "{} --data-dir '{}' join {GRID} --no-start",
            env!("CARGO_BIN_EXE_sateen-host"),
            folder.display()
        );
        let mut script = Command::new("script");
        script
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let Ok(mut child) = script.spawn() else {
            eprintln!("not tried: there is no `script`, which makes a terminal");
            return;
        };
        let mut stdin = child.stdin.take().expect("piped");
        std::io::Write::write_all(&mut stdin, answer.as_bytes()).expect("written");
        let output = child.wait_with_output().expect("it ends");
        drop(stdin);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Do you agree? [y/N]"), "{said}");
        assert_eq!(
            (output.status.code(), folder.join("consent.json").exists()),
            (Some(code), is_kept),
            "{said}"
        );
    }
}

/// A folder that stands for a machine.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().expect("a folder"));
        machine.touch(Duration::from_secs(3600));
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn touch(&self, ago: Duration) {
        self.write("dev/pts/0", "");
        let file = File::options().write(true).open(self.0.path().join("dev/pts/0")).expect("open");
        file.set_times(FileTimes::new().set_accessed(SystemTime::now() - ago)).expect("set");
    }

    fn battery(&self, status: &str) {
        self.write("sys/class/power_supply/BAT0/type", "Battery");
        self.write("sys/class/power_supply/BAT0/capacity", "80");
        self.write("sys/class/power_supply/BAT0/status", status);
    }
}

/// Waits until the host's state has this text, and returns its line.
fn await_state(folder: &Path, text: &str) -> String {
    let state =
        |status: &str| status.lines().find(|line| line.starts_with("state ")).unwrap_or_default().to_owned();
    state(&await_status(folder, text, |status| state(status).contains(text)))
}

/// Waits until the host's status is as it should be, and returns it; `what` says what is waited for.
fn await_status(folder: &Path, what: &str, is_right: impl Fn(&str) -> bool) -> String {
    let since = Instant::now();
    loop {
        let (_, status, _) = run(folder, &["status"]);
        if is_right(&status) {
            return status;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "{what:?} does not come: {status}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_pause_has_its_reason_in_the_status() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    let machine = Machine::new();
    let stands = machine.0.path().display().to_string();
    let words =
        ["join", NOBODY, "--yes", "--machine", &stands, "--idle-after", "15s", "--hand-over-after", "300ms"];
    let _host = Host::start(&folder, &words);
    await_state(&folder, "takes work");
    machine.touch(Duration::ZERO);
    await_state(&folder, "you are using the machine");
    await_state(&folder, "takes work");
    machine.battery("Discharging");
    // Sensors are read every ten seconds while nothing computes.
    let state = await_state(&folder, "on battery since ");
    let since = state.rsplit(' ').next().unwrap_or_default();
    assert!(since.contains(':') && !since.ends_with('Z'), "the time is the viewer's: {state}");
    // In the end the jobs are given back: the coordinator hears of that pause as of the user's own.
    await_state(&folder, "paused: on battery since ");
    let (code, _, said) = run(&folder, &["resume"]);
    assert!(code == 0 && said.contains("still does not compute: on battery since"), "{said}");
    machine.battery("Charging");
    await_state(&folder, "takes work");
    // His own pause comes first.
    assert_eq!(run(&folder, &["pause"]).0, 0);
    await_state(&folder, "paused by you");
    machine.battery("Discharging");
    std::thread::sleep(Duration::from_millis(300));
    await_state(&folder, "paused by you");
    assert_eq!(run(&folder, &["leave"]).0, 0);
}

#[test]
fn hours_and_missing_senses_are_reported() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    let machine = Machine::new();
    let stands = machine.0.path().display().to_string();
    let _host = Host::start(&folder, &["--coordinator", NOBODY, "--machine", &stands, "--hours", "never"]);
    await_state(&folder, "paused: `hours` allows no time");
    // Each sense reports when it has looked.
    await_status(&folder, "senses", |text| text.contains("\nsenses    ") && text.contains("no battery"));
    let (_, json, _) = run(&folder, &["status", "--json"]);
    let status: Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(
        (&status["comfort"]["phase"], &status["comfort"]["share_percent"]),
        (&"hands_over".into(), &0.into())
    );
}

#[test]
fn services_are_printed_for_each_system() {
    let folder = tempfile::tempdir().expect("a folder");
    for (system, text) in [
        ("systemd", "ExecStart=\""),
        ("launchd", "<key>ProgramArguments</key>"),
        ("windows", "Register-ScheduledTask"),
    ] {
        let (code, stdout, _) = run(folder.path(), &["service", "show", "--system", system]);
        assert!(
            code == 0 && stdout.contains(text) && stdout.contains(&*folder.path().to_string_lossy()),
            "{stdout}"
        );
    }
}

/// `systemctl` is a script that notes what it is asked, as a user's systemd is not here in all tests.
#[test]
fn a_service_is_installed_and_removed_by_systemctl() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("data");
    assert_eq!(run(&folder, &["join", GRID, "--yes", "--no-start"]).0, 0);
    let bin = home.path().join("bin");
    fs::create_dir(&bin).expect("made");
    let asked = home.path().join("asked");
    let service = |words: &[&str]| {
        let output = command(&folder, &[&["service"], words].concat())
            .env("PATH", &bin)
            .env("XDG_CONFIG_HOME", home.path().join("config"))
            .output()
            .expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = service(&["install"]);
    assert!(code == Some(4) && said.contains("no `systemctl`") && said.contains("service show"), "{said}");
    let systemctl = |body: &str| {
        let text = format!("#!/bin/sh\necho \"$*\" >> '{}'\n{body}\n", asked.display());
        fs::write(bin.join("systemctl"), text).expect("written");
        fs::set_permissions(bin.join("systemctl"), fs::Permissions::from_mode(0o755)).expect("ours");
    };
    let unit = home.path().join("config/systemd/user/sateen-host.service");
    // A user without a session: nothing is left behind.
    systemctl("[ \"$2\" = --version ] || { echo 'Failed to connect to bus' >&2; exit 1; }");
    let (code, said) = service(&["install"]);
    assert!(
        code == Some(4) && said.contains("Failed to connect to bus") && said.contains("loginctl"),
        "{said}"
    );
    assert!(!unit.exists());
    systemctl("");
    fs::write(&asked, "").expect("written");
    let (code, said) = service(&["install"]);
    assert!(code == Some(0) && said.contains(&*unit.to_string_lossy()), "{said}");
    let text = fs::read_to_string(&unit).expect("it is there");
    assert!(text.contains(&format!("--data-dir \"{}\"", folder.display())), "{text}");
    let (code, _) = service(&["uninstall"]);
    assert!(code == Some(0) && !unit.exists());
    let asked = fs::read_to_string(&asked).expect("there");
    let expected = "--user --version\n--user daemon-reload\n--user enable sateen-host.service\n\
                    --user restart sateen-host.service\n--user disable --now sateen-host.service\n--user daemon-reload\n";
    assert_eq!(asked, expected);
    let (code, said) = service(&["uninstall"]);
    assert!(code == Some(4) && said.contains("no service is installed"), "{said}");
}
