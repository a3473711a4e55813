//! The messages of all directions.

use std::sync::Arc;

use sateen_protocol::Bytes;
use sateen_protocol::identity::{Challenge, Proof, Rotation, Signature};
use sateen_protocol::message::{
    Departure, HostInfo, HostReport, JobNote, LogLine, NoteKind, PeerMessage, RootClaim, ToCoordinator,
    ToHost, WorkerTimes,
};
use sateen_protocol::parcel::{ParcelId, ParcelMessage};
use sateen_protocol::shared::Digest;
use sateen_protocol::{GridId, HostId, JobTag, PublicKey, StealId};

use crate::Line;
use crate::samples::samples;
use crate::values::{
    ASSIGNMENT, HOST, KEY, LOAN, OBJECT, RUN, WRITER, counts, entries, failure, finished, named_sharers,
    run_spec, snapshot, spec, unit, versions,
};

/// The lines of all messages.
pub fn lines() -> Vec<Line> {
    [to_coordinator(), to_host(), between_hosts(), of_parcels(), of_notes()].concat()
}

const KEY_OF_HOST: PublicKey = PublicKey([0xa5; 32]);

fn report() -> HostReport {
    HostReport {
        name: "otter".to_owned(),
        site: "delft".to_owned(),
        threads: 8,
        version: "1.2.3".to_owned(),
        direct: Some("10.0.0.1:7".to_owned()),
        key: KEY_OF_HOST,
    }
}

fn host_info() -> HostInfo {
    HostInfo { id: HOST, report: Arc::new(report()), incarnation: 2 }
}

fn note(what: NoteKind) -> JobNote {
    JobNote {
        job: JobTag(1 << 40),
        parent: Some(JobTag(9)),
        kind: 3,
        depth: 130,
        what,
        ago_ms: 250,
        parameters: Some(vec![1, 2]),
        shares: true,
    }
}

fn proof() -> Proof {
    let signature = |byte| Signature([byte; 32], [byte + 1; 32]);
    let rotation =
        Rotation { from: PublicKey([3; 32]), to: KEY_OF_HOST, signatures: [signature(4), signature(6)] };
    Proof { signature: signature(8), instance: 300, rotations: vec![rotation] }
}

fn log_line() -> LogLine {
    LogLine { job: Some(JobTag(9)), function: "main".to_owned(), text: "half".to_owned() }
}

fn to_coordinator() -> Vec<Line> {
    samples! { ToCoordinator:
        Hello {
            report: report(),
            was: Some((HOST, 77, GridId(5))),
            incarnation: 2,
            roots: vec![RootClaim { run: RUN, number: ASSIGNMENT, proof: 99 }],
            paused: Some("on battery".to_owned())
        }
        Ready { run: RUN }
        Unready { run: RUN, reason: "no room".to_owned() }
        RootFinished { run: RUN, number: ASSIGNMENT, finished: finished() }
        Limit { run: RUN, reason: "memory".to_owned() }
        Entries { run: RUN, entries: entries() }
        Recovered { epoch: 6 }
        Find { run: RUN, key: KEY }
        Counts {
            run: RUN,
            series: 4,
            counts: Box::new(counts()),
            progress: Some((1, 300)),
            notes: vec![note(NoteKind::Lost), note(NoteKind::GivenBack)],
            ahead_ns: None,
            notes_dropped: 2,
            workers: vec![WorkerTimes { work_ms: 1, recover_ms: 2, steal_ms: 3, wait_ms: 4, others_ms: 5 }]
        }
        Log { run: RUN, lines: vec![log_line()] }
        Suspended { run: RUN }
        Paused { reason: Some("on battery".to_owned()) }
        Leaving {}
        Relay { to: HOST, frame: vec![4, 0, 1] }
        Misbehaved { host: HOST, reason: "a lie".to_owned() }
        Pong { ping: 128 }
        Knows { hosts: vec![HOST, HostId(1)] }
        Meet { hosts: vec![HOST] }
        Forgot { ask: 3, host: HOST, forgotten: true }
        Failed { run: RUN, failure: failure() }
        Parcel { 0: ParcelMessage::Received { parcel: ParcelId(8) } }
        RelayBulk { to: HOST, frame: vec![4, 0, 2] }
        Stopped { run: RUN }
        Holds { reason: Some("somebody uses the machine".to_owned()) }
        Proof { 0: proof() }
        Unit { run: RUN, unit: unit() }
    }
}

