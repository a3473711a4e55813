//! The machines' state is bounded by what exists, and finished runs leave nothing behind.

use sateen_protocol::limits;

use crate::world::World;

/// Outstanding requests of a host to other sites, in addition to those within its site, for each run.
const WIDE_STEALS_MAX: usize = 1;
/// Entries that wait to be sent together: those that arrive in that time, and more while the link is down.
const OUTBOX_MAX: usize = 4096;
/// Maximum entries in lists that are no longer in the table: they are swept when entries are sent.
const UNSWEPT_MAX: usize = 4096;
/// Hosts that have just departed and whose entries still wait.
const GONE_MAX: usize = 8;
/// Shared objects that a root makes.
const OBJECTS_PER_ROOT_MAX: usize = 2;
/// Departures that a host has not answered, in the time before it is given up.
const OWED_PER_HOST_MAX: usize = 64;
/// Claims of a run: each loss of its root adds one.
const CLAIMS_PER_RUN_MAX: usize = 64;

/// Checks the bounds that hold at every moment.
pub fn check(world: &World) -> Option<String> {
    // Each host may have been given up under several ids.
    let gone = world.disturbances.ids_gone() + GONE_MAX;
    for (index, process) in world.alive() {
        let sizes = process.host.sizes();
        let runs = process.host.runs().len();
        let away: usize =
            process.runtime.portions.values().map(|portion| portion.exchange.away().len()).sum();
        let objects = if sizes.logs_before == 0 { 0 } else { objects_created(world) };
        // Two questions for each peer and run, two for each object; and for each job its own.
        let repeats =
            sizes.held + sizes.away + (runs * 3 + sizes.replicas.0 * 3 + 1) * (sizes.peers + GONE_MAX);
        let (outgoing, incoming) = (limits::PARCELS_OUTGOING_BYTES_MAX, limits::PARCELS_INCOMING_BYTES_MAX);
        let parcels = limits::PARCELS_WITH_PEER_MAX * (sizes.peers + GONE_MAX);
        let bounds = [
            ("unpolled", sizes.unpolled, 0),
            ("listed", sizes.listed, sizes.peers),
            ("requests", sizes.requests, runs * (limits::STEALS_UNANSWERED_MAX + WIDE_STEALS_MAX)),
            (
                "parked",
                sizes.parked,
                runs * (sizes.peers * limits::PARKED_STEALS_PER_THIEF_MAX + limits::EARLY_WANTS_MAX),
            ),
            ("held_indexed", sizes.held_indexed, sizes.held),
            ("away", sizes.away, away),
            ("lent", sizes.lent, away),
            ("outbox", sizes.outbox, OUTBOX_MAX),
            ("outbox_hosts", sizes.outbox_hosts, runs * sizes.peers),
            ("owner_outbox", sizes.owner_outbox, runs * OUTBOX_MAX),
            ("repeats", sizes.repeats, repeats),
            // All hosts that it knew, each time that it went itself.
            ("given_up", sizes.given_up, 2 * (gone + world.processes.len())),
            ("outgoing parcels", sizes.outgoing.0, parcels),
            ("bytes of outgoing parcels", sizes.outgoing.1, outgoing + limits::PARCEL_BYTES_MAX),
            ("incoming parcels", sizes.incoming.0, parcels),
            ("bytes of incoming parcels", sizes.incoming.1, incoming + limits::PARCEL_BYTES_MAX),
            ("bytes of replicas", sizes.replicas.1 as usize, runs * limits::SHARED_BYTES_MAX as usize),
            // A host that returns under another id has lost all its knowledge.
            ("former_sharers", sizes.former_sharers, sizes.replicas.0 * (gone + world.processes.len())),
            ("logs_before", sizes.logs_before, objects),
            ("cut_off", sizes.cut_off, limits::CUT_OFF_HOSTS_MAX),
            ("redoing", sizes.redoing, runs * 2 * limits::REDOING_MAX),
            ("sought", sizes.sought, sizes.entries + UNSWEPT_MAX),
            ("waiting_texts", sizes.waiting_texts, limits::LOG_LINES_WAITING_MAX + 1),
        ];
        if let Some((what, has, most)) = bounds.into_iter().find(|(_, has, most)| has > most) {
            return Some(format!("host {index} keeps {has} of {what}, and at most {most} are allowed"));
        }
    }
    let sizes = world.server.machine.as_ref().map(|machine| machine.sizes())?;
    let links = world.network.links().filter(|(_, link)| link.open_at_coordinator).count();
    let bounds = [
        ("unpolled", sizes.unpolled, 0),
        ("links", sizes.links, sizes.hosts.min(links)),
        ("down", sizes.down, sizes.hosts),
        ("claims", sizes.claims, sizes.runs * CLAIMS_PER_RUN_MAX),
        ("searches", sizes.searches, limits::SEARCHES_WAITING_MAX),
        ("subscribers", sizes.subscribers, sizes.runs * limits::SUBSCRIBED_JOBS_MAX),
        // A host that has just departed is forgotten gradually.
        ("readiness", sizes.readiness, sizes.runs * (sizes.hosts + GONE_MAX)),
        ("unsaved", sizes.unsaved, sizes.runs * (sizes.hosts + GONE_MAX) * OUTBOX_MAX),
        ("slices", sizes.slices, (sizes.runs + 4) * (sizes.hosts + GONE_MAX)),
        ("partings", sizes.partings, sizes.hosts * sizes.hosts),
        ("news", sizes.news, 3 * (sizes.hosts + GONE_MAX)),
        ("owed", sizes.owed, sizes.hosts * OWED_PER_HOST_MAX),
        ("missing", sizes.missing, gone),
        ("rows", sizes.rows, (sizes.runs + sizes.over.0) * (sizes.hosts + gone)),
        ("runs that are over", sizes.over.0, world.server.runs.len()),
        ("hosts that must report their last counts", sizes.over.1, sizes.over.0 * (sizes.hosts + gone)),
        ("incoming parcels", sizes.incoming.0, limits::PARCELS_WITH_PEER_MAX * (sizes.hosts + GONE_MAX)),
        (
            "bytes of incoming parcels",
            sizes.incoming.1,
            limits::PARCELS_INCOMING_BYTES_MAX + limits::PARCEL_BYTES_MAX,
        ),
    ];
    let (what, has, most) = bounds.into_iter().find(|(_, has, most)| has > most)?;
    Some(format!("the coordinator keeps {has} of {what}, and at most {most} are allowed"))
}

