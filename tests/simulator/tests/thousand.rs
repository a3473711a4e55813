//! A thousand hosts for an hour, with a small run every minute.

use sateen_simulator::experiments::throughput;

const HOSTS: usize = 1_000;
const HOUR_S: u64 = 3_600;
const EVERY_S: u64 = 60;

#[test]
fn a_thousand_hosts_work_for_an_hour() {
    let measured = throughput::measure(1, HOSTS, HOUR_S, EVERY_S);
    assert_eq!(measured.hosts, HOSTS, "hosts are lost although nothing happens: {measured:?}");
    let submitted = (5..HOUR_S).step_by(EVERY_S as usize).count();
    assert_eq!(measured.runs, submitted, "runs do not end: {measured:?}");
}
