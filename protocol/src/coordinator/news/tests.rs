use std::collections::BTreeMap;

use super::*;
use crate::GridId;
use crate::coordinator::{CoordinatorConfig, LinkId};
use crate::limits::{CIRCLE, PLACE_KEPT_MIN};
use crate::message::{HostReport, ToCoordinator};

/// What each of three hosts of a site is told about the others.
fn secrets() -> BTreeMap<(HostId, HostId), u64> {
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
    let mut told = BTreeMap::new();
    for link in (1..=3).map(LinkId) {
        let report = HostReport {
            name: link.0.to_string(),
            site: "here".to_owned(),
            threads: 1,
            version: "0".to_owned(),
            direct: None,
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
            told.extend(hosts.into_iter().map(|info| ((ids[&link], info.id), info.direct_secret)));
        }
    }
    told.retain(|(viewer, host), _| viewer != host);
    told
}

#[test]
fn each_pair_of_hosts_has_a_secret_of_its_own() {
    let secrets = secrets();
    assert_eq!(secrets.len(), 6, "three hosts know two others each");
    for ((viewer, host), secret) in &secrets {
        assert_eq!(secrets[&(*host, *viewer)], *secret, "both know the same");
    }
    let different: BTreeSet<u64> = secrets.values().copied().collect();
    assert_eq!(different.len(), 3, "a third host knows no other pair's");
}
