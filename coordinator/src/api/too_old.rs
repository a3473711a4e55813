//! Clients whose release is below the operator's minimum are refused.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Api;
use super::problem::Problem;

/// What is answered whatever the client's release: it says which releases are accepted, and whether the service works.
const ALWAYS: [&str; 3] = ["/version", "/healthz", "/readyz"];

/// Lets a request pass, or refuses it.
pub async fn check(State(api): State<Api>, request: Request, next: Next) -> Response {
    if let Some(minimum) = api.links.enrolment.minimum().filter(|_| !ALWAYS.contains(&request.uri().path()))
        && let Some(agent) = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok())
        && let Err(too_old) = minimum.check_client(agent)
    {
        return Problem::new(StatusCode::FORBIDDEN, too_old.to_string()).into_response();
    }
    next.run(request).await
}
