//! A host's bound on memory covers all guests of all runs, whatever they do.

use sateen_tests::cluster::{Cluster, PATIENCE};
use sateen_tests::guests::Memory;
use sateen_tests::probe;
use sateen_tests::wat::{app, bytes};

/// Maximum memory of the processes themselves, in addition to their guests.
const OVERHEAD_KIB: u64 = 192 << 10;

/// A cluster of hosts with this many threads and this limit on memory.
fn with_hosts(names: &[&str], threads: &str, memory: &str) -> Cluster {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    for name in names {
        cluster.start_host_with(name, "here", &url, &["--threads", threads, "--memory", memory]);
    }
    cluster.await_hosts(names.len());
    cluster
}

/// Submits runs whose waiting guests hold memory, and checks their results.
fn hoard(cluster: &Cluster, runs: usize, depth: u64, kibibytes: u64) {
    let module = probe::module_path().display().to_string();
    let words = [&depth.to_string(), &kibibytes.to_string()];
    let numbers: Vec<u64> = (0..runs)
        .map(|_| {
            let told = cluster.sateen(
                [
                    &["submit", &module, "--function", "hoard", "--memory", "256M"],
                    &words.map(String::as_str)[..],
                ]
                .concat(),
            );
            told.result().trim().parse().expect("the run's number")
        })
        .collect();
    for run in numbers {
        cluster.done(run, &format!("{}\n", (2 << depth) - 1));
    }
}

#[test]
fn the_guests_of_all_runs_share_one_bound() {
    let cluster = with_hosts(&["ada"], "4", "512M");
    let memory = Memory::of(cluster.host_process("ada"));
    // Each path of a tree takes 128 MiB, and four workers begin dozens of them.
    hoard(&cluster, 4, 7, 16 << 10);
    let peak = memory.peak_kib();
    eprintln!("peak {} MiB", peak >> 10);
    assert!(peak <= (512 << 10) + OVERHEAD_KIB, "{peak} KiB");
}

#[test]
fn results_that_wait_to_be_delivered_count() {
    let cluster = with_hosts(&["ada"], "2", "512M");
    let memory = Memory::of(cluster.host_process("ada"));
    let module = probe::module_path().display().to_string();
    // Eight guests and their results take a gigabyte, and the results being sent as much again.
    let submit = ["submit", &module, "--function", "large_output", "60", "--memory", "256M"];
    let runs: Vec<u64> =
        (0..8).map(|_| cluster.sateen(submit).result().trim().parse().expect("the run's number")).collect();
    for run in runs {
        let about = cluster.api().run_over(run, PATIENCE);
        assert_eq!(about["state"], "done", "{about:#}");
    }
    let peak = memory.peak_kib();
    eprintln!("peak {} MiB", peak >> 10);
    assert!(peak <= (512 << 10) + OVERHEAD_KIB, "{peak} KiB");
}

#[test]
fn hosts_without_room_hand_one_anothers_jobs_back() {
    let cluster = with_hosts(&["ada", "bob"], "2", "300M");
    let memories = ["ada", "bob"].map(|name| (name, Memory::of(cluster.host_process(name))));
    hoard(&cluster, 3, 7, 16 << 10);
    for (name, memory) in memories {
        let peak = memory.peak_kib();
        eprintln!("peak of {name} {} MiB", peak >> 10);
        assert!(peak <= (300 << 10) + OVERHEAD_KIB, "{name}: {peak} KiB");
    }
}

/// Shared objects are not in the memory of any instance. The host has a copy of each, and so has the process of the guests.
#[test]
fn shared_objects_count_whatever_the_run_asks_for() {
    let cluster = with_hosts(&["ada"], "1", "300M");
    let memory = Memory::of(cluster.host_process("ada"));
    let module = cluster.folder().join("sharer.wasm");
    let body =
        "(loop $more (drop (call $share (i32.const 1024) (i32.const 2048) (i32.const 60000))) (br $more))";
    std::fs::write(&module, bytes(&app(body))).expect("the module can be written");
    let submit = |more: &[&str]| {
        let module = module.display().to_string();
        let told = cluster.sateen([&["submit", &module, "--memory", "64M"], more].concat());
        told.result().trim().parse::<u64>().expect("the run's number")
    };
    let asks_for_too_much = submit(&["--max-shared", "151M"]);
    cluster.api().run_until(asks_for_too_much, "refused by the host", PATIENCE, |about| {
        about["waiting_for"]
            .as_str()
            .is_some_and(|why| why.contains("151 MiB of memory for its shared objects"))
    });
    for (more, limit) in [(&[][..], "than 75 MiB"), (&["--max-shared", "150M"], "limit is 157286400;")] {
        let run = submit(more);
        let about = cluster.api().run_over(run, PATIENCE);
        let why = about["error"]["message"].as_str().unwrap_or_default();
        assert!(why.contains("shared objects take") && why.contains(limit), "{about:#}");
    }
    let peak = memory.peak_kib();
    eprintln!("peak {} MiB", peak >> 10);
    assert!(peak <= (300 << 10) + OVERHEAD_KIB, "{peak} KiB");
}
