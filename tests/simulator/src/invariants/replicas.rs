//! Without disturbances, every update that a running host made or has soon reaches all replicas of its object;
//! and replicas with the same updates are always the same.
//!
//! After a partition of minutes, both sides may have forgotten updates that the other lacks; then one side's updates
//! are given up, which its hosts report (`UpdatesLost`), and they are no longer expected.
//!
//! A sleeping host may have made updates that never left it. No other host can have these until it wakes, which counts
//! as a disturbance: from then on they are expected everywhere. A replica to which updates are sent faster than its
//! link carries them is always behind, but never stands still: as long as it lacks updates, some of them must arrive.
//! Large updates are sent as parcels, which wait their turn behind others: a replica may stand still for longer while
//! such a parcel is in transit, and for the time of a comparison after it; and while other updates arrive, those of one
//! writer may wait for twice as long.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sateen_protocol::shared::{ObjectId, Replica, Versions, Writer};
use sateen_protocol::{RunId, Time, limits};

use crate::event::ProcessIndex;
use crate::world::World;

/// Time after the last disturbance from which updates must get through, and the longest that a replica which lacks some
/// stands still.
const CALM_NS: u64 = 4_000_000_000;
const REACH_NS: u64 = 2_000_000_000;

/// The longest that a replica stands still which waits for a parcel.
const STILL_MAX: Duration = limits::PARCEL_UNWANTED_MAX;

/// The updates of an object at a moment: the most that any host had of each writer, and the hosts with a replica.
#[derive(Debug, Default)]
pub struct Seen {
    most: BTreeMap<Writer, u64>,
    at: Vec<ProcessIndex>,
}

/// The number of updates of each writer that a replica has, and since when.
type Counts = BTreeMap<Writer, (u64, Time)>;

/// All objects at a moment.
type Moment = (Time, BTreeMap<(RunId, ObjectId), Seen>);

/// The law's memory.
#[derive(Debug, Default)]
pub struct Watched {
    /// The hosts' recent updates.
    seen: VecDeque<Moment>,
    /// Replicas that lack updates although such a parcel was in transit.
    late: BTreeMap<(ProcessIndex, RunId, ObjectId), Late>,
    /// What the replicas had when they were last seen.
    counts: BTreeMap<(ProcessIndex, RunId, ObjectId), Counts>,
}

/// A replica that lacks some updates of a writer.
#[derive(Debug, Clone, Copy)]
struct Late {
    of: Writer,
    /// The number of updates that it has.
    has: u64,
    /// The time since which it has received nothing of them.
    since: Time,
    /// The last time when a parcel with updates was in transit.
    awaited: Time,
}

