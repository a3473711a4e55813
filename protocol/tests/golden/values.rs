//! Sample values of the fields of messages. Each field has a different value, so that swapped fields are noticed.

use std::array::from_fn;

use sateen_protocol::message::Departure;
use sateen_protocol::parcel::Contents;
use sateen_protocol::shared::{
    Digest, FormerSharer, NamedSharers, ObjectId, Snapshot, Update, Versions, Writer,
};
use sateen_protocol::{
    AssignmentId, BlobHash, Bytes, Counts, Entry, EntryState, FaultTolerance, Finished, HeldCounts, HostId,
    JobFailure, JobKey, JobSpec, JobTag, Jobs, Latencies, Lineage, LoanId, MainOutcome, Mention, Outcome,
    Priority, RunId, RunLimits, RunSpec, Share, StealCounts, StealId, Stealing, Steals, Trust, Unit,
    UnitChild,
};

use crate::Line;
use crate::samples::samples;

pub const RUN: RunId = RunId(3);
pub const HOST: HostId = HostId(0x1_0000);
pub const LOAN: LoanId = LoanId(200);
pub const ASSIGNMENT: AssignmentId = AssignmentId(200);
pub const KEY: JobKey = JobKey([0x0b; 32]);
pub const OBJECT: ObjectId = ObjectId([0x0c; 16]);
pub const WRITER: Writer = Writer { host: HOST, incarnation: 4 };

/// The lines of the enums that messages contain.
pub fn lines() -> Vec<Line> {
    let outcomes = samples! { Outcome: Done { 0: vec![1, 2].into() } Failed { 0: vec![3].into() } };
    let states = samples! { EntryState:
        Done { 0: finished() }
        DoneAt { host: HOST, work_ns: 5 }
        Running { 0: HOST }
    };
    let contents = samples! { Contents:
        Job { run: RUN, steal: StealId(300), number: LOAN }
        Result { run: RUN, number: LOAN }
        Have { run: RUN, key: KEY }
        Updates { run: RUN, object: OBJECT, writer: WRITER, first: 2 }
        Replica { run: RUN, object: OBJECT }
        RootFinished { run: RUN, number: ASSIGNMENT }
    };
    let departures = samples! { Departure: Left {} Crashed {} };
    let stealing = samples! { Stealing: ClusterAware {} Random {} MasterWorker {} };
    let tolerance = samples! { FaultTolerance: Full {} FinishedOrphans {} RedoOnly {} Off {} };
    let ends = samples! { MainOutcome:
        Text { 0: "42".to_owned() }
        Bytes { 0: vec![0, 255] }
        Failed { 0: "no".to_owned() }
        BadInput { 0: "what".to_owned() }
    };
    let trust = samples! { Trust: Trust {} Quorum { 0: 3 } Audit { 0: 50_000 } };
    [outcomes, states, contents, departures, stealing, tolerance, ends, trust].concat()
}

pub fn finished() -> Finished {
    Finished { outcome: Outcome::Done(vec![42, 43].into()), work_ns: 1_000_000, span_ns: 500 }
}

pub fn failure() -> JobFailure {
    JobFailure {
        job: "solve".to_owned(),
        message: "overflow".to_owned(),
        backtrace: vec!["solve".to_owned(), "main".to_owned()],
    }
}

fn lineage() -> Lineage {
    Lineage(vec![JobTag(1 << 40), JobTag(9)])
}

pub fn spec() -> JobSpec {
    JobSpec {
        key: KEY,
        kind: 3,
        parameters: vec![40, 41].into(),
        depth: 130,
        lineage: lineage(),
        redone: true,
        given_back: false,
        lookup_below: 7,
        objects: vec![Mention { object: OBJECT, creation: ObjectId([0x0d; 16]) }],
    }
}

pub fn entries() -> Vec<Entry> {
    let entry = |state| Entry { key: KEY, depth: 130, lineage: lineage(), state, is_earlier: false };
    vec![
        entry(EntryState::Done(finished())),
        entry(EntryState::DoneAt { host: HOST, work_ns: 5 }),
        entry(EntryState::Running(HOST)),
    ]
}

pub fn run_spec() -> RunSpec {
    RunSpec {
        app: BlobHash([0x0a; 32]),
        function: "main".to_owned(),
        arguments: vec!["40".to_owned()],
        inputs: vec![("words".to_owned(), BlobHash([0x0e; 32]))],
        limits: RunLimits {
            memory_bytes_max: Some(1),
            stack_bytes_max: Some(2),
            output_bytes_max: Some(3),
            shared_bytes_max: None,
            guard_wait_ms_max: Some(5),
            time_ms_max: Some(6),
            cpu_ms_max: Some(7),
        },
        strict_nan: true,
        stealing: Stealing::Random,
        fault_tolerance: FaultTolerance::RedoOnly,
        record_every_ms: 250,
        trust: Trust::Quorum(3),
        share: Share { submitter: 0x0102_0304_0506, weight: 300, priority: Priority::High },
        reuse: true,
    }
}

pub fn unit() -> Box<Unit> {
    let child = UnitChild { key: JobKey([0x1b; 32]), depth: 300, result: BlobHash([0x1c; 32]) };
    Box::new(Unit {
        job: spec(),
        result: BlobHash([0x1d; 32]),
        work_ns: 400,
        children: vec![child],
        outcome: Some(finished().outcome),
    })
}

pub fn versions() -> Versions {
    [(WRITER, 3), (Writer { host: HostId(1), incarnation: 0 }, 300)].into_iter().collect()
}

pub fn snapshot() -> Snapshot {
    Snapshot {
        base: Bytes::from(vec![1]),
        base_versions: versions(),
        base_digest: Digest(300),
        updates: vec![Update { writer: WRITER, bytes: Bytes::from(vec![2, 3]) }],
    }
}

pub fn named_sharers() -> NamedSharers {
    NamedSharers { known: vec![HOST], former: vec![FormerSharer { host: HOST, total: 300, ago_ms: 70_000 }] }
}

pub fn counts() -> Counts {
    let held = |begun| HeldCounts { begun, done: begun + 1, failed: begun + 2, aborted: begun + 3 };
    let of_scope = |scope: u64| StealCounts {
        jobs: 50 + scope,
        refused: 60 + scope,
        unanswered: 70 + scope,
        latencies: Latencies { buckets: from_fn(|bucket| 20 * scope + bucket as u64), sum_ns: 80 + scope },
    };
    Counts {
        jobs: Jobs {
            spawned: 1,
            exposed: 2,
            executed: 3,
            stolen_local: 4,
            stolen: 5,
            stolen_wide: 6,
            reused: 7,
            lost: 8,
            given_back: 12,
            adopted: 9,
            recorded: 10,
            aborted: 11,
        },
        steal_requests: 12,
        work_ns: 1_000,
        saved_work_ns: 1_001,
        redone_work_ns: 1_002,
        orphaned: 13,
        orphans_saved: 14,
        held: [held(20), held(30)],
        steals: Steals { scopes: [of_scope(0), of_scope(1), of_scope(2)] },
        updates: 15,
        shared_bytes: 1_003,
        busy: 16,
        workers: 17,
        earlier: 18,
        earlier_work_ns: 1_004,
    }
}
