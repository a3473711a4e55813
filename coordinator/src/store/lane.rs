//! A thread that owns a connection to the database.

use std::thread;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::error::StoreError;
use crate::limits::STORE_QUEUE_MAX;

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

/// Does work with a connection, one piece after the other; ends when it is dropped.
#[derive(Debug)]
pub struct Lane {
    queue: mpsc::Sender<Work>,
}

impl Lane {
    pub fn start(name: &str, mut connection: Connection) -> Result<Self, StoreError> {
        let (queue, mut work) = mpsc::channel::<Work>(STORE_QUEUE_MAX);
        let run = move || {
            while let Some(work) = work.blocking_recv() {
                work(&mut connection);
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(run).map_err(StoreError::Thread)?;
        Ok(Self { queue })
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
        self.queue.send(work).await.map_err(|_| StoreError::Stopped)?;
        answer.await.unwrap_or(Err(StoreError::Stopped))
    }
}
