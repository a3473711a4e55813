//! Grids whose coordinator asks for tokens.

use std::process::{Command, Stdio};

use super::{Api, Cluster, binary, turn};
use crate::command::{Ended, ended};

/// What the processes of such a grid have.
pub struct Secrets {
    /// An admin's token.
    pub admin: String,
    /// The join key of its hosts.
    pub join_key: String,
}

impl Cluster {
    /// As [`Cluster::start`], with a coordinator that asks for tokens: [`sateen`](Self::sateen) has an admin's.
    ///
    /// # Panics
    /// When a token cannot be made.
    #[track_caller]
    pub fn start_with_tokens(hosts: &[(&str, &str)]) -> Self {
        let mut cluster = Self::empty(Some(turn()));
        let mut command = Command::new(binary("sateen-coordinator"));
        command
            .args(["token", "new", "--name", "root", "--data-dir"])
            .arg(cluster.data_folder("coordinator"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let admin = secret(&ended(command));
        cluster.api = Api::with_token(&format!("http://{}", cluster.address), &admin);
        cluster.secrets = Some(Secrets { admin, join_key: String::new() });
        cluster.start_coordinator_with(&["--require-tokens"]);
        let join_key = cluster.new_token(&["--scope", "volunteer", "--uses", "100"]);
        cluster.secrets.iter_mut().for_each(|secrets| secrets.join_key.clone_from(&join_key));
        cluster.add_hosts(hosts);
        cluster
    }

    /// A new token, made with more words.
    ///
    /// # Panics
    /// When it cannot be made.
    #[track_caller]
    pub fn new_token(&self, words: &[&str]) -> String {
        secret(&self.sateen([&["token", "new"], words].concat()))
    }
}

/// The secret that a command has printed; on stderr, it says that the secret cannot be shown again.
#[track_caller]
fn secret(ended: &Ended) -> String {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.text().trim().to_owned()
}
