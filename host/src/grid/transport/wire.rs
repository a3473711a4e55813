//! The bytes below a websocket: as they are between the hosts of a site, and in TLS for a coordinator that speaks it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::stream::{Heard, Stream};

/// A stream, in TLS or not. What was received is counted below TLS, byte by byte.
#[derive(Debug)]
pub enum Wire {
    /// Bytes as they are.
    Plain(Stream),
    /// Encrypted.
    Tls(Box<TlsStream<Stream>>),
}

impl Wire {
    /// Does the handshake of TLS with the machine of this name or address.
    ///
    /// # Errors
    /// If it fails, or the certificate is for another machine or by an unknown authority.
    pub async fn encrypt(self, host: &str, config: Arc<ClientConfig>) -> io::Result<Self> {
        let Self::Plain(stream) = self else { return Ok(self) };
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::other(format!("{host} is not the name or address of a machine")))?;
        let stream = TlsConnector::from(config).connect(name, stream).await?;
        Ok(Self::Tls(Box::new(stream)))
    }

    /// The count of received bytes.
    pub fn heard(&self) -> Heard {
        match self {
            Self::Plain(stream) => stream.heard(),
            Self::Tls(stream) => stream.get_ref().0.heard(),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
