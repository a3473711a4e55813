//! The coordinator is killed, or shut down in order.

use sateen_tests::cluster::{Cluster, PATIENCE, SOON, count, until, work_of};
use sateen_tests::command::app;

use crate::answers::{FEW_QUEENS, FIB, QUEENS};

#[test]
fn a_run_outlives_its_coordinator() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let over = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
    cluster.done(over, FEW_QUEENS.2);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.2);
    for _ in 0..2 {
        cluster.kill_coordinator();
        cluster.start_coordinator();
        cluster.await_hosts(3);
    }
    // It has forgotten no app, no run and no result.
    assert_eq!(cluster.api().get("/api/v1/apps")[0]["name"], "nqueens");
    cluster.done(over, FEW_QUEENS.2);
    let about = cluster.done(run, QUEENS.2);
    assert_eq!(about["root_losses"], 0, "its host was there all the time: {about:#}");
    assert_eq!(count(&about, "redone"), 0, "no host was lost: {about:#}");
    assert_eq!(cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1), run + 1, "numbers continue");
}

#[test]
fn a_hosts_work_is_still_counted_after_its_runs() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let runs = [0; 2].map(|_| {
        let run = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
        cluster.done(run, FEW_QUEENS.2)
    });
    let executed = |host: &serde_json::Value| host["jobs"]["executed"].as_u64().expect("a count");
    let sum: u64 =
        (runs.iter()).flat_map(|run| run["by_host"].as_array().expect("hosts")).map(executed).sum();
    assert!(sum > 100, "{runs:#?}");
    let hosts = cluster.api().hosts();
    assert_eq!(hosts.iter().map(executed).sum::<u64>(), sum, "{hosts:#?}");
}

#[test]
fn an_app_names_its_publisher() {
    let mut cluster = Cluster::start_beside_others(&[]);
    let module = app("fib").display().to_string();
    let publish = |cluster: &Cluster, by: &str| cluster.sateen(["publish", module.as_str(), "--by", by]);
    for by in ["Ada L.", "böb <b>&"] {
        assert_eq!(publish(&cluster, by).code, Some(0));
        let about = &cluster.api().get("/api/v1/apps")[0];
        assert_eq!((&about["published_by"], &about["published_from"]), (&by.into(), &"127.0.0.1".into()));
    }
    publish(&cluster, "").fails_with(2, &["a value is required for '--by <WHO>'"]);
    for by in ["two\nlines", &"x".repeat(65)] {
        publish(&cluster, by).fails_with(2, &["the publisher's name must have 1 to 64 bytes on one line"]);
    }
    cluster.kill_coordinator();
    cluster.start_coordinator();
    assert!(cluster.sateen(["apps"]).result().contains("böb <b>&"));
}

/// A killed coordinator forgets at most about the last second of what it has shown: hosts that worked and are gone,
/// losses of the root, the jobs and their hosts.
#[test]
fn a_coordinator_that_is_killed_knows_what_it_has_shown() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let over = cluster.submit(FEW_QUEENS.0, FEW_QUEENS.1);
    cluster.done(over, FEW_QUEENS.2);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob", "cyd"], 0.2);
    let root = cluster.root_host(run);
    cluster.kill_host(&root);
    cluster.api().run_until(run, "one whose root was lost", SOON, |about| about["root_losses"] == 1);
    let show = |cluster: &Cluster| {
        let tree = cluster.sateen(["tree", &run.to_string(), "--json"]).json();
        let jobs: Vec<String> = (tree["nodes"].as_array().expect("nodes").iter())
            .map(|node| format!("{} below {}", node["job"], node["parent"]))
            .collect();
        (cluster.api().run(run), jobs)
    };
    let (about, jobs) = show(&cluster);
    assert!(jobs.len() > 2, "{jobs:?}");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let tree_of_over = cluster.sateen(["tree", &over.to_string()]).result().to_owned();
    cluster.kill_coordinator();
    cluster.start_coordinator();

    let (again, jobs_again) = show(&cluster);
    assert_eq!(jobs_again[..jobs.len()], jobs, "the same jobs, and perhaps more");
    assert_eq!(again["root_losses"], 1, "{again:#}");
    assert_eq!(again["hosts"], 3, "{again:#}");
    for host in about["by_host"].as_array().expect("hosts") {
        let name = host["name"].as_str().expect("a name");
        assert!(work_of(&again, name) >= work_of(&about, name), "{name} in {again:#}");
    }
    assert!(count(&again, "spawned") >= count(&about, "spawned"), "{again:#}");
    assert_eq!(cluster.sateen(["tree", &over.to_string()]).result(), tree_of_over);
    let about = cluster.done(run, QUEENS.2);
    assert_eq!(about["root_losses"], 1, "{about:#}");
}

