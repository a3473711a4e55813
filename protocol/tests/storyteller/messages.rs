//! Short texts for messages.

use sateen_protocol::message::{Departure, PeerMessage, ToCoordinator, ToHost};
use sateen_protocol::parcel::{Contents, ParcelMessage};
use sateen_protocol::shared::{Versions, Writer};
use sateen_protocol::{HostId, JobSpec};

use crate::entries::{list, result};
use crate::names::Names;
use crate::objects::name;

/// A text such as `r.1`, with marks for a job that was lost or given back before.
pub fn job(names: &Names, spec: &JobSpec) -> String {
    let name = names.job(&spec.key);
    let again = if spec.given_back { "given back" } else { "redone" };
    match (spec.redone, spec.lookup_below) {
        (false, _) => name,
        (true, 0) => format!("{name} ({again})"),
        (true, depth) => format!("{name} ({again}, entries above depth {depth})"),
    }
}

fn hosts(names: &Names, ids: impl IntoIterator<Item = HostId>) -> String {
    let mut shown: Vec<String> = ids.into_iter().map(|id| names.host(id)).collect();
    shown.sort();
    if shown.is_empty() { "no hosts".to_owned() } else { shown.join(" ") }
}

/// The text for a message from a host; `None` for messages that would only be noise.
pub fn up(names: &Names, message: &ToCoordinator) -> Option<String> {
    Some(match message {
        ToCoordinator::Hello { was, roots, paused, .. } => {
            let was = was.map(|(id, ..)| format!(", was {}", names.host(id))).unwrap_or_default();
            let roots = if roots.is_empty() { "" } else { ", has the root" };
            let paused = paused.as_ref().map(|reason| format!(", paused: {reason}")).unwrap_or_default();
            format!("Hello{was}{roots}{paused}")
        }
        ToCoordinator::Ready { .. } => "Ready".to_owned(),
        ToCoordinator::Unready { reason, .. } => format!("Unready: {reason}"),
        ToCoordinator::RootFinished { finished, .. } => format!("RootFinished r {}", result(finished)),
        ToCoordinator::Limit { reason, .. } => format!("Limit: {reason}"),
        ToCoordinator::Failed { failure, .. } => format!("Failed: {}", failure.message),
        ToCoordinator::Entries { entries, .. } => format!("Entries {}", list(names, entries)),
        ToCoordinator::Recovered { epoch } => format!("Recovered {epoch}"),
        ToCoordinator::Find { key, .. } => format!("Find {}", names.job(key)),
        ToCoordinator::Suspended { .. } => "Suspended".to_owned(),
        ToCoordinator::Paused { reason } => {
            reason.as_ref().map_or("Paused: no longer".to_owned(), |reason| format!("Paused: {reason}"))
        }
        ToCoordinator::Holds { reason } => {
            reason.as_ref().map_or("Holds: no longer".to_owned(), |reason| format!("Holds: {reason}"))
        }
        ToCoordinator::Leaving => "Leaving".to_owned(),
        ToCoordinator::Meet { hosts: all } => format!("Meet {}", hosts(names, all.iter().copied())),
        ToCoordinator::Knows { hosts: all } => format!("Knows {}", hosts(names, all.iter().copied())),
        ToCoordinator::Forgot { host, forgotten: true, .. } => format!("Forgot {}", names.host(*host)),
        ToCoordinator::Forgot { host, .. } => format!("Needs {}", names.host(*host)),
        ToCoordinator::Misbehaved { host, reason } => format!("Misbehaved {}: {reason}", names.host(*host)),
        ToCoordinator::Log { lines, .. } => format!("Log, {} lines", lines.len()),
        ToCoordinator::Parcel(message) => parcel(message, |_| "RootFinished r".to_owned()),
        ToCoordinator::Relay { to, .. } | ToCoordinator::RelayBulk { to, .. } => {
            format!("Relay to {}", names.host(*to))
        }
        ToCoordinator::Unit { unit, .. } => format!("Unit {}", names.job(&unit.job.key)),
        ToCoordinator::Counts { .. }
        | ToCoordinator::Stopped { .. }
        | ToCoordinator::Pong { .. }
        | ToCoordinator::Proof(_) => return None,
    })
}

