//! What each operation needs, in one place.

use axum::http::Method;
use sateen_access::Scope::{self, Submitter, Viewer, Volunteer};

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it reveals only that this is a coordinator.
    Nothing,
    /// A browser that is logged in; others are sent to the page where they can log in.
    Page,
    /// Any token.
    Token,
    /// A token with one of these scopes, or an admin's.
    Scopes(&'static [Scope]),
    /// The same, for something of one run: with a submitter's token only if that submitted it.
    OfRun(&'static [Scope]),
    /// The same for a run that the query names.
    OfRunInQuery(&'static [Scope]),
    /// A token with the scope volunteer, or a join key that is to be exchanged.
    JoinKey,
}

/// Only admins' tokens have none of the scopes and are enough.
pub const ADMIN: Need = Need::Scopes(&[]);

/// What the operation with this method at this route needs. An operation without a rule is for admins alone.
pub fn need(method: &Method, route: &str) -> Need {
    rule(method, route).unwrap_or(ADMIN)
}

fn rule(method: &Method, route: &str) -> Option<Need> {
    let is_read = *method == Method::GET || *method == Method::HEAD;
    Some(match route {
        "/" | "/runs/{run}" | "/runs/{run}/tree" | "/runs/{run}/timeline" | "/hosts" | "/apps" => Need::Page,
        "/healthz" | "/readyz" | "/version" | "/login" | "/logout" | "/api/v1/openapi.json" => Need::Nothing,
        "/metrics" => Need::Scopes(&[Viewer]),
        "/ws/watch" => Need::Scopes(&[Viewer, Submitter]),
        "/ws/host" => Need::Scopes(&[Volunteer]),
        "/api/v1/join" => Need::JoinKey,
        "/api/v1/me" => Need::Token,
        "/api/v1/tokens" | "/api/v1/tokens/{token}" | "/api/v1/audit" => ADMIN,
        "/api/v1/keys" | "/api/v1/keys/{host_key}/approve" | "/api/v1/keys/{host_key}/revoke" => ADMIN,
        "/api/v1/status" | "/api/v1/overview" | "/api/v1/hosts" => Need::Scopes(&[Viewer, Submitter]),
        "/api/v1/apps" | "/api/v1/apps/{app}" if is_read => Need::Scopes(&[Viewer, Submitter]),
        "/api/v1/apps" | "/api/v1/apps/{app}" => Need::Scopes(&[Submitter]),
        // Hashes of inputs are known only to those who have the input, or were given its run.
        "/api/v1/blobs/{hash}" if is_read => Need::Scopes(&[Volunteer, Submitter]),
        "/api/v1/blobs" | "/api/v1/blobs/{hash}" => Need::Scopes(&[Submitter]),
        "/api/v1/runs" if is_read => Need::Scopes(&[Viewer, Submitter]),
        "/api/v1/runs" => Need::Scopes(&[Submitter]),
        "/api/v1/runs/{run}/submitter" => Need::Scopes(&[Volunteer]),
        "/api/v1/runs/{run}/result" => Need::OfRun(&[Submitter]),
        "/api/v1/jobs/{key}" => Need::OfRunInQuery(&[Submitter]),
        of_run if of_run.starts_with("/api/v1/runs/{run}") && is_read => Need::OfRun(&[Viewer, Submitter]),
        of_run if of_run.starts_with("/api/v1/runs/{run}") => Need::OfRun(&[Submitter]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Vec<&'static str> {
        let routes = include_str!("../mod.rs").split(".route(\"").skip(1);
        routes.filter_map(|rest| rest.split_once('"').map(|(path, _)| path)).collect()
    }

    #[test]
    fn every_route_has_a_rule() {
        let routes = routes();
        assert!(routes.len() > 30, "{routes:?}");
        for route in routes {
            assert!(rule(&Method::GET, route).is_some(), "{route}");
        }
        assert_eq!(need(&Method::GET, "/api/v1/new"), ADMIN);
    }

    /// A new operation must be added here if it needs no token.
    #[test]
    fn without_a_token_nothing_is_shown_and_viewers_change_nothing() {
        let open: Vec<&str> =
            routes().into_iter().filter(|route| need(&Method::GET, route) == Need::Nothing).collect();
        assert_eq!(open, ["/login", "/logout", "/healthz", "/readyz", "/version", "/api/v1/openapi.json"]);
        for route in routes() {
            for method in [Method::POST, Method::PUT, Method::DELETE] {
                let scopes = match need(&method, route) {
                    Need::Scopes(scopes) | Need::OfRun(scopes) | Need::OfRunInQuery(scopes) => scopes,
                    _ => continue,
                };
                let has_method = !["/metrics", "/api/v1/status", "/api/v1/overview", "/api/v1/hosts"]
                    .contains(&route)
                    && !route.starts_with("/ws/");
                assert!(!has_method || !scopes.contains(&Viewer), "{method} {route}");
            }
        }
        for secret in ["/api/v1/runs/{run}/result", "/api/v1/blobs/{hash}", "/api/v1/jobs/{key}"] {
            let scopes = match need(&Method::GET, secret) {
                Need::Scopes(scopes) | Need::OfRun(scopes) | Need::OfRunInQuery(scopes) => scopes,
                other => panic!("{secret} needs {other:?}"),
            };
            assert!(!scopes.contains(&Viewer), "{secret}");
        }
    }
}
