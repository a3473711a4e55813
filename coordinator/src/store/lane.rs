//! A thread that owns a connection to the database.

use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::error::StoreError;
use crate::limits::STORE_QUEUE_MAX;

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

/// Runs work with a connection, one piece after the other. Dropping it waits until all work is done and the connection
/// closed: then the folder may be opened again.
#[derive(Debug)]
pub struct Lane {
    /// `None` once it is being dropped; so is the thread.
    queue: Option<mpsc::Sender<Work>>,
    thread: Option<JoinHandle<()>>,
}

impl Lane {
    pub fn start(name: &str, mut connection: Connection) -> Result<Self, StoreError> {
        let (queue, mut work) = mpsc::channel::<Work>(STORE_QUEUE_MAX);
        let run = move || {
            while let Some(work) = work.blocking_recv() {
                work(&mut connection);
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).map_err(StoreError::Thread)?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work: Work = Box::new(move |connection| {
            // The caller may have hung up.
            let _ = reply.send(work(connection));
        });
        let Some(queue) = &self.queue else { return Err(StoreError::Stopped) };
        queue.send(work).await.map_err(|_| StoreError::Stopped)?;
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        drop(self.queue.take());
        // Work that holds the last reference to the store drops it on this very thread.
        if let Some(thread) = self.thread.take().filter(|lane| lane.thread().id() != thread::current().id()) {
            // A panic has been reported by the thread.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_connection_is_closed_when_its_lane_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.sqlite");
        let connection = Connection::open(&path).expect("a database");
        connection.pragma_update(None, "journal_mode", "wal").expect("it has a log");
        let lane = Lane::start("lane", connection).expect("a thread");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let work = lane.call(|connection| {
            connection.execute_batch("CREATE TABLE one (number INTEGER)")?;
            Ok(())
        });
        runtime.block_on(work).expect("it is done");
        let slow: Work = Box::new(|_| thread::sleep(Duration::from_millis(50)));
        lane.queue.as_ref().expect("it is there").try_send(slow).expect("there is room");
        drop(lane);
        // Closing the last connection removes the log.
        assert!(path.exists() && !path.with_extension("sqlite-wal").exists());
    }
}
