//! Attacks over HTTP.

use std::io::Result;
use std::net::Ipv4Addr;
use std::time::Duration;

use sateen_protocol::BlobHash;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::attackers::Peer;
use super::wire::{connect, status, text_frame, upgrade};

/// A name that was made to point here.
const REBOUND: &str = "evil.example:80";
/// The name of an app that another has published.
pub const STOLEN_NAME: &str = "nqueens";
/// Size of a blob that no attacker reads to its end.
pub const BLOB_BYTES: usize = 32 << 20;

/// A module of the ABI with a job's name, and another section.
pub fn module(export: &str, section: &[u8], content: &[u8]) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // One type without parameters and results, one function of it, one memory.
    module.extend([1, 4, 1, 0x60, 0, 0]);
    module.extend([3, 2, 1, 0]);
    module.extend([5, 3, 1, 0, 1]);
    let mut exports = vec![4];
    for (name, kind) in [("memory", 2), ("sateen_abi_1", 0), ("sateen_main_main", 0), (export, 0)] {
        leb128(&mut exports, name.len());
        exports.extend(name.as_bytes());
        exports.extend([kind, 0]);
    }
    module.push(7);
    leb128(&mut module, exports.len());
    module.extend(exports);
    // Its body: no locals, and nothing to do.
    module.extend([10, 4, 1, 2, 0, 0xb]);
    module.push(0);
    leb128(&mut module, 1 + section.len() + content.len());
    module.push(section.len() as u8);
    module.extend(section);
    module.extend(content);
    module
}

fn leb128(into: &mut Vec<u8>, mut number: usize) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        into.push(if number == 0 { byte } else { byte | 0x80 });
        if number == 0 {
            return;
        }
    }
}

impl Peer {
    pub fn head(&self, method_and_path: &str, content_bytes: usize) -> Vec<u8> {
        let host = self.coordinator;
        format!("{method_and_path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {content_bytes}\r\n\r\n")
            .into_bytes()
    }

    pub async fn open(&self) -> Result<TcpStream> {
        connect(self.coordinator, self.address).await
    }

    /// Connects from an address of this machine that no other peer uses: names belong to addresses.
    async fn open_from_elsewhere(&mut self) -> Result<TcpStream> {
        let from = Ipv4Addr::new(127, 67, 0, 1 + self.random.below(200) as u8);
        connect(self.coordinator, from).await
    }

    pub async fn publish(&mut self, mut stream: TcpStream, name: &str, module: &[u8]) -> Result<u16> {
        stream.write_all(&self.head(&format!("POST /api/v1/apps?name={name}"), module.len())).await?;
        stream.write_all(module).await?;
        status(&mut stream).await
    }

    /// Sends endless headers, or headers without anything after them.
    pub async fn sends_endless_headers(&mut self) -> Result<()> {
        let mut stream = self.open().await?;
        stream.write_all(b"GET / HTTP/1.1\r\nX-Long: ").await?;
        if self.random.below(2) == 0 {
            let piece = vec![b'x'; 16 << 10];
            for _ in 0..20 {
                stream.write_all(&piece).await?;
            }
        }
        read_to_end(&mut stream).await
    }

    /// Sends nearly all of a request's body.
    pub async fn sends_endless_bodies(&mut self) -> Result<()> {
        let mut stream = self.open().await?;
        stream.write_all(&self.head("POST /api/v1/runs", 1 << 20)).await?;
        stream.write_all(&vec![b' '; (1 << 20) - 1]).await?;
        read_to_end(&mut stream).await
    }