/// Returns a violation of the law.
pub fn check(world: &mut World) -> Option<String> {
    let is_whole = world.network.partitions.is_empty() && !world.network.has_weather();
    let is_whole = is_whole && !world.network.has_half_open();
    let is_whole = is_whole && world.network.dead_paths.is_empty() && world.server.waiting.is_none();
    let is_calm = is_whole && world.now.0 >= world.disturbances.last().0 + CALM_NS;
    if !is_calm {
        world.remembered.replicas = Watched::default();
        return None;
    }
    // Large updates wait for their turn among other transfers, and so do their announcements, which may wait in
    // the queues of four links: two to the relay, each there and back.
    let reach_ns = world.bulk_ns() + REACH_NS + 4 * world.network.pipes.buffer_ns();
    let mut found = None;
    if let Some((at, objects)) = world.remembered.replicas.seen.front()
        && world.now.0 >= at.0 + reach_ns
    {
        let mut late = BTreeMap::new();
        for ((run, object), seen) in objects {
            for index in &seen.at {
                let versions = world.is_up(*index).then(|| versions(world, *index, *run, *object)).flatten();
                let missing = versions.and_then(|has| {
                    seen.most
                        .iter()
                        .find(|(origin, most)| has.of(**origin) < **most)
                        .map(|(origin, _)| (*origin, has.of(*origin)))
                });
                if let Some((of, has)) = missing {
                    let replica = (*index, *run, *object);
                    let before = world.remembered.replicas.late.get(&replica).copied();
                    // It may have received some long after the moment, and until then have lacked nothing of an earlier one.
                    let counts = world.remembered.replicas.counts.get(&replica);
                    let received = counts.and_then(|counts| counts.get(&of)).map_or(*at, |(_, since)| *since);
                    let since = received.max(*at);
                    let mut is = before.unwrap_or(Late { of, has, since, awaited: Time(0) });
                    if (is.of, is.has) != (of, has) {
                        is = Late { of, has, since: world.now, ..is };
                    }
                    if world.processes[*index as usize].host.awaits_object(*run, *object) {
                        is.awaited = world.now;
                    }
                    late.insert(replica, is);
                    let stood_still = world.now.since(is.since);
                    let is_awaited = is.awaited.0 > 0 && world.now.0 < is.awaited.0 + reach_ns;
                    let any = counts.and_then(|counts| counts.values().map(|(_, since)| *since).max());
                    let all_stood_still = world.now.since(any.unwrap_or(*at).max(is.since));
                    let is_slow = if is_awaited {
                        all_stood_still < STILL_MAX && stood_still < STILL_MAX * 2
                    } else {
                        stood_still < Duration::from_nanos(reach_ns)
                    };
                    if is_slow {
                        continue;
                    }
                    found = Some(format!("host {index} lacks updates of {of} to {object} of run {run}"));
                }
            }
        }
        world.remembered.replicas.late = late;
        world.remembered.replicas.seen.pop_front();
    }
    let before = std::mem::take(&mut world.remembered.replicas.counts);
    let mut counts = BTreeMap::new();
    let mut objects: BTreeMap<(RunId, ObjectId), Seen> = BTreeMap::new();
    for (index, process) in world.alive().filter(|(_, process)| process.frozen.is_none()) {
        for (run, portion) in &process.runtime.portions {
            // Its updates count even if it has forgotten the object since.
            for (creation, writer, count) in portion.objects.made() {
                let seen = objects.entry((*run, creation)).or_default();
                let most = seen.most.entry(writer).or_default();
                *most = (*most).max(count);
            }
            for (creation, _) in portion.objects.iter() {
                let Some(here) = process.host.replica(*run, creation).map(Replica::versions) else {
                    continue;
                };
                let seen = objects.entry((*run, creation)).or_default();
                seen.at.push(index);
                let before = before.get(&(index, *run, creation));
                let mut since = Counts::new();
                for (origin, count) in here.iter() {
                    let most = seen.most.entry(origin).or_default();
                    *most = count.max(*most);
                    let same = before.and_then(|before| before.get(&origin)).filter(|same| same.0 == count);
                    since.insert(origin, same.copied().unwrap_or((count, world.now)));
                }
                counts.insert((index, *run, creation), since);
            }
        }
    }
    world.remembered.replicas.counts = counts;
    world.remembered.replicas.seen.push_back((world.now, objects));
    found
}

/// Finds two replicas that count the same updates and differ, or one of which guests see something else.
pub fn check_content(world: &World) -> Option<String> {
    let mut known = BTreeMap::new();
    for (index, process) in world.alive() {
        for (run, portion) in &process.runtime.portions {
            for (creation, object) in portion.objects.iter() {
                let Some(replica) = process.host.replica(*run, creation) else { continue };
                let (versions, digest, value) = (replica.versions(), replica.digest(), object.value());
                // A process that sleeps has heard all the same what its two halves said to each other before.
                let (here, guests) = (versions.total(), object.updates());
                if here != guests {
                    return Some(format!(
                        "guests of host {index} see {guests} updates of {creation} of run {run}, and its replica has {here}"
                    ));
                }
                let (other, known) =
                    known.entry((*run, creation, versions)).or_insert((index, (digest, value)));
                if *known != (digest, value) {
                    return Some(format!(
                        "hosts {other} and {index} have the same updates of {creation} of run {run} and different replicas"
                    ));
                }
            }
        }
    }
    None
}

fn versions(world: &World, index: ProcessIndex, run: RunId, object: ObjectId) -> Option<&Versions> {
    let process = &world.processes[index as usize];
    process.runtime.portions.get(&run)?.objects.get(object)?;
    process.host.replica(run, object).map(Replica::versions)
}
