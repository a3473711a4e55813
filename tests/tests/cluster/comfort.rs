//! A volunteer's host in a grid: short pauses keep its jobs, long ones give them to others, and the coordinator says why.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sateen_tests::cluster::{Cluster, SOON, until};
use serde_json::Value;

const RUN: (&str, &[&str], &str) = ("nqueens", &["16"], "14772512\n");

/// The folder that stands for the volunteer's machine.
fn machine(cluster: &Cluster) -> PathBuf {
    let folder = cluster.folder().join("machine");
    fs::create_dir_all(folder.join("dev/pts")).expect("made");
    touch(&folder, Duration::from_secs(3600));
    folder
}

fn touch(machine: &Path, ago: Duration) {
    let file = File::options().create(true).append(true).open(machine.join("dev/pts/0")).expect("open");
    file.set_times(FileTimes::new().set_accessed(SystemTime::now() - ago)).expect("set");
}

fn volunteer(cluster: &mut Cluster, machine: &Path, more: &[&str]) {
    let folder = machine.display().to_string();
    let url = format!("http://{}", cluster.address());
    let words = ["--machine", &folder, "--share-in-use", "0", "--idle-after", "1h"];
    cluster.start_host_with("volunteer", "here", &url, &[&words, more].concat());
}

fn host(cluster: &Cluster) -> Value {
    let hosts = cluster.api().hosts();
    hosts.into_iter().find(|host| host["name"] == "volunteer").unwrap_or_default()
}

fn says(cluster: &Cluster, field: &str, text: &str) {
    until(&format!("the coordinator says {text:?}"), SOON, || {
        host(cluster)[field].as_str().is_some_and(|why| why.contains(text)).then_some(())
    });
}

#[test]
fn short_pauses_keep_the_jobs_and_cost_no_work() {
    let mut cluster = Cluster::start(&[]);
    let machine = machine(&cluster);
    volunteer(&mut cluster, &machine, &[]);
    cluster.await_hosts(1);
    let run = cluster.submit(RUN.0, RUN.1);
    for _ in 0..5 {
        until("it computes", SOON, || (host(&cluster)["busy"].as_u64() > Some(0)).then_some(()));
        touch(&machine, Duration::ZERO);
        says(&cluster, "why_idle", "paused for a moment: somebody uses the machine");
        assert!(host(&cluster)["paused"].is_null());
        let status = cluster.tell_host("volunteer", &["status"]);
        assert!(
            status.text().contains("paused, its jobs wait here: you are using the machine"),
            "{status:?}"
        );
        // It stands still: it may have some time for its own business.
        let used = || cluster.host_status("volunteer")["processor_s"].as_f64().expect("it is reported");
        let before = used();
        std::thread::sleep(Duration::from_millis(500));
        assert!(used() - before < 0.25, "{before} to {}", used());
        touch(&machine, Duration::from_secs(7200));
    }
    let about = cluster.done(run, RUN.2);
    let jobs = &about["jobs"];
    assert_eq!(
        [&jobs["lost"], &jobs["redone"], &jobs["given_back"]].map(Value::as_u64),
        [Some(0); 3],
        "{jobs}"
    );
}

#[test]
fn a_long_pause_hands_the_jobs_to_other_hosts() {
    let mut cluster = Cluster::start(&[("other", "here")]);
    let machine = machine(&cluster);
    volunteer(&mut cluster, &machine, &["--hand-over-after", "500ms"]);
    cluster.await_hosts(2);
    let run = cluster.submit("nqueens", &["15"]);
    cluster.await_work(run, &["volunteer", "other"], 0.3);
    touch(&machine, Duration::ZERO);
    says(&cluster, "paused", "somebody uses the machine");
    let shown = cluster.sateen(["hosts"]);
    assert!(shown.text().contains("paused: somebody uses the machine"), "{shown:?}");
    let about = cluster.done(run, "2279184\n");
    assert!(about["jobs"]["lost"].as_u64().is_some(), "{about:#}");
    touch(&machine, Duration::from_secs(7200));
    until("it works again", SOON, || host(&cluster)["paused"].is_null().then_some(()));
}

fn set(cluster: &Cluster, key: &str, value: &str) {
    let ended = cluster.tell_host("volunteer", &["config", "set", key, value]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

fn status_says(cluster: &Cluster, words: &str) {
    until(&format!("its status says {words:?}"), SOON, || {
        cluster.tell_host("volunteer", &["status"]).text().contains(words).then_some(())
    });
}

#[test]
fn a_host_that_runs_goes_by_preferences_that_change() {
    let mut cluster = Cluster::start(&[]);
    let machine = machine(&cluster);
    volunteer(&mut cluster, &machine, &[]);
    cluster.await_hosts(1);
    let run = cluster.submit(RUN.0, RUN.1);
    cluster.await_work(run, &["volunteer"], 0.2);
    set(&cluster, "hours", "never");
    says(&cluster, "paused", "`hours` allows no time");
    set(&cluster, "hours", "always");
    until("it works again", SOON, || host(&cluster)["paused"].is_null().then_some(()));
    set(&cluster, "disk", "1G");
    status_says(&cluster, "takes effect at the next start: disk 1G");
    let app = cluster.api().run(run)["app"]["hash"].as_str().expect("a hash").to_owned();
    set(&cluster, "apps-refused", &app);
    until("a run under way is refused", SOON, || {
        let about = cluster.sateen(["status".to_owned(), run.to_string()]);
        about.text().contains("apps-refused").then_some(())
    });
    let file = cluster.data_folder("volunteer").join("preferences.toml");
    fs::write(&file, "hours = never\n").expect("written");
    status_says(&cluster, "not valid TOML");
    cluster.start_host("other", "here");
    cluster.done(run, RUN.2);
    let log = cluster.host_log("volunteer");
    assert!(
        log.contains("the file of preferences has changed") && log.contains("stay as they were"),
        "{log}"
    );
}

#[test]
fn a_run_whose_app_is_refused_runs_elsewhere() {
    let mut cluster = Cluster::start(&[]);
    let machine = machine(&cluster);
    volunteer(&mut cluster, &machine, &["--apps-allowed", "00ff00ff"]);
    cluster.await_hosts(1);
    let run = cluster.submit("fib", &["20"]);
    until("it is refused", SOON, || {
        let about = cluster.sateen(["status".to_owned(), run.to_string()]);
        about.text().contains("apps-allowed").then_some(())
    });
    cluster.start_host("other", "here");
    cluster.done(run, "6765\n");
}
