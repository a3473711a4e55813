//! What the machines keep is bounded by what there is, and what is over leaves nothing behind.

use sateen_protocol::coordinator::Coordinator;
use sateen_protocol::limits;

use crate::world::World;

/// Requests to other sites that a host has under way beside those within its site, for each run.
const WIDE_STEALS_MAX: usize = 1;
/// Entries that wait for company: what comes in that time, and more while the link is down.
const OUTBOX_MAX: usize = 4096;
/// What is not in the table any more is swept when entries are sent.
const UNSWEPT_MAX: usize = 4096;
/// Hosts that went just now and whose entries wait still.
const GONE_MAX: usize = 8;
/// Claims of a run: each loss of its root adds one.
const CLAIMS_PER_RUN_MAX: usize = 64;

/// At every moment.
pub fn check(world: &World) -> Option<String> {
    for (index, process) in world.alive() {
        let sizes = process.host.sizes();
        let runs = process.host.runs().len();
        let away: usize = process.runtime.portions.values().map(|portion| portion.away.len()).sum();
        let bounds = [
            ("unpolled", sizes.unpolled, 0),
            ("listed", sizes.listed, sizes.peers),
            ("requests", sizes.requests, runs * (limits::STEALS_UNANSWERED_MAX + WIDE_STEALS_MAX)),
            ("parked", sizes.parked, runs * sizes.peers * limits::PARKED_STEALS_PER_THIEF_MAX),
            ("held_indexed", sizes.held_indexed, sizes.held),
            ("away", sizes.away, away),
            ("lent", sizes.lent, away),
            ("outbox", sizes.outbox, OUTBOX_MAX),
            ("outbox_hosts", sizes.outbox_hosts, runs * sizes.peers),
            ("cut_off", sizes.cut_off, limits::CUT_OFF_HOSTS_MAX),
            ("redoing", sizes.redoing, runs * 2 * limits::REDOING_MAX),
            ("sought", sizes.sought, sizes.entries + UNSWEPT_MAX),
            ("waiting_texts", sizes.waiting_texts, limits::LOG_LINES_WAITING_MAX + 1),
        ];
        if let Some((what, has, most)) = bounds.into_iter().find(|(_, has, most)| has > most) {
            return Some(format!("host {index} keeps {has} of {what}, and {most} are enough"));
        }
    }
    let sizes = world.server.machine.as_ref().map(Coordinator::sizes)?;
    let links = world.network.links().filter(|(_, link)| link.open_at_coordinator).count();
    let bounds = [
        ("unpolled", sizes.unpolled, 0),
        ("links", sizes.links, sizes.hosts.min(links)),
        ("down", sizes.down, sizes.hosts),
        ("claims", sizes.claims, sizes.runs * CLAIMS_PER_RUN_MAX),
        ("searches", sizes.searches, limits::SEARCHES_WAITING_MAX),
        ("subscribers", sizes.subscribers, sizes.runs * limits::SUBSCRIBED_JOBS_MAX),
        ("readiness", sizes.readiness, sizes.runs * sizes.hosts),
        ("unsaved", sizes.unsaved, sizes.runs * (sizes.hosts + GONE_MAX) * OUTBOX_MAX),
    ];
    let (what, has, most) = bounds.into_iter().find(|(_, has, most)| has > most)?;
    Some(format!("the coordinator keeps {has} of {what}, and {most} are enough"))
}

/// When all runs are over and the grid has come to rest.
pub fn check_end(world: &World) -> Option<String> {
    let sizes = world.server.machine.as_ref().map(Coordinator::sizes)?;
    let left = [
        ("closing", sizes.closing),
        ("down", sizes.down),
        ("searches", sizes.searches),
        ("runs", sizes.runs),
        ("claims", sizes.claims),
        ("subscribers", sizes.subscribers),
    ];
    if let Some((what, has)) = left.into_iter().find(|(_, has)| *has > 0) {
        return Some(format!("all is over, and the coordinator keeps {has} of {what}"));
    }
    world.alive().find_map(|(index, process)| {
        let cut_off = process.host.sizes().cut_off;
        (cut_off > 0).then(|| format!("host {index} has cut {cut_off} hosts off, and all obey the protocol"))
    })
}
