//! Responses of the page.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use tokio::time::timeout;

use super::check::{is_same, refusal};
use crate::grid::control::{Answer, Answers, Incoming, Request};

const FORM_BYTES_MAX: usize = 4 << 10;
/// Maximum time for an answer of the driver, which takes microseconds unless it is stuck.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Only the page's own scripts, styles and forms, and not within a frame.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

#[derive(Clone)]
struct Here {
    requests: Arc<dyn Fn(Incoming) + Send + Sync>,
    token: Arc<str>,
    port: u16,
}

/// The page, its parts, and its actions.
pub fn router(requests: impl Fn(Incoming) + Send + Sync + 'static, token: String, port: u16) -> Router {
    let here = Here { requests: Arc::new(requests), token: token.into(), port };
    Router::new()
        .route("/", get(page))
        .route("/page.css", get(async || of_type("text/css; charset=utf-8", include_str!("page.css"))))
        .route("/page.js", get(async || of_type("text/javascript; charset=utf-8", include_str!("page.js"))))
        .route("/icon.svg", get(async || of_type("image/svg+xml", include_str!("icon.svg"))))
        .route("/status.json", get(status))
        .route("/pause", post(pause))
        .route("/resume", post(resume))
        .route("/leave", post(leave))
        .fallback(async || (StatusCode::NOT_FOUND, "there is no such page; this host's page is /\n"))
        .method_not_allowed_fallback(async || {
            (StatusCode::METHOD_NOT_ALLOWED, "this address does not support that method\n")
        })
        .layer(from_fn_with_state(here.clone(), guard))
        .with_state(here)
}

/// Refuses other pages' requests, and adds headers for browsers.
async fn guard(State(here): State<Here>, request: HttpRequest, next: Next) -> Response {
    let mut response = match refusal(request.headers(), here.port) {
        Some(why) => (StatusCode::FORBIDDEN, format!("{why}\n")).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn of_type(kind: &'static str, text: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], text.into()).into_response()
}

async fn page(State(here): State<Here>) -> Response {
    of_type("text/html; charset=utf-8", include_str!("page.html").replace("{token}", &here.token))
}

async fn status(State(here): State<Here>) -> Response {
    match here.ask(Request::Status).await {
        Ok(Answer::Status(status)) => {
            of_type("application/json", serde_json::to_string(&status).unwrap_or_default())
        }
        Ok(_) | Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the host is about to end\n").into_response(),
    }
}

async fn pause(here: State<Here>, request: HttpRequest) -> Response {
    act(here, request, |form| Ok(Request::Pause { for_s: pause_s(form)? })).await
}

async fn resume(here: State<Here>, request: HttpRequest) -> Response {
    act(here, request, |_| Ok(Request::Resume)).await
}

async fn leave(here: State<Here>, request: HttpRequest) -> Response {
    act(here, request, |_| Ok(Request::Leave)).await
}

/// Performs the action of a form.
async fn act(
    State(here): State<Here>,
    request: HttpRequest,
    read: impl FnOnce(&[(String, String)]) -> Result<Request, String>,
) -> Response {
    let wants_json = accepts_json(request.headers());
    let refuse = |status: StatusCode, why: &str| said(wants_json, status, why);
    let body = timeout(ANSWER_MAX, to_bytes(request.into_body(), FORM_BYTES_MAX)).await;
    let Ok(Ok(body)) = body else {
        return refuse(StatusCode::BAD_REQUEST, "that is not a form of this page");
    };
    let form = fields(&String::from_utf8_lossy(&body));
    let token = form.iter().find(|(name, _)| name == "token").map_or("", |(_, value)| value.as_str());
    if !is_same(token, &here.token) {
        return refuse(
            StatusCode::FORBIDDEN,
            "the form is from an earlier page of this host; load the page again",
        );
    }
    let wanted = match read(&form) {
        Ok(wanted) => wanted,
        Err(why) => return refuse(StatusCode::UNPROCESSABLE_ENTITY, &why),
    };
    match here.ask(wanted).await {
        Ok(Answer::Done(text) | Answer::Progress(text)) if wants_json => said(true, StatusCode::OK, &text),
        Ok(Answer::Done(_) | Answer::Progress(_) | Answer::Status(_)) => Redirect::to("/").into_response(),
        Ok(Answer::Refused(why)) => refuse(StatusCode::CONFLICT, &why),
        Err(why) => refuse(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

fn accepts_json(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("application/json"))
}

fn said(as_json: bool, status: StatusCode, text: &str) -> Response {
    if as_json {
        let body = serde_json::json!({ "said": text }).to_string();
        (status, of_type("application/json", body)).into_response()
    } else {
        (status, format!("{text}\n")).into_response()
    }
}

impl Here {
    /// The first answer. Further answers, of a host that leaves, are for the command line.
    async fn ask(&self, request: Request) -> Result<Answer, &'static str> {
        let (answers, mut answered) = Answers::channel();
        (self.requests)((request, answers));
        match timeout(ANSWER_MAX, answered.recv()).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err("the host is about to end"),
            Err(_) => Err("the host does not answer"),
        }
    }
}

/// The time in the form; `None` means until the user resumes.
fn pause_s(form: &[(String, String)]) -> Result<Option<u64>, String> {
    let minutes = form.iter().find(|(name, _)| name == "minutes").map_or("", |(_, value)| value.as_str());
    if minutes.is_empty() {
        return Ok(None);
    }
    let seconds = minutes.parse::<u64>().ok().filter(|minutes| *minutes > 0);
    let seconds = seconds.and_then(|minutes| minutes.checked_mul(60));
    seconds.map(Some).ok_or_else(|| "a number of minutes is expected".to_owned())
}

/// The fields of a form whose values are digits.
fn fields(body: &str) -> Vec<(String, String)> {
    let pairs = body.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read() {
        let form = fields("token=ab&minutes=30&x");
        assert_eq!(form, [("token".into(), "ab".into()), ("minutes".into(), "30".into())]);
        assert_eq!(pause_s(&form), Ok(Some(1800)));
        assert_eq!(pause_s(&fields("minutes=")), Ok(None));
        for wrong in ["minutes=0", "minutes=-1", "minutes=1e3", "minutes=99999999999999999999", "minutes=a"] {
            assert!(pause_s(&fields(wrong)).is_err(), "{wrong}");
        }
    }
}
