//! The HTTP API. Changes to runs go through the driver; stored data is read from the store.

mod apps;
mod blobs;
mod body;
mod entry;
mod extract;
mod feed;
mod gate;
mod grid_status;
mod hosts;
mod jobs;
mod keys;
mod openapi;
mod operations;
mod origin;
mod pages;
mod paging;
mod problem;
mod ranges;
mod runs;
mod service;
mod shown;
mod tokens;
mod too_old;
mod websockets;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use sateen_api::Run;
use sateen_protocol::GridId;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use crate::access::Guard;
use crate::clock::Clock;
use crate::driver::DriverHandle;
use crate::limits::RUNS_WATCHED_MAX;
use crate::links::{FromLink, Links};
use crate::server::Gates;
use crate::store::Store;
use crate::token::TokenId;

use feed::Watching;
use runs::result::Results;

pub use entry::is_run_of;
pub use grid_status::status_of as status;
pub use hosts::all as hosts;
pub use origin::{PublicName, PublicNames};
pub use problem::Problem;
pub use runs::chronicle as chronicle_of;
pub use runs::details_of as details;
pub use runs::names as names_of;
pub use runs::parse as parse_run;

/// The newest runs, as many as a page lists; only those that `owner` submitted, if given.
pub async fn runs(api: &Api, owner: Option<TokenId>) -> Result<Vec<Run>, Problem> {
    runs::newest(api, RUNS_WATCHED_MAX, owner).await
}

/// State that request handlers share.
#[derive(Debug, Clone)]
pub struct Api {
    /// The grid's identity.
    pub grid: GridId,
    /// When the service started.
    pub clock: Clock,
    /// Apps, runs, blobs.
    pub store: Arc<Store>,
    /// The driver's task.
    pub driver: DriverHandle,
    /// The runtime that handles requests, away from the threads of sockets.
    pub work: Handle,
    /// The hosts' websockets.
    pub links: Arc<Links>,
    /// The channel on which hosts' websockets report.
    pub from_links: mpsc::UnboundedSender<FromLink>,
    /// The names under which the coordinator accepts requests.
    pub names: Arc<PublicNames>,
    /// Ends waits.
    pub shutdown: watch::Receiver<bool>,
    /// The feeds for pages.
    pub watching: Arc<Watching>,
    /// Limits for each peer and in all.
    pub gates: Arc<Gates>,
    /// Bounds the memory and the cores that reading modules takes.
    pub inspections: Arc<Semaphore>,
    /// Long results that are being sent.
    pub results: Arc<Results>,
    /// Who may do what.
    pub guard: Arc<Guard>,
    /// Whether this coordinator speaks TLS itself.
    pub is_tls: bool,
}

/// All routes.
pub fn router(api: Api) -> Router {
    Router::new()
        .route("/", get(pages::page))
        .route("/runs/{run}", get(pages::page))
        .route("/runs/{run}/tree", get(pages::page))
        .route("/runs/{run}/timeline", get(pages::page))
        .route("/hosts", get(pages::page))
        .route("/apps", get(pages::page))
        .route("/login", get(entry::login::page).post(entry::login::log_in))
        .route("/logout", post(entry::login::log_out))
        .route("/healthz", get(operations::healthz))
        .route("/readyz", get(operations::readyz))
        .route("/version", get(operations::version))
        .route("/metrics", get(operations::metrics))
        .route("/ws/watch", get(websockets::watch))
        .route("/api/v1/openapi.json", get(openapi::show))
        .route("/api/v1/apps", post(apps::publish).get(apps::list))
        .route("/api/v1/apps/{app}", get(apps::show).delete(apps::unpublish))
        .route("/api/v1/blobs", post(blobs::add))
        .route("/api/v1/blobs/{hash}", put(blobs::upload).get(blobs::download).head(blobs::head))
        .route("/api/v1/runs", post(runs::submit::submit).get(runs::list))
        .route("/api/v1/runs/{run}", get(runs::show).delete(runs::delete))
        .route("/api/v1/runs/{run}/overview", get(runs::details))
        .route("/api/v1/runs/{run}/timeline", get(runs::timeline))
        .route("/api/v1/runs/{run}/trace.json", get(runs::export::trace))
        .route("/api/v1/runs/{run}/jobs.csv", get(runs::export::csv))
        .route("/api/v1/runs/{run}/jobs/{job}", get(runs::job::show))
        .route("/api/v1/runs/{run}/wait", get(runs::wait))
        .route("/api/v1/runs/{run}/result", get(runs::result::result))
        .route("/api/v1/runs/{run}/submitter", get(runs::submitter::show))
        .route("/api/v1/runs/{run}/tree", get(runs::tree))
        .route("/api/v1/runs/{run}/log", get(runs::log))
        .route("/api/v1/runs/{run}/cancel", post(runs::cancel))
        .route("/api/v1/runs/{run}/suspend", post(runs::suspend))
        .route("/api/v1/runs/{run}/resume", post(runs::resume))
        .route("/api/v1/jobs/{key}", get(jobs::show))
        .route("/api/v1/hosts", get(hosts::list))
        .route("/api/v1/keys", get(keys::list))
        .route("/api/v1/keys/{host_key}/approve", post(keys::approve))
        .route("/api/v1/keys/{host_key}/revoke", post(keys::revoke))
        .route("/api/v1/me", get(tokens::me))
        .route("/api/v1/join", post(tokens::join))
        .route("/api/v1/tokens", post(tokens::make).get(tokens::list))
        .route("/api/v1/tokens/{token}", delete(tokens::revoke))
        .route("/api/v1/audit", get(tokens::audit))
        .route("/api/v1/status", get(service::status))
        .route("/api/v1/overview", get(service::overview))
        .route_layer(from_fn(extract::known_parameters))
        .layer(from_fn_with_state(api.clone(), elsewhere))
        .layer(from_fn_with_state(api.clone(), gate::pass))
        // Stays on its socket's thread.
        .route("/ws/host", get(websockets::host))
        .fallback(pages::file)
        .method_not_allowed_fallback(async || Problem::wrong_method())
        // Bodies are read in `gate` and by `body`, each with a limit of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(api.clone(), entry::check))
        .layer(from_fn_with_state(api.clone(), too_old::check))
        .layer(from_fn_with_state(api.clone(), origin::check))
        .layer(from_fn_with_state(api.clone(), operations::count))
        .layer(from_fn(pages::policy))
        .with_state(api)
}

/// Handles a request away from the threads of sockets, and stops when nobody waits for the answer any more.
async fn elsewhere(State(api): State<Api>, request: Request, next: Next) -> Response {
    // Dropping it ends its tasks.
    let mut tasks = JoinSet::new();
    tasks.spawn_on(next.run(request), &api.work);
    match tasks.join_next().await {
        Some(Ok(response)) => response,
        Some(Err(_)) | None => {
            let detail = "answering this failed; the coordinator's log says why";
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, detail).into_response()
        }
    }
}
