//! The HTTP server: connections within their budgets, each with time limits for reading and writing.

mod activity;
mod connection;
mod gates;
mod pace;
mod unread;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use sateen_command_line::explained;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};

use crate::limits::{CONNECTIONS_MAX, HEADERS_TIMEOUT, HTTP_BUFFER_BYTES_MAX};
use crate::shutdown::stopped;
use connection::Guarded;
use unread::ReadOn;

pub use connection::Connection;
pub use gates::{Full, Gates, Kind, Pass};

/// The answer to a connection for which there is no room: a problem as from the API, without the help of its parts.
const BUSY_PROBLEM: &str = r#"{"detail":"the coordinator has too many open connections; close some, or try again later","status":503,"title":"Service Unavailable","type":"about:blank"}"#;
/// Time after which a client may try again, in seconds.
const BUSY_S: u8 = 5;

/// Listens with a queue as long as there may be connections. From a short one, connections that come at once are dropped,
/// and their systems try again only after a second.
///
/// # Errors
/// When the system does not let this program listen there.
pub fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As std does: after a restart, connections of before may still be closing.
    socket.set_reuseaddr(cfg!(unix))?;
    socket.bind(address)?;
    socket.listen(CONNECTIONS_MAX as u32)
}

/// Serves until `stopping`, then lets open requests finish.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    gates: Arc<Gates>,
    mut stopping: watch::Receiver<bool>,
) -> std::io::Result<()> {
    // Closed when the last connection is.
    let (open, mut all_closed) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopped(&mut stopping) => break,
        };
        match accepted {
            Ok((socket, address)) => admit(socket, address, &router, &gates, &stopping, &open),
            Err(error) if is_of_connection(&error) => {}
            Err(error) => {
                // Out of descriptors, most likely; other connections will close meanwhile.
                tracing::error!(error = explained(&error), "cannot accept connections");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
    drop(open);
    let _ = all_closed.recv().await;
    Ok(())
}

fn busy() -> String {
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: {BUSY_S}\r\n\
         Content-Type: application/problem+json\r\nContent-Length: {}\r\n\r\n{BUSY_PROBLEM}",
        BUSY_PROBLEM.len()
    )
}

fn is_of_connection(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn admit(
    socket: TcpStream,
    address: SocketAddr,
    router: &Router,
    gates: &Arc<Gates>,
    stopping: &watch::Receiver<bool>,
    open: &mpsc::Sender<()>,
) {
    let connection = Arc::new(Connection::new(address));
    let Ok(plain) = gates.take_for(connection.activity(), Kind::Connection) else {
        tracing::debug!(%address, "no room for a connection");
        // As far as its socket takes it at once; tokio does not know yet that it takes anything.
        let _ = socket.into_std().and_then(|mut socket| socket.write_all(busy().as_bytes()));
        return;
    };
    connection.hold(plain);
    // Steals pass here, and should not be delayed; the server works without it.
    let _ = socket.set_nodelay(true);
    // And pings should not wait behind large results in the system's buffer.
    let _ = socket2::SockRef::from(&socket).set_send_buffer_size(crate::limits::SEND_BUFFER_BYTES);
    let (router, mut stopping, open) = (router.clone(), stopping.clone(), open.clone());
    tokio::spawn(async move {
        let io = TokioIo::new(Guarded::new(socket, Arc::clone(&connection)));
        let cut = Arc::clone(&connection);
        let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(ConnectInfo(address));
            request.extensions_mut().insert(Arc::clone(&connection));
            let (parts, body) = request.into_parts();
            let body = Body::new(ReadOn::new(&parts.headers, body));
            let answer = TowerToHyperService::new(router.clone()).call(Request::from_parts(parts, body));
            let connection = Arc::clone(&connection);
            async move {
                connection.is_answered(true);
                let answer = answer.await;
                connection.is_answered(false);
                answer
            }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_TIMEOUT)
            .max_buf_size(HTTP_BUFFER_BYTES_MAX)
            .serve_connection(io, answer)
            .with_upgrades();
        tokio::pin!(served);
        let ended = tokio::select! {
            ended = &mut served => ended,
            () = cut.until_cut() => return,
            () = stopped(&mut stopping) => {
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%address, %error, "a connection broke");
        }
        drop(open);
    });
}
