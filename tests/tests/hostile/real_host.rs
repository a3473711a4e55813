//! The corpus, submitted by a stranger to a host of a grid: modules end there as they do in this process's own engine, the
//! host never goes, and another run that it has meanwhile is not disturbed.

use sateen_tests::cluster::{Cluster, count};
use sateen_tests::hostile::CASES_MIN;
use sateen_tests::real_host::{AT_ONCE, RealHost};

#[test]
fn hostile_modules_end_on_a_host_as_expected_and_disturb_nothing() {
    let mut cluster = Cluster::start(&[]);
    let url = format!("http://{}", cluster.address());
    // Some modules continue until another worker takes their job: each run has two, the one that is not to be disturbed, too.
    let threads = (2 * (AT_ONCE + 1)).to_string();
    cluster.start_host_with("ada", "here", &url, &["--threads", &threads]);
    cluster.await_hosts(1);
    let other = cluster.submit("nqueens", &["17"]);
    let host = RealHost::of(&cluster);
    host.run_all();
    let wrong = host.wrong();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), host.cases(), wrong.join("\n"));
    assert!(host.cases() >= CASES_MIN, "{} modules", host.cases());
    eprintln!("{} modules", host.cases());
    let about = cluster.done(other, "95815104\n");
    assert_eq!([count(&about, "redone"), count(&about, "lost")], [0, 0], "it was disturbed: {about:#}");
    assert_eq!(cluster.api().metric("sateen_hosts_gone_total"), 0.0, "the host has never gone");
    assert!(!cluster.host_log("ada").contains("panicked"), "{}", cluster.host_log("ada"));
}
