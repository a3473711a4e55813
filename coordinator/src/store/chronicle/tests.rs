//! Tests of what is saved of runs that are not over.

use std::path::Path;

use sateen_protocol::message::WorkerTimes;

use super::*;
use crate::chronicle::{Chronicles, Going, Sample, Source};
use crate::clock::unix_ms;
use crate::store::schema::migrate;
use crate::store::sql;

/// As the tables were before there were tokens.
const WITHOUT_TOKENS: &str =
    "DROP INDEX runs_by_end; DROP TABLE kept_results; DROP TABLE kept_sums; ALTER TABLE standings DROP COLUMN checks_work_ns; ALTER TABLE looks DROP COLUMN checking;
    DROP TABLE host_keys; DROP TABLE tokens; DROP TABLE audit; DROP INDEX runs_by_token;
    ALTER TABLE runs DROP COLUMN submitted_by;";

const RUN: RunId = RunId(1);

fn with_run() -> Connection {
    let mut connection = Connection::open_in_memory().expect("a database");
    migrate(&mut connection, Path::new("folder")).expect("it is new");
    let run = "INSERT INTO runs (run, app, app_name, spec, state, submitted_at_ms)
         VALUES (1, x'00', 'app', x'00', 'running', 0)";
    connection.execute(run, []).expect("a run");
    connection
}

#[test]
fn counts_of_hosts_are_saved_until_the_run_has_figures() {
    let mut connection = with_run();
    let rows = |connection: &mut Connection, host: u64| {
        let row = coordinator::Row { sum: Counts::default(), anew: None };
        let saved = SavedRow { row, name: Arc::default() };
        let rows = BTreeMap::from([((RUN, HostId(host)), Some(saved))]);
        save(connection, &Batch { rows, ..Batch::default() }).expect("it is saved");
        standing(connection, RUN).expect("it can be read").standing.by_host.len()
    };
    assert_eq!(rows(&mut connection, 1), 1);
    let end = RunEnd::Cancelled;
    sql::set_end(&mut connection, RUN, judge(&end).0, &end, 1).expect("it ends");
    assert_eq!(rows(&mut connection, 2), 2, "hosts say what they counted last");
    sql::set_figures(&mut connection, RUN, &Figures::default()).expect("they are final");
    assert_eq!(rows(&mut connection, 3), 0);
}

#[test]
fn the_time_of_checks_is_saved_with_the_standing_and_their_workers_with_charts() {
    let mut connection = with_run();
    let mut begun = Chronicle::new(unix_ms() - 60_000);
    for step in 0..=4 {
        let sample = Sample { t_ms: 500 * step, busy: 2.0, checking: 1.5, workers: 2, ..Sample::default() };
        begun.sample(sample, None, None);
    }
    let points = begun.points().len();
    let chronicles = Chronicles::default();
    chronicles.restore(RUN, false, begun);
    let stands = Standing { checks_work_ns: 7_000_000_001, long_gone: 3, ..Standing::default() };
    let standings = HashMap::from([(RUN, stands.clone())]);
    let chronicles = chronicles.changes(usize::MAX, true).0;
    save(&mut connection, &Batch { standings, chronicles, ..Batch::default() }).expect("it is saved");
    assert_eq!(standing(&connection, RUN).expect("it can be read").standing, stands);
    let known = |connection: &Connection| {
        let of = Chronicled { run: RUN, is_over: true, submitted_at_ms: 0 };
        chronicle(connection, of).expect("it can be read").checking().to_vec()
    };
    assert_eq!(known(&connection), vec![1.5; points]);
    // Of a version that did not save it.
    connection.execute("UPDATE looks SET checking = NULL", []).expect("as it was before");
    assert_eq!(known(&connection), vec![0.0; points]);
}

#[test]
fn recent_reports_of_workers_are_saved_and_an_older_folder_opens() {
    let folder = Path::new("folder");
    let mut connection = with_run();
    let submitted_at_ms = unix_ms() - 60_000;
    let mut begun = Chronicle::new(submitted_at_ms);
    let worked = WorkerTimes { work_ms: 2_000, ..WorkerTimes::default() };
    begun.activity(Source { id: HostId(1), name: "one", site: "here" }, 1, &[worked]);
    let chronicles = Chronicles::default();
    chronicles.restore(RUN, false, begun);
    let batch = Batch { chronicles: chronicles.changes(usize::MAX, false).0, ..Batch::default() };
    assert!(batch.chronicles.iter().all(|changes| changes.charts.is_none()), "they are saved later");
    save(&mut connection, &batch).expect("it is saved");
    let known = |connection: &Connection| {
        let of = Chronicled { run: RUN, is_over: false, submitted_at_ms };
        let chronicle = chronicle(connection, of).expect("it can be read");
        let mut figures = Figures::default();
        chronicle.complete(&mut figures);
        (chronicle.lent_and_redone().count(), figures.times.computed_s.round())
    };
    assert_eq!(known(&connection), (1, 2.0));
    let before = "ALTER TABLE chronicles DROP COLUMN latest; ALTER TABLE chronicles DROP COLUMN absences;
        ALTER TABLE chronicles DROP COLUMN lent; UPDATE schema SET version = 9";
    connection.execute_batch(WITHOUT_TOKENS).expect("as it was before");
    connection.execute_batch(before).expect("as it was before");
    migrate(&mut connection, folder).expect("it becomes of this version");
    assert_eq!(known(&connection), (1, 0.0), "its hosts are known");
}

#[test]
fn absences_are_saved_and_a_folder_of_the_version_before_opens() {
    let mut connection = with_run();
    let submitted_at_ms = unix_ms() - 60_000;
    let mut begun = Chronicle::new(submitted_at_ms);
    let source = |id, name| Source { id: HostId(id), name, site: "here" };
    for (source, how) in [(source(1, "one"), Going::Paused), (source(2, "two"), Going::Crashed)] {
        begun.activity(source, 1, &[WorkerTimes::default()]);
        begun.host_gone(source, how);
    }
    let away = begun.away().clone();
    let chronicles = Chronicles::default();
    chronicles.restore(RUN, false, begun);
    let save_all = |connection: &mut Connection, is_last| {
        let batch = Batch { chronicles: chronicles.changes(usize::MAX, is_last).0, ..Batch::default() };
        save(connection, &batch).expect("it is saved");
    };
    let known = |connection: &Connection| {
        let of = Chronicled { run: RUN, is_over: false, submitted_at_ms };
        chronicle(connection, of).expect("it can be read").away().clone()
    };
    save_all(&mut connection, false);
    assert_eq!((known(&connection), away.len()), (away.clone(), 2), "their events are saved later");
    save_all(&mut connection, true);
    let before = "ALTER TABLE chronicles DROP COLUMN absences; ALTER TABLE chronicles DROP COLUMN lent;
        UPDATE schema SET version = 10";
    connection.execute_batch(WITHOUT_TOKENS).expect("as it was before");
    connection.execute_batch(before).expect("as it was before");
    assert_eq!(migrate(&mut connection, Path::new("folder")).map_err(|error| error.to_string()), Ok(()));
    assert_eq!(known(&connection), away, "as far as events say");
}
