//! `sateen publish`, `sateen unpublish` and `sateen apps`.

use std::path::Path;

use sateen_api::names::check_app_name;
use sateen_api::{App, is_publisher};
use sateen_command_line::local_with_zone;
use sateen_host::{Limits, inspect, size};

use super::client::{Client, segment};
use super::columns::Columns;
use super::refusal::Refusal;
use crate::exit::{Failure, say};
use crate::files::{print, print_json, read_module};
use crate::flags::{List, Publish, Unpublish};

pub fn publish(flags: &Publish) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let module = Module::read(&flags.app)?;
    let name = flags.name.clone().unwrap_or_else(|| name_of(&flags.app));
    check_app_name(&name).map_err(Failure::usage)?;
    let answer = module.put(&client, &name, flags.by.clone())?;
    if flags.json {
        return print_json(&answer);
    }
    let app: App = client.read(&answer)?;
    print(format!("{}\n", app.hash).as_bytes())?;
    say(format!("published as `{}` ({})", app.name, size(module.bytes.len() as u64)));
    Ok(())
}

/// Gives up all names that it can. Fails with the error of the first that it cannot give up.
pub fn unpublish(flags: &Unpublish) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    client.delete_all(
        &flags.names,
        |name| format!("/api/v1/apps/{}", segment(name)),
        |name| format!("nothing is published as `{name}` any more"),
    )
}

pub fn apps(flags: &List) -> Result<(), Failure> {
    let client = Client::new(&flags.grid)?;
    let answer = client.get("/api/v1/apps")?;
    if flags.json {
        return print_json(&answer);
    }
    let mut columns =
        Columns::new(&["NAME", "HASH", "SIZE", "DETERMINISM", "PUBLISHED", "BY", "ENTRY POINTS"]);
    let apps: Vec<App> = client.read(&answer)?;
    for app in &apps {
        columns.row([
            app.name.clone(),
            app.hash.chars().take(12).collect(),
            size(app.bytes),
            app.determinism.clone(),
            local_with_zone(&app.published_at),
            app.published_by.as_ref().or(app.published_from.as_ref()).cloned().unwrap_or_default(),
            app.entry_points.join(" "),
        ]);
    }
    if apps.is_empty() {
        say("the grid has no apps yet; `sateen publish APP.wasm` publishes one");
    }
    print(columns.text().as_bytes())
}

/// An app on the grid.
pub struct Found {
    pub hash: String,
    /// The app's module, if it is a file on this machine.
    pub bytes: Option<Vec<u8>>,
}

/// Finds `app` on the grid. The file of a module is published if the grid does not have it; a name or a hash must be
/// known already.
pub fn find(client: &Client, app: &str) -> Result<Found, Failure> {
    let path = Path::new(app);
    if !path.is_dir() && path.exists() {
        let module = Module::read(path)?;
        match client.get(&format!("/api/v1/apps/{}", module.hash)) {
            // Its bytes may have been deleted behind the coordinator's back.
            Ok(_) if client.has(&format!("/api/v1/blobs/{}", module.hash))? => {}
            Ok(app) => {
                module.put(client, &client.read::<App>(&app)?.name, None)?;
            }
            Err(refusal) if refusal.is_not_found() => {
                let name = name_of(path);
                check_app_name(&name).map_err(|why| {
                    let publish = "publish it with `sateen publish`, and submit it under that name";
                    Failure::usage(format!("{}: {why}; {publish}", path.display()))
                })?;
                module.put(client, &name, None)?;
            }
            Err(refusal) => return Err(refusal.into()),
        }
        return Ok(Found { hash: module.hash, bytes: Some(module.bytes) });
    }
    match client.get(&format!("/api/v1/apps/{}", segment(app))) {
        Ok(answer) => Ok(Found { hash: client.read::<App>(&answer)?.hash, bytes: None }),
        Err(refusal) if refusal.is_not_found() => Err(Failure::usage(format!(
            "there is no file `{app}`, and no app of that name or hash is published at {}; \
             `sateen publish APP.wasm` publishes one",
            client.url()
        ))),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Reads a module and checks that hosts would run it.
struct Module {
    hash: String,
    bytes: Vec<u8>,
}

impl Module {
    fn read(path: &Path) -> Result<Self, Failure> {
        let limits = Limits::default();
        let bytes = read_module(path, &limits)?;
        let inspection = inspect(&bytes, &limits);
        match inspection.refusal() {
            Some(why) => Err(Failure::usage(format!("{}: {why}", path.display()))),
            None => Ok(Self { hash: inspection.hash, bytes }),
        }
    }

    fn put(&self, client: &Client, name: &str, by: Option<String>) -> Result<serde_json::Value, Refusal> {
        let mut path = format!("/api/v1/apps?name={}", segment(name));
        if let Some(by) = by.or_else(|| std::env::var("SATEEN_PUBLISHER").ok()).or_else(user) {
            path.push_str(&format!("&by={}", segment(&by)));
        }
        client.post_bytes(&path, &self.bytes)
    }
}

/// The user's name on this machine, if it is known and coordinators accept it.
fn user() -> Option<String> {
    let known = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    known.filter(|user| is_publisher(user))
}

fn name_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
