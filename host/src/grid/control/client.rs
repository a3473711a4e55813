//! The user's end of the control socket.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sateen_command_line::explained;
use thiserror::Error;

use super::{Answer, Request};
use crate::grid::folder::DataFolder;

/// A live host answers within this time.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Systems differ; none takes less.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// Why there is no answer from a host.
#[derive(Debug, Error)]
pub enum AskError {
    /// No host is running.
    #[error(
        "no sateen-host runs on the data folder {}; if it runs on another one, name that with --data-dir",
        .0.display()
    )]
    NotRunning(PathBuf),
    /// The socket failed.
    #[error("the sateen-host on the data folder {} does not answer: {why}", .folder.display())]
    Silent {
        /// Its data folder.
        folder: PathBuf,
        /// The error.
        why: String,
    },
}

/// Sends a request to the host that runs on `folder`, and passes each of its answers to `each`.
///
/// # Errors
/// If no host is running, or it does not answer.
pub fn ask(folder: &Path, request: &Request, mut each: impl FnMut(Answer)) -> Result<(), AskError> {
    let silent = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!("no answer within {} s", ANSWER_MAX.as_secs())
            }
            _ => explained(&error),
        };
        AskError::Silent { folder: folder.to_owned(), why }
    };
    let stream = connect(&folder.join("control.sock")).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::NotADirectory => {
            AskError::NotRunning(folder.to_owned())
        }
        _ => silent(error),
    })?;
    let mut heard = false;
    let asked = exchange(&stream, request, |answer| {
        heard = true;
        each(answer);
    });
    match asked {
        Ok(()) if heard => Ok(()),
        // A host that exits closes its socket last: a connection at that moment finds a host that is gone.
        _ if !heard && DataFolder::await_free(folder, Duration::ZERO) => {
            Err(AskError::NotRunning(folder.to_owned()))
        }
        Ok(()) => Err(silent(io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(silent(error)),
    }
}

/// Sends the request, and reads answers to the end of the stream.
fn exchange(stream: &UnixStream, request: &Request, mut each: impl FnMut(Answer)) -> io::Result<()> {
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    let mut text = serde_json::to_vec(request)?;
    text.push(b'\n');
    (&mut &*stream).write_all(&text)?;
    for line in BufReader::new(stream).lines() {
        each(serde_json::from_str(&line?)?);
    }
    Ok(())
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    let (short, _folder) = short_path(path)?;
    UnixStream::connect(short)
}

/// A socket's path must be short. A long path is replaced by one through its open folder, which is valid as
/// long as the returned file is open.
pub fn short_path(path: &Path) -> io::Result<(PathBuf, Option<File>)> {
    if path.as_os_str().as_bytes().len() <= SOCKET_PATH_BYTES_MAX {
        return Ok((path.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((short, Some(folder)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::server::listen;
    use super::*;

    fn asked(folder: &Path, request: &Request) -> Vec<Answer> {
        let mut answers = Vec::new();
        ask(folder, request, |answer| answers.push(answer)).expect("it answers");
        answers
    }

    #[test]
    fn a_host_that_exits_while_it_is_asked_is_not_running() {
        let folder = tempfile::tempdir().expect("a folder");
        let host = DataFolder::open(folder.path()).expect("free");
        let socket =
            std::os::unix::net::UnixListener::bind(folder.path().join("control.sock")).expect("bound");
        std::thread::scope(|threads| {
            let (connected, is_connected) = std::sync::mpsc::channel();
            threads.spawn(move || {
                // It is alive and hangs up, then it is gone and hangs up.
                drop(socket.accept().expect("connected"));
                is_connected.recv().expect("asked");
                let asked = socket.accept().expect("connected");
                drop(host);
                drop(asked);
            });
            let asked = ask(folder.path(), &Request::Status, |_| {});
            assert!(matches!(asked, Err(AskError::Silent { .. })), "{asked:?}");
            connected.send(()).expect("it waits");
            let asked = ask(folder.path(), &Request::Status, |_| {});
            assert!(matches!(asked, Err(AskError::NotRunning(_))), "{asked:?}");
        });
    }

    #[test]
    fn requests_are_answered_over_a_private_socket() {
        let parent = tempfile::tempdir().expect("a folder");
        // Longer than a socket's path may be.
        let folder = parent.path().join("x".repeat(120));
        std::fs::create_dir(&folder).expect("made");
        assert!(matches!(ask(&folder, &Request::Status, |_| {}), Err(AskError::NotRunning(_))));

        let (ready, is_ready) = std::sync::mpsc::channel();
        let socket = folder.join("control.sock");
        std::thread::spawn(move || {
            let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("one");
            tokio.block_on(async {
                let (alive, _gone) = tokio::sync::mpsc::channel(1);
                let serve = |(request, answers): (Request, super::super::server::Answers)| {
                    answers.send(Answer::Progress("one moment".to_owned()));
                    answers.send(Answer::Done(format!("{request:?}")));
                };
                let serving = listen(&socket, serve, &alive).expect("it listens");
                ready.send(()).expect("awaited");
                // As long as the test runs.
                let _ = serving.await;
            });
        });
        is_ready.recv().expect("it listens");
        let mode = std::fs::metadata(folder.join("control.sock")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let answers = asked(&folder, &Request::Pause { for_s: Some(60) });
        let expected =
            [Answer::Progress("one moment".to_owned()), Answer::Done("Pause { for_s: Some(60) }".to_owned())];
        assert_eq!(answers, expected);

        let stream = connect(&folder.join("control.sock")).expect("it listens");
        (&stream).write_all(b"nonsense\n").expect("sent");
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).expect("answered");
        assert!(line.contains("the request cannot be understood"), "{line}");
    }
}
