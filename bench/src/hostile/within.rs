//! What the system refuses to a process of guests.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sateen_tests::wat::{app, bytes};
use serde_json::{Value, json};

use super::{HOST, clear, guests, start, submit};
use crate::figure::Figure;
use crate::grid::status;

const BENCH: &str = "walls";

/// What a child might try that was taken over, by the words of `sateen-walls-intruder`.
const ATTEMPTS: [(&str, &[&str]); 5] = [
    ("open a file", &["open", "openat", "openat2", "create", "proc_self_mem", "proc_parent_environ"]),
    ("connect", &["socket", "socket_unix", "connect", "bind", "listen", "sendto"]),
    ("fork", &["clone", "clone3", "vfork", "spawn"]),
    ("exec", &["execve", "memfd_execveat", "mmap_exec", "mprotect_exec"]),
    ("ptrace", &["ptrace", "process_vm_readv", "process_vm_writev", "kill_parent", "pidfd_open"]),
];

/// `EPERM` and `ENOSYS`. Other refused attempts kill the process.
const REFUSED: [i32; 2] = [1, 38];

/// Attempts that went through within walls; each goes through without. And the walls around a real process.
pub fn bench() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, words) in ATTEMPTS {
        let through = |more: &[&str]| -> Result<usize> {
            let mut count = 0;
            for word in words {
                count += usize::from(goes_through(&[&[*word], more].concat())?);
            }
            Ok(count)
        };
        let without = through(&["without"])?;
        ensure!(without == words.len(), "{name}: {without} of {words:?} go through without walls");
        let within = through(&[])?;
        figures.push(
            never(format!("ways to {name} that are open to a child within walls"), within as f64, " ways")
                .against(format!("{without} without walls")),
        );
    }
    figures.push(walls()?);
    Ok(figures)
}

fn goes_through(words: &[&str]) -> Result<bool> {
    let program = intruder()?;
    let output = Command::new(&program)
        .args(words)
        .arg(format!("parent={}", std::process::id()))
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{} cannot be started", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let has_walls = said.lines().any(|line| line == "wall filtered system calls: up");
    ensure!(has_walls != words.contains(&"without"), "{words:?}: {said}{:?}", output.status);
    // It says how the attempt failed: by these codes, the system refuses. A socket may find nobody to talk to, and a program
    // that takes its place says nothing.
    let is_refused = |line: &str| REFUSED.iter().any(|code| line == format!("error {code}"));
    Ok(output.status.success() && !said.lines().any(is_refused))
}

/// Built beside this program.
fn intruder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().context("a program is in a folder")?;
    Ok(folder.join(format!("sateen-walls-intruder{}", std::env::consts::EXE_SUFFIX)))
}

/// Walls that are not up around a real process of guests.
fn walls() -> Result<Figure> {
    let grid = start(&[]);
    let run = submit(grid.api(), &bytes(&app("(loop (br 0))")), &json!({}))?;
    let process = guests(&grid);
    let told = status(&grid, HOST)?;
    let lines: Vec<&str> =
        told["guests"]["walls"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let down = lines.iter().filter(|line| !line.ends_with(": up"));
    let down = down.inspect(|line| eprintln!("{BENCH}: {line}")).count();
    let filtered = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let is_filtered = ["Seccomp:\t2", "NoNewPrivs:\t1"].iter().all(|line| filtered.contains(line));
    clear(&grid, run);
    Ok(never(
        format!("walls around a run's process, of {}, that are not up", lines.len()),
        (down + usize::from(!is_filtered || lines.is_empty())) as f64,
        " walls",
    ))
}

/// A number of things that must not happen.
fn never(name: String, count: f64, unit: &'static str) -> Figure {
    Figure { bench: BENCH, ..super::never(name, count, unit) }
}
