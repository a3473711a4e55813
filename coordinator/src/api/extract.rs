//! Parameters in paths and queries. Invalid ones are answered like all other errors: with a problem.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

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
