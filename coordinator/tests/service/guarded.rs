//! A coordinator that needs tokens.

use std::process::{Command, Stdio};

use sateen_tests::websocket::WebSocket;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Answer, Server, app, command, detail, program};

/// A coordinator that needs tokens, and an admin's token.
pub struct Guarded {
    pub server: Server,
    pub admin: String,
}

/// Makes a token in a folder that no coordinator uses.
pub fn make_offline(folder: &TempDir, words: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(program());
    command.args(["token", "new"]).args(words).arg("--data-dir").arg(folder.path());
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").trim().to_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A name under which it is reached as well, as by a proxy that speaks TLS.
pub const PUBLIC_NAME: &str = "grid.example.org";

pub fn start(folder: TempDir) -> Server {
    let flags = ["--require-tokens", "--public-name", PUBLIC_NAME];
    let child = command(folder.path()).args(flags).stdout(Stdio::piped()).spawn();
    Server::from_child(child.expect("it starts"), folder)
}

impl Guarded {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (code, admin, said) = make_offline(&folder, &["--name", "root"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("`root`") && said.contains("scope admin"), "{said}");
        Self { server: start(folder), admin }
    }

    pub fn ask_as(&self, token: &str, method: &str, path: &str, body: &[u8]) -> Answer {
        self.server.ask(method, path, &[("authorization", &format!("Bearer {token}"))], body)
    }

    pub fn json_as(&self, token: &str, path: &str) -> Value {
        let (status, body) = self.ask_as(token, "GET", path, b"");
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("JSON")
    }

    /// Why a request is refused.
    pub fn refusal(&self, token: &str, method: &str, path: &str) -> (u16, String) {
        detail(self.ask_as(token, method, path, b""))
    }

    pub fn make(&self, request: &Value) -> Value {
        let (status, body) =
            self.ask_as(&self.admin, "POST", "/api/v1/tokens", request.to_string().as_bytes());
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("JSON")
    }

    pub fn token(&self, scope: &str, name: &str) -> String {
        let made = self.make(&json!({"scope": scope, "name": name}));
        made["secret"].as_str().expect("a secret").to_owned()
    }

    pub fn revoke(&self, name: &str) {
        let (status, body) = self.ask_as(&self.admin, "DELETE", &format!("/api/v1/tokens/{name}"), b"");
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    }

    pub fn publish(&self, token: &str, name: &str) -> Answer {
        self.ask_as(token, "POST", &format!("/api/v1/apps?name={name}"), &app(""))
    }

    pub fn submit(&self, token: &str) -> u64 {
        let submission = br#"{"app":"probe","arguments":["secret words"]}"#;
        let (status, body) = self.ask_as(token, "POST", "/api/v1/runs", submission);
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice::<Value>(&body).expect("JSON")["run"].as_u64().expect("a number")
    }

    pub fn socket(&self, path: &str, token: &str) -> Result<WebSocket, String> {
        let address = self.server.address.parse().expect("an address");
        WebSocket::connect_with(address, path, &format!("Authorization: Bearer {token}\r\n"))
    }
}
