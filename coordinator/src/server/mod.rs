//! The HTTP server: connections within their budgets, each with time limits for reading and writing.

mod activity;
mod connection;
mod doors;
mod gates;
mod pace;
mod proxied;
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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

use crate::limits::{CONNECTIONS_MAX, HEADERS_TIMEOUT, HTTP_BUFFER_BYTES_MAX};
use crate::shutdown::stopped;
use connection::Guarded;
use unread::ReadOn;

pub use connection::Connection;
pub use gates::{Full, Gates, Kind, Pass};
pub use proxied::{Proxies, TrustedProxy};

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

/// What is served, and how.
#[derive(Clone)]
pub struct Serving {
    /// What answers requests.
    pub router: Router,
    /// How connections are encrypted, if they are.
    pub tls: Option<TlsAcceptor>,
    /// The budgets of connections.
    pub gates: Arc<Gates>,
    /// Proxies that name their clients.
    pub proxies: Arc<Proxies>,
}

/// Serves until `stopping`, then lets open requests finish.
pub async fn serve(
    listener: TcpListener,
    serving: Serving,
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
            Ok((socket, address)) => {
                let until = Until { stopping: stopping.clone(), _open: open.clone() };
                if serving.proxies.trust(address) {
                    tokio::spawn(admit_from_proxy(socket, address, serving.clone(), until));
                } else {
                    admit(socket, address, serving.clone(), until);
                }
            }
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

/// How long a connection is served.
struct Until {
    stopping: watch::Receiver<bool>,
    /// Held while the connection is open.
    _open: mpsc::Sender<()>,
}

/// Learns from the proxy whose connection this is. Until then, it is the proxy's own, and uses the proxy's budgets.
async fn admit_from_proxy(mut socket: TcpStream, proxy: SocketAddr, to: Serving, until: Until) {
    let connection = Connection::new(proxy);
    let Ok(pass) = to.gates.take_for(connection.activity(), Kind::Connection) else {
        tracing::debug!(%proxy, "no room for a connection of a trusted proxy");
        return;
    };
    let mut stopping = until.stopping.clone();
    let client = tokio::select! {
        client = to.proxies.client(&mut socket, proxy) => client,
        () = connection.until_cut() => None,
        () = stopped(&mut stopping) => None,
    };
    drop(pass);
    if let Some(client) = client {
        admit(socket, client, to, until);
    }
}

fn admit(socket: TcpStream, address: SocketAddr, to: Serving, until: Until) {
    let connection = Arc::new(Connection::new(address));
    let Ok(plain) = to.gates.take_for(connection.activity(), Kind::Connection) else {
        tracing::debug!(%address, "no room for a connection");
        if to.tls.is_some() {
            // It could not read an answer without TLS.
            return;
        }
        // As far as its socket takes it at once; tokio does not know yet that it takes anything.
        let _ = socket.into_std().and_then(|mut socket| socket.write_all(busy().as_bytes()));
        return;
    };
    connection.hold(plain);
    // Steals pass here, and should not be delayed; the server works without it.
    let _ = socket.set_nodelay(true);
    // And pings should not wait behind large results in the system's buffer.
    let _ = socket2::SockRef::from(&socket).set_send_buffer_size(crate::limits::SEND_BUFFER_BYTES);
    tokio::spawn(async move {
        let socket = Guarded::new(socket, Arc::clone(&connection));
        let ended = match to.tls.clone() {
            None => serve_connection(socket, connection, to.router, until)
                .await
                .map_err(|error| error.to_string()),
            Some(acceptor) => match doors::handshake(&acceptor, socket, &connection).await {
                Ok(Some(socket)) => serve_connection(socket, connection, to.router, until)
                    .await
                    .map_err(|error| error.to_string()),
                Ok(None) => Ok(()),
                Err(error) => Err(error.to_string()),
            },
        };
        if let Err(error) = ended {
            tracing::debug!(%address, error, "a connection broke");
        }
    });
}

/// Serves the requests of one connection.
async fn serve_connection(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    connection: Arc<Connection>,
    router: Router,
    mut until: Until,
) -> hyper::Result<()> {
    let cut = Arc::clone(&connection);
    let answer = hyper::service::service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(connection.address));
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
        .serve_connection(TokioIo::new(socket), answer)
        .with_upgrades();
    tokio::pin!(served);
    tokio::select! {
        ended = &mut served => ended,
        () = cut.until_cut() => Ok(()),
        () = stopped(&mut until.stopping) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    }
}
