//! The document of the API, in OpenAPI 3.1. Its schemas come from the types; its operations are listed, and
//! tests compare them with the routes and with the answers of a running server.

mod operations;

use std::collections::BTreeMap;

use axum::Json;
use axum::http::Method;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::ranges::Range;
use operations::{Content, OPERATIONS, Operation};

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
    taken.subschema_for::<sateen_api::TokenRequest>();
    taken.subschema_for::<sateen_api::JoinRequest>();
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
        AccessToken,
        App,
        AuditLine,
        Blob,
        Grid,
        Host,
        HostKey,
        Job,
        JobDetails,
        Joined,
        RunSubmitter,
        Log,
        Me,
        NewToken,
        Run,
        RunDetails,
        Status,
        Submitted,
        Timeline,
        Tree,
        TreeTable,
        Version,
        HoldUp,
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
            "version": crate::release::VERSION,
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
    const PAGES: [&str; 7] =
        ["/login", "/logout", "/runs/{run}", "/runs/{run}/tree", "/runs/{run}/timeline", "/hosts", "/apps"];

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
