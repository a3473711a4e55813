//! One connection, and the socket below it.

use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::activity::Activity;
use super::gates::Pass;
use super::pace::Pace;
use crate::limits::READER_PATIENCE;
use crate::peer::Peer;

const UNLIMITED: i64 = i64::MAX;

/// Called with the number of bytes of each read.
type OnRead = Box<dyn Fn(usize) + Send + Sync>;

/// The other end of a connection, and what is granted to it. Handlers find it among a request's extensions.
pub struct Connection {
    /// The peer whose budgets it uses.
    pub peer: Peer,
    /// Its address.
    pub address: SocketAddr,
    /// The number of bytes that may still be read.
    to_read_bytes: AtomicI64,
    /// Its activity, which decides what it keeps.
    activity: Arc<Activity>,
    /// Held until it becomes a websocket, which has a budget of its own.
    plain: Mutex<Option<Pass>>,
    on_read: OnceLock<OnRead>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let peer = Peer::of(address.ip());
        Self {
            peer,
            address,
            to_read_bytes: AtomicI64::new(UNLIMITED),
            activity: Arc::new(Activity::new(peer)),
            plain: Mutex::default(),
            on_read: OnceLock::new(),
        }
    }

    /// Its activity, which decides what it keeps.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Holds this until the connection becomes a websocket.
    pub(super) fn hold(&self, plain: Pass) {
        *self.plain.lock().unwrap_or_else(PoisonError::into_inner) = Some(plain);
    }

    /// Sets whether an answer is being prepared; otherwise it is the peer's turn.
    pub fn is_answered(&self, is_answering: bool) {
        self.activity.is_answered(is_answering);
    }

    pub(super) fn was_moved(&self, bytes: usize) {
        self.activity.was_moved(bytes);
    }

    #[cfg(test)]
    pub(super) fn is_cut(&self) -> bool {
        self.activity.is_cut()
    }

    /// Waits until the connection is to be aborted.
    pub async fn until_cut(&self) {
        self.activity.until_cut().await;
    }

    /// The connection is a websocket from now on.
    pub fn becomes_websocket(&self) {
        drop(self.plain.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Aborts the connection once this many more bytes have come.
    pub fn read_at_most(&self, bytes: u32) {
        self.to_read_bytes.store(i64::from(bytes), Relaxed);
    }

    /// Removes that limit.
    pub fn read_on(&self) {
        self.to_read_bytes.store(UNLIMITED, Relaxed);
    }

    /// Registers a callback for each read of bytes, whether or not they complete anything. Once.
    pub fn when_read(&self, on_read: impl Fn(usize) + Send + Sync + 'static) {
        // A connection becomes one websocket.
        let _ = self.on_read.set(Box::new(on_read));
    }

    fn was_read(&self, bytes: usize) {
        self.was_moved(bytes);
        if bytes > 0
            && let Some(on_read) = self.on_read.get()
        {
            on_read(bytes);
        }
        if self.to_read_bytes.load(Relaxed) != UNLIMITED {
            self.to_read_bytes.fetch_sub(i64::try_from(bytes).unwrap_or(UNLIMITED), Relaxed);
        }
    }
}

/// A socket that is aborted when its peer sends more than allowed, or takes too little of an answer.
#[derive(Debug)]
pub struct Guarded {
    socket: TcpStream,
    connection: Arc<Connection>,
    pace: Pace,
}

impl Guarded {
    pub(super) fn new(socket: TcpStream, connection: Arc<Connection>) -> Self {
        Self { socket, connection, pace: Pace::default() }
    }

    /// The first byte that the peer sends, which stays to be read.
    pub(super) async fn first_byte(&self) -> io::Result<u8> {
        let mut first = [0];
        match self.socket.peek(&mut first).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(first[0]),
        }
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match result {
            Poll::Ready(result) => {
                if let Ok(bytes) = result {
                    self.connection.was_moved(bytes);
                    self.pace.took(bytes);
                }
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(self.pace.blocked(context));
                let why = format!("it read too little for {} s", READER_PATIENCE.as_secs());
                Poll::Ready(Err(io::Error::new(ErrorKind::TimedOut, why)))
            }
        }
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.connection.to_read_bytes.load(Relaxed) <= 0 {
            let why = "it sent more bytes than are allowed before its hello";
            return Poll::Ready(Err(io::Error::new(ErrorKind::ConnectionAborted, why)));
        }
        let before = into.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, into))?;
        self.connection.was_read(into.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.written(context, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write_vectored(context, parts);
        self.written(context, result)
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