/// The same for a message to a host.
pub fn down(names: &Names, message: &ToHost) -> Option<String> {
    Some(match message {
        ToHost::Welcome { host, hosts: all, complete, epoch, .. } => format!(
            "Welcome {}, there {} {}, epoch {epoch}",
            names.host(*host),
            if *complete { "are" } else { "are at least" },
            hosts(names, all.iter().map(|info| info.id)),
        ),
        ToHost::Refused { reason } => format!("Refused: {reason}"),
        ToHost::Hosts { epoch, joined, gone } => {
            let joined = joined.iter().map(|info| format!(", {} joined", names.host(info.id)));
            let gone = gone.iter().map(|(id, how)| match how {
                Departure::Left => format!(", {} left", names.host(*id)),
                Departure::Crashed => format!(", {} crashed", names.host(*id)),
            });
            format!("Hosts epoch {epoch}{}", joined.chain(gone).collect::<String>())
        }
        ToHost::Present { epoch, hosts: all } => {
            format!("Present epoch {epoch}: {}", hosts(names, all.iter().copied()))
        }
        ToHost::StartRun { .. } => "StartRun".to_owned(),
        ToHost::Master { host, .. } => format!("Master {}", names.host(*host)),
        ToHost::StopRun { .. } => "StopRun".to_owned(),
        ToHost::SuspendRun { .. } => "SuspendRun".to_owned(),
        ToHost::Assign { spec, .. } => format!("Assign {}", job(names, spec)),
        ToHost::Acknowledged { .. } => "Acknowledged r".to_owned(),
        ToHost::Entries { entries, .. } => format!("Entries {}", list(names, entries)),
        ToHost::Found { key, .. } => format!("Found {}", names.job(key)),
        ToHost::Relayed { from, .. } => format!("Relayed from {}", names.host(*from)),
        ToHost::Unreachable { host } => format!("Unreachable {}", names.host(*host)),
        ToHost::Farewell => "Farewell".to_owned(),
        ToHost::Forget { host, .. } => format!("Forget {}", names.host(*host)),
        ToHost::Withdraw { .. } => "Withdraw r".to_owned(),
        ToHost::RelayedBulk { from, .. } => format!("Relayed from {}", names.host(*from)),
        ToHost::Parcel(message) => parcel(message, |contents| format!("{contents:?}")),
        ToHost::Ping { .. } | ToHost::Challenge(_) => return None,
    })
}

