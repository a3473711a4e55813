//! `status`, `pause`, `resume` and `leave`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use sateen_command_line::{localised, wrap};
use sateen_host::grid::control::{Answer, Request, ask};
use sateen_host::grid::{DataFolder, Holder};

use super::flags::Ask;
use super::say::{GRID, fail, note, result};

/// Maximum time until a host that was asked to leave has exited.
const ENDED_MAX: Duration = Duration::from_secs(10);

/// Sends a request to the host that runs on this folder.
pub fn ask_host(folder: &Path, command: &Ask) -> ExitCode {
    let request = match command {
        Ask::Status { .. } => Request::Status,
        Ask::Pause { time } => Request::Pause { for_s: time.map(|time| time.as_secs().max(1)) },
        Ask::Resume => Request::Resume,
        Ask::Leave => Request::Leave,
    };
    let is_json = matches!(command, Ask::Status { json: true });
    let mut refused = None;
    let is_left = matches!(command, Ask::Leave);
    let mut is_answered = false;
    let holder = Holder::of(folder);
    let asked = ask(folder, &request, |answer| match answer {
        Answer::Status(status) => {
            is_answered = true;
            result(&if is_json {
                serde_json::to_string(&status).unwrap_or_default()
            } else {
                status.to_text(wrap::width())
            });
        }
        Answer::Done(text) => {
            is_answered = true;
            note(&format!("sateen-host: {}", localised(&text)));
        }
        Answer::Progress(text) => note(&format!("sateen-host: {}", localised(&text))),
        Answer::Refused(why) => refused = Some(why),
    });
    match (asked, refused) {
        (Err(error), _) => fail(GRID, error),
        (Ok(()), Some(why)) => fail(GRID, why),
        // The folder must be free for a host that is started on it right after this command.
        (Ok(()), None) if is_left && !(is_folder_free(folder, &holder) && holder.await_end(ENDED_MAX)) => {
            fail(
                GRID,
                format!(
                    "the host has left the grid, but its process has not ended in {} s",
                    ENDED_MAX.as_secs()
                ),
            )
        }
        (Ok(()), None) if is_answered => ExitCode::SUCCESS,
        (Ok(()), None) => fail(GRID, "the host ended before it had answered"),
    }
}

/// Whether the process that held the folder has given it up: nobody holds it, or another one that was started meanwhile.
fn is_folder_free(folder: &Path, holder: &Holder) -> bool {
    DataFolder::await_free_or(folder, ENDED_MAX, || holder.has_successor(folder))
}
