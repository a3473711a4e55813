//! A machine that computes wrong.

use std::fs::{File, FileTimes};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use sateen_comfort::governor::{Brakes, Phase};
use sateen_comfort::preferences::{Given, Profile, resolve};
use sateen_comfort::sense::Place;
use sateen_host::grid::control::{Answer, Request, Status, ask};
use sateen_host::grid::{ComfortOptions, DirectListen};
use sateen_protocol::{BlobHash, RunSpec};

use super::mini_coordinator::MiniCoordinator;
use super::steal::{host, host_with, status};

const WHY: &str =
    "the self-test found that this machine computes wrong: the simd check returned 1 instead of 2";

/// Waits until the host's status is such.
fn await_status(folder: &Path, is_such: impl Fn(&Status) -> bool) -> Status {
    let started = Instant::now();
    loop {
        let status = status(folder);
        if is_such(&status) {
            return status;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{status:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn answer(folder: &Path, request: &Request) -> Answer {
    let mut last = None;
    ask(folder, request, |answer| last = Some(answer)).expect("it answers");
    last.expect("an answer")
}

fn await_host(folder: &Path) {
    let started = Instant::now();
    while ask(folder, &Request::Status, |_| ()).is_err() {
        assert!(started.elapsed() < Duration::from_secs(60), "the host does not answer");
        std::thread::sleep(Duration::from_millis(10));
    }
    await_status(folder, |status| status.id.is_some() && status.paused.is_none());
}

/// A pause by its owner's preferences had another reason, and its end was work.
#[test]
fn a_machine_that_computes_wrong_takes_no_work_whatever_its_governor_says() {
    let coordinator = MiniCoordinator::start(RunSpec::new(BlobHash([7; 32])), 2);
    let (folder, machine) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let folder = folder.path();
    let touch = |ago| {
        std::fs::create_dir_all(machine.path().join("dev/pts")).expect("made");
        let file = File::options().create(true).append(true).open(machine.path().join("dev/pts/0"));
        let times = FileTimes::new().set_accessed(SystemTime::now() - ago);
        file.and_then(|file| file.set_times(times)).expect("set");
    };
    touch(Duration::from_secs(7200));
    let flags = [("share-in-use", "0"), ("idle-after", "1h"), ("hand-over-after", "300ms")];
    let flags = flags.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let given = Given { profile: Profile::Volunteer, file: None, environment: Vec::new(), flags };
    let preferences = resolve(&given).expect("they make sense").preferences();
    let place = Place::new(Some(machine.path().to_owned()));
    let comfort = ComfortOptions { preferences, place, brakes: Brakes::default(), reread: None };
    let host = host_with(folder, &coordinator, DirectListen::Off, Some(comfort));
    await_host(folder);
    host.health().unfit(WHY.to_owned());
    await_status(folder, |status| status.paused.as_deref() == Some(WHY));
    for (ago, phase) in [(Duration::ZERO, Phase::HandsOver), (Duration::from_secs(7200), Phase::Computes)] {
        touch(ago);
        let now = await_status(folder, |status| {
            status.comfort.as_ref().is_some_and(|comfort| comfort.phase == phase)
        });
        assert_eq!(now.paused.as_deref(), Some(WHY), "{phase:?}");
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(status(folder).paused.as_deref(), Some(WHY));
    host.leave();
    host.wait();
}

#[test]
fn a_machine_that_computes_wrong_takes_no_work_whatever_its_user_asks() {
    // The run never starts, as it waits for a second host.
    let coordinator = MiniCoordinator::start(RunSpec::new(BlobHash([7; 32])), 2);
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let host = host(folder, &coordinator, DirectListen::Off);
    await_host(folder);
    // A pause that is over soon, and would end with work.
    assert!(matches!(answer(folder, &Request::Pause { for_s: Some(1) }), Answer::Done(_)));
    host.health().unfit(WHY.to_owned());
    let unfit = await_status(folder, |status| status.paused.as_deref() == Some(WHY));
    assert!(unfit.paused_until_s.is_none());
    assert!(unfit.to_text(None).contains(&format!("takes no work: {WHY}")), "{}", unfit.to_text(None));
    for request in [Request::Resume, Request::Pause { for_s: Some(1) }] {
        match answer(folder, &request) {
            Answer::Refused(why) => assert!(why.contains(WHY) && why.contains("started again"), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(status(folder).paused.as_deref(), Some(WHY), "the pause would be over now");
    host.leave();
    host.wait();
}
