//! The stream below a websocket, which counts received bytes: each byte of a slow frame is a sign of life. It keeps to the
//! owner's limit of traffic.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::traffic::{Flow, Traffic};

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
    /// By direction: the end of a wait for the limit of traffic.
    waits: [Option<Pin<Box<Sleep>>>; 2],
}

impl Stream {
    /// Starts to count.
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, heard: Heard::default(), waits: [None, None] }
    }

    /// Ready when more may pass.
    fn poll_traffic(&mut self, flow: Flow, context: &mut Context<'_>) -> Poll<()> {
        let slot = &mut self.waits[flow as usize];
        loop {
            match (slot.as_mut(), Traffic::of_process().wait(flow)) {
                (None, None) => return Poll::Ready(()),
                (None, Some(wait)) => *slot = Some(Box::pin(sleep(wait))),
                (Some(sleep), _) => {
                    ready!(sleep.as_mut().poll(context));
                    *slot = None;
                }
            }
        }
    }

    fn written(written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            Traffic::of_process().count(Flow::Out, *bytes);
        }
        written
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
        ready!(self.poll_traffic(Flow::In, context));
        let before = into.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, into))?;
        let read = into.filled().len() - before;
        Traffic::of_process().count(Flow::In, read);
        self.heard.0.fetch_add(read as u64, Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_traffic(Flow::Out, context));
        Self::written(Pin::new(&mut self.socket).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_traffic(Flow::Out, context));
        Self::written(Pin::new(&mut self.socket).poll_write_vectored(context, parts))
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
    async fn bytes_of_an_incomplete_frame_count_as_a_sign_of_life() {
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
