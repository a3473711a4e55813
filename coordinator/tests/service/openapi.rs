//! Compares the API document with the server's answers.

use serde_json::{Value, json};

use crate::host::{Host, said, text};
use crate::server::{Server, app, detail};

/// A key that no host has.
const ZERO_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// Paths that have nothing where no tokens are needed.
const OF_TOKENS: [&str; 2] = ["/api/v1/tokens", "/api/v1/audit"];

/// Where a value differs from its schema.
pub fn differences(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return differences(document, &document["components"]["schemas"][name], value, at, found);
    }
    if let Some(any) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        let fits = any.iter().any(|schema| {
            let mut found = Vec::new();
            differences(document, schema, value, at, &mut found);
            found.is_empty()
        });
        if !fits {
            found.push(format!("{at} fits none of {schema}: {value}"));
        }
        return;
    }
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    gather(document, schema, &mut properties, &mut required);
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ if schema["allOf"].is_array() => vec!["object"],
        _ => Vec::new(),
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() || number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_named = types.contains(&kind) || (kind == "integer" && types.contains(&"number"));
    if !types.is_empty() && !is_named {
        found.push(format!("{at} is not a {types:?}: {value}"));
        return;
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        found.push(format!("{at} is none of {words:?}: {value}"));
    }
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                differences(document, &schema["items"], item, &format!("{at}[{number}]"), found);
            }
        }
        Value::Object(fields) => {
            for name in required {
                if !fields.contains_key(&name) {
                    found.push(format!("{at} has no {name}"));
                }
            }
            for (name, field) in fields {
                match properties
                    .get(name)
                    .or_else(|| Some(&schema["additionalProperties"]).filter(|more| more.is_object()))
                {
                    Some(schema) => differences(document, schema, field, &format!("{at}.{name}"), found),
                    None => found.push(format!("{at}.{name} is not described")),
                }
            }
        }
        _ => {}
    }
}

/// An object's properties, including those of its parts.
fn gather(
    document: &Value,
    schema: &Value,
    properties: &mut serde_json::Map<String, Value>,
    required: &mut Vec<String>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap_or_default();
        return gather(document, &document["components"]["schemas"][name], properties, required);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        gather(document, part, properties, required);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        properties.insert(name.clone(), property.clone());
    }
    required.extend(
        schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_owned())),
    );
}

/// A server with contents behind every path, and the words for their parameters.
fn furnished() -> (Server, Host, Vec<(&'static str, String)>) {
    let server = Server::start();
    let hash = server.publish();
    let run = server.submit();
    let (mut host, _) = Host::join(&server.address, "one");
    let (given, number) = host.take_root();
    crate::watch::begin_some_jobs(&mut host, given);
    host.send(&[said(given)]);
    host.finish(given, number, text("42"));
    host.await_acknowledgement(given);
    let words = vec![
        ("{app}", "probe".to_owned()),
        ("{hash}", hash),
        ("{run}", run.to_string()),
        ("{job}", "0000000000000002".to_owned()),
        ("{key}", "0000000000000001".to_owned()),
        ("{host_key}", "00000001".repeat(8)),
        ("{token}", "1".to_owned()),
    ];
    (server, host, words)
}

/// Each path of the document, as a URL with contents, and its operations.
fn described<'a>(
    document: &'a Value,
    words: &'a [(&'static str, String)],
) -> impl Iterator<Item = (&'a String, String, &'a Value)> {
    let paths = document["paths"].as_object().expect("paths");
    paths.iter().map(|(path, operations)| {
        let url = words.iter().fold(path.clone(), |url, (name, word)| url.replace(name, word));
        (path, url, operations)
    })
}

