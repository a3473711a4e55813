//! Several runs, failing runs, cancelled runs, and wrong submissions.

use std::thread;
use std::time::{Duration, Instant};

use sateen_tests::cluster::{Cluster, PATIENCE, SOON, until, work_of};
use sateen_tests::command::{app, signal};
use sateen_tests::probe;

use crate::answers::{FIB, KNAPSACK, knapsack};

/// Maximum address space that one run may reserve on a host of one worker, in bytes.
const RESERVED_MAX: u64 = 300 << 30;

#[test]
fn several_runs_share_the_grid() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let first = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(first, &["ada", "bob", "cyd"], 0.2);
    let second = cluster.submit(KNAPSACK.0, KNAPSACK.1);
    // The later run need not wait for the end of the earlier one.
    let both = cluster.api().run_until(second, "one that is worked on", PATIENCE, |about| {
        ["ada", "bob", "cyd"].iter().map(|name| work_of(about, name)).sum::<f64>() > 0.05
    });
    assert_eq!(cluster.api().run(first)["state"], "running", "while this was under way: {both:#}");
    cluster.done(second, knapsack());
    cluster.done(first, FIB.2);
}

/// Each task's last moments were in the answer's work, and in no host's: with many short tasks, the figures were unknown.
#[test]
fn all_work_of_an_undisturbed_run_has_led_to_its_answer() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let module = probe::module_path().display().to_string();
    let words = ["submit", "--function", "coarse_of", &module, "50000"].map(str::to_owned);
    let numbers = (0..2000).map(|number| number.to_string());
    let submitted = cluster.sateen(words.into_iter().chain(numbers).collect::<Vec<_>>());
    let run = submitted.result().trim().parse().expect("a run's number");
    let about = cluster.api().run_over(run, PATIENCE);
    let figure = |name: &str| about[name].as_f64().unwrap_or_else(|| panic!("no {name}: {about:#}"));
    let (work_s, answer_s) = (figure("work_s"), figure("answer_work_s"));
    assert!(answer_s > 0.99 * work_s && figure("span_s") <= answer_s, "{about:#}");
    assert!(figure("lost_work_s") <= 0.01 * work_s, "{about:#}");
}

/// A host with many runs still computes with only the threads that its owner configured.
#[test]
fn five_runs_share_the_one_worker_of_a_host() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let runs: Vec<u64> = (0..5).map(|_| cluster.submit("nqueens", &["20"])).collect();
    for run in &runs {
        cluster.await_work(*run, &["ada"], 0.2);
    }
    let processor_s = || cluster.host_status("ada")["processor_s"].as_f64().expect("it says so");
    let work = |run: &u64| work_of(&cluster.api().run(*run), "ada");
    let (since, before) = (Instant::now(), processor_s());
    let worked: Vec<f64> = runs.iter().map(work).collect();
    // Whole rounds of turns, and several reports of hosts.
    thread::sleep(Duration::from_secs(6));
    let (used, took) = (processor_s() - before, since.elapsed().as_secs_f64());
    assert!(used <= took * 1.2, "one worker used {used} s of processor time in {took} s");
    let did: Vec<f64> = runs.iter().zip(&worked).map(|(run, before)| work(run) - before).collect();
    let (least, most) =
        did.iter().fold((f64::MAX, 0.0_f64), |(least, most), did| (least.min(*did), most.max(*did)));
    assert!(least > 0.0 && most <= 3.0 * least, "the runs' shares are not alike: {did:?}");
    for host in cluster.api().hosts() {
        assert!(host["busy"].as_u64() <= host["threads"].as_u64(), "{host:#}");
    }
    let reserved = address_space_of(&cluster.host_status("ada")["process"]);
    let most = runs.len() as u64 * RESERVED_MAX;
    assert!(reserved < most, "{reserved} bytes of address space are reserved, and {most} would do");
    for run in runs {
        assert_eq!(cluster.sateen(["cancel", &run.to_string()]).code, Some(0));
    }
}

