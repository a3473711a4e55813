//! Comfort of a volunteer: how exactly a host keeps to its share, how soon guests are off the processor when the user is
//! back, what pauses cost, and what a host without runs takes.
//!
//! The user is a file: the host is given a folder that stands for the machine's `/dev`, and an input is a change of the
//! time at which the terminal in it was last read.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::Cluster;
use sateen_tests::guests;

use crate::figure::Figure;
use crate::grid::{processor_seconds, submit, wait};
use crate::measure::Samples;
use crate::parts::Part;

const BENCH: &str = "comfort";
const HOST: &str = "volunteer";
/// Workers of the host.
const THREADS: u32 = 2;
const SHARES: [u32; 3] = [25, 50, 75];
/// Time of a measurement of a share, and of the host without runs.
const MEASURED: Duration = Duration::from_secs(30);
const ROUNDS: usize = 3;
const PAUSES: usize = 100;
/// Time from the last input to the end of a pause.
const IDLE_AFTER: &str = "1s";
/// Age of an input that does not count any more.
const LONG_AGO: Duration = Duration::from_secs(3600);

/// Its parts, each with a host of its own.
pub const PARTS: [Part; 4] = [("shares", shares), ("latency", latency), ("pauses", pauses), ("idle", idle)];

/// A folder that stands for a machine.
struct Machine(PathBuf);

impl Machine {
    fn new(folder: &Path) -> Result<Self> {
        let machine = Self(folder.join("machine"));
        fs::create_dir_all(machine.0.join("dev/pts"))?;
        machine.touch(SystemTime::now() - LONG_AGO)?;
        Ok(machine)
    }

    fn touch(&self, at: SystemTime) -> Result<()> {
        let terminal = File::options().create(true).append(true).open(self.0.join("dev/pts/0"))?;
        Ok(terminal.set_times(FileTimes::new().set_accessed(at))?)
    }
}

/// A grid with one host, whose owner has these preferences.
fn start(preferences: &[&str]) -> Result<(Cluster, Machine)> {
    let mut grid = Cluster::start_to_measure(&[]);
    let machine = Machine::new(grid.folder())?;
    let folder = machine.0.display().to_string();
    let threads = THREADS.to_string();
    let url = format!("http://{}", grid.address());
    // The share is that of an idle machine: others that want the processor would take it from guests of idle priority.
    let words =
        ["--priority", "normal", "--threads", &threads, "--machine", &folder, "--idle-after", IDLE_AFTER];
    grid.start_host_with(HOST, "here", &url, &[&words, preferences].concat());
    grid.await_hosts(1);
    Ok((grid, machine))
}

/// Submits a run that lasts longer than any measurement, and waits until it computes.
fn begin(grid: &Cluster) -> Result<u64> {
    let run = submit(grid, "apps/nqueens.wasm", &["18"])?;
    until("the run computes", || Ok(grid.api().run(run)["jobs"]["spawned"].as_u64() > Some(0)))?;
    Ok(run)
}

