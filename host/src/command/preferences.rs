//! The owner's preferences, from all layers; `config show`, `config path` and `config set`.

use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use sateen_comfort::consent::Consent;
use sateen_comfort::preferences::{
    FileError, FileLayer, Given, KEYS, Profile, Resolved, Source, file_path, key_named, resolve, set,
};
use sateen_host::grid::{CoordinatorAddress, DataFolder};
use serde_json::{Value, json};

use super::flags::{Config, Host};
use super::say::{GRID, USAGE, fail, note, result};

/// The preferences of a host, and how it takes part.
pub struct Known {
    pub resolved: Resolved,
    pub profile: Profile,
    pub coordinator: CoordinatorAddress,
    /// What was agreed to.
    pub consent: Option<Consent>,
}

/// Puts the layers for a host on this data folder together. `joins` is the grid that it joins now.
///
/// # Errors
/// Says which layer cannot be used.
pub fn know(folder: &Path, host: &Host, joins: Option<&CoordinatorAddress>) -> Result<Known, String> {
    let consent = Consent::read(folder);
    let joined = consent.as_ref().and_then(|consent| CoordinatorAddress::parse(&consent.coordinator).ok());
    let given = joins.or(host.coordinator.as_ref()).cloned();
    let coordinator = given.or_else(|| joined.clone()).unwrap_or_default();
    let is_joined = joins.is_some() || joined.as_ref() == Some(&coordinator);
    let profile = match () {
        () if host.agreement.dedicated => Profile::Dedicated,
        () if is_joined || !is_own(&coordinator) => Profile::Volunteer,
        () => Profile::Dedicated,
    };
    let file = FileLayer::read(&file_path(folder)).map_err(|error| error.to_string())?;
    let mut flags = host.preferences.0.clone();
    flags.extend(host.threads.map(|threads| ("threads".to_owned(), threads.to_string())));
    flags.extend(host.memory.map(|bytes| ("memory".to_owned(), bytes.to_string())));
    let variables = KEYS.iter().map(sateen_comfort::preferences::Key::variable);
    let environment = variables.filter_map(|variable| {
        let value = std::env::var(&variable).ok()?;
        Some((variable, value))
    });
    let given = Given { profile, file: file.as_ref(), environment: environment.collect(), flags };
    let resolved = resolve(&given).map_err(|error| error.to_string())?;
    Ok(Known { resolved, profile, coordinator, consent })
}

/// Whether the coordinator is on this machine: its grid is this user's own.
pub fn is_own(coordinator: &CoordinatorAddress) -> bool {
    let authority = coordinator.authority();
    let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Shows or changes the preferences.
pub fn config(folder: &Path, host: &Host, command: &Config) -> ExitCode {
    match command {
        Config::Path => {
            result(&file_path(folder).display().to_string());
            ExitCode::SUCCESS
        }
        Config::Show { json } => match know(folder, host, None) {
            Ok(known) => show(folder, &known, *json),
            Err(error) => fail(USAGE, error),
        },
        Config::Set { key, value } => change(folder, key, value.as_deref()),
    }
}

fn change(folder: &Path, key: &str, value: Option<&str>) -> ExitCode {
    // A folder that no host has used yet gets its version; one that a host uses has it.
    let folder_is_used = folder.join("version").exists();
    let opened = if folder_is_used { None } else { Some(DataFolder::open(folder)) };
    if let Some(Err(error)) = opened {
        return fail(USAGE, error);
    }
    match set(&file_path(folder), key, value) {
        Ok(Some(value)) => note(&format!("sateen-host: {key} is {value}")),
        Ok(None) => note(&format!("sateen-host: {key} has its default again")),
        Err(error @ FileError::System(_)) => return fail(GRID, error),
        Err(error) => return fail(USAGE, error),
    }
    let is_running = !DataFolder::await_free(folder, std::time::Duration::ZERO);
    if is_running && opened.is_none() {
        let is_fixed = key_named(key).is_some_and(sateen_comfort::preferences::Key::is_fixed);
        let when =
            if is_fixed { "this takes effect when it starts again" } else { "it reads this in a moment" };
        note(&format!("sateen-host: a host runs on this folder; {when}"));
    }
    ExitCode::SUCCESS
}

fn show(folder: &Path, known: &Known, is_json: bool) -> ExitCode {
    let path = file_path(folder);
    if is_json {
        let settings = known.resolved.settings().map(|(key, setting)| {
            json!({
                "key": key.name,
                "value": setting.value.to_string(),
                "source": source(&setting.source),
                "about": key.help,
            })
        });
        let text = json!({
            "file": path.display().to_string(),
            "dedicated": known.profile == Profile::Dedicated,
            "coordinator": known.coordinator.to_string(),
            "agreed_s": known.consent.as_ref().map(|consent| consent.agreed_s),
            "preferences": settings.collect::<Vec<_>>(),
            "warnings": known.resolved.warnings,
        });
        result(&text.to_string());
        return ExitCode::SUCCESS;
    }
    known.resolved.warnings.iter().for_each(|warning| note(&format!("sateen-host: {warning}")));
    let rows: Vec<[String; 3]> = known
        .resolved
        .settings()
        .map(|(key, setting)| [key.name.to_owned(), setting.value.to_string(), setting.source.to_string()])
        .map(|[name, value, source]| [name, if value.is_empty() { "none".to_owned() } else { value }, source])
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, values) = (width(0), width(1));
    let lines =
        rows.iter().map(|[name, value, source]| format!("{name:<names$}  {value:<values$}  {source}"));
    result(&lines.collect::<Vec<_>>().join("\n"));
    ExitCode::SUCCESS
}

fn source(source: &Source) -> Value {
    match source {
        Source::Default => json!({ "layer": "default" }),
        Source::File(path) => json!({ "layer": "file", "name": path.display().to_string() }),
        Source::Environment(variable) => json!({ "layer": "environment", "name": variable }),
        Source::Flag(flag) => json!({ "layer": "flag", "name": flag }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_on_this_machine_is_ones_own() {
        let own = |text: &str| is_own(&CoordinatorAddress::parse(text).expect("an address"));
        for text in ["http://127.0.0.1:7700", "localhost", "[::1]:80", "127.5.0.1"] {
            assert!(own(text), "{text}");
        }
        for text in
            ["http://grid.example.org", "10.0.0.1:7700", "localhost.example.org", "[2001:db8::1]:7700"]
        {
            assert!(!own(text), "{text}");
        }
    }
}
