//! Hosts behind slow links, with results whose transfer takes many times the allowed silence of a host.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use sateen_tests::cluster::{Cluster, PATIENCE, count, until};
use sateen_tests::memory::peak_mib;
use sateen_tests::probe;
use sateen_tests::proxy::Proxy;

const BYTES_PER_SECOND: usize = 1 << 20;
const MEBIBYTES: u64 = 16;

/// Each host is behind its own link, so a result passes two links, whichever host has the root.
#[test]
fn a_large_result_over_a_slow_link_costs_no_host() {
    let mut cluster = Cluster::start_beside_others(&[]);
    let names = ["ada", "bob"];
    let proxies = names.map(|name| {
        let proxy = Proxy::start(cluster.address(), Duration::ZERO);
        proxy.limit(BYTES_PER_SECOND);
        cluster.start_host_with(name, name, &proxy.url(), &["--direct", "off"]);
        proxy
    });
    cluster.await_hosts(names.len());
    let size = MEBIBYTES.to_string();
    let module = probe::module_path();
    let run = cluster.submit_module(module, &["--function", "large_results", "1", &size]);
    let about = cluster.done(run, &format!("{}\n", MEBIBYTES << 20));
    assert!(count(&about, "stolen") > 0, "its result was to travel: {about:#}");
    assert_eq!((count(&about, "redone"), &about["root_losses"]), (0, &0.into()), "{about:#}");
    for name in names {
        let log = cluster.host(name).log();
        assert!(!log.contains("given this host up") && !log.contains("refused"), "{log}");
        assert!(!cluster.host(name).has_ended(), "{name} is there still");
    }
    drop(proxies);
}

/// All reported reasons for which the run waits, until it is over.
fn watch(cluster: &Cluster, run: u64) -> BTreeSet<String> {
    let mut said = BTreeSet::new();
    until("the run is over", PATIENCE, || {
        let about = cluster.api().get(&format!("/api/v1/runs/{run}"));
        said.extend(about["held_up_by"]["text"].as_str().map(str::to_owned));
        std::thread::sleep(Duration::from_millis(200));
        about["ended_at"].is_string().then_some(())
    });
    said
}

/// Two hundred clients request an answer of 32 MiB and read almost none of it, and one reads it.
#[test]
fn a_large_answer_that_many_do_not_read_does_not_fill_memory() {
    const MEBIBYTES: usize = 32;
    const DEAF: usize = 200;
    /// One copy is decoded; a few more would exceed this.
    const MEMORY_MIB_MAX: u64 = 400;
    let mut cluster = Cluster::start_beside_others(&[("ada", "here")]);
    let size = MEBIBYTES.to_string();
    let run = cluster.submit_module(probe::module_path(), &["--function", "large_output", &size]);
    assert_eq!(cluster.api().run_over(run, PATIENCE)["state"], "done");
    let ask = format!("GET /api/v1/runs/{run}/result HTTP/1.1\r\nHost: {}\r\n\r\n", cluster.address());
    let mut deaf: Vec<TcpStream> = (0..DEAF)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(cluster.address()).ok()?;
            stream.write_all(ask.as_bytes()).ok()?;
            Some(stream)
        })
        .collect();
    let mut begun = 0;
    for stream in &mut deaf {
        stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a socket");
        begun += usize::from(stream.read(&mut [0; 64]).is_ok_and(|bytes| bytes > 0));
    }
    assert!(begun > 0, "some are answered");
    // They are cut off after a while, which frees memory.
    let whole = until("an honest one is answered", Duration::from_secs(60), || {
        let ended = cluster.sateen(["result".to_owned(), run.to_string()]);
        (ended.code == Some(0)).then_some(ended.stdout.len())
    });
    assert_eq!(whole, MEBIBYTES << 20);
    let peak = peak_mib(cluster.coordinator().id());
    assert!(peak < MEMORY_MIB_MAX, "{peak} MiB");
}

/// The root's own result, to the coordinator.
#[test]
fn a_large_answer_over_a_slow_link_arrives() {
    let mut cluster = Cluster::start_beside_others(&[]);
    let proxy = Proxy::start(cluster.address(), Duration::ZERO);
    proxy.limit(BYTES_PER_SECOND);
    cluster.start_host_with("ada", "here", &proxy.url(), &["--direct", "off"]);
    cluster.await_hosts(1);
    let size = MEBIBYTES.to_string();
    let run = cluster.submit_module(probe::module_path(), &["--function", "large_output", &size]);
    let said = watch(&cluster, run);
    let travels = |why: &String| {
        why.contains("its result is on its way to the coordinator: ")
            && why.ends_with(" of 16 MiB have come from ada.")
    };
    assert!(said.iter().any(travels), "{said:#?}");
    assert!(!said.iter().any(|why| why.contains("busy elsewhere")), "{said:#?}");
    let about = cluster.api().run_over(run, PATIENCE);
    assert_eq!(about["state"], "done", "{about:#}");
    assert_eq!(about["root_losses"], 0, "{about:#}");
    let log = cluster.host("ada").log();
    assert!(!log.contains("given this host up") && !log.contains("refused"), "{log}");
}
