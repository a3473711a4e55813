//! The dashboard, which is part of this program, if it was built with it.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};

use super::problem::Problem;

/// A file of the dashboard.
#[derive(Debug)]
struct Asset {
    path: &'static str,
    bytes: &'static [u8],
    gzip: &'static [u8],
}

static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Names with this prefix contain a hash of the file, which therefore never changes.
const HASHED: &str = "assets/";
/// No content from elsewhere, no inline scripts, no framing.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";

fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// A page of the dashboard, whose script finds out what to show. Without the dashboard, the start page says
/// how to build it.
pub async fn page(uri: Uri, headers: HeaderMap) -> Response {
    if let Some(index) = asset("index.html") {
        return answer(index, &headers);
    }
    if uri.path() == "/" {
        return Html(include_str!("index.html")).into_response();
    }
    Problem::not_found(
        "this coordinator was built without the dashboard; install Node 20 or newer and run `cargo xtask build`",
    )
    .into_response()
}

/// A file of the dashboard, or 404.
pub async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    match asset(path).filter(|_| path != "index.html") {
        Some(asset) if method == Method::GET || method == Method::HEAD => answer(asset, &headers),
        Some(_) => Problem::wrong_method().into_response(),
        None => not_found(&method, path, headers),
    }
}

/// Browsers get the dashboard, which shows a message that there is nothing; programs get a problem.
fn not_found(method: &Method, path: &str, mut headers: HeaderMap) -> Response {
    const OF_PROGRAMS: [&str; 3] = ["api/", HASHED, "ws/"];
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_of_people = *method == Method::GET
        && accepted.contains("text/html")
        && !OF_PROGRAMS.iter().any(|start| path.starts_with(start));
    // A missing page cannot be unmodified.
    headers.remove(header::IF_NONE_MATCH);
    match asset("index.html") {
        Some(index) if is_of_people => (StatusCode::NOT_FOUND, answer(index, &headers)).into_response(),
        _ => {
            Problem::not_found("page not found; `/api/v1/openapi.json` lists the API's paths").into_response()
        }
    }
}

fn answer(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let tag = format!("\"{}\"", &blake3::hash(asset.bytes).to_hex()[..32]);
    let cached =
        if asset.path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let about = [
        (header::ETAG, tag.clone()),
        (header::CACHE_CONTROL, cached.to_owned()),
        (header::VARY, "accept-encoding".to_owned()),
        (header::CONTENT_TYPE, kind(asset.path).to_owned()),
    ];
    if text(header::IF_NONE_MATCH).split(',').any(|known| known.trim().trim_start_matches("W/") == tag) {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    let takes_gzip = text(header::ACCEPT_ENCODING).split(',').any(|offer| {
        let (name, quality) = offer.split_once(';').unwrap_or((offer, ""));
        name.trim().eq_ignore_ascii_case("gzip") && quality.trim().trim_start_matches("q=") != "0"
    });
    if takes_gzip && asset.gzip.len() < asset.bytes.len() {
        return (about, [(header::CONTENT_ENCODING, "gzip")], asset.gzip).into_response();
    }
    (about, asset.bytes).into_response()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("json" | "webmanifest") => "application/json",
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Limits what browsers may do with the content.
pub async fn policy(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers also hide the origin of forms, and a login of unknown origin is refused.
        (header::REFERRER_POLICY, "same-origin"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}