fn until(what: &str, mut is: impl FnMut() -> Result<bool>) -> Result<()> {
    let since = Instant::now();
    while !is()? {
        ensure!(since.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn shares() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for share in SHARES {
        let (grid, _machine) = start(&["--share-idle", &share.to_string()])?;
        begin(&grid)?;
        // Compiling is over, and the first turns as well.
        std::thread::sleep(Duration::from_secs(2));
        let mut samples = Vec::new();
        for _ in 0..ROUNDS {
            let (since, before) = (Instant::now(), processor_seconds(&grid, HOST)?);
            std::thread::sleep(MEASURED);
            let used = processor_seconds(&grid, HOST)? - before;
            let had = 100.0 * used / since.elapsed().as_secs_f64() / f64::from(THREADS);
            samples.push((had - f64::from(share)).abs());
        }
        let name = format!("a share of {share} %: how far off over {} s", MEASURED.as_secs());
        let samples: Samples = samples.into_iter().collect();
        figures.push(Figure::ratio(BENCH, name, samples).unit(" points").against("0").goal(3.0, 1.0));
    }
    Ok(figures)
}

/// From an input to the moment after which the processor time of guests does not grow. That is looked at every few
/// milliseconds, which are part of what is measured.
fn latency() -> Result<Vec<Figure>> {
    const INPUTS: usize = 40;
    let (grid, machine) = start(&[])?;
    begin(&grid)?;
    let processes = processes(&grid);
    let mut took_ms = Vec::new();
    for round in 0..INPUTS {
        until("guests compute", || computes(&processes))?;
        std::thread::sleep(Duration::from_micros(1700) * round as u32);
        machine.touch(SystemTime::now())?;
        took_ms.push(stops(&processes)?.as_secs_f64() * 1e3);
        machine.touch(SystemTime::now() - LONG_AGO)?;
    }
    took_ms.sort_by(f64::total_cmp);
    let slow = *took_ms.get(INPUTS * 95 / 100).context("there are rounds")?;
    let figure = |name: &str, samples: Samples| {
        Figure::ratio(BENCH, name, samples).unit(" ms").against("0").goal(100.0, 20.0)
    };
    Ok(vec![
        figure("from the user's input to guests off the processor, median", took_ms.into_iter().collect()),
        figure("the same, 95 of 100", [slow].into_iter().collect()),
    ])
}

/// A host's process and those of its guests.
fn processes(grid: &Cluster) -> Vec<u32> {
    let host = grid.host_process(HOST);
    std::iter::once(host).chain(guests::of_host(host)).collect()
}

/// Time from now until the processor time of a host's processes stays what it is, except for what its other threads take.
fn stops(processes: &[u32]) -> Result<Duration> {
    const STEP: Duration = Duration::from_millis(4);
    /// Time for which it must not grow by more than the rest.
    const WINDOW: Duration = Duration::from_millis(120);
    const REST_NS: u64 = 3_000_000;
    let since = Instant::now();
    let mut samples = vec![(Duration::ZERO, schedule_ns(processes)?)];
    loop {
        std::thread::sleep(STEP);
        let (at, total) = (since.elapsed(), schedule_ns(processes)?);
        samples.push((at, total));
        // What a thread that runs has used is known once it stops.
        let plateau = samples.iter().find(|(_, ns)| ns + REST_NS >= total).map_or(at, |(first, _)| *first);
        if at - plateau >= WINDOW {
            return Ok(plateau);
        }
        ensure!(at < Duration::from_secs(10), "guests compute on and on");
    }
}

fn computes(processes: &[u32]) -> Result<bool> {
    let before = schedule_ns(processes)?;
    std::thread::sleep(Duration::from_millis(50));
    Ok(schedule_ns(processes)?.saturating_sub(before) > 25_000_000)
}

/// Processor time of all threads of these processes, in nanoseconds.
fn schedule_ns(processes: &[u32]) -> Result<u64> {
    let time = |text: String| text.split(' ').next()?.parse::<u64>().ok();
    sum_of_threads(processes, "schedstat", time)
}

/// The sum of what `read` finds in the file `name` of each thread of these processes.
fn sum_of_threads(processes: &[u32], name: &str, read: impl Fn(String) -> Option<u64>) -> Result<u64> {
    let mut sum = 0;
    for process in processes {
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            // A thread may have ended since.
            sum += fs::read_to_string(thread?.path().join(name)).ok().and_then(&read).unwrap_or(0);
        }
    }
    Ok(sum)
}

/// Work that pauses cost: jobs that were lost or redone, and the processor time of a whole run with pauses and without.
fn pauses() -> Result<Vec<Figure>> {
    const RUN: (&str, &[&str], &str) = ("apps/nqueens.wasm", &["15"], "2279184");
    let (grid, machine) = start(&[])?;
    let mut lost = 0;
    let (mut paused, mut plain) = (0, 0.0);
    let mut with_pauses = Vec::new();
    let work = |run: u64| -> Result<f64> {
        grid.api().run(run)["work_s"].as_f64().context("a run that is over has its work")
    };
    let run = submit(&grid, RUN.0, RUN.1)?;
    wait(&grid, run, Some(RUN.2))?;
    plain += work(run)?;
    while paused < PAUSES {
        let run = submit(&grid, RUN.0, RUN.1)?;
        let mut of_this_run = 0;
        while grid.api().run(run)["state"] == "queued" || grid.api().run(run)["state"] == "running" {
            machine.touch(SystemTime::now())?;
            std::thread::sleep(Duration::from_millis(60));
            machine.touch(SystemTime::now() - LONG_AGO)?;
            std::thread::sleep(Duration::from_millis(640));
            of_this_run += 1;
        }
        wait(&grid, run, Some(RUN.2))?;
        let about = grid.api().run(run);
        let jobs = &about["jobs"];
        lost += ["lost", "redone", "given_back"].iter().filter_map(|name| jobs[name].as_u64()).sum::<u64>();
        with_pauses.push(work(run)? / plain);
        paused += of_this_run;
        ensure!(of_this_run > 0, "a run was over before it could be paused");
    }
    Ok(vec![
        Figure::ratio(
            BENCH,
            format!("jobs lost, redone or given back in {PAUSES} pauses"),
            [lost as f64].into_iter().collect(),
        )
        .unit(" jobs")
        .against("0")
        .goal(0.0, 0.0),
        Figure::ratio(BENCH, "work of a run with pauses", with_pauses.into_iter().collect())
            .against("the same without pauses"),
    ])
}

/// What a host takes that has nothing to do.
fn idle() -> Result<Vec<Figure>> {
    let (grid, _machine) = start(&[])?;
    let processes = processes(&grid);
    std::thread::sleep(Duration::from_secs(5));
    let (mut shares, mut wakes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (since, used, switches) = (Instant::now(), schedule_ns(&processes)?, switches(&processes)?);
        std::thread::sleep(MEASURED);
        let elapsed_s = since.elapsed().as_secs_f64();
        shares.push(schedule_ns(&processes)?.saturating_sub(used) as f64 / 1e9 / elapsed_s * 100.0);
        wakes.push((self::switches(&processes)? - switches) as f64 / elapsed_s);
    }
    Ok(vec![
        Figure::ratio(BENCH, "a host without runs: processor", shares.into_iter().collect())
            .unit(" % of one")
            .against("0")
            .goal(0.1, 0.05),
        Figure::ratio(BENCH, "a host without runs: wake-ups", wakes.into_iter().collect())
            .unit(" a second")
            .against("0")
            .goal(5.0, 3.0),
    ])
}

/// How often the threads of these processes have waited for something, and were woken.
fn switches(processes: &[u32]) -> Result<u64> {
    let count = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line?.trim().parse().ok()
    };
    sum_of_threads(processes, "status", count)
}
