//! A coordinator that others reach, with TLS and tokens.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sateen_tests::cluster::{Process, SOON, binary, until};
use sateen_tests::command::{Ended, command, ended};
use tempfile::TempDir;

/// A coordinator, and the folders of those who use it.
pub struct Grid {
    pub folder: TempDir,
    pub port: u16,
    /// An admin's token.
    pub admin: String,
    pub coordinator: Process,
}

/// A program of `dist/`, whose output is read when it has ended.
pub fn program(name: &str, words: &[&str]) -> Command {
    let mut command = Command::new(binary(name));
    command
        .args(words)
        .env_remove("SATEEN_COORDINATOR")
        .env_remove("SATEEN_JOIN_KEY")
        .env_remove("SATEEN_TOKEN");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Grid {
    /// Starts a coordinator on an address that other machines reach, with more words.
    pub fn start(words: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("coordinator").display().to_string();
        let made =
            ended(program("sateen-coordinator", &["token", "new", "--name", "root", "--data-dir", &data]));
        assert_eq!(made.code, Some(0), "{made:?}");
        let mut command = Command::new(binary("sateen-coordinator"));
        command.args(["--listen", "0.0.0.0:0", "--data-dir", &data]).args(words);
        let coordinator = Process::start("coordinator", command, folder.path());
        let mut grid = Self { port: 0, admin: made.text().trim().to_owned(), coordinator, folder };
        grid.port = until("the coordinator listens", SOON, || {
            assert!(!grid.coordinator.has_ended(), "{}", grid.coordinator.log());
            let log = grid.coordinator.log();
            let (_, after) = log.split_once("listens on ")?;
            after.lines().next()?.trim_end().rsplit_once(':')?.1.parse().ok()
        });
        grid
    }

    /// The same with a certificate of its own.
    pub fn with_own_certificate() -> Self {
        Self::start(&["--tls-self-signed"])
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The fingerprint that it has printed at its start.
    pub fn pin(&self) -> String {
        let log = self.coordinator.log();
        let words = log.split_whitespace();
        words.skip_while(|word| *word != "--pin").nth(1).expect("it prints one").to_owned()
    }

    /// A file that holds a secret.
    pub fn secret(&self, name: &str, secret: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, format!("{secret}\n")).expect("written");
        path
    }

    /// The command `sateen` of a user with settings of their own, for this coordinator.
    pub fn command_of(&self, user: &str, words: &[&str]) -> Command {
        let mut command = command(words);
        command.env("SATEEN_CONFIG_DIR", self.folder.path().join(format!("config-{user}")));
        command.env("SATEEN_COORDINATOR", self.url());
        command
    }

    /// Runs it to its end.
    pub fn sateen(&self, user: &str, words: &[&str]) -> Ended {
        ended(self.command_of(user, words))
    }

    /// Logs a user in with a token.
    #[track_caller]
    pub fn login(&self, user: &str, token: &str) {
        let file = self.secret(&format!("{user}.token"), token);
        let (url, pin) = (self.url(), self.pin());
        let words = ["login", &url, "--token-file", file.to_str().expect("text"), "--pin", &pin];
        let ended = self.sateen(user, &words);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.says_one_line(&["logged in", &url]);
    }

    /// Makes a token as the admin, who is logged in.
    #[track_caller]
    pub fn token(&self, words: &[&str]) -> String {
        let ended = self.sateen("admin", &[&["token", "new"], words].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.text().trim().to_owned()
    }

    /// A folder for the data of a host.
    pub fn host_folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `sateen-host WORDS…` on the folder of the host `name`.
    pub fn host_command(&self, name: &str, words: &[&str]) -> Command {
        let mut command = program("sateen-host", words);
        command.arg("--data-dir").arg(self.host_folder(name));
        command
    }

    /// Starts a host of one thread on its folder.
    pub fn start_host(&self, name: &str, words: &[&str]) -> Process {
        let mut command = self.host_command(name, words);
        command.args(["--dedicated", "--coordinator", &self.url(), "--name", name]);
        command.args(["--threads", "1", "--priority", "normal", "--direct", "off"]);
        Process::start(name, command, self.folder.path())
    }

    /// The status that a host reports.
    pub fn host_status(&self, name: &str) -> serde_json::Value {
        let status = ended(self.host_command(name, &["status", "--json"]));
        serde_json::from_slice(&status.stdout).unwrap_or_default()
    }
}

/// The permissions of a file.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}
