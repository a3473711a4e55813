//! Hundreds of runs that are submitted and cancelled at once.

use std::fs;
use std::time::{Duration, Instant};

use sateen_protocol::limits::RUNS_ACTIVE_MAX;
use sateen_tests::cluster::{Cluster, PATIENCE};
use sateen_tests::guests::of_host;

/// What a host holds at one time.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Processes of guests.
    guests: usize,
    /// Threads, without those of the store: sled starts up to seven when it first has work, and keeps them.
    threads: usize,
    /// Pieces of memory that are mapped, of which a process may have 65,530.
    pieces: usize,
}

impl Held {
    fn by(host: u32) -> Self {
        let of_the_store = |thread: &fs::DirEntry| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with("sled-io-"))
        };
        let threads = fs::read_dir(format!("/proc/{host}/task"))
            .map_or(0, |threads| threads.flatten().filter(|thread| !of_the_store(thread)).count());
        let maps = fs::read_to_string(format!("/proc/{host}/maps")).unwrap_or_default();
        Self { guests: of_host(host).len(), threads, pieces: maps.lines().count() }
    }

    fn max(self, other: Self) -> Self {
        Self {
            guests: self.guests.max(other.guests),
            threads: self.threads.max(other.threads),
            pieces: self.pieces.max(other.pieces),
        }
    }
}

/// Each portion has a process, and threads of its host while it is made and while it is taken down.
#[test]
fn a_host_makes_no_portion_before_earlier_ones_are_gone() {
    const RUNS: usize = 300;
    /// Some more may be made while earlier ones are taken down.
    const PORTIONS: usize = RUNS_ACTIVE_MAX + 2;
    /// One thread makes a portion, and one takes it down. Some others come and go, such as those of the self-test.
    const THREADS_MORE: usize = 2 * PORTIONS + 12;
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let first = cluster.submit("nqueens", &["18"]);
    let app = cluster.api().run(first)["app"]["hash"].as_str().expect("a hash").to_owned();
    let submission = serde_json::json!({"app": app, "arguments": ["18"]}).to_string();
    let mut runs = vec![first];
    for _ in 1..RUNS {
        let (status, run) = cluster.api().post("/api/v1/runs", &submission);
        assert_eq!(status, 201, "{run}");
        runs.push(run["run"].as_u64().expect("its number"));
    }
    std::thread::sleep(Duration::from_secs(1));
    let host = cluster.host_process("ada");
    // Eight runs are under way, which is all that one host has at a time.
    let usual = Held::by(host);
    assert_eq!(usual.guests, RUNS_ACTIVE_MAX);
    let mut most = usual;
    for run in runs {
        let (status, answer) = cluster.api().order(&format!("/api/v1/runs/{run}/cancel"));
        assert!(status == 202 || status == 200, "{answer}");
        most = most.max(Held::by(host));
    }
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        most = most.max(Held::by(host));
    }
    assert!(most.guests <= PORTIONS, "{most:?}, before {usual:?}");
    assert!(most.threads <= usual.threads + THREADS_MORE, "{most:?}, before {usual:?}");
    // A thread has a stack, a guard below it and a heap of two pieces.
    assert!(most.pieces <= usual.pieces + 4 * THREADS_MORE, "{most:?}, before {usual:?}");
    assert!(!cluster.host("ada").has_ended());
    let run = cluster.submit("nqueens", &["8"]);
    assert_eq!(cluster.api().run_over(run, PATIENCE)["state"], "done");
    let last = Held::by(host);
    assert!(last.guests <= 1 && last.threads <= usual.threads + 4, "{last:?}, before {usual:?}");
}
