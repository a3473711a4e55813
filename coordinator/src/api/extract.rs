//! Parameters in paths and queries. Invalid ones are answered like all other errors: with a problem.

use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sateen_api::names::quoted;
use serde::de::DeserializeOwned;

use super::openapi;
use super::problem::Problem;

/// The named parts of a path.
#[derive(Debug)]
pub struct Path<T>(pub T);

/// The parameters of the query.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(error) => Err(Problem::invalid(
                "path",
                "names in it must be UTF-8 with special characters as %XX; /api/v1/openapi.json lists the paths",
                &error.body_text(),
            )),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(error) => Err(Problem::invalid(
                "query",
                "expected ?NAME=VALUE&NAME=VALUE, each parameter at most once; /api/v1/openapi.json lists the \
                 parameters of each path",
                &error.body_text(),
            )),
        }
    }
}

/// Refuses parameters that the operation does not have: a misspelt one would have no effect, and nobody would notice.
pub async fn known_parameters(path: MatchedPath, request: Request, next: Next) -> Response {
    let given = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let known = openapi::parameters(request.method(), path.as_str());
    if let (Ok(given), Some(known)) = (given, known)
        && let Some((name, _)) = given.iter().find(|(name, _)| !known.contains(&name.as_str()))
    {
        let has = if known.is_empty() {
            "no parameters".to_owned()
        } else {
            known.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
        };
        let why = format!("there is no parameter {} here; this operation has {has}", quoted(name));
        return Problem::bad_request(format!("invalid query: {why}")).into_response();
    }
    next.run(request).await
}
