//! Hostile modules on a host of a grid, as a stranger would submit them: the same texts as in this process's own engine.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use sateen_host::Limits;
use serde_json::{Value, json};

use crate::cluster::{Api, Cluster, PATIENCE};
use crate::hostile;
use crate::wat::End;

thread_local! {
    /// Where this thread's modules run; none for this process's own engine.
    static HOST: RefCell<Option<Arc<RealHost>>> = const { RefCell::new(None) };
}

/// Modules under way at a time.
pub const AT_ONCE: usize = 2;
/// The limit on time of modules that are to end by another one: several share the host's workers.
const TIME: Duration = Duration::from_secs(60);
/// A shorter limit is what a module is to meet.
const SHORT: Duration = Duration::from_secs(1);

/// The hosts of a grid, and how many modules were run on them.
pub struct RealHost {
    api: Api,
    cases: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl RealHost {
    /// The hosts of this grid.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Arc<Self> {
        let api = Api::new(&format!("http://{}", cluster.address()));
        Arc::new(Self { api, cases: AtomicUsize::new(0), wrong: Mutex::default() })
    }

    /// Modules of this thread run on the host while `tests` do.
    pub fn runs(self: &Arc<Self>, tests: impl FnOnce()) {
        HOST.set(Some(Arc::clone(self)));
        tests();
        HOST.set(None);
    }

    /// The whole corpus runs on the host, some modules at a time.
    pub fn run_all(self: &Arc<Self>) {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(test) = hostile::ALL.get(next.fetch_add(1, Relaxed)) {
                        self.runs(test);
                    }
                });
            }
        });
    }

    /// How many modules were run.
    #[must_use]
    pub fn cases(&self) -> usize {
        self.cases.load(Relaxed)
    }

    /// Those that did not end as expected, and how they ended.
    ///
    /// # Panics
    /// If another thread has.
    #[must_use]
    pub fn wrong(&self) -> Vec<String> {
        self.wrong.lock().expect("no thread panics with it").clone()
    }

    /// Whether the module ran on a host and not here.
    pub(crate) fn takes(limits: &Limits, name: &str, module: &[u8], end: End) -> bool {
        let Some(host) = HOST.with_borrow(Clone::clone) else { return false };
        let found = host.end_of(limits, module);
        let is_expected = match (&found, end) {
            (Found::Result(text), End::Fine) => text.trim_end() == "42",
            (Found::Refused(why), End::Refused(word)) => why.contains(word),
            (Found::Failed { kind, message }, End::Broken(word)) => {
                kind == "job" && message.contains("the module breaks the ABI: ") && message.contains(word)
            }
            (Found::Failed { kind, message }, End::Trap(word)) => {
                kind == "job" && message.contains("trap: ") && message.contains(word)
            }
            (Found::Failed { kind, message }, End::Fails(word)) => {
                ["job", "app"].contains(&kind.as_str()) && message.contains(word)
            }
            (Found::Failed { kind, message }, End::Limit(word)) => kind == "limit" && message.contains(word),
            (Found::Failed { kind, message }, End::Refused(word)) => {
                kind == "unable" && message.contains(word)
            }
            _ => false,
        };
        host.cases.fetch_add(1, Relaxed);
        if !is_expected {
            host.wrong
                .lock()
                .expect("no thread panics with it")
                .push(format!("{name}: {found:?}, not {end:?}"));
        }
        true
    }

    fn end_of(&self, limits: &Limits, module: &[u8]) -> Found {
        let api = &self.api;
        let (status, answer) = api.publish("hostile", module);
        if !(200..300).contains(&status) {
            return Found::Refused(answer.to_string());
        }
        let ms = |time: Duration| time.as_millis() as u64;
        let submission = json!({
            "app": answer["hash"],
            "limits": {
                "memory_bytes": limits.memory_bytes_max,
                "stack_bytes": limits.stack_bytes_max,
                "output_bytes": limits.output_bytes_max,
                "shared_bytes": limits.shared_bytes_max.min(64 << 20),
                "guard_wait_ms": ms(limits.guard_wait_max),
                "time_ms": ms(limits.wall_time_max.filter(|time| *time <= SHORT).unwrap_or(TIME)),
                "cpu_ms": limits.cpu_time_max.map(ms),
            },
        });
        let (status, answer) = api.post("/api/v1/runs", &submission.to_string());
        if !(200..300).contains(&status) {
            return Found::Refused(answer.to_string());
        }
        let run = answer["run"].as_u64().expect("a run");
        // A host that cannot hold a module says so, and the run waits for others.
        let is_refused =
            |about: &Value| about["waiting_for"].as_str().is_some_and(|why| why.contains("cannot"));
        let is_over = |about: &Value| !["queued", "running"].iter().any(|state| about["state"] == *state);
        let about = api.run_until(run, "over", PATIENCE, |about| is_over(about) || is_refused(about));
        if !is_over(&about) {
            api.order(&format!("/api/v1/runs/{run}/cancel"));
            return Found::Refused(about["waiting_for"].to_string());
        }
        if about["state"] == "done" {
            return Found::Result(api.text(&format!("/api/v1/runs/{run}/result")));
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Found::Failed { kind: text(&about["error"]["kind"]), message: text(&about["error"]["message"]) }
    }
}

/// How a run ended.
#[derive(Debug)]
enum Found {
    Result(String),
    /// By the coordinator, before any host got it.
    Refused(String),
    Failed {
        kind: String,
        message: String,
    },
}
