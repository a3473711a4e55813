//! Pins the saved form of runs, byte by byte, in `pinned.txt`; JSON as it is, everything else in hexadecimal digits.
//! `SATEEN_BLESS=1 cargo test -p sateen-coordinator pinned` writes the file anew.
//!
//! Data folders of released versions have these bytes: when a line changes, older folders must still be read.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use sateen_protocol::coordinator::{Account, AtWork, Caught, Checked};
use sateen_protocol::message::{JobNote, LogLine, NoteKind, WorkerTimes};
use sateen_protocol::{
    BlobHash, Counts, Finished, HostId, JobFailure, JobTag, Jobs, MainOutcome, Outcome, Priority, PublicKey,
    RunEnd, RunId, RunSpec, Share, Trust,
};

use super::chronicle::{Batch, Chronicled, chronicle, save};
use super::schema::migrate;
use super::sql::{decode_spec, encode, run, set_figures};
use crate::chronicle::{Chronicle, Chronicles, EventKind, Going, Sample, Source};
use crate::clock::Simulation;
use crate::figures::end::{close, judge};
use crate::figures::{Counted, Figures, Untold, host_of_run, of_account};
use crate::host_name::HostName;

const RUN: RunId = RunId(1);
const SUBMITTED_AT_MS: u64 = 1_700_000_000_000;
/// The saved chronicle of a run.
const COLUMNS: [(&str, &str); 8] = [
    ("chronicles", "summary"),
    ("chronicles", "latest"),
    ("chronicles", "absences"),
    ("chronicles", "lent"),
    ("tree_jobs", "job"),
    ("log_lines", "line"),
    ("looks", "looks"),
    ("looks", "checking"),
];

/// A database with a run.
fn database() -> Connection {
    let mut connection = Connection::open_in_memory().expect("a database");
    migrate(&mut connection, Path::new("folder")).expect("it is new");
    let spec = spec();
    let values = rusqlite::params![encode(&spec).expect("encodes"), SUBMITTED_AT_MS as i64];
    let run = "INSERT INTO runs (run, app, app_name, spec, state, submitted_at_ms)
         VALUES (1, x'00', 'app', ?1, 'running', ?2)";
    connection.execute(run, values).expect("a run");
    connection
}

fn spec() -> RunSpec {
    RunSpec { record_every_ms: 100, ..RunSpec::new(BlobHash([7; 32])) }
}

