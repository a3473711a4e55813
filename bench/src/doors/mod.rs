//! A grid under attack: a thousand forged peers misbehave for a minute, while honest users
//! publish an app, submit it and wait for its result.
//!
//! *What the figures include.* Everything runs on one machine. Hosts, which represent volunteers' machines, have the
//! first half of its cores to themselves, with and without the attack. The coordinator and the attackers, which have a
//! lower priority, share the other half. A quarter of the attackers use the honest users' address, as if behind one
//! NAT; each of the others has its own loopback address, so that limits on all addresses together are attacked as well.
//! Memory is that of a process and of its children: hosts compile in a child. A run's time is from the start of `sateen
//! submit`, which publishes a module that no host has, to its result.
//!
//! *What forged peers do not do.* None takes part in a run: attacks by hosts that claim to have loaded its app
//! (`Ready`, and then wrong results or `Failed`) are a matter of trust policies and not of admission.

mod attackers;
mod direct;
mod links;
mod members;
mod memory;
mod requests;
mod submissions;
mod wire;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sateen_tests::cluster::{Cluster, free_address};

use crate::cores::Cores;
use crate::figure::{Figure, shown};
use crate::grid;
use crate::measure::Samples;
use crate::sandbox::dist;
use attackers::{Attackers, Made, Orders, PEERS};
use memory::{Watch, peak_mib};

pub use attackers::{COMMAND, run_here};

const BENCH: &str = "doors";
const HOSTS: [&str; 2] = ["a", "b"];
/// Some ten seconds on two hosts.
const QUEENS: (&str, &str) = ("16", "14772512");
/// Runs without attack.
const ALONE: usize = 3;
/// Minimum duration of the attacks: on a slow machine, they last until some honest runs have ended.
const ATTACK: Duration = Duration::from_secs(60);
/// Number of honest runs that must end, if they take no longer than without attack.
const ATTACKED: u32 = 3;
/// Maximum wait for hosts that never report their last counts.
const FIGURES_WITHIN: Duration = Duration::from_secs(120);
/// Pause before the first honest run, so that all attackers are active.
const BEFORE: Duration = Duration::from_secs(8);
/// Environment variable with the seed of the attackers' random choices.
const SEED: &str = "SATEEN_SEED";

/// Runs the benchmark.
pub fn bench() -> Result<Vec<Figure>> {
    let cores = Cores::divide()?;
    let mut grid = Cluster::start_to_measure(&[]);
    let start = || {
        HOSTS.map(|name| {
            let address = free_address();
            let url = format!("http://{}", grid.address());
            grid.start_host_with(name, "here", &url, &["--direct", &address.to_string()]);
            address
        })
    };
    let hosts = cores.for_hosts(start)?;
    grid.await_hosts(HOSTS.len());
    let processes = [grid.coordinator().id(), grid.host_process(HOSTS[0]), grid.host_process(HOSTS[1])];

    let mut alone = Vec::new();
    for round in 0..=ALONE {
        let took = honest(&grid, &format!("alone {round}"))?;
        eprintln!("doors: a run without attack takes {} s", shown(took));
        // The first also reads the coordinator's folder, and all its pages, for the first time.
        if round > 0 {
            alone.push(took);
        }
    }
    let alone: Samples = alone.into_iter().collect();
    let calm: Vec<f64> = processes.iter().map(|process| peak_mib(*process)).collect::<Result<_>>()?;

    let duration = ATTACK.max(BEFORE + Duration::from_secs_f64(alone.median()) * ATTACKED);
    let (attacked, made, (peak, peaks)) = under_attack(&grid, &hosts, &processes, duration)?;
    for Made { attack, begun, cut_off, .. } in &made {
        eprintln!("doors: {attack}: {begun} times, {cut_off} of them cut off or refused");
    }
    let let_in: Vec<&Made> = made.iter().filter(|made| made.let_in > 0).collect();
    ensure!(let_in.is_empty(), "attacks were let in: {let_in:?}");
    let attacks: u64 = made.iter().map(|made| made.begun).sum();

    let ratio = attacked.iter().map(|took| took / alone.median()).collect::<Samples>();
    let one = |value: f64| [value].into_iter().collect::<Samples>();
    let before = |calm: f64| format!("before the attack, {} MiB", shown(calm));
    Ok(vec![
        Figure::ratio(BENCH, format!("{PEERS} peers attack, time of an honest run"), ratio)
            .against(format!(
                "the run alone, {} s; {attacks} attacks in {} s",
                shown(alone.median()),
                duration.as_secs()
            ))
            .goal(1.5, 1.2),
        Figure::ratio(BENCH, "memory of the coordinator", one(peaks[0]))
            .unit("MiB")
            .against(before(calm[0]))
            .goal(1024.0, 512.0),
        Figure::ratio(BENCH, "memory of the larger host, with its compiler", one(peaks[1].max(peaks[2])))
            .unit("MiB")
            .against(before(calm[1].max(calm[2])))
            .goal(1024.0, 512.0),
        Figure::ratio(BENCH, "memory of coordinator and hosts at one time", one(peak))
            .unit("MiB")
            .against(before(calm.iter().sum())),
    ])
}