/// The reserved address space of a process, in bytes.
fn address_space_of(process: &serde_json::Value) -> u64 {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(path).expect("the host is there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("the kernel says it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn a_run_is_cancelled() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit("nqueens", &["20"]);
    let number = run.to_string();
    cluster.await_work(run, &["ada", "bob"], 0.1);
    cluster.sateen(["rm", &number]).fails_with(2, &["sateen cancel"]);
    let told = cluster.sateen(["cancel", &number]);
    assert_eq!(told.code, Some(0), "{told:?}");
    cluster.api().run_until(run, "cancelled", SOON, |about| about["state"] == "cancelled");
    cluster.sateen(["wait", &number]).fails_with(130, &["cancelled"]);
    cluster.sateen(["result", &number]).fails_with(130, &["cancelled"]);
    // And its hosts are free for other runs.
    until("nobody is busy", SOON, || {
        cluster.api().hosts().iter().all(|host| host["busy"] == 0).then_some(())
    });
    let next = cluster.submit("nqueens", &["8"]);
    cluster.done(next, "92\n");
    // Deleted runs are gone, and all deletable runs are deleted, even if others were named as well.
    let next = next.to_string();
    let told = cluster.sateen(["rm", &number, "4711", &next]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("there is no run 4711"), "{told:?}");
    assert_eq!(cluster.api().get("/api/v1/runs").as_array().map(Vec::len), Some(0));
}

/// As with `rm`, a command does what is possible, even if unknown runs were named as well.
#[test]
fn one_command_changes_several_runs() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let runs = [(); 2].map(|()| cluster.submit("nqueens", &["20"]));
    let [one, two] = runs.map(|run| run.to_string());
    let in_state = |state: &str| {
        for run in runs {
            cluster.api().run_until(run, state, SOON, |about| about["state"] == state);
        }
    };
    in_state("running");
    let told = cluster.sateen(["suspend", &one, "4711", &two]);
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("there is no run 4711"), "{told:?}");
    in_state("suspended");
    let answer = cluster.sateen(["resume", &one, &two, "--json"]).json();
    let told: Vec<_> = answer.as_array().expect("a list").iter().map(|run| run["run"].as_u64()).collect();
    assert_eq!(told, runs.map(Some));
    in_state("running");
    // For a single run, the answer is that run, as before.
    assert_eq!(cluster.sateen(["suspend", &one, "--json"]).json()["run"], runs[0]);
    let told = cluster.sateen(["cancel", &two, &one]);
    assert_eq!(told.code, Some(0), "{told:?}");
    for run in [&one, &two] {
        assert!(told.stderr.contains(&format!("run {run} is cancelled")), "{told:?}");
    }
    in_state("cancelled");
    cluster.sateen(["cancel"]).fails_with(2, &["<RUN>"]);
}

#[test]
fn an_interrupted_wait_leaves_the_run_going() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let module = app(FIB.0).display().to_string();
    let mut command = cluster.sateen_command(["submit", &module, FIB.1[0], "--wait"]);
    let waiting = command.spawn().expect("it can be started");
    let run = until("the run is there", SOON, || cluster.api().get("/api/v1/runs")[0]["run"].as_u64());
    cluster.await_work(run, &["ada"], 0.2);
    signal(&waiting, "INT");
    let output = waiting.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(130), &b""[..]), "{stderr}");
    assert!(stderr.contains(&format!("sateen wait {run}")), "{stderr}");
    cluster.done(run, FIB.2);
}

#[test]
fn failures_of_apps_are_as_on_one_machine() {
    let cluster = Cluster::start_beside_others(&[("ada", "here"), ("bob", "here")]);
    let module = probe::module_path().display().to_string();
    let submit = |function: &str, more: &[&str]| {
        cluster.sateen([&["submit", module.as_str(), "--function", function, "--wait"], more].concat())
    };
    submit("panic_passes", &["7"]).fails_with(1, &["job `fragile` failed: job 7 is told to fail"]);
    submit("error_text", &["7"]).fails_with(1, &["7 is odd"]);
    submit("trap", &[]).fails_with(1, &["unreachable"]);
    submit("recurse_for_ever", &[]).fails_with(3, &["raise it with --stack"]);
    submit("balanced", &["seven"]).fails_with(2, &["argument `n` is `seven`"]);
    let failed = submit("panic_in_root", &["--json"]);
    let object = failed.json();
    assert_eq!((failed.code, &object["error"]["exit_code"]), (Some(1), &1.into()), "{object}");
    assert_eq!(submit("bytes", &["3"]).stdout, (0..=255).cycle().take(768).collect::<Vec<u8>>());
}

#[test]
fn wrong_submissions_are_reported() {
    let cluster = Cluster::start_beside_others(&[]);
    let module = app("nqueens").display().to_string();
    cluster.sateen(["submit", "nothing", "1"]).fails_with(2, &["no file `nothing`", "is published"]);
    cluster.sateen(["submit", &module, "8", "--function", "nothing"]).fails_with(2, &["nothing"]);
    cluster.sateen(["submit", &module, "eight"]).fails_with(2, &["argument `n` is `eight`"]);
    cluster.sateen(["submit", &module]).fails_with(2, &["argument `n` is missing"]);
    cluster.sateen(["submit", &module, "8", "9"]).fails_with(2, &["the app takes 1 (n: u64)"]);
    assert_eq!(cluster.api().get("/api/v1/runs").as_array().map(Vec::len), Some(0), "none was begun");
    for words in
        [&["status", "99"][..], &["tree", "99"], &["wait", "99"], &["result", "99"], &["cancel", "99"]]
    {
        cluster.sateen(words).fails_with(2, &["99"]);
    }
    // A run that no host can take reports that.
    let run = cluster.submit("nqueens", &["8"]);
    let about = cluster.api().run_until(run, "queued with a reason", SOON, |about| {
        about["waiting_for"].as_str().is_some_and(|why| !why.is_empty())
    });
    assert_eq!(about["state"], "queued", "{about:#}");
    cluster.sateen(["result", &run.to_string()]).fails_with(2, &["has no result yet"]);
}

