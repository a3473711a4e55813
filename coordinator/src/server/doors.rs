//! The TLS handshake of a connection, and clients that do not know that they need one.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::connection::{Connection, Guarded};
use crate::limits::TLS_HANDSHAKE_MAX;

/// The answer to a request without TLS.
const PLAIN_PROBLEM: &str = r#"{"detail":"this coordinator speaks TLS; use an address that begins with https://","status":400,"title":"Bad Request","type":"about:blank"}"#;
/// A TLS connection begins with a record of this kind.
const HANDSHAKE: u8 = 22;
/// Bytes of a request without TLS that are read, so that its client sees the answer.
const PLAIN_BYTES_MAX: u64 = 64 << 10;

/// Does the handshake. Returns nothing if the client takes too long, or does not speak TLS, in which case it gets an answer.
pub async fn handshake(
    acceptor: &TlsAcceptor,
    mut socket: Guarded,
    connection: &Arc<Connection>,
) -> io::Result<Option<TlsStream<Guarded>>> {
    let begun = async {
        if socket.first_byte().await? != HANDSHAKE {
            let _ = socket.write_all(plain().as_bytes()).await;
            let _ = socket.shutdown().await;
            let _ = tokio::io::copy(&mut socket.take(PLAIN_BYTES_MAX), &mut tokio::io::sink()).await;
            return Ok(None);
        }
        acceptor.accept(socket).await.map(Some)
    };
    tokio::select! {
        done = timeout(TLS_HANDSHAKE_MAX, begun) => done.unwrap_or(Ok(None)),
        () = connection.until_cut() => Ok(None),
    }
}

fn plain() -> String {
    format!(
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/problem+json\r\n\
         Content-Length: {}\r\n\r\n{PLAIN_PROBLEM}",
        PLAIN_PROBLEM.len()
    )
}
