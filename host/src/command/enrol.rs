//! The token with which a host takes part in a grid that needs one, and the authority that it trusts.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use sateen_access::{
    Credentials, Pin, SecretError, StoredCredentials, Token, explain_tls, fetch_authority, read_secret,
};
use sateen_command_line::{explained, refused};
use sateen_host::grid::{CoordinatorAddress, DataFolder};
use serde_json::{Value, json};

/// Maximum time for each step of a request.
const STEP_MAX: Duration = Duration::from_secs(10);
/// Time after which a coordinator that does not answer is asked again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// Maximum bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// How the host shows that it may take part.
#[derive(Args)]
pub struct KeyFlags {
    /// Join key, for a grid that needs one: its operator makes it with `sateen token new --scope volunteer`. Other users of
    /// this machine can see it on the command line; --key-file and the variable are safer. It is kept in the data folder
    #[arg(long, value_name = "KEY", env = "SATEEN_JOIN_KEY", hide_env_values = true, value_parser = parse_key)]
    pub key: Option<Token>,
    /// File with the join key; `-` is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "key")]
    pub key_file: Option<PathBuf>,
    /// Fingerprint of the certificate authority of a coordinator that was started with --tls-self-signed; ask its operator
    /// for it. From then on, this authority is trusted, and no other
    #[arg(long, value_name = "sha256:DIGITS")]
    pub pin: Option<Pin>,
}

impl KeyFlags {
    /// The join key, which may be in a file.
    ///
    /// # Errors
    /// If the file cannot be read or holds something else.
    pub fn key(&self) -> Result<Option<Token>, SecretError> {
        match (&self.key, &self.key_file) {
            (Some(key), _) => Ok(Some(key.clone())),
            (None, Some(path)) => read_secret(path).map(Some),
            (None, None) => Ok(None),
        }
    }
}

fn parse_key(text: &str) -> Result<Token, String> {
    text.parse()
}

/// Why a request failed.
enum Failed {
    /// The coordinator may answer later.
    Away(String),
    /// It refused, or something is wrong here.
    For(String),
}

/// The credentials of a host on this data folder for this coordinator: those that it has, or else in exchange for the join
/// key. They are kept in the folder.
///
/// # Arguments
/// * `(key, pin)`: the join key and the fingerprint that the flags give.
/// * `name`: the host's name.
/// * `waits`: whether to wait for a coordinator that does not answer.
///
/// # Errors
/// Says why there are none.
pub fn enrol(
    folder: &DataFolder,
    coordinator: &CoordinatorAddress,
    (key, pin): (Option<Token>, Option<Pin>),
    name: &str,
    waits: bool,
) -> Result<Credentials, String> {
    let path = folder.path().join("credentials.json");
    let stored = StoredCredentials::read(&path).map_err(|error| error.to_string())?;
    let stored = stored.filter(|stored| stored.coordinator == coordinator.to_string());
    let known = match &stored {
        Some(stored) => stored.credentials(&path).map_err(|error| error.to_string())?,
        None => Credentials::default(),
    };
    let digits = |key: &Token| blake3::Hash::from(key.hash().0).to_hex().to_string();
    let key_used = stored.as_ref().and_then(|stored| stored.key.clone());
    let is_new_key = key.as_ref().is_some_and(|key| key_used != Some(digits(key)) || known.token.is_none());
    let is_new_pin = pin.is_some_and(|pin| known.authority.as_ref().is_none_or(|known| known.pin() != pin));
    if !is_new_key && !is_new_pin {
        return Ok(known);
    }
    let mut has_said = false;
    let credentials = loop {
        let asked =
            ask(coordinator, pin.filter(|_| is_new_pin), &known, key.as_ref().filter(|_| is_new_key), name);
        match asked {
            Ok(credentials) => break credentials,
            Err(Failed::Away(why)) if waits => {
                if !has_said {
                    tracing::warn!(%coordinator, why, "cannot join yet; trying again until the coordinator answers");
                }
                has_said = true;
                std::thread::sleep(AGAIN_AFTER);
            }
            Err(Failed::Away(why)) => return Err(format!("{coordinator} cannot be joined: {why}")),
            Err(Failed::For(why)) => return Err(why),
        }
    };
    let key = key.as_ref().map(digits).or(key_used);
    let kept = StoredCredentials { key, ..StoredCredentials::of(&coordinator.to_string(), &credentials) };
    match folder.unwritable() {
        Some(why) => tracing::warn!(why, "the host's token is not kept"),
        None => kept.save(&path).map_err(|error| refused(&path.display(), &error))?,
    }
    Ok(credentials)
}

fn ask(
    coordinator: &CoordinatorAddress,
    pin: Option<Pin>,
    known: &Credentials,
    key: Option<&Token>,
    name: &str,
) -> Result<Credentials, Failed> {
    let authority = match pin {
        None => known.authority.clone(),
        Some(_) if !coordinator.is_tls() => {
            return Err(Failed::For(format!(
                "--pin is about TLS; use the address https://{}",
                coordinator.authority()
            )));
        }
        Some(pin) => {
            let fetched = fetch_authority(coordinator.host(), coordinator.port(), pin, STEP_MAX);
            Some(fetched.map_err(|error| match error {
                sateen_access::TlsError::Unreachable(..) => Failed::Away(error.to_string()),
                error => Failed::For(error.to_string()),
            })?)
        }
    };
    let Some(key) = key else { return Ok(Credentials { token: known.token.clone(), authority }) };
    let credentials = Credentials { token: Some(key.clone()), authority };
    let answer = exchange(coordinator, &credentials, name)?;
    let token = match answer["secret"].as_str() {
        Some(secret) => secret.parse().map_err(Failed::For)?,
        None => key.clone(),
    };
    Ok(Credentials { token: Some(token), ..credentials })
}

/// Asks the coordinator what the host is to use from now on.
fn exchange(
    coordinator: &CoordinatorAddress,
    credentials: &Credentials,
    name: &str,
) -> Result<Value, Failed> {
    let config = ureq::Agent::config_builder()
        .timeout_connect(Some(STEP_MAX))
        .timeout_global(Some(2 * STEP_MAX))
        .http_status_as_error(false)
        .max_redirects(0);
    let agent = credentials.agent(config);
    let request = agent.post(coordinator.url("/api/v1/join")).content_type("application/json");
    let sent = request.send(json!({ "name": name }).to_string());
    let mut response = sent.map_err(|error| {
        Failed::Away(match error {
            ureq::Error::Io(error) => {
                explain_tls(&error, coordinator.host()).unwrap_or_else(|| explained(&error))
            }
            error => error.to_string(),
        })
    })?;
    let status = response.status();
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
    let answer = body.ok().and_then(|body| serde_json::from_str::<Value>(&body).ok());
    match answer {
        Some(answer) if status.is_success() => Ok(answer),
        Some(problem) if problem["detail"].is_string() => {
            let why = problem["detail"].as_str().unwrap_or_default().to_owned();
            Err(if status.is_server_error() { Failed::Away(why) } else { Failed::For(why) })
        }
        _ if status.is_server_error() => Err(Failed::Away(format!("it answers with {status}"))),
        _ => Err(Failed::For(format!(
            "{coordinator} is not a coordinator that takes join keys: it answers with {status}"
        ))),
    }
}