#[test]
fn answers_match_their_description() {
    let (server, _host, words) = furnished();
    let document = server.json("/api/v1/openapi.json");
    let mut looked_at = 0;
    for (path, url, operations) in described(&document, &words) {
        let described: Vec<String> =
            operations.as_object().expect("operations").keys().map(|method| method.to_uppercase()).collect();
        // No method is answered that is not described, and vice versa.
        let allowed = server.allowed(&url);
        let mut expected = described.clone();
        if expected.contains(&"GET".to_owned()) && !expected.contains(&"HEAD".to_owned()) {
            expected.push("HEAD".to_owned());
        }
        let sorted = |mut words: Vec<String>| {
            words.sort();
            words.dedup();
            words
        };
        assert_eq!(sorted(allowed), sorted(expected), "{path}");
        let response = &operations["get"]["responses"]["200"]["content"];
        if path.starts_with("/ws/") || !response.is_object() {
            continue;
        }
        let (status, body) = server.get(&url);
        // This server needs no tokens; those of one that does are looked at in `access.rs`.
        if OF_TOKENS.contains(&path.as_str()) {
            assert_eq!(status, 409, "{url}");
            continue;
        }
        assert_eq!(status, 200, "{url}: {}", String::from_utf8_lossy(&body));
        if let Some(schema) = response["application/json"]["schema"].as_object() {
            let value: Value = serde_json::from_slice(&body).expect("JSON");
            let mut found = Vec::new();
            differences(&document, &Value::from(schema.clone()), &value, path, &mut found);
            assert!(found.is_empty(), "{found:#?}");
            looked_at += 1;
        }
    }
    assert!(looked_at >= 15, "{looked_at}");
    for (answer, path, method, status) in [
        (server.post("/api/v1/apps?name=other", &app("(func)")), "/api/v1/apps", "post", "201"),
        (server.post("/api/v1/runs", br#"{"app":"probe"}"#), "/api/v1/runs", "post", "201"),
        (
            server.put(&format!("/api/v1/blobs/{}", blake3::hash(b"x").to_hex()), b"x"),
            "/api/v1/blobs/{hash}",
            "put",
            "201",
        ),
        (server.post("/api/v1/runs/2/cancel", b""), "/api/v1/runs/{run}/cancel", "post", "202"),
    ] {
        assert_eq!(answer.0.to_string(), status, "{path}");
        let schema =
            &document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"];
        let mut found = Vec::new();
        differences(&document, schema, &serde_json::from_slice(&answer.1).expect("JSON"), path, &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
    let (_, problem) = server.get("/api/v1/runs/99");
    let mut found = Vec::new();
    let schema = json!({"$ref": "#/components/schemas/Problem"});
    differences(&document, &schema, &serde_json::from_slice(&problem).expect("JSON"), "problem", &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

/// Optional properties of requests, in the document and in the server.
#[test]
fn exactly_the_required_properties_cannot_be_left_out() {
    let (server, _host, words) = furnished();
    let document = server.json("/api/v1/openapi.json");
    let value = |kind: &str| match kind {
        "integer" => "1",
        "number" => "0.01",
        "boolean" => "false",
        _ => "other",
    };
    let mut optional = 0;
    for (path, url, operations) in described(&document, &words) {
        for (method, operation) in operations.as_object().expect("operations") {
            let in_query = operation["parameters"].as_array().expect("parameters").iter();
            let in_query: Vec<_> = in_query.filter(|parameter| parameter["in"] == "query").collect();
            let ask = |left_out: Option<&Value>| {
                let given = in_query.iter().filter(|parameter| Some(**parameter) != left_out);
                let given: Vec<String> = given
                    .map(|parameter| {
                        let name = parameter["name"].as_str().expect("a name");
                        // Other values than these words are refused.
                        let value = match (path.as_str(), name) {
                            ("/api/v1/runs", "state") => "done",
                            ("/api/v1/hosts", "after") => "h0000000000000001",
                            ("/api/v1/keys", "after") => ZERO_KEY,
                            _ => value(parameter["schema"]["type"].as_str().expect("a type")),
                        };
                        format!("{name}={value}")
                    })
                    .collect();
                let url = format!("{url}?{}", given.join("&"));
                if method == "post" { server.post(&url, &app("(func)")).0 } else { server.get(&url).0 }
            };
            if in_query.is_empty() || OF_TOKENS.contains(&path.as_str()) {
                continue;
            }
            assert!(ask(None) < 300, "{method} {path} with all that it takes: {}", ask(None));
            for parameter in &in_query {
                let is_required = parameter["required"].as_bool().expect("it says so");
                optional += usize::from(!is_required);
                let status = ask(Some(parameter));
                assert_eq!(
                    is_required,
                    status == 400,
                    "{method} {path} without {}: {status}",
                    parameter["name"]
                );
            }
        }
    }
    assert!(optional >= 12, "{optional}");
    // The one JSON body: without each of its fields in turn.
    let schema = &document["components"]["schemas"]["Submission"];
    let required: Vec<&str> =
        schema["required"].as_array().expect("some").iter().filter_map(Value::as_str).collect();
    let whole = json!({
        "app": "probe", "function": "main", "arguments": [], "inputs": {}, "limits": {},
        "stealing": "random", "fault_tolerance": "off", "record_every_ms": 250, "strict_nan": true,
        "trust": "trust", "priority": "high", "reuse": true,
    });
    let properties = schema["properties"].as_object().expect("properties");
    assert!(properties.keys().eq(whole.as_object().expect("an object").keys()), "{properties:?}");
    for name in properties.keys() {
        let mut submission = whole.clone();
        submission.as_object_mut().expect("an object").remove(name);
        let (status, _) = server.post("/api/v1/runs", submission.to_string().as_bytes());
        assert_eq!(status, if required.contains(&name.as_str()) { 400 } else { 201 }, "without {name}");
    }
}

/// Every number in a query has a range in the document. Values outside are refused with that range, and its ends are
/// accepted.
#[test]
fn numbers_out_of_their_ranges_are_refused_and_not_replaced() {
    let (server, _host, words) = furnished();
    let document = server.json("/api/v1/openapi.json");
    let mut looked_at = 0;
    let without_tokens =
        described(&document, &words).filter(|(path, ..)| !OF_TOKENS.contains(&path.as_str()));
    for (_, url, operations) in without_tokens {
        for parameter in operations["get"]["parameters"].as_array().into_iter().flatten() {
            let schema = &parameter["schema"];
            if parameter["in"] != "query" || !["integer", "number"].iter().any(|kind| schema["type"] == *kind)
            {
                continue;
            }
            looked_at += 1;
            let name = parameter["name"].as_str().expect("a name");
            let [least, most] = ["minimum", "maximum"].map(|end| schema[end].as_u64().expect("an end"));
            for wrong in [least as i64 - 1, most as i64 + 1].map(|number| number.to_string()) {
                let (status, why) = detail(server.get(&format!("{url}?{name}={wrong}")));
                let range = format!("from {least} to {most}");
                assert!(status == 400 && why.contains(name) && why.contains(&range), "{url} {wrong}: {why}");
            }
            for wrong in ["x", "", "1e", "NaN", "0x10"] {
                let (status, why) = detail(server.get(&format!("{url}?{name}={wrong}")));
                assert!(status == 400 && why.contains(name), "{url} {wrong}: {status} {why}");
            }
            if schema["type"] == "integer" {
                let (status, why) = detail(server.get(&format!("{url}?{name}=1.5")));
                assert!(status == 400 && why.contains("whole number"), "{url}: {status} {why}");
            }
            for right in [least, most] {
                let (status, body) = server.get(&format!("{url}?{name}={right}"));
                // The run may not exist.
                let is_taken = status == 200 || (status == 404 && name == "run");
                assert!(is_taken, "{url} {right}: {}", String::from_utf8_lossy(&body));
            }
        }
    }
    assert_eq!(looked_at, 10);
}

#[test]
fn unknown_paths_are_not_found() {
    let server = Server::start();
    for path in [
        "/api",
        "/api/v1",
        "/api/v1/nothing",
        "/api/v1/runs/1/nothing",
        "/assets/nothing.js",
        "/ws/nothing",
        "/index.html/x",
        "/runs",
        "/..%2fCargo.toml",
    ] {
        assert_eq!(detail(server.get(path)).0, 404, "{path}");
    }
    for path in ["/api/v1/status", "/api/v1/hosts", "/api/v1/runs/1/overview", "/api/v1/openapi.json"] {
        assert_eq!(detail(server.post(path, b"")).0, 405, "{path}");
        assert_eq!(detail(server.delete(path)).0, 405, "{path}");
    }
}