/// The peak memory of all processes together, and of each, in MiB.
type Peaks = (f64, Vec<f64>);

/// Runs the attacks, and one honest run after the other. Returns the runs' times, the outcomes of the attacks, and the
/// peak memory of all processes.
fn under_attack(
    grid: &Cluster,
    hosts: &[SocketAddr],
    processes: &[u32],
    duration: Duration,
) -> Result<(Vec<f64>, Vec<Made>, Peaks)> {
    let seed = match std::env::var(SEED) {
        Ok(seed) => seed.parse().with_context(|| format!("{SEED} is not a number"))?,
        Err(_) => std::time::UNIX_EPOCH.elapsed()?.as_nanos() as u64,
    };
    eprintln!("doors: the attackers' seed is {seed}; {SEED}={seed} repeats it");
    let orders = Orders {
        coordinator: grid.address(),
        hosts: hosts.to_vec(),
        blob: upload(grid.address())?,
        seed,
        seconds: duration.as_secs(),
    };
    let watch = Watch::begin(processes.to_vec());
    let used = |process: &u32| grid::process_s(*process);
    let before: Vec<f64> = processes.iter().map(used).collect::<Result<_>>()?;
    let mut attackers = Attackers::start(&orders)?;
    let since = Instant::now();
    thread::sleep(BEFORE);
    let (mut attacked, mut processor_s) = (Vec::new(), 0.0);
    while attacked.is_empty() || since.elapsed() < duration * 3 / 4 {
        let took = honest(grid, &format!("attacked {}", attacked.len()))?;
        let is_attacked = attackers.are_there()?;
        eprintln!(
            "doors: an honest run takes {} s{}",
            shown(took),
            if is_attacked { "" } else { ", and the attack ended before" }
        );
        ensure!(is_attacked || !attacked.is_empty(), "the first run took longer than the attack");
        if is_attacked {
            processor_s = grid::process_s(attackers.id())?;
            attacked.push(took);
        }
    }
    let after: Vec<f64> = processes.iter().map(used).collect::<Result<_>>()?;
    let used: Vec<String> = after.iter().zip(before).map(|(after, before)| shown(after - before)).collect();
    eprintln!(
        "doors: processor time in {} s, in s: attackers {}, coordinator and hosts {}",
        shown(since.elapsed().as_secs_f64()),
        shown(processor_s),
        used.join(", ")
    );
    Ok((attacked, attackers.end()?, watch.end()?))
}

/// Publishes an unknown app, submits it, and waits for its result, which must be right. Returns the time of all
/// that, in seconds.
fn honest(grid: &Cluster, name: &str) -> Result<f64> {
    let module = fresh_module(grid, name)?.display().to_string();
    let since = Instant::now();
    let run = grid::submit(grid, &module, &[QUEENS.0])?;
    let submitted = since.elapsed().as_secs_f64();
    // Hostile hosts never report their last counts, and the result does not wait for them.
    let took = grid::wait_for_answer(grid, run, Some(QUEENS.1))?;
    let all = since.elapsed().as_secs_f64();
    grid.api().run_over(run, FIGURES_WITHIN);
    let figures = since.elapsed().as_secs_f64() - all;
    eprintln!(
        "doors: {name}: submitted in {} s, ran for {} s; its figures came {} s later",
        shown(submitted),
        shown(took),
        shown(figures)
    );
    Ok(all)
}

/// The sample app with another hash: a custom section says `name`.
fn fresh_module(grid: &Cluster, name: &str) -> Result<PathBuf> {
    let mut module = std::fs::read(dist().join("apps/nqueens.wasm"))?;
    module.extend([0, 2 + name.len() as u8, 1, b'x']);
    module.extend(name.as_bytes());
    let file = grid.folder().join(format!("{}.wasm", requests::STOLEN_NAME));
    std::fs::write(&file, module)?;
    Ok(file)
}

/// Uploads a blob, and returns its hash.
fn upload(address: SocketAddr) -> Result<String> {
    let content: Vec<u8> = (0..requests::BLOB_BYTES as u32 / 4).flat_map(u32::to_le_bytes).collect();
    let hash = sateen_protocol::BlobHash::of(&content).to_string();
    let mut stream = TcpStream::connect(address)?;
    let head = format!(
        "PUT /api/v1/blobs/{hash} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&content)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 201"), "the blob was not accepted: {answer}");
    Ok(hash)
}
