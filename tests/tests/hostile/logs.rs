//! A guest that logs endlessly fills neither memory nor the log, and does not delay the run's end.

use std::fs;

use sateen_tests::cluster::{Cluster, count};
use sateen_tests::memory::peak_mib;
use sateen_tests::wat::{app_with, bytes};

/// Far below the total size of its lines, a gigabyte and a half.
const HOST_MIB_MAX: u64 = 400;
const COORDINATOR_MIB_MAX: u64 = 250;
/// Maximum lines kept of a run's log.
const LINES_MAX: usize = 10_000;
const LOG_BYTES_MAX: usize = 4 << 20;

#[test]
fn a_flood_of_log_lines_fills_nothing() {
    let mut cluster = Cluster::start(&[("ada", "here")]);
    let module = app_with(
        "",
        "(local $n i32) (drop (memory.grow (i32.const 3)))
         (memory.fill (i32.const 65536) (i32.const 120) (i32.const 65536))
         (loop $more
             (call $log (i32.const 65536) (i32.const 8000))
             (br_if $more (i32.lt_u
                 (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 200000))))",
    );
    let file = cluster.folder().join("loud.wasm");
    fs::write(&file, bytes(&module)).expect("the folder is ours");
    let runs: Vec<u64> = (0..3).map(|_| cluster.submit_module(&file, &[])).collect();
    for run in &runs {
        let about = cluster.done(*run, "42\n");
        assert_eq!(count(&about, "redone"), 0, "nobody was given up: {about:#}");
        let log = cluster.api().get(&format!("/api/v1/runs/{run}/log"));
        let lines = log["lines"].as_array().cloned().unwrap_or_default();
        let texts: Vec<&str> = lines.iter().filter_map(|line| line["text"].as_str()).collect();
        assert!(!texts.is_empty() && texts.len() <= LINES_MAX, "{} lines", texts.len());
        let length: usize = texts.iter().map(|text| text.len()).sum();
        assert!(length <= LOG_BYTES_MAX, "{length} bytes");
        assert!(
            texts
                .iter()
                .any(|text| text.contains("are left out)") || text.contains("further lines were left out")),
            "what was left out is said"
        );
    }
    let said = cluster.host("ada").log();
    assert!(!said.contains("link to the coordinator broke"), "all else suffers: {said}");
    let (host, coordinator) = (peak_mib(cluster.host_process("ada")), peak_mib(cluster.coordinator().id()));
    eprintln!("peaks: host {host} MiB, coordinator {coordinator} MiB");
    assert!(host <= HOST_MIB_MAX && coordinator <= COORDINATOR_MIB_MAX, "{host}, {coordinator} MiB");
}