    /// Sends an endless upload, one byte a second.
    pub async fn uploads_by_bytes(&mut self) -> Result<()> {
        let mut stream = self.open().await?;
        let path = format!("PUT /api/v1/blobs/{}", "0".repeat(64));
        stream.write_all(&self.head(&path, 60 << 20)).await?;
        for _ in 0..15 {
            stream.write_all(b"x").await?;
            sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }

    /// Requests a blob and does not read it.
    pub async fn reads_no_blob(&mut self, blob: BlobHash) -> Result<()> {
        let mut stream = self.open().await?;
        stream.write_all(&self.head(&format!("GET /api/v1/blobs/{blob}"), 0)).await?;
        sleep(self.seconds(15)).await;
        Ok(())
    }

    /// Publishes a module whose manifest is newlines.
    pub async fn publishes_newlines(&mut self) -> Result<()> {
        let stream = self.open().await?;
        let module = module("sateen_job_a", b"sateen.manifest", &vec![b'\n'; 4 << 20]);
        refused(self.publish(stream, "lines", &module).await?)
    }

    /// Publishes a module whose jobs' names are control characters.
    pub async fn publishes_control_characters(&mut self) -> Result<()> {
        let stream = self.open().await?;
        let name = format!("sateen_job_{}", "\u{1}".repeat(20_000));
        let module = module(&name, b"x", &self.random.next_u64().to_le_bytes());
        refused(self.publish(stream, "names", &module).await?)
    }

    /// Publishes its own module under the name of another user's module, and under a name that looks like another's
    /// hash.
    pub async fn steals_names(&mut self) -> Result<()> {
        let module = module("sateen_job_a", b"x", b"mine");
        let stream = self.open_from_elsewhere().await?;
        refused(self.publish(stream, STOLEN_NAME, &module).await?)?;
        let stream = self.open_from_elsewhere().await?;
        refused(self.publish(stream, &"0123456789abcdef".repeat(4), &module).await?)
    }

    /// Sends a request as a page would that uses a name made to point here.
    pub async fn rebinds_names(&mut self) -> Result<()> {
        for path in ["/ws/host", "/ws/watch"] {
            let mut stream = self.open().await?;
            if upgrade(&mut stream, path, REBOUND).await.is_ok() {
                return Err(super::attackers::let_in(101));
            }
        }
        let mut stream = self.open().await?;
        let request = format!("POST /api/v1/runs/1/cancel HTTP/1.1\r\nHost: {REBOUND}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        refused(status(&mut stream).await?)
    }

    /// Subscribes to everything that a page may watch, of existing runs, and reads none of it.
    pub async fn watches_blindly(&mut self) -> Result<()> {
        let mut stream = self.watch().await?;
        let run = self.run();
        let topics = format!(r#"{{"watch":["grid","run/{run}","tree/{run}","timeline/{run}"]}}"#);
        stream.write_all(&text_frame(&topics)).await?;
        sleep(self.seconds(10)).await;
        Ok(())
    }

    /// Subscribes to topics that do not exist, eight at a time, repeatedly.
    pub async fn watches_what_is_not(&mut self) -> Result<()> {
        let mut stream = self.watch().await?;
        for _ in 0..10 {
            let topics: Vec<String> =
                (0..8).map(|_| format!(r#""tree/{}""#, 1_000_000 + self.random.below(1 << 30))).collect();
            stream.write_all(&text_frame(&format!(r#"{{"watch":[{}]}}"#, topics.join(",")))).await?;
            sleep(Duration::from_millis(200)).await;
        }
        read_to_end(&mut stream).await
    }

    async fn watch(&mut self) -> Result<TcpStream> {
        let mut stream = self.open().await?;
        upgrade(&mut stream, "/ws/watch", &self.coordinator.to_string()).await?;
        Ok(stream)
    }
}

/// Checks that an attack was refused; one that was let in is reported by its name.
fn refused(status: u16) -> Result<()> {
    if status < 400 { Err(super::attackers::let_in(status)) } else { Ok(()) }
}

async fn read_to_end(stream: &mut TcpStream) -> Result<()> {
    let mut bytes = [0; 1024];
    while stream.read(&mut bytes).await? > 0 {}
    Ok(())
}
