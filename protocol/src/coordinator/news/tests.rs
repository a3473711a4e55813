use std::collections::BTreeMap;

use super::*;
use crate::coordinator::{CoordinatorConfig, LinkId};
use crate::limits::{CIRCLE, PLACE_KEPT_MIN};
use crate::message::{HostReport, ToCoordinator};
use crate::{GridId, PublicKey};

/// The key of the host on this link.
fn key_of(link: LinkId) -> PublicKey {
    PublicKey([link.0 as u8; 32])
}

/// What is reported to each of three hosts of a site about the others: the number of the receiver's link, and the key.
fn keys() -> BTreeSet<(u64, PublicKey)> {
    let config = CoordinatorConfig {
        grid: GridId(1),
        secret: [7; 32],
        seed: 1,
        table_bytes_max: 1 << 20,
        circle: CIRCLE,
        place_kept: PLACE_KEPT_MIN,
        restarted: false,
    };
    let mut coordinator = Coordinator::new(config, Vec::new(), Time::default());
    let mut ids = BTreeMap::new();
    let mut told = BTreeSet::new();
    for link in (1..=3).map(LinkId) {
        let report = HostReport {
            name: link.0.to_string(),
            site: "here".to_owned(),
            threads: 1,
            version: "0".to_owned(),
            direct: None,
            key: key_of(link),
        };
        let hello =
            ToCoordinator::Hello { report, was: None, incarnation: 0, roots: Vec::new(), paused: None };
        coordinator.handle_message(Time::default(), link, hello);
        coordinator.handle_timeout(Time(1_000_000_000));
        while let Some((link, message)) = coordinator.poll_transmit() {
            let hosts = match message {
                ToHost::Welcome { host, hosts, .. } => {
                    ids.insert(link, host);
                    hosts
                }
                ToHost::Hosts { joined, .. } => joined,
                _ => continue,
            };
            let others = hosts.into_iter().filter(|info| info.id != ids[&link]);
            told.extend(others.map(|info| (link.0, info.report.key)));
        }
    }
    told
}

/// With these keys hosts know one another on direct links and through the relay.
#[test]
fn each_host_is_sent_the_keys_of_those_that_it_knows() {
    let others = |viewer: u64| (1..=3).filter(move |host| *host != viewer);
    let expected = (1..=3).flat_map(|viewer| others(viewer).map(move |host| (viewer, key_of(LinkId(host)))));
    assert_eq!(keys(), expected.collect());
}
