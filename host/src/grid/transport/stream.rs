//! The stream below a websocket, which counts received bytes: each byte of a slow frame is a sign of life.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes received on a stream, including those of incomplete frames.
#[derive(Debug, Clone, Default)]
pub struct Heard(Arc<AtomicU64>);

impl Heard {
    /// The number of bytes.
    pub fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A stream that counts the bytes read from it.
#[derive(Debug)]
pub struct Stream {
    socket: TcpStream,
    heard: Heard,
}

impl Stream {
    /// Starts to count.
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, heard: Heard::default() }
    }

    /// The stream's count.
    pub fn heard(&self) -> Heard {
        self.heard.clone()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, into))?;
        self.heard.0.fetch_add((into.filled().len() - before) as u64, Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn bytes_of_a_frame_that_is_not_whole_are_heard() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut peer = TcpStream::connect(listener.local_addr().expect("bound")).await.expect("it listens");
        let mut stream = Stream::new(listener.accept().await.expect("it dialled").0);
        let heard = stream.heard();
        assert_eq!(heard.bytes(), 0);
        let mut into = [0; 64];
        // The header of a frame of 256 KiB, and some of its bytes.
        for (part, so_far) in [(10, 10), (1, 11), (50, 61)] {
            peer.write_all(&vec![0; part]).await.expect("written");
            assert_eq!(stream.read(&mut into).await.expect("it came"), part);
            assert_eq!(heard.bytes(), so_far);
        }
    }
}