/// A power cut of two machines: the host of the root and the coordinator go at the same time, and the host never comes
/// back.
#[test]
fn a_host_that_is_lost_with_the_coordinator_is_counted_as_lost() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit(QUEENS.0, QUEENS.1);
    cluster.await_work(run, &["ada", "bob"], 0.3);
    let root = cluster.root_host(run);
    let other = if root == "ada" { "bob" } else { "ada" };
    let since = |cluster: &Cluster| {
        let hosts = cluster.api().hosts();
        let host = hosts.iter().find(|host| host["name"] == other);
        host.map(|host| (host["id"].clone(), host["since"].clone())).expect("it is there")
    };
    let joined = since(&cluster);
    // Its knowledge is saved within a second.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    cluster.kill_coordinator();
    cluster.kill_host(&root);
    cluster.start_coordinator();
    let about =
        cluster.api().run_until(run, "one whose root was lost", SOON, |about| about["root_losses"] == 1);
    assert_eq!(about["hosts"], 2, "{about:#}");
    until("the host is given up", SOON, || {
        (cluster.api().metric("sateen_hosts_gone_total") == 1.0).then_some(())
    });
    assert_eq!(cluster.api().metric("sateen_hosts_joined_total"), 2.0);
    assert_eq!(since(&cluster), joined, "it has joined before the restart");
    let details = cluster.api().get(&format!("/api/v1/runs/{run}/overview"));
    let events = details["events"].as_array().expect("events").iter();
    let lost = |event: &&serde_json::Value| event["kind"] == "host_lost" || event["kind"] == "root_lost";
    let lost: Vec<_> = events.filter(lost).collect();
    let [event, of_root] = lost[..] else { panic!("one host was lost, with the root: {details:#}") };
    assert_eq!((&event["kind"], &of_root["kind"]), (&"host_lost".into(), &"root_lost".into()), "{details:#}");
    assert!(event["text"].as_str().is_some_and(|text| text.contains(&root)), "{event:#}");
    let about = cluster.done(run, QUEENS.2);
    assert_eq!((&about["root_losses"], &about["hosts"]), (&1.into(), &2.into()), "{about:#}");
}

/// Two hosts and one job: the host that looks for work all the time finds none.
#[test]
fn a_host_that_found_nothing_to_do_has_not_worked_on_a_run() {
    let cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit_module(sateen_tests::probe::module_path(), &["--function", "loop_for_ever"]);
    let about = cluster.api().run_until(run, "one that both have loaded", SOON, |about| {
        about["by_host"].as_array().is_some_and(|hosts| hosts.len() == 2)
            && work_of(about, "ada") + work_of(about, "bob") > 0.5
    });
    assert_eq!((&about["hosts"], &about["threads"]), (&1.into(), &1.into()), "{about:#}");
    let told = cluster.sateen(["status", &run.to_string()]);
    let words = "1 worked on it, 1 thread; 1 more took part and found nothing to do";
    assert!(told.result().contains(words), "{told:?}");
    assert_eq!(cluster.sateen(["cancel", &run.to_string()]).code, Some(0));
    let about = cluster.api().run_over(run, PATIENCE);
    assert_eq!(about["hosts"], 1, "{about:#}");
}

/// Hosts finish their work without a coordinator, and report it to the next one.
#[test]
fn a_run_that_ends_while_there_is_no_coordinator_is_not_lost() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let run = cluster.submit("nqueens", &["15"]);
    cluster.api().run_until(run, "running", SOON, |about| about["state"] == "running");
    cluster.kill_coordinator();
    // Idle processes use no processor time: both are idle once the run has ended.
    for name in ["ada", "bob"] {
        let id = cluster.host(name).id();
        let mut before = None;
        until("the host has nothing left to do", PATIENCE, || {
            std::thread::sleep(std::time::Duration::from_millis(500));
            let now = processor_ticks(id);
            let rested = before.is_some_and(|before| now - before <= 5);
            before = Some(now);
            rested.then_some(())
        });
    }
    cluster.start_coordinator();
    cluster.done(run, "2279184\n");
}

/// The kernel's processor time of a process, in hundredths of a second.
fn processor_ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[test]
fn a_waiting_command_keeps_waiting() {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here")]);
    let module = app(FIB.0).display().to_string();
    let mut command = cluster.sateen_command(["submit", &module, FIB.1[0], "--wait"]);
    let waiting = command.spawn().expect("it can be started");
    let run = until("the run is there", SOON, || cluster.api().get("/api/v1/runs")[0]["run"].as_u64());
    cluster.await_work(run, &["ada", "bob"], 0.2);
    cluster.kill_coordinator();
    cluster.start_coordinator();
    let output = waiting.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), FIB.2.as_bytes()), "{stderr}");
}

#[test]
fn a_terminated_coordinator_ends_in_order() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let run = cluster.submit(FIB.0, FIB.1);
    cluster.await_work(run, &["ada"], 0.2);
    cluster.coordinator().signal("TERM");
    let status = cluster.coordinator().ended(SOON);
    assert_eq!(status.code(), Some(0));
    cluster.kill_coordinator();
    cluster.start_coordinator();
    cluster.done(run, FIB.2);
}
