//! The guests of each run are in a process of their own, which may end at any time.

use std::time::{Duration, Instant};

use sateen_tests::cluster::{Cluster, PATIENCE, SOON, count, until};
use sateen_tests::guests::{has_ended, of_host, processor_time, signal};
use sateen_tests::random::{Random, seed};
use serde_json::Value;

use crate::answers::{FIB, LONG_FIB, MANY_QUEENS, QUEENS};

/// The processes of the guests of a host, when there are this many.
fn guests(cluster: &Cluster, name: &str, count: usize) -> Vec<u32> {
    let host = cluster.host_process(name);
    until(&format!("{count} processes of guests of {name}"), SOON, || {
        let guests = of_host(host);
        (guests.len() == count).then_some(guests)
    })
}

fn is_running(cluster: &Cluster, run: u64) -> bool {
    ["queued", "running"].contains(&cluster.api().run(run)["state"].as_str().unwrap_or_default())
}

#[test]
fn guests_that_are_killed_at_random_cost_no_answer_and_no_host() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let names = ["ada", "bob", "cyd"];
    let hosts = names.map(|name| cluster.host_process(name));
    let runs = [(cluster.submit(FIB.0, FIB.1), FIB.2), (cluster.submit(QUEENS.0, QUEENS.1), QUEENS.2)];
    cluster.await_work(runs[1].0, &names, 0.2);
    let mut random = Random::new(seed(20));
    let mut kills = 0;
    while runs.iter().any(|(run, _)| is_running(&cluster, *run)) {
        let all: Vec<u32> = hosts.iter().flat_map(|host| of_host(*host)).collect();
        if !all.is_empty() && signal(all[random.below(all.len())], "KILL") {
            kills += 1;
        }
        std::thread::sleep(Duration::from_millis(200 + random.below(400) as u64));
    }
    eprintln!("{kills} processes were killed");
    assert!(kills >= 5, "{kills}");
    for (run, answer) in runs {
        cluster.done(run, answer);
    }
    for (name, process) in names.into_iter().zip(hosts) {
        let host = cluster.host(name);
        assert!(!host.has_ended() && host.id() == process, "{name} has ended");
        let log = host.log();
        assert!(!log.contains("panicked") && !log.contains("reborn"), "{name} was disturbed");
    }
    assert_eq!(cluster.api().hosts().len(), 3);
}

#[test]
fn guests_that_are_killed_disturb_no_other_run_of_their_host() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let first = cluster.submit(FIB.0, FIB.1);
    let victim = guests(&cluster, "ada", 1)[0];
    cluster.await_work(first, &["ada"], 0.2);
    let second = cluster.submit(QUEENS.0, QUEENS.1);
    let other = guests(&cluster, "ada", 2)[1];
    cluster.await_work(second, &["ada"], 0.2);
    assert!(signal(victim, "KILL"));
    cluster.done(first, FIB.2);
    let about = cluster.done(second, QUEENS.2);
    let untouched = ["redone", "reused", "lost"].map(|name| count(&about, name));
    assert_eq!(untouched, [0, 0, 0], "{about:#}");
    assert_ne!(victim, other);
}

#[test]
fn guests_end_with_their_host_and_have_nothing_of_it() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let status = cluster.tell_host("ada", &["status"]);
    assert!(status.text().contains("guests    in a process of their own: yes"), "{status:?}");
    let run = cluster.submit(LONG_FIB.0, LONG_FIB.1);
    cluster.await_work(run, &["ada"], 0.2);
    let guests = guests(&cluster, "ada", 1)[0];
    let environment = std::fs::read(format!("/proc/{guests}/environ")).expect("it lives");
    assert!(environment.is_empty(), "{}", String::from_utf8_lossy(&environment));
    let descriptors = std::fs::read_dir(format!("/proc/{guests}/fd")).expect("it lives");
    for descriptor in descriptors.flatten() {
        let target = std::fs::read_link(descriptor.path()).unwrap_or_default().display().to_string();
        let is_known =
            ["socket:", "/dev/null", "/memfd:", "anon_inode:"].iter().any(|known| target.starts_with(known))
                || target.ends_with("/pagemap");
        assert!(is_known, "a descriptor is {target}");
    }
    let adjusted = std::fs::read_to_string(format!("/proc/{guests}/oom_score_adj")).expect("it lives");
    assert_eq!(adjusted.trim(), "1000", "it is the first to go when memory is short");
    // A signal for the whole service is the host's affair.
    assert!(signal(guests, "TERM"));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!has_ended(guests));
    cluster.kill_host("ada");
    until("the guests have ended", SOON, || has_ended(guests).then_some(()));
    cluster.excuse("its only host is gone");
}

