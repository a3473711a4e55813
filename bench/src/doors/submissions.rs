//! Attacks with requests that honest users make, too: submit, wait, upload.

use std::io::{Error, Result};
use std::time::Duration;

use sateen_protocol::BlobHash;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::attackers::Peer;
use super::requests::module;
use super::wire::status;

/// Length of one argument.
const ARGUMENT_BYTES: usize = 200 << 10;

/// An app that returns nothing useful, and an app whose compilation takes for ever.
const EMPTY: &str = "attacker-empty";
const BOMB: &str = "attacker-bomb";

impl Peer {
    async fn post(&mut self, path: &str, body: &[u8]) -> Result<(u16, String)> {
        let mut stream = self.open().await?;
        let head = String::from_utf8_lossy(&self.head(&format!("POST {path}"), body.len())).into_owned();
        stream.write_all(head.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n").as_bytes()).await?;
        stream.write_all(body).await?;
        let status = status(&mut stream).await?;
        let mut answer = String::new();
        stream.take(64 << 10).read_to_string(&mut answer).await?;
        Ok((status, answer))
    }

    /// Submits a run, and returns its number if it is accepted.
    async fn submits(&mut self, app: &str, argument: &str) -> Result<Option<u64>> {
        let body = serde_json::json!({"app": app, "arguments": [argument]}).to_string();
        let (status, answer) = self.post("/api/v1/runs", body.as_bytes()).await?;
        let run = serde_json::from_str::<serde_json::Value>(&answer).ok().and_then(|run| run["run"].as_u64());
        Ok(run.filter(|_| status == 201))
    }

    /// Submits runs with long arguments, then rests for a while.
    pub async fn queues_long_arguments(&mut self) -> Result<()> {
        let stream = self.open().await?;
        // The first publisher has the name, and every peer may run the app.
        let _ = self.publish(stream, EMPTY, &module("sateen_job_a", b"x", b"empty")).await;
        let argument = "x".repeat(ARGUMENT_BYTES);
        let mut runs = Vec::new();
        for _ in 0..10 {
            let Some(run) = self.submits(EMPTY, &argument).await? else { break };
            let _ = self.post(&format!("/api/v1/runs/{run}/suspend"), b"").await;
            runs.push(run);
        }
        sleep(self.seconds(10)).await;
        for run in runs {
            let _ = self.post(&format!("/api/v1/runs/{run}/cancel"), b"").await;
        }
        Ok(())
    }

    /// Submits an app that takes minutes and gigabytes to compile, and cancels it after a while.
    pub async fn bombs_compilers(&mut self) -> Result<()> {
        let stream = self.open().await?;
        let _ = self.publish(stream, BOMB, &self.bomb.clone()).await;
        let Some(run) = self.submits(BOMB, "").await? else { return Ok(()) };
        sleep(self.seconds(4)).await;
        self.post(&format!("/api/v1/runs/{run}/cancel"), b"").await.map(drop)
    }

    /// Waits for the ends of runs, as often as it may.
    pub async fn hoards_waits(&mut self) -> Result<()> {
        let mut waiting: Vec<TcpStream> = Vec::new();
        for _ in 0..30 {
            let mut stream = self.open().await?;
            let run = self.run().0;
            let head = self.head(&format!("GET /api/v1/runs/{run}/wait?timeout_s=3600"), 0);
            stream.write_all(&head).await?;
            waiting.push(stream);
        }
        sleep(self.seconds(15)).await;
        Ok(())
    }

    /// Not an attack: an upload that takes seconds and must be accepted.
    pub async fn uploads_slowly(&mut self) -> Result<()> {
        let content: Vec<u8> = (0..100_000).flat_map(|_| self.random.next_u64().to_le_bytes()).collect();
        let path = format!("PUT /api/v1/blobs/{}", BlobHash::of(&content));
        let mut stream = self.open().await?;
        stream.write_all(&self.head(&path, content.len())).await?;
        for piece in content.chunks(16 << 10) {
            stream.write_all(piece).await?;
            sleep(Duration::from_millis(150)).await;
        }
        match status(&mut stream).await? {
            201 => Ok(()),
            other => Err(Error::other(format!("an honest upload was answered with {other}"))),
        }
    }
}
