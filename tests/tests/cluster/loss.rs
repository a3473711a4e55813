//! The exact cost of a host's crash, in jobs, whose number in the whole tree is known.
//!
//! When a run is over, the other hosts have spawned the whole tree except the part whose results they had from the dead
//! host: that part was saved. All other spawns of the dead host were lost. Its counts are those of its last report,
//! which it sends with recorded results, so it may have done a little more, which was lost, too.

use nqueens::Board;
use sateen_tests::cluster::{Cluster, PATIENCE, work_of};
use sateen_tests::random::{Random, seed};
use serde_json::Value;

use crate::answers::{FEW_QUEENS, KNAPSACK, MANY_QUEENS, QUEENS};

/// Maximum loss of a host's finished work by a crash, in seconds, however long it has worked.
const LOSS_S_MAX: f64 = 1.0;
/// How many times each problem is disturbed.
const ROUNDS: usize = 3;

/// An app with many jobs, and their total number.
struct Problem {
    app: &'static str,
    arguments: &'static [&'static str],
    result: String,
    spawned: u64,
}

impl Problem {
    fn new(app: &'static str, arguments: &'static [&'static str]) -> Self {
        let module = sateen_tests::command::app(app).display().to_string();
        let alone = sateen_tests::command::run([&["run", module.as_str(), "--json"], arguments].concat());
        let about = alone.json();
        let spawned = about["jobs"]["spawned"].as_u64().expect("a count");
        let result = format!("{}\n", about["result"].as_str().expect("a text"));
        Self { app, arguments, result, spawned }
    }

    /// As [`Problem::new`], but without solving it.
    fn queens((app, arguments, result): (&'static str, &'static [&'static str], &str)) -> Self {
        Self { app, arguments, result: result.to_owned(), spawned: spawns_of_queens(arguments[0]) }
    }
}

/// The spawns of hosts that satisfy `is_wanted`.
fn spawned(about: &Value, is_wanted: impl Fn(&str) -> bool) -> u64 {
    let hosts = about["by_host"].as_array().into_iter().flatten();
    let wanted = hosts.filter(|host| host["name"].as_str().is_some_and(&is_wanted));
    wanted.filter_map(|host| host["jobs"]["spawned"].as_u64()).sum()
}

/// Kills a host without the root when it has spawned `share` of all jobs.
fn crash(problem: &Problem, share: f64) {
    let mut cluster = Cluster::start(&[("ada", "here"), ("bob", "here"), ("cyd", "there")]);
    let run = cluster.submit(problem.app, problem.arguments);
    let root = cluster.root_host(run);
    let victim = ["cyd", "bob"].into_iter().find(|name| *name != root).expect("three are not one");
    let enough = (problem.spawned as f64 * share) as u64;
    let before = cluster.api().run_until(run, "far enough", PATIENCE, |about| {
        spawned(about, |name| name == victim) >= enough || about["state"] == "done"
    });
    assert_eq!(before["state"], "running", "it was over before it could be disturbed: {before:#}");
    cluster.kill_host(victim);
    let about = cluster.done(run, &problem.result);

    let (dead, dead_s) = (spawned(&about, |name| name == victim), work_of(&about, victim));
    let others = spawned(&about, |name| name != victim);
    let saved = problem.spawned.saturating_sub(others);
    let lost = dead.saturating_sub(saved);
    let lost_s = dead_s * lost as f64 / dead.max(1) as f64;
    let figure = |name: &str| about[name].as_f64().expect("a figure of a run that is over");
    eprintln!(
        "killed after {dead} of {} spawns, {dead_s:.2} s: {saved} saved, {lost} lost, {lost_s:.2} s; \
         told: {:.2} s, of which {:.2} s in the answer, {:.2} s lost; {}",
        problem.spawned,
        figure("work_s"),
        figure("answer_work_s"),
        figure("lost_work_s"),
        about["jobs"]
    );
    assert!(lost_s <= LOSS_S_MAX, "{lost_s:.2} s of {dead_s:.2} s were lost: {about:#}");
    // Published numbers add up.
    let sum_s = figure("answer_work_s") + figure("lost_work_s");
    assert!((sum_s - figure("work_s")).abs() < 1e-3, "{about:#}");
    assert!(figure("lost_work_s") <= LOSS_S_MAX + lost_s, "{lost_s:.2} s were lost: {about:#}");
}

fn crash_at_many_moments(problem: &Problem, seed: u64) {
    let mut random = Random::new(seed);
    for round in 0..ROUNDS {
        // Early, in the middle and late: each of three hosts does about a third.
        let share = 0.03 + 0.08 * round as f64 + 0.08 * random.below(1000) as f64 / 1000.0;
        eprintln!("{} {:?}, at {share:.3}", problem.app, problem.arguments);
        crash(problem, share);
    }
}

#[test]
fn a_crash_loses_little_of_many_queens() {
    crash_at_many_moments(&Problem::queens(QUEENS), seed(1));
}

/// The loss does not grow with the host's work.
#[test]
fn a_crash_after_long_work_loses_no_more() {
    let few = Problem::new(FEW_QUEENS.0, FEW_QUEENS.1);
    assert_eq!(Problem::queens(FEW_QUEENS).spawned, few.spawned, "the spawns are not counted rightly");
    crash(&Problem::queens(MANY_QUEENS), 0.18);
}

/// The number of jobs for `size` queens, which must exceed the rows counted by plain code: the root, and for each board
/// a job for each column of its next row except the first, which only the root spawns as well.
fn spawns_of_queens(size: &str) -> u64 {
    fn below(board: Board) -> u64 {
        let columns = board.free_columns();
        if board.empty_rows() <= nqueens::PLAIN_ROWS || columns == 0 {
            return 0;
        }
        let boards = board.each_free_column().map(|column| below(board.with_queen(column)));
        u64::from(columns.count_ones()) - 1 + boards.sum::<u64>()
    }
    2 + below(Board::empty(size.parse().expect("a number")))
}

#[test]
fn a_crash_loses_little_of_an_irregular_tree() {
    crash_at_many_moments(&Problem::new(KNAPSACK.0, KNAPSACK.1), seed(2));
}
