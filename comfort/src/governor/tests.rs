use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::SystemTime;

use super::*;
use crate::preferences::{Given, resolve};

/// Threads that compute unless they are held.
struct Spinner {
    held: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    used_ns: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

struct SpinnerBrake {
    held: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl Brake for SpinnerBrake {
    fn hold(&self, is_held: bool) {
        self.held.store(is_held, SeqCst);
    }
    fn is_over(&self) -> bool {
        self.over.load(SeqCst)
    }
}

fn thread_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

impl Spinner {
    fn start(threads: usize) -> Self {
        let (held, over, used_ns) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let threads = (0..threads).map(|_| {
            let (held, over, used_ns) = (held.clone(), over.clone(), used_ns.clone());
            std::thread::spawn(move || {
                let mut before = thread_time();
                while !over.load(SeqCst) {
                    if held.load(SeqCst) {
                        std::thread::sleep(Duration::from_millis(1));
                    } else {
                        (0..2000u64).for_each(|number| {
                            std::hint::black_box(number);
                        });
                    }
                    let now = thread_time();
                    used_ns.fetch_add(now - before, SeqCst);
                    before = now;
                }
            })
        });
        Self { threads: threads.collect(), held, over, used_ns }
    }

    fn brake(&self) -> Box<dyn Brake> {
        Box::new(SpinnerBrake { held: self.held.clone(), over: self.over.clone() })
    }

