//! The audit log: who did what, when, from where, and what came of it.
//!
//! Requests do not wait for the disk. A task saves lines in batches; what it cannot save is said in the log of the service.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::sleep;

use crate::limits::{AUDIT_SAVE_EVERY, AUDIT_WAITING_MAX};
use crate::shutdown::stopped;
use crate::store::Store;
use crate::store::sql;

pub use crate::store::sql::AuditRow as Line;

#[derive(Debug)]
enum Note {
    Line(Line),
    /// Answered when all lines before it are saved.
    Flush(oneshot::Sender<()>),
}

/// Where lines are noted.
#[derive(Debug, Clone)]
pub struct Audit(Option<mpsc::Sender<Note>>);

impl Audit {
    /// Notes nothing.
    pub fn off() -> Self {
        Self(None)
    }

    /// A log, and the task that saves it until the service is `stopping`.
    pub fn start(
        store: Arc<Store>,
        stopping: watch::Receiver<bool>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, receiver) = mpsc::channel(AUDIT_WAITING_MAX);
        (Self(Some(sender)), save(store, receiver, stopping))
    }

    /// Notes a line.
    pub fn note(&self, line: Line) {
        tracing::debug!(
            who = line.who,
            address = line.address,
            what = line.what,
            status = line.status,
            "audited"
        );
        let Some(sender) = &self.0 else { return };
        if sender.try_send(Note::Line(line)).is_err() {
            tracing::warn!("a line of the audit log is lost: the disk is too slow for them");
        }
    }

    /// Waits until all lines that were noted before are saved, or lost.
    pub async fn flush(&self) {
        let Some(sender) = &self.0 else { return };
        let (done, is_done) = oneshot::channel();
        if sender.send(Note::Flush(done)).await.is_ok() {
            let _ = is_done.await;
        }
    }
}

async fn save(store: Arc<Store>, mut notes: mpsc::Receiver<Note>, mut stopping: watch::Receiver<bool>) {
    let mut is_over = false;
    while !is_over {
        let (mut batch, mut waiting) = (Vec::new(), Vec::new());
        let mut take = |note| match note {
            Note::Line(line) => batch.push(line),
            Note::Flush(done) => waiting.push(done),
        };
        tokio::select! {
            note = notes.recv() => match note {
                Some(note) => take(note),
                None => return,
            },
            () = stopped(&mut stopping) => is_over = true,
        }
        // More may come at the same time.
        if !is_over {
            sleep(AUDIT_SAVE_EVERY).await;
        }
        while let Ok(note) = notes.try_recv() {
            take(note);
        }
        let count = batch.len();
        if count > 0
            && let Err(error) = store.write(move |connection| sql::add_audit(connection, &batch)).await
        {
            tracing::error!(%error, lines = count, "lines of the audit log are lost");
        }
        for done in waiting {
            // The request that waited may have been cancelled.
            let _ = done.send(());
        }
    }
}
