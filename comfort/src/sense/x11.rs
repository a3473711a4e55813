//! Input that an X server has seen: the screen saver's extension knows the time since the last one.

use std::time::Duration;

use x11rb::connection::{Connection, RequestConnection};
use x11rb::protocol::screensaver::{ConnectionExt, X11_EXTENSION_NAME};
use x11rb::rust_connection::RustConnection;

use super::{Reporter, spawn};

/// Intervals while guests compute and otherwise. The first is part of the time until guests are off the processor.
const LOOKS: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(5));
/// The same while there is no connection.
const CONNECTS: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(60));

/// The name of this source.
pub const NAME: &str = "x11";

/// Begins to look, if this user has an X server.
pub fn start(reporter: &Reporter) {
    if std::env::var_os("DISPLAY").is_none_or(|display| display.is_empty()) {
        reporter.missing("no X server (DISPLAY is not set), so input under X is not noticed".to_owned());
        return;
    }
    let own = reporter.clone();
    spawn("sateen-x11", reporter, move || look(&own));
}

fn look(reporter: &Reporter) {
    loop {
        match connect() {
            Ok((connection, root)) => {
                while let Some(idle) = idle(&connection, root) {
                    reporter.idle(NAME, Some(idle));
                    if !reporter.pace().wait(LOOKS.0, LOOKS.1) {
                        return;
                    }
                }
                reporter.idle(NAME, None);
            }
            Err(why) => reporter.missing(format!("the X server cannot report input: {why}")),
        }
        if !reporter.pace().wait(CONNECTS.0, CONNECTS.1) {
            return;
        }
    }
}

fn connect() -> Result<(RustConnection, u32), String> {
    let (connection, screen) = x11rb::connect(None).map_err(|error| error.to_string())?;
    let extension =
        connection.extension_information(X11_EXTENSION_NAME).map_err(|error| error.to_string())?;
    extension.ok_or("it has no MIT-SCREEN-SAVER extension")?;
    let root = connection.setup().roots.get(screen).ok_or("it has no screen")?.root;
    Ok((connection, root))
}

fn idle(connection: &RustConnection, root: u32) -> Option<Duration> {
    let info = connection.screensaver_query_info(root).ok()?.reply().ok()?;
    Some(Duration::from_millis(info.ms_since_user_input.into()))
}
