//! Items that may exceed the limits, with their present size, and files that may use one another in a circle, each with
//! the reason.

/// An item that may exceed a limit.
pub struct Exception {
    /// A path from the top, or such a path and a struct in it.
    pub name: &'static str,
    /// Its present size, which must not grow.
    pub most: usize,
    /// The reason.
    pub why: &'static str,
}

/// Files that may use one another in a circle.
pub struct Cycle {
    /// All of them, sorted.
    pub files: &'static [&'static str],
    /// The reason.
    pub why: &'static str,
}

/// Many short tests of one thing, with a shared set-up.
const TESTS: &str = "it has many short tests of one thing";
/// Apps in that language copy a single file.
const ONE_FILE: &str = "an app copies it as one file";
/// A record of independent figures, each used by its own name.
const RECORD: &str = "it is a record of independent figures";
/// What users read as JSON, each key of which is a field.
const OBJECT: &str = "it is a JSON object, which has a field for each key";
/// The flags and arguments of one command.
const COMMAND: &str = "it has a field for each flag of a command";
/// All that is found out about one thing, each fact by its own name.
const FACTS: &str = "it has a field for each fact that is found out about a module";

const fn exception(name: &'static str, most: usize, why: &'static str) -> Exception {
    Exception { name, most, why }
}

#[rustfmt::skip]
pub const LINES: [Exception; 6] = [
    exception("guest-sdk/assemblyscript/sateen.ts", 474, ONE_FILE),
    exception("guest-sdk/c/sateen.h", 543, ONE_FILE),
    exception("protocol/src/coordinator/corners.rs", 415, TESTS),
    exception("protocol/src/coordinator/tests.rs", 524, TESTS),
    exception("protocol/src/host/tests.rs", 430, TESTS),
    exception("protocol/src/parcel/tests.rs", 465, TESTS),
];

#[rustfmt::skip]
pub const FIELDS: [Exception; 10] = [
    exception("api/src/grid.rs: Host", 17, OBJECT),
    exception("api/src/job.rs: JobDetails", 19, OBJECT),
    exception("api/src/run.rs: Figures", 18, RECORD),
    exception("cli/src/flags/grid.rs: Submit", 17, COMMAND),
    exception("coordinator/src/metrics/mod.rs: Counters", 20, RECORD),
    exception("host/src/grid/control/status.rs: Status", 25, OBJECT),
    exception("module/src/inspect.rs: Inspection", 19, FACTS),
    exception("protocol/src/coordinator/backlog.rs: Backlog", 22, RECORD),
    exception("protocol/src/coordinator/sizes.rs: Sizes", 19, RECORD),
    exception("protocol/src/host/sizes.rs: Sizes", 25, RECORD),
];

/// A guest's state is the data of its store.
const GUEST: &str = "a guest's state holds a part for each kind of import, whose functions take that state; guests call the \
                     scheduler, which holds the app, and whose workers run guests";

#[rustfmt::skip]
pub const CYCLES: [Cycle; 1] = [
    Cycle {
        why: GUEST,
        files: &[
            "host/src/guest/any.rs",
            "host/src/guest/aside.rs",
            "host/src/guest/catch_up.rs",
            "host/src/guest/control_words.rs",
            "host/src/guest/exposure.rs",
            "host/src/guest/failing.rs",
            "host/src/guest/guards.rs",
            "host/src/guest/heartbeat.rs",
            "host/src/guest/imports.rs",
            "host/src/guest/jobs.rs",
            "host/src/guest/kinds.rs",
            "host/src/guest/memory.rs",
            "host/src/guest/news.rs",
            "host/src/guest/objects.rs",
            "host/src/guest/offered.rs",
            "host/src/guest/prepare.rs",
            "host/src/guest/profile.rs",
            "host/src/guest/profiler.rs",
            "host/src/guest/recordings.rs",
            "host/src/guest/state.rs",
            "host/src/guest/stopped.rs",
            "host/src/guest/task.rs",
            "host/src/guest/waiting.rs",
            "host/src/module/app.rs",
            "host/src/module/pages.rs",
            "host/src/scheduler/guest_grid.rs",
            "host/src/scheduler/registry.rs",
            "host/src/scheduler/remote.rs",
            "host/src/scheduler/worker.rs",
        ],
    },
];
