//! Grids that are too large for any machine here: hundreds and thousands of hosts, in virtual time.

use anyhow::{Result, ensure};
use sateen_simulator::experiments::{throughput, wide};

use crate::figure::Figure;

/// 5 sites × 115 hosts.
pub fn wide() -> Result<Vec<Figure>> {
    eprintln!("wide: in virtual time");
    let figures = wide::table(1, 120.0, 4_000_000).map(|row| {
        let name =
            format!("efficiency of {} stealing, 5 sites × 115 hosts, 20 ms between sites", row.stealing);
        let figure = Figure::ratio("wide", name, [row.efficiency].into_iter().collect())
            .higher()
            .against(format!("work over {} hosts × time", row.hosts));
        if row.stealing == "ClusterAware" { figure.goal(0.90, 0.97) } else { figure }
    });
    Ok(figures.collect())
}

/// How fast the simulator is.
pub fn simulator() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for hosts in [1_000, 10_000] {
        eprintln!("sim: {hosts} hosts");
        let measured = throughput::measure(1, hosts, 3600, 60);
        ensure!(measured.runs > 0, "no run has ended");
        let name = format!("{hosts} hosts for an hour, host × virtual seconds in a second of one core");
        figures.push(
            Figure::ratio("sim", name, [measured.host_seconds_per_second].into_iter().collect())
                .unit("host s")
                .higher()
                .against(format!("{:.1} s in all, {} runs done", measured.elapsed_s, measured.runs)),
        );
    }
    Ok(figures)
}
