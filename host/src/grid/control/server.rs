//! The host's end of the control socket.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::client::short_path;
use super::{Answer, Request};

const REQUEST_BYTES_MAX: u64 = 4 << 10;
/// Maximum time for a user's request.
const REQUEST_MAX: Duration = Duration::from_secs(5);
/// Maximum concurrent requests.
const REQUESTS_MAX: usize = 16;

/// The sender of the answers to one request. Dropping it closes the connection.
pub struct Answers {
    answers: mpsc::Sender<Answer>,
}

impl Answers {
    /// The sender for one request, and the receiver of its answers.
    pub fn channel() -> (Self, mpsc::Receiver<Answer>) {
        let (answers, answered) = mpsc::channel(16);
        (Self { answers }, answered)
    }

    /// Sends an answer. A user that does not read misses some.
    pub fn send(&self, answer: Answer) {
        let _ = self.answers.try_send(answer);
    }
}

/// A request, and the sender of its answers.
pub type Incoming = (Request, Answers);

/// Binds the socket at `path`; replaces one that a killed process has left.
///
/// # Errors
/// If it cannot be bound.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (short, _folder) = short_path(path)?;
    let listener = UnixListener::bind(short)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves the socket at `path` as long as `alive` is held. It is also held while a request is answered, so that
/// the owner of its other end knows when the last answer is written.
///
/// # Errors
/// If it cannot be bound.
pub fn listen(
    path: &Path,
    requests: impl Fn(Incoming) + Clone + Send + 'static,
    alive: &mpsc::Sender<()>,
) -> io::Result<tokio::task::JoinHandle<()>> {
    let listener = bind(path)?;
    // This task waits for requests for ever.
    let alive = alive.downgrade();
    let slots = std::sync::Arc::new(tokio::sync::Semaphore::new(REQUESTS_MAX));
    Ok(tokio::spawn(async move {
        while let Ok(slot) = slots.clone().acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let Some(alive) = alive.upgrade() else { break };
            let requests = requests.clone();
            tokio::spawn(async move {
                // A user that went away needs no answer.
                let _ = serve(stream, requests).await;
                drop((slot, alive));
            });
        }
    }))
}

async fn serve(mut stream: UnixStream, requests: impl Fn(Incoming)) -> io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut line = String::new();
    let mut reader = BufReader::new(reader.take(REQUEST_BYTES_MAX));
    timeout(REQUEST_MAX, reader.read_line(&mut line)).await.map_err(|_| io::ErrorKind::TimedOut)??;
    let (answers, mut answered) = Answers::channel();
    match serde_json::from_str(&line) {
        Ok(request) => requests((request, answers)),
        Err(error) => {
            answers.send(Answer::Refused(format!(
                "the request cannot be understood; use the `sateen-host` of this host's version ({error})"
            )));
            drop(answers);
        }
    }
    while let Some(answer) = answered.recv().await {
        let mut text = serde_json::to_vec(&answer).map_err(io::Error::other)?;
        text.push(b'\n');
        writer.write_all(&text).await?;
    }
    Ok(())
}
