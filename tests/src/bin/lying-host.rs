//! A host that lies, for tests: a whole host of a grid, made of the parts of `sateen-host`, that changes some of the results
//! which its guests find before it commits to them and passes them on. `sateen-host` has nothing of this.
//!
//! ```text
//! lying-host URL NAME SITE DATA_FOLDER ONE_IN SEED
//! ```
//!
//! It lies about one job in `ONE_IN`. Which these are depends on their keys and on `SEED` only, so it stands by its lies when
//! it computes a job again. Each lie is a line on stderr: see `sateen_tests::lying_host`.

#[cfg(target_os = "linux")]
mod liar {
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::path::Path;
    use std::process::ExitCode;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;

    use sateen_access::Credentials;
    use sateen_host::grid::control::{GuestsStatus, MayUse};
    use sateen_host::grid::{
        Apart, CoordinatorAddress, DataFolder, DirectListen, GUESTS_COMMAND, Loading, Notify, Options,
        PageListen, RunningPortion, Runtime, Stopped, run_guests, start,
    };
    use sateen_host::{COMPILE_COMMAND, Compiler, Notice, Priority, RunCommand, compile_module};
    use sateen_protocol::host::FinalCounts;
    use sateen_protocol::{Counts, Finished, HeldId, JobKey, Outcome, RunId};
    use sateen_tests::lying_host::{Lie, Lies};

    /// Workers of the host.
    const THREADS: usize = 1;

    pub fn main() -> ExitCode {
        let words: Vec<String> = std::env::args().skip(1).collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [COMPILE_COMMAND, ..] => compile_module(&words[1..]),
            [GUESTS_COMMAND] => run_guests(),
            [url, name, site, folder, one_in, seed] => {
                let number = |word: &str| word.parse().expect("a number");
                let lies = Lies { one_in: number(one_in), seed: number(seed) };
                take_part(url, (name, site), Path::new(folder), lies)
            }
            _ => panic!("usage: lying-host URL NAME SITE DATA_FOLDER ONE_IN SEED"),
        }
    }

    /// Takes part until it is asked to leave.
    fn take_part(url: &str, (name, site): (&str, &str), folder: &Path, lies: Lies) -> ExitCode {
        let compiler = Compiler::of_this_program(None, Priority::Normal).expect("this program is a file");
        let honest = Apart::new(THREADS, compiler).expect("this system has what guests need");
        let options = Options {
            coordinator: CoordinatorAddress::parse(url).expect("a coordinator's URL"),
            credentials: Credentials::default(),
            name: name.to_owned(),
            site: site.to_owned(),
            direct: DirectListen::default(),
            folder: DataFolder::open(folder).expect("a data folder"),
            signals: true,
            page: PageListen::Off,
            run_work_max: None,
            comfort: None,
        };
        let handle = start(options, Arc::new(Liar { honest, lies })).expect("the host can start");
        match handle.wait() {
            Stopped::Left => ExitCode::SUCCESS,
            Stopped::Interrupted | Stopped::Abandoned(_) | Stopped::Failed(_) => ExitCode::FAILURE,
        }
    }

    /// Has guests compute, and lies about what they find.
    struct Liar {
        honest: Apart,
        lies: Lies,
    }

    impl Runtime for Liar {
        fn threads(&self) -> usize {
            self.honest.threads()
        }

        fn may_use(&self) -> MayUse {
            self.honest.may_use()
        }

        fn guests(&self) -> GuestsStatus {
            self.honest.guests()
        }

        fn processor_time(&self) -> Duration {
            self.honest.processor_time()
        }

        fn result_passes(&self, bytes: usize) {
            self.honest.result_passes(bytes);
        }

        fn result_has_passed(&self, bytes: usize) {
            self.honest.result_has_passed(bytes);
        }

        fn undelivered(&self, bytes: usize) {
            self.honest.undelivered(bytes);
        }

        fn table_bytes_max(&self) -> usize {
            self.honest.table_bytes_max()
        }

        fn start(&self, loading: Loading, notify: Notify) -> Result<Box<dyn RunningPortion>, String> {
            let jobs = Arc::new(Jobs { run: loading.run, lies: self.lies, keys: Mutex::default() });
            let lying: Notify = {
                let jobs = Arc::clone(&jobs);
                Arc::new(move |notice| notify(jobs.changed(notice)))
            };
            let portion = self.honest.start(loading, lying)?;
            Ok(Box::new(LyingPortion { portion, jobs }))
        }
    }

    /// The jobs of a run that this host holds.
    struct Jobs {
        run: RunId,
        lies: Lies,
        keys: Mutex<BTreeMap<HeldId, JobKey>>,
    }

    impl Jobs {
        fn hold(&self, held: HeldId, key: JobKey) {
            self.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(held, key);
        }

        /// What the rest of the host gets instead.
        fn changed(&self, notice: Notice) -> Notice {
            let Notice::Finished { held, finished } = notice else { return notice };
            let key = self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&held);
            let lie = key.filter(|key| self.lies.are_about(key)).and_then(|key| {
                let outcome = Lies::instead_of(&finished.outcome)?;
                // Before anybody is notified.
                let _ = writeln!(std::io::stderr(), "{}", Lie { run: self.run, job: key });
                Some(outcome)
            });
            let outcome: Outcome = lie.unwrap_or(finished.outcome);
            Notice::Finished { held, finished: Finished { outcome, ..finished } }
        }
    }

    struct LyingPortion {
        portion: Box<dyn RunningPortion>,
        jobs: Arc<Jobs>,
    }

    impl RunningPortion for LyingPortion {
        fn handle(&mut self, command: RunCommand) {
            if let RunCommand::Inject { held, spec, .. } = &command {
                self.jobs.hold(*held, spec.key);
            }
            self.portion.handle(command);
        }

        fn flush(&mut self) {
            self.portion.flush();
        }

        fn counts(&self) -> Counts {
            self.portion.counts()
        }

        fn activity(&self) -> Option<Notice> {
            self.portion.activity()
        }

        fn notice_taken(&self, notice: &Notice) {
            self.portion.notice_taken(notice);
        }

        fn stop(self: Box<Self>) -> FinalCounts {
            self.portion.stop()
        }
    }
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    liar::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    panic!("the tests' lying host runs on Linux only");
}