/// The system has stopped the host, or a person has: nobody would stop its guests.
#[test]
fn guests_of_a_host_that_is_stopped_stand_still_and_lose_nothing() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada"], 0.2);
    let guests = guests(&cluster, "ada", 1)[0];
    let used = || processor_time(guests).expect("it lives");
    cluster.host("ada").signal("STOP");
    let since = Instant::now();
    std::thread::sleep(Duration::from_secs(3));
    let before = used();
    std::thread::sleep(Duration::from_secs(1));
    let after = used();
    cluster.host("ada").signal("CONT");
    eprintln!("{:?} of {:?} while its host was stopped", after - before, since.elapsed());
    assert!(after - before <= Duration::from_millis(100), "{:?}", after - before);
    let about = cluster.done(run, QUEENS.2);
    let untouched = ["redone", "reused", "lost"].map(|name| count(&about, name));
    assert_eq!(untouched, [0, 0, 0], "{about:#}");
    assert!(has_ended(guests) || of_host(cluster.host_process("ada")) == [guests], "it is the same process");
}

#[test]
fn many_runs_compute_with_as_many_threads_as_the_host_was_given() {
    let cluster = Cluster::start(&[("ada", "here")]);
    let runs: Vec<u64> = (0..5).map(|_| cluster.submit(MANY_QUEENS.0, MANY_QUEENS.1)).collect();
    for run in &runs {
        cluster.await_work(*run, &["ada"], 0.1);
    }
    let guests = guests(&cluster, "ada", 5);
    let times = || -> Vec<Duration> {
        guests.iter().map(|guests| processor_time(*guests).expect("it lives")).collect()
    };
    let (before, since) = (times(), Instant::now());
    std::thread::sleep(Duration::from_secs(4));
    let (after, passed) = (times(), since.elapsed());
    let each: Vec<f64> =
        after.iter().zip(&before).map(|(after, before)| (*after - *before).as_secs_f64()).collect();
    let all: f64 = each.iter().sum();
    eprintln!("{each:?} s of {passed:?}");
    assert!(all < 1.2 * passed.as_secs_f64(), "{each:?} in {passed:?}");
    assert!(each.iter().all(|one| *one > 0.0), "they take turns: {each:?}");
    for run in runs {
        let ended = cluster.sateen(["cancel".to_owned(), run.to_string()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    until("all processes of guests have ended", SOON, || {
        of_host(cluster.host_process("ada")).is_empty().then_some(())
    });
}

/// As if the engine had a fault with this module: the system reports the same whatever sends the signal.
#[test]
fn a_module_that_ends_its_process_three_times_is_refused_with_the_reason() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let run = cluster.submit(LONG_FIB.0, LONG_FIB.1);
    let mut last = 0;
    for _ in 0..3 {
        let process = until("another process of guests", SOON, || {
            of_host(cluster.host_process("ada")).into_iter().find(|guests| *guests != last)
        });
        // It ends at once, also while it starts.
        assert!(signal(process, "ABRT"));
        until("it has ended", SOON, || has_ended(process).then_some(()));
        last = process;
    }
    let about = cluster.api().run_until(run, "refused by the host", PATIENCE, |about| {
        about["waiting_for"].as_str().is_some_and(|why| why.contains("3 times") && why.contains("SIGABRT"))
    });
    assert_ne!(about["state"], "failed", "another host may run it: {about:#}");
    assert!(of_host(cluster.host_process("ada")).is_empty());
    // Other apps run there, and another host finishes this run.
    let other = cluster.submit(FIB.0, &["20"]);
    assert!(!cluster.host("ada").has_ended());
    let _: Value = cluster.api().run(other);
    cluster.start_host("bob", "here");
    cluster.await_work(run, &["bob"], 0.1);
    let cancelled = cluster.sateen(["cancel".to_owned(), run.to_string()]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
}