fn to_host() -> Vec<Line> {
    samples! { ToHost:
        Welcome {
            host: HOST,
            incarnation: 2,
            secret: 77,
            grid: GridId(5),
            hosts: vec![host_info()],
            complete: true,
            runs: vec![RUN],
            epoch: 6
        }
        Refused { reason: "full".to_owned() }
        Hosts {
            epoch: 6,
            joined: vec![host_info()],
            gone: vec![(HostId(1), Departure::Left), (HostId(2), Departure::Crashed)]
        }
        Present { epoch: 6, hosts: vec![HOST] }
        StartRun { run: RUN, spec: Arc::new(run_spec()) }
        Master { run: RUN, host: HOST }
        StopRun { run: RUN }
        SuspendRun { run: RUN }
        Assign { run: RUN, number: ASSIGNMENT, proof: 99, spec: spec() }
        Acknowledged { run: RUN, number: ASSIGNMENT }
        Entries { run: RUN, entries: entries() }
        Found { run: RUN, key: KEY }
        Relayed { from: HOST, frame: vec![4, 0, 1] }
        Unreachable { host: HOST }
        Ping { ping: 128 }
        Farewell {}
        Forget { ask: 3, host: HOST }
        Parcel { 0: ParcelMessage::Refused { parcel: ParcelId(8) } }
        RelayedBulk { from: HOST, frame: vec![4, 0, 2] }
        Withdraw { run: RUN, number: ASSIGNMENT }
        Challenge { 0: Challenge { nonce: [7; 32], grid: GridId(5) } }
    }
}

fn between_hosts() -> Vec<Line> {
    samples! { PeerMessage:
        Steal { run: RUN, steal: StealId(300), holding: 1, ahead: false, more: 63 }
        Job { run: RUN, steal: StealId(300), number: LOAN, spec: spec() }
        Jobs { run: RUN, steal: StealId(300), jobs: vec![(LOAN, spec()), (LOAN, spec())] }
        Nothing { run: RUN, steal: StealId(300) }
        Result { run: RUN, number: LOAN, finished: finished() }
        Received { run: RUN, number: LOAN }
        Abort { run: RUN, number: LOAN }
        Returned { run: RUN, number: LOAN, begun: true }
        Adopt { run: RUN, number: LOAN, key: KEY }
        Adopted { run: RUN, number: LOAN, holding: 1 }
        NotHeld { run: RUN, number: LOAN }
        Holding {
            run: RUN,
            holding: 1,
            next_steal: StealId(301),
            held: vec![LOAN],
            pending: vec![StealId(300)]
        }
        Lending { run: RUN }
        Unknown { run: RUN, numbers: vec![LOAN] }
        Entries { run: RUN, entries: entries() }
        Want { run: RUN, key: KEY }
        Have { run: RUN, key: KEY, finished: Some(finished()) }
        Orphaned { run: RUN, number: LOAN }
        Updates { run: RUN, object: OBJECT, writer: WRITER, first: 2, updates: vec![Bytes::from(vec![1, 2])] }
        Versions {
            run: RUN,
            object: OBJECT,
            versions: versions(),
            digest: Digest(1 << 50),
            sharers: named_sharers(),
            is_question: true
        }
        FetchReplica { run: RUN, object: OBJECT }
        Replica { run: RUN, object: OBJECT, snapshot: snapshot(), sharers: named_sharers() }
        NotShared { run: RUN, object: OBJECT }
        Refused { reason: "a lie".to_owned() }
        Parcel { 0: ParcelMessage::Withdrawn { parcel: ParcelId(8) } }
    }
}

fn of_parcels() -> Vec<Line> {
    samples! { ParcelMessage:
        Announce {
            parcel: ParcelId(8),
            contents: sateen_protocol::parcel::Contents::Result { run: RUN, number: LOAN },
            bytes: 1 << 20
        }
        Pull { parcel: ParcelId(8), from: 5, until: 1 << 16 }
        Chunk { parcel: ParcelId(8), offset: 5, bytes: Bytes::from(vec![1, 2, 3]) }
        Received { parcel: ParcelId(8) }
        Refused { parcel: ParcelId(8) }
        Withdrawn { parcel: ParcelId(8) }
    }
}

fn of_notes() -> Vec<Line> {
    samples! { NoteKind:
        Begun { victim: Some(HOST), redone: true, worker: 3 }
        Done { work_ns: 1_000_000 }
        Failed {}
        Aborted {}
        Lost {}
        GivenBack {}
        Reused {}
        Adopted {}
    }
}