/// Of a run that is checked and has a share of its own.
fn whole_spec() -> RunSpec {
    let share = Share { submitter: 0x0102_0304_0506_0708, weight: 300, priority: Priority::High };
    RunSpec { trust: Trust::Quorum(3), share, ..spec() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The values of a column, in the order in which they were first saved.
fn saved(connection: &Connection, table: &str, column: &str) -> Vec<String> {
    let sql = format!("SELECT {column} FROM {table}");
    let mut statement = connection.prepare(&sql).expect("there is such a column");
    let values = statement.query_map([], |row| row.get(0)).expect("rows");
    let text = |value: rusqlite::Result<Value>| match value.expect("a value") {
        Value::Blob(bytes) => hex(&bytes),
        Value::Text(text) => text,
        other => panic!("{other:?} is saved"),
    };
    values.map(text).collect()
}

fn counts(one: u64) -> Counts {
    let jobs = Jobs {
        spawned: one,
        exposed: one + 1,
        executed: one + 2,
        stolen_local: one + 3,
        stolen: one + 4,
        stolen_wide: one + 5,
        reused: one + 6,
        lost: one + 7,
        given_back: one + 8,
        adopted: one + 9,
        recorded: one + 10,
        aborted: one + 11,
    };
    Counts {
        jobs,
        steal_requests: one + 12,
        work_ns: 1_234_567_891 * one,
        saved_work_ns: 30_000_001,
        redone_work_ns: 20_000_003,
        updates: one + 13,
        shared_bytes: one + 14,
        busy: 1,
        workers: 4,
        ..Counts::default()
    }
}

/// Figures of runs, with a name for each.
fn figures() -> Vec<(&'static str, Figures)> {
    let name = |name: &str| HostName { name: name.to_owned(), site: "here".to_owned() };
    let account = |progress, root_host| Account {
        progress,
        root_host,
        root_losses: 2,
        table: (3, 456),
        at_work: AtWork { hosts: 2, workers: 8 },
        ..Account::default()
    };
    let with = |account: &Account, counted| {
        let (one, two) = (counts(5), counts(7));
        let mut sum = one;
        sum.add(&two);
        let by_host = vec![
            host_of_run(HostId(0xab), &name("one"), true, &one),
            host_of_run(HostId(u64::MAX), &HostName::default(), false, &two),
        ];
        Figures { counted, ..of_account(account, &sum, by_host) }
    };
    let closed = |figures, end: &RunEnd| close(figures, (8, Untold::LastMoment), end, judge(end).1);
    let main = |outcome: &MainOutcome| {
        let outcome = Outcome::Done(postcard::to_allocvec(outcome).expect("encodes").into());
        RunEnd::Finished(Finished { outcome, work_ns: 1_000_000_007, span_ns: 300_000_001 })
    };
    let failure =
        JobFailure { job: "f".to_owned(), message: "no".to_owned(), backtrace: vec!["g\"".to_owned()] };
    let account = &account(Some((1, 2)), Some(HostId(0xab)));
    let mut done = closed(with(account, Counted::Final), &main(&MainOutcome::Text("1".to_owned())));
    ended_chronicle().complete(&mut done);
    let of = |end| closed(with(account, Counted::Partial), &end);
    let disagreed = RunEnd::Unverified("two".to_owned());
    let barred = vec![(HostId(0xab), PublicKey([0xcd; 32]))];
    let (work_ns, work_checked_ns) = (4, 3);
    let checked = Checked {
        is_checking: true,
        units: 7,
        units_checked: 5,
        work_ns,
        work_checked_ns,
        checks: 6,
        checks_work_ns: 2_500_000_000,
        barred,
        ..Checked::default()
    };
    let caught = vec![Caught { one_in: 10, millionths: 250_000 }];
    let audited = Checked { without_standing: 2, caught, ..checked.clone() };
    let [checked, audited] =
        &[checked, audited].map(|checked| Account { checked: Some(checked), ..account.clone() });
    vec![
        ("figures of nothing", Figures::default()),
        ("figures of a run without a row", of_account(&Account::default(), &Counts::default(), Vec::new())),
        ("figures of a run that is done", done),
        ("figures of a run whose job failed", of(RunEnd::Failed(failure))),
        ("figures of a run whose app failed", of(main(&MainOutcome::Failed("no".to_owned())))),
        ("figures of a run that took no input", of(main(&MainOutcome::BadInput("no".to_owned())))),
        ("figures of a run over its limit", of(RunEnd::Limit("too long".to_owned()))),
        ("figures of a run that no host could run", of(RunEnd::Unable("no host".to_owned()))),
        ("figures of a run that was cancelled", of(RunEnd::Cancelled)),
        ("figures of a run on which hosts disagreed", closed(with(checked, Counted::Final), &disagreed)),
        ("figures of a run that was audited", closed(with(audited, Counted::Final), &RunEnd::Cancelled)),
    ]
}

fn begun_chronicle() -> Chronicle {
    let mut chronicle = Chronicle::new(SUBMITTED_AT_MS);
    for kind in [
        EventKind::Submitted,
        EventKind::Started,
        EventKind::HostJoined,
        EventKind::HostLeft,
        EventKind::HostLost,
        EventKind::JobsInterrupted,
        EventKind::Adopted,
        EventKind::Reused,
        EventKind::RootLost,
        EventKind::Unable,
        EventKind::Suspended,
        EventKind::Resumed,
        EventKind::CoordinatorRestarted,
        EventKind::HostPaused,
        EventKind::HostReturned,
        EventKind::HostResumed,
        EventKind::Other,
    ] {
        let host = (kind != EventKind::Suspended).then_some(HostId(0xab));
        chronicle.add_event(kind, host, format!("{kind:?}"));
    }
    let host = Source { id: HostId(0xab), name: "one", site: "here" };
    let note = |job: u64, ago_ms, what| JobNote {
        job: JobTag(job),
        parent: (job > 1).then_some(JobTag(1)),
        kind: 0,
        depth: u32::from(job > 1),
        what,
        ago_ms,
        parameters: (job == 2).then(|| vec![1, 2, 3]),
        shares: false,
    };
    let begun = |redone: bool| NoteKind::Begun { victim: redone.then_some(HostId(0xab)), redone, worker: 3 };
    chronicle.note(
        host,
        &[
            note(1, 900, begun(false)),
            note(2, 800, begun(false)),
            note(2, 700, NoteKind::Done { work_ns: 77 }),
            note(3, 600, NoteKind::Lost),
            note(3, 500, begun(true)),
            note(4, 400, NoteKind::Reused),
            note(5, 300, NoteKind::Reused),
            note(0xfedc_ba98_7654_3210, 200, NoteKind::Adopted),
        ],
    );
    chronicle.left_out(6);
    let line = |job, text: &str| LogLine { job, function: "f".to_owned(), text: text.to_owned() };
    chronicle.log(HostId(0xab), vec![line(Some(JobTag(2)), "hello"), line(None, "wörld")]);
    for step in 0..4 {
        let t_ms = 500 * step;
        let sample = Sample { t_ms, busy: 3.0, checking: 1.0, workers: 4, executed: 50, ..Sample::default() };
        chronicle.sample(sample, Some((u64::from(step), 9)), (step == 1).then_some("no host"));
    }
    let worked = |work_ms| WorkerTimes { work_ms, recover_ms: 300, ..WorkerTimes::default() };
    chronicle.activity(host, 7, &[worked(1_000), worked(500)]);
    chronicle
}

fn ended_chronicle() -> Chronicle {
    let mut chronicle = begun_chronicle();
    chronicle.end("the run is done");
    chronicle.end_some(usize::MAX);
    chronicle
}

/// Saves everything in a new database: returns the values that were saved, and each stored value by name.
fn save_all(chronicles: &Chronicles) -> (Connection, Batch, Vec<(String, String)>) {
    let mut connection = database();
    let batch = Batch { chronicles: chronicles.changes(usize::MAX, true).0, ..Batch::default() };
    save(&mut connection, &batch).expect("it is saved");
    let values = COLUMNS.into_iter().flat_map(|(table, column)| {
        let values = saved(&connection, table, column).into_iter().enumerate();
        values.map(move |(at, value)| (format!("{table}.{column} {at}"), value))
    });
    let values = values.collect();
    (connection, batch, values)
}

fn follow_a_clock() {
    let time = Simulation::default();
    time.stand_at((SUBMITTED_AT_MS + 5_000) * 1_000_000);
    time.follow();
}

#[test]
fn the_saved_form_is_pinned_and_survives_a_round_trip() {
    follow_a_clock();
    let specs = [("a specification", spec()), ("a specification of a run that is checked", whole_spec())];
    let mut lines: Vec<(String, String)> =
        specs.map(|(name, spec)| (name.to_owned(), hex(&encode(&spec).expect("encodes")))).into();
    let mut connection = database();
    for (name, figures) in figures() {
        set_figures(&mut connection, RUN, &figures).expect("they are saved");
        let text = saved(&connection, "runs", "figures").concat();
        let read = run(&connection, RUN).expect("it can be read").and_then(|run| run.figures);
        set_figures(&mut connection, RUN, &read.expect("it has figures")).expect("they are saved");
        assert_eq!(saved(&connection, "runs", "figures").concat(), text, "{name}");
        lines.push((name.to_owned(), text));
    }

    let chronicles = Chronicles::default();
    chronicles.restore(RUN, true, ended_chronicle());
    let (connection, batch, values) = save_all(&chronicles);
    let of = Chronicled { run: RUN, is_over: true, submitted_at_ms: SUBMITTED_AT_MS };
    chronicles.restore(RUN, true, chronicle(&connection, of).expect("it can be read"));
    // It counts as saved, so all of it has to be requested.
    chronicles.save_again(&batch.chronicles, Vec::new());
    assert_eq!(save_all(&chronicles).2, values);
    lines.extend(values);

    // Reports of workers, saved while charts are not.
    chronicles.restore(RUN, false, begun_chronicle());
    let latest = chronicles.changes(usize::MAX, false).0.into_iter().map(|changes| changes.latest);
    lines.extend(latest.map(|latest| ("latest".to_owned(), hex(&encode(&latest).expect("encodes")))));

    // Hosts that are away.
    let mut absences = begun_chronicle();
    let other = Source { id: HostId(0xcd), name: "two", site: "here" };
    absences.activity(other, 7, &[WorkerTimes::default()]);
    absences.host_gone(Source { id: HostId(0xab), name: "one", site: "here" }, Going::Paused);
    absences.host_gone(other, Going::Crashed);
    chronicles.restore(RUN, false, absences);
    let absences = chronicles.changes(usize::MAX, false).0.into_iter().map(|changes| changes.latest.absences);
    lines.extend(absences.map(|absences| {
        ("absences".to_owned(), hex(&encode(&absences.expect("they are saved")).expect("encodes")))
    }));

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/pinned.txt");
    let fresh: String = lines.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    if std::env::var_os("SATEEN_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("it can be written");
    }
    let pinned = std::fs::read_to_string(&path).expect("it can be read");
    for (pinned, fresh) in pinned.lines().zip(fresh.lines()) {
        assert_eq!(fresh, pinned);
    }
    assert_eq!(fresh, pinned);
}

#[test]
fn a_run_from_before_there_were_policies_or_shares_has_the_usual_ones() {
    let bytes = |spec: &RunSpec| encode(spec).expect("encodes");
    // Without the last bytes, which are these.
    let older = |spec: &RunSpec, last: &[u8]| {
        let bytes = bytes(spec);
        bytes.strip_suffix(last).expect("they are the last").to_owned()
    };
    let decoded = |bytes: &[u8]| decode_spec(bytes).expect("it is one");
    for spec in [spec(), whole_spec()] {
        assert_eq!(decoded(&bytes(&spec)), spec);
    }
    let (reuse, share, trust_and_share) = ([0], [0, 1, 1, 0], [0, 0, 1, 1, 0]);
    let checked = RunSpec { trust: Trust::Quorum(3), ..spec() };
    assert_eq!(decoded(&older(&whole_spec(), &reuse)), whole_spec());
    assert_eq!(decoded(&older(&spec(), &share)), spec());
    assert_eq!(decoded(&older(&checked, &share)), checked);
    let oldest = older(&spec(), &trust_and_share);
    assert_eq!(decoded(&oldest), spec());
    assert!(decode_spec(&oldest[..oldest.len() - 1]).is_err());
}
