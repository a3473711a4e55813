//! A coordinator process, and its API.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any test waits.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Server {
    child: Child,
    pub address: String,
    pub folder: TempDir,
}

/// An answer: status, body.
pub type Answer = (u16, Vec<u8>);

impl Server {
    pub fn start() -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"))
    }

    pub fn start_in(folder: TempDir) -> Self {
        let child = command(folder.path()).stdout(Stdio::piped()).spawn().expect("the program starts");
        Self::from_child(child, folder)
    }

    pub fn from_child(mut child: Child, folder: TempDir) -> Self {
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("readable");
        let address =
            line.trim().rsplit_once("http://").unwrap_or_else(|| panic!("no address in {line:?}")).1;
        Self { address: address.to_owned(), child, folder }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// `kill -9`, then a new process on the same folder.
    pub fn kill_and_restart(self) -> Self {
        Self::start_in(self.kill())
    }

    pub fn kill(mut self) -> TempDir {
        kill_process(self.pid(), Signal::KILL).expect("it runs");
        self.child.wait().expect("it ends");
        std::mem::replace(&mut self.folder, tempfile::tempdir().expect("a folder"))
    }

    pub fn terminate(&mut self) -> ExitStatus {
        kill_process(self.pid(), Signal::TERM).expect("it runs");
        self.child.wait().expect("it ends")
    }

    /// A request with a token, or with other headers.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(agent().run(request.body(body).expect("a request")))
    }

    pub fn get(&self, path: &str) -> Answer {
        let agent = agent();
        answer(agent.get(self.url(path)).call())
    }

    /// The JSON of a GET, and its header `Link`.
    pub fn json_and_link(&self, path: &str) -> (Value, Option<String>) {
        let mut response = agent().get(self.url(path)).call().expect("an answer");
        assert_eq!(response.status().as_u16(), 200, "{path}");
        let link = response.headers().get("link").map(|link| link.to_str().expect("text").to_owned());
        let body = response.body_mut().read_to_vec().expect("a body");
        (serde_json::from_slice(&body).expect("JSON"), link)
    }

    pub fn get_with(&self, path: &str, header: (&str, &str)) -> Answer {
        answer(agent().get(self.url(path)).header(header.0, header.1).call())
    }

    pub fn post(&self, path: &str, body: &[u8]) -> Answer {
        answer(agent().post(self.url(path)).send(body))
    }

    /// A POST from a certain address of this machine.
    pub fn post_from(&self, from: &str, path: &str, body: &[u8]) -> Answer {
        self.send_from(from, "POST", path, body)
    }

    /// The same for a PUT.
    pub fn put_from(&self, from: &str, path: &str, body: &[u8]) -> Answer {
        self.send_from(from, "PUT", path, body)
    }

    fn send_from(&self, from: &str, method: &str, path: &str, body: &[u8]) -> Answer {
        let mut raw = RawRequest::open(&self.address, from);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        raw.send(head.as_bytes());
        raw.send(body);
        raw.answer()
    }

    /// The process's peak memory, in MiB.
    pub fn memory_peak_mib(&self) -> u64 {
        sateen_tests::memory::peak_mib(self.pid().as_raw_nonzero().get().unsigned_abs())
    }

    pub fn put(&self, path: &str, body: &[u8]) -> Answer {
        answer(agent().put(self.url(path)).send(body))
    }

    pub fn delete(&self, path: &str) -> Answer {
        answer(agent().delete(self.url(path)).call())
    }

    /// The methods that a path allows, as it answers a request with another one.
    pub fn allowed(&self, path: &str) -> Vec<String> {
        let response = agent().patch(self.url(path)).send(&[] as &[u8]).expect("an answer");
        assert_eq!(response.status().as_u16(), 405, "{path}");
        let allowed =
            response.headers().get("allow").and_then(|value| value.to_str().ok()).unwrap_or_default();
        allowed.split(',').map(|method| method.trim().to_owned()).collect()
    }

    pub fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("JSON")
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Publishes the test's app; returns its hash.
    pub fn publish(&self) -> String {
        let (status, body) = self.post("/api/v1/apps?name=probe", &app(""));
        assert!(status == 201 || status == 200, "{}", String::from_utf8_lossy(&body));
        let app: Value = serde_json::from_slice(&body).expect("JSON");
        app["hash"].as_str().expect("a hash").to_owned()
    }

    pub fn submit(&self) -> u64 {
        let (status, body) = self.post("/api/v1/runs", br#"{"app":"probe","arguments":["1"]}"#);
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice::<Value>(&body).expect("JSON")["run"].as_u64().expect("a number")
    }

    pub fn run(&self, run: u64) -> Value {
        self.json(&format!("/api/v1/runs/{run}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Raw HTTP, for requests that no honest client sends.
pub struct RawRequest(pub TcpStream);

impl RawRequest {
    /// A connection from `from`, which is an address of this machine.
    pub fn open(to: &str, from: &str) -> Self {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&socket, &SocketAddr::new(from.parse().expect("an address"), 0)).expect("our own address");
        connect(&socket, &to.parse::<SocketAddr>().expect("an address")).expect("it listens");
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        Self(stream)
    }

    /// Whether the request was accepted.
    pub fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).expect("it is taken");
    }

    /// All of the answer of a server that closes the connection afterwards, with its headers.
    pub fn whole_answer(mut self) -> String {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).expect("an answer");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The answer of a server that closes the connection afterwards.
    pub fn answer(mut self) -> Answer {
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes).expect("an answer");
        let text = String::from_utf8_lossy(&bytes);
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer: {text:?}"));
        let body = bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("the end of the headers") + 4;
        (status, bytes[body..].to_vec())
    }
}

pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(folder).stderr(Stdio::null());
    command
}

pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_sateen-coordinator"))
}

/// A module of the ABI; `more` distinguishes modules.
pub fn app(more: &str) -> Vec<u8> {
    let text = format!(
        r#"(module
            (memory (export "memory") 1)
            (func (export "sateen_abi_1"))
            (func (export "sateen_main_main"))
            (func (export "sateen_main_other"))
            (func (export "sateen_job_work"))
            {more})"#
    );
    wat::parse_str(text).expect("valid")
}

/// The sentence of a problem, after checking that the answer is one.
pub fn detail((status, body): Answer) -> (u16, String) {
    let problem: Value = serde_json::from_slice(&body)
        .unwrap_or_else(|_| panic!("{status}, no problem: {}", String::from_utf8_lossy(&body)));
    assert_eq!(problem["status"].as_u64(), Some(u64::from(status)));
    assert!(problem["title"].is_string() && problem["type"].is_string());
    (status, problem["detail"].as_str().expect("a sentence").to_owned())
}

/// Waits until `condition` returns something.
pub fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Some(value) = condition() {
            return value;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("in vain: {what}");
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(60)))
        .build()
        .into()
}

fn answer(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
    let mut response = response.expect("an answer");
    let mut body = Vec::new();
    response.body_mut().as_reader().read_to_end(&mut body).expect("a body");
    (response.status().as_u16(), body)
}
