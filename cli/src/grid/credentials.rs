//! The token for a coordinator, and the authority that is trusted for it: `sateen login`, `sateen logout`.

use std::fs;
use std::io::{BufRead, ErrorKind, IsTerminal, Write, stdin};
use std::path::Path;
use std::time::Duration;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use sateen_access::{
    Authority, Credentials, StoredCredentials, Token, client_folder, fetch_authority, file_for, read_secret,
    read_secret_from,
};
use sateen_api::Me;
use sateen_command_line::{local_with_zone, refused};
use ureq::http::Uri;

use super::client::Client;
use super::url::{is_this_machine, url_of};
use crate::exit::{Failure, GRID, say};
use crate::flags::{Login, Logout};

/// Holds a token.
const VARIABLE: &str = "SATEEN_TOKEN";
/// Maximum time for each step of fetching the certificate of an authority.
const FETCH_MAX: Duration = Duration::from_secs(10);
/// The port of https.
const HTTPS_PORT: u16 = 443;

/// What to send to a coordinator, and to trust of it: the token of the file, or of the variable, or that of the last login.
///
/// # Errors
/// If a token or what was kept cannot be read.
pub fn credentials_for(coordinator: &str, token_file: Option<&Path>) -> Result<Credentials, Failure> {
    let kept = match client_folder() {
        Some(folder) => {
            let path = file_for(&folder, coordinator);
            let stored = StoredCredentials::read(&path).map_err(Failure::usage)?;
            stored.map(|stored| stored.credentials(&path)).transpose().map_err(Failure::usage)?
        }
        None => None,
    };
    let kept = kept.unwrap_or_default();
    Ok(Credentials { token: given(token_file)?.or(kept.token), authority: kept.authority })
}

/// The token of the file or of the variable.
fn given(token_file: Option<&Path>) -> Result<Option<Token>, Failure> {
    if let Some(path) = token_file {
        return read_secret(path).map(Some).map_err(Failure::usage);
    }
    match std::env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => {
            read_secret_from(text.as_bytes(), &format!("the variable {VARIABLE}"))
                .map(Some)
                .map_err(Failure::usage)
        }
        _ => Ok(None),
    }
}

/// Checks a token and keeps it.
pub fn login(flags: &Login) -> Result<(), Failure> {
    let (url, host) = url_of(&flags.coordinator).map_err(Failure::usage)?;
    let url = url.trim_end_matches('/');
    let folder = client_folder().ok_or_else(|| {
        Failure::usage("this user has no folder for settings, in which the token would be kept; name one with SATEEN_CONFIG_DIR")
    })?;
    let path = file_for(&folder, url);
    let authority = authority(flags, url, &host, &path)?;
    // Whether a token is needed at all, before anybody is asked for one.
    let without = Client::with(url, &Credentials { token: None, authority: authority.clone() })?;
    let token = match without.get("/api/v1/me") {
        Ok(answer) => {
            let me: Me = without.read(&answer)?;
            if !me.tokens_required && authority.is_none() {
                say(format!("{url} needs no token; nothing was kept"));
                return Ok(());
            }
            None
        }
        Err(_) if flags.token_file.is_some() || std::env::var_os(VARIABLE).is_some() => {
            given(flags.token_file.as_deref())?
        }
        Err(refusal) if refusal.is_unauthorised() => Some(ask(url)?),
        Err(refusal) => return Err(refusal.into()),
    };
    let credentials = Credentials { token, authority };
    let client = Client::with(url, &credentials)?;
    let me: Me = client.read(&client.get("/api/v1/me")?)?;
    let saved = StoredCredentials::of(url, &credentials).save(&path);
    saved.map_err(|error| Failure::new(GRID, refused(&path.display(), &error)))?;
    match me.token {
        Some(token) => {
            let until = token
                .expires_at
                .map_or_else(String::new, |at| format!(", valid until {}", local_with_zone(&at)));
            say(format!("logged in to {url} with the token `{}` (scope {}{until})", token.name, token.scope));
        }
        None => say(format!("{url} needs no token; its certificate authority is trusted from now on")),
    }
    if url.starts_with("http://") && !is_this_machine(&host) {
        say("warning: this address has no TLS, so the token crosses the network without encryption");
    }
    Ok(())
}

/// The authority with the given fingerprint, or else the one that was kept.
fn authority(flags: &Login, url: &str, host: &str, path: &Path) -> Result<Option<Authority>, Failure> {
    let Some(pin) = flags.pin else {
        let stored = StoredCredentials::read(path).ok().flatten();
        let kept = stored.and_then(|stored| stored.credentials(path).ok());
        return Ok(kept.and_then(|kept| kept.authority));
    };
    if !url.starts_with("https://") {
        return Err(Failure::usage(format!(
            "--pin is about TLS; use the address https://{}",
            &url["http://".len()..]
        )));
    }
    let port = url.parse::<Uri>().ok().and_then(|uri| uri.port_u16()).unwrap_or(HTTPS_PORT);
    let fetched = fetch_authority(host, port, pin, FETCH_MAX);
    fetched.map(Some).map_err(|error| Failure::new(GRID, error))
}

/// Reads a token from the terminal, which does not show it; from stdin if that is something else.
fn ask(url: &str) -> Result<Token, Failure> {
    let stdin = stdin();
    if !stdin.is_terminal() {
        return read_secret_from(stdin.lock(), "stdin").map_err(Failure::usage);
    }
    let _ = write!(std::io::stderr(), "Token for {url}: ");
    let before = tcgetattr(&stdin).ok();
    if let Some(mut hidden) = before.clone() {
        hidden.local_modes.remove(LocalModes::ECHO);
        let _ = tcsetattr(&stdin, OptionalActions::Flush, &hidden);
    }
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if let Some(before) = before {
        let _ = tcsetattr(&stdin, OptionalActions::Now, &before);
    }
    let _ = writeln!(std::io::stderr());
    read.map_err(Failure::usage)?;
    line.parse().map_err(Failure::usage)
}

/// Forgets the token for a coordinator.
pub fn logout(flags: &Logout) -> Result<(), Failure> {
    let (url, _) = url_of(&flags.coordinator).map_err(Failure::usage)?;
    let url = url.trim_end_matches('/');
    let none = || Failure::usage(format!("there is no login for {url}"));
    let path = file_for(&client_folder().ok_or_else(none)?, url);
    match fs::remove_file(&path) {
        Ok(()) => {
            say(format!("logged out of {url}; the token itself is valid until `sateen token revoke`"));
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(none()),
        Err(error) => Err(Failure::new(GRID, refused(&path.display(), &error))),
    }
}