    fn used(&self) -> Duration {
        Duration::from_nanos(self.used_ns.load(SeqCst))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.over.store(true, SeqCst);
        self.threads.drain(..).for_each(|thread| thread.join().expect("it ends"));
    }
}

fn start(place: &Path, flags: &[(&str, &str)], brakes: &Brakes) -> (Governor, mpsc::Receiver<Change>) {
    let flags = flags.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let preferences = resolve(&Given { flags, ..Given::default() }).expect("sound").preferences();
    let (changes, changed) = mpsc::channel();
    let options = Options {
        preferences,
        threads: 2,
        place: Place::new(Some(place.to_owned())),
        transferred: None,
        on_change: Box::new(move |change| {
            let _ = changes.send(change);
        }),
    };
    (Governor::start(options, brakes.clone()).expect("it starts"), changed)
}

fn touch(place: &Path, at: SystemTime) {
    fs::create_dir_all(place.join("dev/pts")).expect("made");
    let file = File::options().create(true).append(true).open(place.join("dev/pts/3")).expect("open");
    file.set_times(FileTimes::new().set_accessed(at)).expect("set");
}

fn long_ago() -> SystemTime {
    SystemTime::now() - Duration::from_secs(7200)
}

/// The next change of this kind.
fn next(changed: &mpsc::Receiver<Change>, phase: Phase) -> Change {
    loop {
        let change =
            changed.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("{phase:?} is awaited"));
        if change.phase == phase {
            return change;
        }
    }
}

#[test]
fn a_user_who_comes_back_stops_all_guests_and_idleness_lets_them_continue() {
    let place = tempfile::tempdir().expect("a folder");
    touch(place.path(), long_ago());
    let (spinner, brakes) = (Spinner::start(2), Brakes::default());
    let (_governor, changed) = start(place.path(), &[("idle-after", "1s")], &brakes);
    next(&changed, Phase::Computes);
    brakes.add(spinner.brake());
    std::thread::sleep(Duration::from_millis(100));
    assert!(!brakes.are_held());
    touch(place.path(), SystemTime::now());
    let change = next(&changed, Phase::Holds);
    assert_eq!(change.state.reason().as_deref(), Some("somebody uses the machine"));
    assert!(spinner.held.load(SeqCst));
    // Another that begins meanwhile stands still, too.
    let late = Spinner::start(1);
    brakes.add(late.brake());
    assert!(late.held.load(SeqCst));
    next(&changed, Phase::Computes);
    assert!(!spinner.held.load(SeqCst) && !late.held.load(SeqCst));
}

#[test]
fn a_pause_that_lasts_hands_over_and_guests_may_compute_for_a_moment() {
    let place = tempfile::tempdir().expect("a folder");
    touch(place.path(), SystemTime::now());
    let (spinner, brakes) = (Spinner::start(1), Brakes::default());
    brakes.add(spinner.brake());
    let (governor, changed) = start(place.path(), &[("hand-over-after", "200ms")], &brakes);
    next(&changed, Phase::Holds);
    assert!(spinner.held.load(SeqCst));
    next(&changed, Phase::HandsOver);
    assert!(!spinner.held.load(SeqCst));
    let since = Instant::now();
    while !spinner.held.load(SeqCst) {
        assert!(since.elapsed() < Duration::from_secs(30), "it computes on and on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(since.elapsed() + Duration::from_millis(500) >= HAND_OVER_MAX);
    drop(governor);
    assert!(!spinner.held.load(SeqCst), "without a governor nothing is held");
}

#[test]
fn hours_hand_over_at_once() {
    let place = tempfile::tempdir().expect("a folder");
    let brakes = Brakes::default();
    let (_governor, changed) = start(place.path(), &[("hours", "never")], &brakes);
    let change = next(&changed, Phase::HandsOver);
    assert!(change.state.reason().is_some_and(|reason| reason.contains("`hours` allows no time")));
    assert!(
        !change.missing.is_empty()
            || next(&changed, Phase::HandsOver).missing.iter().any(|why| why.contains("battery"))
    );
}

/// Others may use the machine meanwhile, so guests may have less than their share; never more.
#[test]
fn a_share_is_held_by_turns() {
    let place = tempfile::tempdir().expect("a folder");
    touch(place.path(), long_ago());
    let (spinner, brakes) = (Spinner::start(2), Brakes::default());
    brakes.add(spinner.brake());
    let (_governor, changed) =
        start(place.path(), &[("share-idle", "30"), ("others-load-max", "off")], &brakes);
    assert_eq!(next(&changed, Phase::Computes).state.share(), Percent::of(30));
    std::thread::sleep(Duration::from_millis(300));
    let (since, used) = (Instant::now(), spinner.used());
    std::thread::sleep(Duration::from_secs(3));
    let share = (spinner.used() - used).as_secs_f64() / since.elapsed().as_secs_f64() / 2.0;
    assert!(share > 0.0 && share <= 0.36, "{share}");
}

#[test]
fn brakes_that_are_over_are_forgotten() {
    let brakes = Brakes::default();
    let spinner = Spinner::start(1);
    brakes.add(spinner.brake());
    assert_eq!(brakes.count(), 1);
    drop(spinner);
    assert_eq!(brakes.count(), 0);
}

/// A brake of something that has ended.
struct Ended(Arc<AtomicBool>);

impl Brake for Ended {
    fn hold(&self, is_held: bool) {
        self.0.store(is_held, SeqCst);
    }
    fn is_over(&self) -> bool {
        true
    }
}

/// Without a governor, nobody counts them: each run's process kept a descriptor.
#[test]
fn brakes_that_are_over_are_forgotten_when_another_is_added() {
    let (brakes, thing) = (Brakes::default(), Arc::new(AtomicBool::new(false)));
    (0..10).for_each(|_| brakes.add(Box::new(Ended(thing.clone()))));
    assert_eq!(Arc::strong_count(&thing), 2, "this one, and the last");
}

/// A brake with a cgroup: the system holds the share, and no turns are needed.
struct Grouped(std::path::PathBuf);

impl Brake for Grouped {
    fn hold(&self, _is_held: bool) {}
    fn is_over(&self) -> bool {
        false
    }
    fn cgroup(&self) -> Option<std::path::PathBuf> {
        Some(self.0.clone())
    }
}

#[test]
fn a_cgroup_holds_the_share_where_there_is_one() {
    let group = tempfile::tempdir().expect("a folder");
    let brakes = Brakes::default();
    assert!(!brakes.set_quota(Percent::of(25), 2), "there is nothing to hold");
    brakes.add(Box::new(Grouped(group.path().to_owned())));
    assert!(brakes.set_quota(Percent::of(25), 2));
    assert_eq!(fs::read_to_string(group.path().join("cpu.max")).expect("written"), "25000 50000");
    // Several in one group share what it may use: it is not written again.
    fs::remove_file(group.path().join("cpu.max")).expect("removed");
    brakes.add(Box::new(Grouped(group.path().to_owned())));
    assert!(brakes.set_quota(Percent::of(25), 2) && !group.path().join("cpu.max").exists());
    brakes.add(Box::new(Grouped("/nonexistent".into())));
    assert!(!brakes.set_quota(Percent::of(25), 2), "one of them cannot be held");
}