#[test]
fn inputs_are_sent_with_the_run() {
    let cluster = Cluster::start_beside_others(&[("ada", "here"), ("bob", "there")]);
    let file = cluster.folder().join("small.cnf");
    std::fs::write(&file, "p cnf 2 3\n1 2 0\n-1 2 0\n-2 1 0\n").expect("a file can be written");
    let input = format!("cnf={}", file.display());
    let module = app("sat").display().to_string();
    let alone = sateen_tests::command::run(["run", &module, "--input", &input]);
    let there = cluster.sateen(["submit", &module, "--input", &input, "--wait"]);
    assert_eq!(there.result(), alone.result());
    // Errors in it are reported with the file's name, which hosts do not know.
    std::fs::write(&file, "p cnf 2 1\n1 x 0\n").expect("a file can be written");
    let told = format!("input `cnf` ({}), line 2: `x` where a literal", file.display());
    cluster.sateen(["submit", &module, "--input", &input, "--wait"]).fails_with(2, &[&told]);
}

/// On a grid, reads are not observed; the app's own data shows which inputs it may ask for.
#[test]
fn unused_inputs_are_reported() {
    let cluster = Cluster::start_beside_others(&[("ada", "here")]);
    let file = cluster.folder().join("small.cnf");
    std::fs::write(&file, "p cnf 1 1\n1 0\n").expect("a file can be written");
    let (given, spare) = (format!("cnf={}", file.display()), format!("cmf={}", file.display()));
    let module = app("sat").display().to_string();
    // By its file, and by its name.
    for sat in [module.as_str(), "sat"] {
        let ended = cluster.sateen(["submit", sat, "--input", &given, "--input", &spare, "--wait"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.says_one_line(&["the app names no input `cmf`", "by another name"]);
        assert_eq!(cluster.sateen(["submit", sat, "--input", &given, "--wait"]).stderr, "");
        // With a misspelt input only, the run fails, and names the given input.
        let ended = cluster.sateen(["submit", sat, "--input", &spare, "--wait"]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        for words in ["the app names no input `cmf`", "needs the input `cnf`", "it was given `cmf`"] {
            assert!(ended.stderr.contains(words), "`{words}` is not in {ended:?}");
        }
    }
    // `dat` occurs in what every app may say of its data.
    let nqueens = app("nqueens").display().to_string();
    let dat = format!("dat={}", file.display());
    let ended = cluster.sateen(["submit", &nqueens, "4", "--input", &dat, "--wait"]);
    assert_eq!((ended.code, ended.text()), (Some(0), "2\n"), "{ended:?}");
    ended.says_one_line(&["the app reads no inputs, and was given `dat`"]);
    // Later requests report it as well.
    let run = cluster.sateen(["submit", "sat", "--quiet", "--input", &spare]);
    let run = run.result().trim();
    cluster.sateen(["wait", run, "--quiet"]).fails_with(2, &["needs the input `cnf`", "it was given `cmf`"]);
    cluster.sateen(["result", run]).fails_with(2, &["needs the input `cnf`", "it was given `cmf`"]);
}

/// A run that was submitted without any hosts begins by itself when the first host joins.
#[test]
fn a_run_without_hosts_waits_for_the_first() {
    let mut cluster = Cluster::start_beside_others(&[]);
    let run = cluster.submit("nqueens", &["12"]);
    cluster.start_host("ada", "here");
    let about = cluster.api().run_over(run, Duration::from_secs(30));
    assert_eq!(about["state"], "done", "{about:#}");
}

/// What is shown of a run that is over, and of a grid without runs, is not what was true while it ran.
#[test]
fn no_work_continues_when_the_last_run_is_over() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit("nqueens", &["14"]);
    cluster.api().run_over(run, PATIENCE);
    cluster.kill_host("bob");
    let is_there = |name: &str, about: &serde_json::Value| {
        let hosts = about["by_host"].as_array().expect("hosts");
        hosts.iter().any(|host| host["name"] == name && host["there"] == true)
    };
    let about = cluster.api().run_until(run, "without the host that is gone", PATIENCE, |about| {
        !is_there("bob", about) && about["counted"] == "final"
    });
    assert!(is_there("ada", &about), "{about:#}");
    let since = Instant::now();
    while cluster.api().get("/api/v1/status")["jobs_per_s"] != 0.0 {
        assert!(since.elapsed() < PATIENCE, "{:#}", cluster.api().get("/api/v1/status"));
        thread::sleep(Duration::from_millis(200));
    }
    // An alert has the time at which its reason began, whenever somebody asks.
    cluster.kill_host("ada");
    let waits = cluster.submit("nqueens", &["14"]);
    cluster.api().run_until(waits, "waiting for hosts", PATIENCE, |about| about["waiting_for"].is_string());
    let alert = || {
        let alerts = cluster.api().get("/api/v1/overview")["alerts"].clone();
        let alert = alerts.as_array().and_then(|all| all.iter().find(|alert| alert["run"] == waits)).cloned();
        let alert = alert.expect("an alert about the run that waits");
        (alert["text"].clone(), alert["since"].clone())
    };
    // The reason changes when the host is given up.
    until("the alert stays", PATIENCE, || {
        let first = alert();
        thread::sleep(Duration::from_millis(1500));
        let second = alert();
        (first.0 == second.0).then(|| assert_eq!(first, second))
    });
}