/// The text for a message between hosts; numbers of jobs are the owner's.
pub fn peer(names: &Names, from: &str, to: &str, message: &PeerMessage) -> String {
    match message {
        PeerMessage::Steal { steal, more: 0, .. } => format!("Steal #{}", steal.0),
        PeerMessage::Steal { steal, more, .. } => format!("Steal #{} and {more} more", steal.0),
        PeerMessage::Job { steal, spec, .. } => format!("Job #{} {}", steal.0, job(names, spec)),
        PeerMessage::Jobs { steal, jobs, .. } => {
            let jobs: Vec<String> = jobs.iter().map(|(_, spec)| job(names, spec)).collect();
            format!("Jobs #{} {}", steal.0, jobs.join(", "))
        }
        PeerMessage::Nothing { steal, .. } => format!("Nothing #{}", steal.0),
        PeerMessage::Result { number, finished, .. } => {
            format!("Result {} {}", names.loan(to, *number), result(finished))
        }
        PeerMessage::Received { number, .. } => format!("Received {}", names.loan(from, *number)),
        PeerMessage::Abort { number, .. } => format!("Abort {}", names.loan(from, *number)),
        PeerMessage::Returned { number, .. } => format!("Returned {}", names.loan(to, *number)),
        PeerMessage::Adopt { key, .. } => format!("Adopt {}", names.job(key)),
        PeerMessage::Adopted { number, .. } => format!("Adopted {}", names.loan(to, *number)),
        PeerMessage::NotHeld { number, .. } => format!("NotHeld {}", names.loan(to, *number)),
        PeerMessage::Holding { held, pending, .. } => {
            let pending: String = pending.iter().map(|steal| format!(", waits #{}", steal.0)).collect();
            format!("Holding {}{pending}", names.loans(to, held))
        }
        PeerMessage::Lending { .. } => "Lending".to_owned(),
        PeerMessage::Unknown { numbers, .. } => format!("Unknown {}", names.loans(from, numbers)),
        PeerMessage::Entries { entries, .. } => format!("Entries {}", list(names, entries)),
        PeerMessage::Want { key, .. } => format!("Want {}", names.job(key)),
        PeerMessage::Have { key, finished: Some(finished), .. } => {
            format!("Have {} {}", names.job(key), result(finished))
        }
        PeerMessage::Have { key, finished: None, .. } => format!("Have {}: no result", names.job(key)),
        PeerMessage::Orphaned { number, .. } => format!("Orphaned {}", names.loans(from, &[*number])),
        PeerMessage::Updates { object, writer: of, first, updates, .. } => {
            let which = range(*first, updates.len() as u64);
            format!("Updates {}: {} {which}", name(*object), writer(names, *of))
        }
        PeerMessage::Versions { object, versions, is_question, .. } => {
            let what = if *is_question { "wants more of" } else { "has of" };
            format!("Versions: {what} {}{}", name(*object), counts(names, versions))
        }
        PeerMessage::FetchReplica { object, .. } => format!("FetchReplica {}", name(*object)),
        PeerMessage::Replica { object, snapshot, .. } => {
            format!("Replica {}{}", name(*object), counts(names, &snapshot.versions()))
        }
        PeerMessage::NotShared { object, .. } => format!("NotShared {}", name(*object)),
        PeerMessage::Refused { reason } => format!("Refused: {reason:.80}"),
        PeerMessage::Parcel(message) => parcel(message, |contents| match contents {
            Contents::Job { steal, .. } => format!("Job #{}", steal.0),
            Contents::Result { number, .. } => format!("Result {}", names.loan(to, *number)),
            Contents::Have { key, .. } => format!("Have {}", names.job(key)),
            Contents::Updates { object, writer: of, first, .. } => {
                format!("Updates {}: {} #{first}", name(*object), writer(names, *of))
            }
            Contents::Replica { object, .. } => format!("Replica {}", name(*object)),
            Contents::RootFinished { .. } => "RootFinished r".to_owned(),
        }),
    }
}

/// The text for a message about a parcel, whose contents `contents` describes.
fn parcel(message: &ParcelMessage, contents: impl Fn(&Contents) -> String) -> String {
    match message {
        ParcelMessage::Announce { parcel, contents: what, bytes } => {
            format!("Announce parcel {}: {}, {bytes} bytes", parcel.0, contents(what))
        }
        ParcelMessage::Pull { parcel, from, until } => format!("Pull parcel {}: {from}..{until}", parcel.0),
        ParcelMessage::Chunk { parcel, offset, bytes } => {
            format!("Chunk parcel {}: {offset}..{}", parcel.0, offset + bytes.len() as u64)
        }
        ParcelMessage::Received { parcel } => format!("Received parcel {}", parcel.0),
        ParcelMessage::Refused { parcel } => format!("Refused parcel {}", parcel.0),
        ParcelMessage::Withdrawn { parcel } => format!("Withdrawn parcel {}", parcel.0),
    }
}

/// The text for a range of updates.
fn range(first: u64, count: u64) -> String {
    match count {
        1 => format!("#{first}"),
        _ => format!("#{first} to #{}", first + count.saturating_sub(1)),
    }
}

/// The text for the number of updates of each writer.
pub fn counts(names: &Names, versions: &Versions) -> String {
    versions.iter().map(|(of, count)| format!(" {} {count}", writer(names, of))).collect()
}

/// The name of a log of updates: the host's name alone for the log of an object that it created.
fn writer(names: &Names, Writer { host, incarnation }: Writer) -> String {
    let name = names.host(host);
    if incarnation == 0 { name } else { format!("{name}.{incarnation}") }
}
