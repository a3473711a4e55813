//! The operations of the API.

use super::super::ranges::{self, Range};

/// The content of a body.
pub enum Content {
    /// A value of a type, as JSON.
    Json(&'static str),
    /// A list of such values.
    Jsons(&'static str),
    /// Something else: its media type.
    Other(&'static str),
    /// Nothing.
    Nothing,
}

/// A query parameter.
pub struct Parameter {
    pub name: &'static str,
    /// Its description.
    pub description: &'static str,
    /// Its type in JSON Schema.
    pub kind: &'static str,
    /// The range of a number.
    pub range: Option<Range>,
    pub is_required: bool,
}

impl Parameter {
    const fn text(name: &'static str, description: &'static str) -> Self {
        Self { name, description, kind: "string", range: None, is_required: false }
    }

    const fn whole(range: Range, description: &'static str) -> Self {
        Self { kind: "integer", range: Some(range), ..Self::text(range.name, description) }
    }

    const fn number(range: Range, description: &'static str) -> Self {
        Self { kind: "number", ..Self::whole(range, description) }
    }

    const fn flag(name: &'static str, description: &'static str) -> Self {
        Self { kind: "boolean", ..Self::text(name, description) }
    }

    const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    /// The description of an operation.
    pub summary: &'static str,
    pub query: &'static [Parameter],
    pub body: Content,
    pub status: u16,
    pub gives: Content,
}

const fn get(path: &'static str, summary: &'static str, gives: Content) -> Operation {
    Operation { method: "get", path, summary, query: &[], body: Content::Nothing, status: 200, gives }
}

const fn change(path: &'static str, summary: &'static str) -> Operation {
    let gives = Content::Json("Run");
    Operation { method: "post", path, summary, query: &[], body: Content::Nothing, status: 202, gives }
}

const WASM: &str = "application/wasm";
const BYTES: &str = "application/octet-stream";
const TEXT: &str = "text/plain";

/// All operations.
pub const OPERATIONS: [Operation; 46] = [
    get("/healthz", "Whether the process answers.", Content::Other(TEXT)),
    get("/readyz", "Whether requests can be served: the data folder is written to.", Content::Other(TEXT)),
    get("/version", "The versions of the software and of the protocol.", Content::Json("Version")),
    get("/metrics", "Figures for Prometheus.", Content::Other(TEXT)),
    get("/ws/watch", "A websocket that sends pages what has changed.", Content::Other(TEXT)),
    get("/api/v1/openapi.json", "This document.", Content::Other("application/json")),
    get("/api/v1/me", "The token of this request.", Content::Json("Me")),
    get("/api/v1/tokens", "All tokens, without their secrets.", Content::Jsons("AccessToken")),
    Operation {
        method: "post",
        body: Content::Json("TokenRequest"),
        status: 201,
        ..get("/api/v1/tokens", "Makes a token.", Content::Json("NewToken"))
    },
    Operation {
        method: "delete",
        ..get(
            "/api/v1/tokens/{token}",
            "Revokes a token, by its number or name.",
            Content::Json("AccessToken"),
        )
    },
    Operation {
        method: "post",
        body: Content::Json("JoinRequest"),
        ..get("/api/v1/join", "Exchanges a join key for the token of a host.", Content::Json("Joined"))
    },
    Operation {
        query: &[
            Parameter::whole(ranges::BEFORE, "Only lines with smaller numbers."),
            Parameter::whole(ranges::AUDIT_LIMIT, "Maximum lines of the answer, 100 if not given."),
        ],
        ..get(
            "/api/v1/audit",
            "What was done with tokens, and refused, the newest first.",
            Content::Jsons("AuditLine"),
        )
    },
    get("/api/v1/status", "The status of the grid.", Content::Json("Status")),
    get(
        "/api/v1/overview",
        "Status, the first 1000 hosts, the newest runs, and what needs attention.",
        Content::Json("Grid"),
    ),
    Operation {
        query: &[
            Parameter::text("after", "Only hosts with greater ids than this."),
            Parameter::whole(ranges::HOSTS_LIMIT, "Maximum hosts of the answer, 1000 if not given."),
        ],
        ..get(
            "/api/v1/hosts",
            "The connected hosts, in the order of their ids. The header Link has the next page, if there is one.",
            Content::Jsons("Host"),
        )
    },
    Operation {
        query: &[
            Parameter::text("after", "Only keys behind this one."),
            Parameter::whole(ranges::HOSTS_LIMIT, "Maximum keys of the answer, 1000 if not given."),
        ],
        ..get(
            "/api/v1/keys",
            "The keys of hosts, in their order: those that may take part, that wait for approval, and that may not. The \
             header Link has the next page, if there is one.",
            Content::Jsons("HostKey"),
        )
    },
    Operation {
        method: "post",
        ..get(
            "/api/v1/keys/{host_key}/approve",
            "Lets the host with this key take part; a whole key need not be known yet.",
            Content::Json("HostKey"),
        )
    },
    Operation {
        method: "post",
        ..get(
            "/api/v1/keys/{host_key}/revoke",
            "Cuts the host with this key off, and refuses it from now on.",
            Content::Json("HostKey"),
        )
    },
    get("/api/v1/apps", "All published apps, the newest first.", Content::Jsons("App")),
    Operation {
        query: &[
            Parameter::text("name", "The app's name.").required(),
            Parameter::text("by", "The publisher to show."),
        ],
        body: Content::Other(WASM),
        method: "post",
        status: 201,
        ..get("/api/v1/apps", "Publishes a module; 200 if it was published before.", Content::Json("App"))
    },
    get("/api/v1/apps/{app}", "An app by its name, hash, or the beginning of that.", Content::Json("App")),
    Operation {
        method: "delete",
        status: 204,
        ..get("/api/v1/apps/{app}", "Gives up a name; only for the address that owns it.", Content::Nothing)
    },
    Operation {
        method: "post",
        body: Content::Other(BYTES),
        status: 201,
        ..get(
            "/api/v1/blobs",
            "Uploads an input whose hash is not known; 200 if it existed before.",
            Content::Json("Blob"),
        )
    },
    get("/api/v1/blobs/{hash}", "A module or an input.", Content::Other(BYTES)),
    Operation { method: "head", ..get("/api/v1/blobs/{hash}", "Whether the blob exists.", Content::Nothing) },
    Operation {
        method: "put",
        body: Content::Other(BYTES),
        status: 201,
        ..get("/api/v1/blobs/{hash}", "Uploads an input; 200 if it existed before.", Content::Json("Blob"))
    },
    Operation {
        query: &[
            Parameter::text(
                "state",
                "Only runs in this state, or in one of several, with commas between them.",
            ),
            Parameter::text("q", "Only runs whose number, app, entry point or arguments contain this."),
            Parameter::whole(ranges::BEFORE, "Only runs with smaller numbers."),
            Parameter::whole(ranges::RUNS_LIMIT, "Maximum runs of the answer, 100 if not given."),
        ],
        ..get(
            "/api/v1/runs",
            "Runs, the newest first, without the figures of each host. The header Link has the next page, if there is one.",
            Content::Jsons("Run"),
        )
    },
    Operation {
        method: "post",
        body: Content::Json("Submission"),
        status: 201,
        ..get("/api/v1/runs", "Submits a run.", Content::Json("Submitted"))
    },
    get("/api/v1/runs/{run}", "A run.", Content::Json("Run")),
    Operation {
        method: "delete",
        status: 204,
        ..get("/api/v1/runs/{run}", "Deletes a run that is over, with all its data.", Content::Nothing)
    },
    Operation {
        query: &[
            Parameter::number(ranges::TIMEOUT_S, "Answers after this time at the latest, 30 s if not given."),
            Parameter::flag("figures", "Waits until its counts are final or partial, too."),
        ],
        ..get(
            "/api/v1/runs/{run}/wait",
            "Answers when the run is over; earlier, with the run as it is, when too many requests wait.",
            Content::Json("Run"),
        )
    },
    get("/api/v1/runs/{run}/result", "The run's result, unchanged.", Content::Other(BYTES)),
    get(
        "/api/v1/runs/{run}/overview",
        "A run with jobs by depth, critical path, series and events.",
        Content::Json("RunDetails"),
    ),
    get("/api/v1/runs/{run}/tree", "The first jobs of a run's tree.", Content::Json("Tree")),
    Operation {
        query: &[Parameter::whole(
            ranges::AFTER,
            "The number of the last line that is known; 0 if not given.",
        )],
        ..get("/api/v1/runs/{run}/log", "The newest lines of the app's log.", Content::Json("Log"))
    },
    get(
        "/api/v1/runs/{run}/submitter",
        "Who submitted a run, for hosts whose owners allow or refuse submitters.",
        Content::Json("RunSubmitter"),
    ),
    Operation {
        query: &[
            Parameter::whole(
                ranges::FROM_MS,
                "From this moment on, counted from the run's submission; from the first if not given.",
            ),
            Parameter::whole(ranges::TO_MS, "To this one; to the last if not given."),
            Parameter::whole(ranges::BUCKETS, "Maximum stretches of time; 600 if not given."),
        ],
        ..get("/api/v1/runs/{run}/timeline", "What each worker did, over time.", Content::Json("Timeline"))
    },
    get("/api/v1/runs/{run}/jobs/{job}", "One job of a run.", Content::Json("JobDetails")),
    get("/api/v1/runs/{run}/jobs.csv", "All jobs of a run, for spreadsheets.", Content::Other("text/csv")),
    get(
        "/api/v1/runs/{run}/trace.json",
        "The same in Chrome's trace format, which Perfetto opens.",
        Content::Other("application/json"),
    ),
    change("/api/v1/runs/{run}/cancel", "Ends a run without a result."),
    change("/api/v1/runs/{run}/suspend", "Suspends a run."),
    change("/api/v1/runs/{run}/resume", "Resumes a suspended run."),
    Operation {
        query: &[Parameter::whole(
            ranges::RUN,
            "Only in this run; in the newest run that has the job if not given.",
        )],
        ..get("/api/v1/jobs/{key}", "All that is needed to run one job again.", Content::Json("Job"))
    },
    get("/", "The dashboard.", Content::Other("text/html")),
    get("/ws/host", "The websocket of hosts, which use their own protocol on it.", Content::Other(TEXT)),
];