/// Maximum objects ever created: each root that was begun made some.
fn objects_created(world: &World) -> usize {
    let roots = world
        .processes
        .iter()
        .flat_map(|process| world.server.runs.keys().map(|run| process.runtime.tally(*run).roots as usize));
    OBJECTS_PER_ROOT_MAX * roots.sum::<usize>()
}

/// Checks the bounds that hold when all runs are over and the grid is idle.
pub fn check_end(world: &World) -> Option<String> {
    let sizes = world.server.machine.as_ref().map(|machine| machine.sizes())?;
    let left = [
        ("closing", sizes.closing),
        ("down", sizes.down),
        ("searches", sizes.searches),
        ("runs", sizes.runs),
        ("runs that are over", sizes.over.0),
        ("claims", sizes.claims),
        ("subscribers", sizes.subscribers),
        ("unsaved", sizes.unsaved),
        ("slices", sizes.slices),
        ("news", sizes.news),
        ("owed", sizes.owed),
        ("missing", sizes.missing),
        ("rows", sizes.rows),
        ("incoming parcels", sizes.incoming.0),
    ];
    if let Some((what, has)) = left.into_iter().find(|(_, has)| *has > 0) {
        return Some(format!("all is over, and the coordinator keeps {has} of {what}"));
    }
    world.alive().find_map(|(index, process)| {
        let sizes = process.host.sizes();
        if sizes.cut_off > 0 {
            let cut_off = sizes.cut_off;
            return Some(format!("host {index} has cut {cut_off} hosts off, and all obey the protocol"));
        }
        let left = [
            ("held", sizes.held),
            ("away", sizes.away),
            ("requests", sizes.requests),
            ("parked", sizes.parked),
            ("outbox", sizes.outbox),
            ("owner_outbox", sizes.owner_outbox),
            ("outgoing parcels", sizes.outgoing.0),
            ("incoming parcels", sizes.incoming.0),
            ("replicas", sizes.replicas.0),
            ("logs_before", sizes.logs_before),
        ];
        if let Some((what, has)) = left.into_iter().find(|(_, has)| *has > 0) {
            return Some(format!("all is over, and host {index} keeps {has} of {what}"));
        }
        // Its peers' answer times, and nothing that waits.
        let repeats = sizes.peers + 1;
        (sizes.repeats > repeats)
            .then(|| format!("all is over, and host {index} keeps {} of repeats", sizes.repeats))
    })
}
