//! The document of the API, in OpenAPI 3.1. Its schemas come from the types; its operations are listed here, and
//! tests compare them with the routes and with the answers of a running server.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::Method;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::ranges::{self, Range};

/// The content of a body.
enum Content {
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
struct Parameter {
    name: &'static str,
    /// Its description.
    description: &'static str,
    /// Its type in JSON Schema.
    kind: &'static str,
    /// The range of a number.
    range: Option<Range>,
    is_required: bool,
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

struct Operation {
    method: &'static str,
    path: &'static str,
    /// The description of an operation.
    summary: &'static str,
    query: &'static [Parameter],
    body: Content,
    status: u16,
    gives: Content,
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

const OPERATIONS: [Operation; 36] = [
    get("/healthz", "Whether the process answers.", Content::Other(TEXT)),
    get("/readyz", "Whether requests can be served: the data folder is written to.", Content::Other(TEXT)),
    get("/version", "The versions of the software and of the protocol.", Content::Json("Version")),
    get("/metrics", "Figures for Prometheus.", Content::Other(TEXT)),
    get("/ws/watch", "A websocket that sends pages what has changed.", Content::Other(TEXT)),
    get("/api/v1/openapi.json", "This document.", Content::Other("application/json")),
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

/// The parameters of the operation with this method at this path of the API.
pub fn parameters(method: &Method, path: &str) -> Option<Vec<&'static str>> {
    let of = |method: &str| {
        OPERATIONS.iter().find(|operation| {
            operation.path == path
                && path.starts_with("/api/")
                && operation.method.eq_ignore_ascii_case(method)
        })
    };
    let operation = of(method.as_str()).or_else(|| of("GET").filter(|_| method == Method::HEAD))?;
    Some(operation.query.iter().map(|parameter| parameter.name).collect())
}

pub async fn show() -> Json<Value> {
    Json(document())
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn content(content: &Content) -> Option<Value> {
    match content {
        Content::Nothing => None,
        Content::Json(name) => Some(json!({"application/json": {"schema": reference(name)}})),
        Content::Jsons(name) => {
            Some(json!({"application/json": {"schema": {"type": "array", "items": reference(name)}}}))
        }
        Content::Other(kind) => Some(json!({*kind: {}})),
    }
}

fn operation(operation: &Operation) -> Value {
    let named = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = named
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(operation.query.iter().map(|parameter| {
        let mut schema = json!({"type": parameter.kind});
        if let Some(Range { least, most, .. }) = parameter.range {
            (schema["minimum"], schema["maximum"]) = (least.into(), most.into());
        }
        json!({
            "name": parameter.name,
            "in": "query",
            "required": parameter.is_required,
            "description": parameter.description,
            "schema": schema,
        })
    }));
    let mut good = json!({"description": operation.summary});
    if let Some(content) = content(&operation.gives) {
        good["content"] = content;
    }
    let problem = json!({
        "description": "What is wrong and what to do, in a sentence.",
        "content": {"application/problem+json": {"schema": reference("Problem")}},
    });
    let mut responses = json!({"default": problem});
    responses[operation.status.to_string()] = good;
    let mut described =
        json!({"summary": operation.summary, "parameters": parameters, "responses": responses});
    if let Some(content) = content(&operation.body) {
        described["requestBody"] = json!({"required": true, "content": content});
    }
    described
}

fn schemas() -> serde_json::Map<String, Value> {
    let settings = || {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings
    };
    let mut taken = settings().for_deserialize().into_generator();
    taken.subschema_for::<sateen_api::Submission>();
    // A default stands for a field that an older version did not write. This version writes all fields.
    let no_default = |schema: &mut Schema| drop(schema.remove("default"));
    let given = settings().for_serialize().with_transform(RecursiveTransform(no_default));
    let mut given = given.into_generator();
    macro_rules! add {
        ($($name:ident),* $(,)?) => {
            $(given.subschema_for::<sateen_api::$name>();)*
        };
    }
    add!(
        App, Blob, Grid, Host, Job, JobDetails, Log, Run, RunDetails, Status, Submitted, Timeline, Tree,
        TreeTable, Version, HoldUp,
    );
    let mut schemas = given.take_definitions(true);
    schemas.extend(taken.take_definitions(true));
    let text = |description: &str| json!({"type": "string", "description": description});
    schemas.insert(
        "Problem".to_owned(),
        json!({
            "type": "object",
            "description": "As RFC 9457 has it.",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": text("Always about:blank."),
                "title": text("The status in words."),
                "status": {"type": "integer"},
                "detail": text("What is wrong and what to do."),
            },
        }),
    );
    schemas
}

/// The document.
pub fn document() -> Value {
    let mut paths: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
    for described in &OPERATIONS {
        paths.entry(described.path).or_default().insert(described.method, operation(described));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Sateen coordinator",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "All that the dashboard and the commands use. Errors are application/problem+json.",
        },
        "paths": paths,
        "components": {"schemas": schemas()},
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Pages of the dashboard: the same file for all paths.
    const PAGES: [&str; 5] = ["/runs/{run}", "/runs/{run}/tree", "/runs/{run}/timeline", "/hosts", "/apps"];

    /// The routes in the router's own source: each is described, and each that is described exists.
    #[test]
    fn all_routes_are_described_and_no_others() {
        let source = include_str!("mod.rs");
        let routes: BTreeSet<&str> = source
            .split(".route(\"")
            .skip(1)
            .filter_map(|rest| rest.split_once('"').map(|(path, _)| path))
            .filter(|path| !PAGES.contains(path))
            .collect();
        let described: BTreeSet<&str> = OPERATIONS.iter().map(|operation| operation.path).collect();
        assert_eq!(routes, described);
    }

    #[test]
    fn all_fields_of_an_answer_are_required_and_those_of_a_submission_have_defaults() {
        let schemas = &document()["components"]["schemas"];
        assert_eq!(schemas["JobCounts"]["properties"]["lost"].get("default"), None);
        let required = schemas["JobCounts"]["required"].as_array().expect("a list");
        assert!(required.contains(&json!("lost")), "{required:?}");
        assert_eq!(schemas["Submission"]["properties"]["strict_nan"]["default"], false);
    }

    #[test]
    fn all_references_resolve() {
        let document = document();
        let text = document.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap_or_default();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
