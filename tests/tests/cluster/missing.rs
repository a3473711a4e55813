//! Missing files and silent peers are reported within a bounded time.

use sateen_protocol::limits::RUNS_ACTIVE_MAX;
use sateen_tests::cluster::{Cluster, PATIENCE, SOON};
use sateen_tests::command::app;

/// A file that a run needs is deleted from the coordinator's folder: the run reports what is missing, and continues
/// when it is back.
#[test]
fn a_run_whose_module_and_input_were_deleted_says_so_and_continues_when_they_are_back() {
    let mut cluster = Cluster::start(&[]);
    let file = cluster.folder().join("small.cnf");
    std::fs::write(&file, "p cnf 2 3\n1 2 0\n-1 2 0\n-2 1 0\n").expect("a file can be written");
    let (input, module) = (format!("cnf={}", file.display()), app("sat").display().to_string());
    let submit = |cluster: &Cluster| {
        let ended = cluster.sateen(["submit", &module, "--input", &input]);
        ended.result().trim().parse::<u64>().expect("a number")
    };
    let first = submit(&cluster);
    let blobs = cluster.data_folder("coordinator").join("blobs");
    let hash = cluster.api().run(first)["inputs"]["cnf"].as_str().expect("a hash").to_owned();
    std::fs::remove_file(blobs.join(&hash)).expect("it was there");
    cluster.start_host("ada", "here");
    let about = cluster.api().run_until(first, "one that says what it lacks", SOON, |about| {
        about["waiting_for"].as_str().is_some_and(|why| why.contains("the input \"cnf\""))
    });
    assert!(about["waiting_for"].as_str().is_some_and(|why| why.contains(&hash)), "{about:#}");
    let status = cluster.sateen(["status", &first.to_string()]);
    assert!(status.result().contains("no longer has the input"), "{status:?}");
    // The module is deleted, too; submitting again restores both.
    let app_hash = about["app"]["hash"].as_str().expect("a hash").to_owned();
    std::fs::remove_file(blobs.join(&app_hash)).expect("it was there");
    let by_name = cluster.sateen(["submit", "sat", "--input", &input]);
    by_name.fails_with(2, &["publish it again"]);
    let second = submit(&cluster);
    for run in [second, first] {
        assert_eq!(cluster.api().run_over(run, PATIENCE)["state"], "done");
    }
}

/// Runs that no host can load do not keep their turns: another run ends meanwhile, and they report why they wait.
#[test]
fn runs_that_no_host_can_load_give_way_to_one_that_can_run() {
    let mut cluster = Cluster::start(&[]);
    let file = cluster.folder().join("small.cnf");
    std::fs::write(&file, "p cnf 2 3\n1 2 0\n-1 2 0\n-2 1 0\n").expect("a file can be written");
    let (input, module) = (format!("cnf={}", file.display()), app("sat").display().to_string());
    let submit = |cluster: &Cluster| {
        let ended = cluster.sateen(["submit", &module, "--input", &input]);
        ended.result().trim().parse::<u64>().expect("a number")
    };
    let unable: Vec<u64> = (0..RUNS_ACTIVE_MAX).map(|_| submit(&cluster)).collect();
    let hash = cluster.api().run(unable[0])["inputs"]["cnf"].as_str().expect("a hash").to_owned();
    std::fs::remove_file(cluster.data_folder("coordinator").join("blobs").join(&hash)).expect("it was there");
    let able = cluster.submit("nqueens", &["8"]);
    cluster.start_host("ada", "here");
    cluster.done(able, "92\n");
    for run in &unable {
        let about = cluster.api().run_until(*run, "one that says what it lacks", SOON, |about| {
            about["waiting_for"].as_str().is_some_and(|why| why.contains("the input \"cnf\""))
        });
        assert!(about["waiting_for"].as_str().is_some_and(|why| why.contains(&hash)), "{about:#}");
    }
    // They are tried again when another host joins and the missing file is back.
    let last = submit(&cluster);
    cluster.start_host("bob", "here");
    for run in unable.into_iter().chain([last]) {
        assert_eq!(cluster.api().run_over(run, PATIENCE)["state"], "done");
    }
}

/// A stopped coordinator does not answer, and the commands report that in time.
#[test]
fn commands_do_not_wait_for_ever_for_a_stopped_coordinator() {
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    cluster.host("ada").signal("STOP");
    cluster.coordinator().signal("STOP");
    let (asked, told) = std::thread::scope(|scope| {
        let cluster = &cluster;
        let asked = ["status", "pause", "resume", "leave"]
            .map(|word| scope.spawn(move || (word, cluster.tell_host("ada", &[word]))));
        let told = cluster.sateen(["ps"]);
        (asked.map(|asked| asked.join().expect("it ends")), told)
    });
    cluster.host("ada").signal("CONT");
    cluster.coordinator().signal("CONT");
    for (word, told) in asked {
        assert_eq!(told.code, Some(4), "{word}: {told:?}");
        assert!(told.stderr.contains("no answer within 30 s"), "{word}: {told:?}");
    }
    told.fails_with(4, &["no answer within 30 s"]);
}
