//! Asking the machine's owner for consent.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use sateen_comfort::consent::{Consent, WorkerPriority, described};
use sateen_comfort::preferences::Profile;
use sateen_host::grid::DataFolder;

use super::preferences::Known;
use super::say::{INTERRUPTED, USAGE, fail, note};

/// Makes sure that the owner has agreed to what a host may use of the machine, and keeps the consent.
///
/// # Arguments
/// * `priority`: that of the host's workers.
/// * `is_yes`: agrees without a question.
/// * `joins`: whether the machine joins the grid now. Then the owner is asked even if the grid is the owner's own.
///
/// # Errors
/// If the owner has not agreed.
pub fn ensure(
    folder: &DataFolder,
    known: &Known,
    priority: WorkerPriority,
    is_yes: bool,
    joins: bool,
) -> Result<(), ExitCode> {
    // An operator's machines, and a grid on this machine that was not joined.
    if known.profile == Profile::Dedicated && !joins {
        return Ok(());
    }
    let coordinator = known.coordinator.to_string();
    let lacking =
        known.consent.as_ref().map(|consent| consent.lacks(&coordinator, &known.resolved, priority));
    if lacking.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    let is_asked_again = lacking.is_some();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    note(&described(&coordinator, processors, &known.resolved, priority));
    for line in lacking.into_iter().flatten() {
        note(&format!("This is more than before: {line}."));
    }
    if !is_yes {
        if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
            let why = if is_asked_again {
                "this is more than the machine's owner agreed to"
            } else {
                "the machine's owner has not agreed to this"
            };
            return Err(fail(
                USAGE,
                format!(
                    "{why}, and there is no terminal on which to ask; run `sateen-host join {coordinator}` on one, or pass --yes (for a machine that is the grid's own: --dedicated)"
                ),
            ));
        }
        note("Do you agree? [y/N]");
        let mut answer = String::new();
        let _ = std::io::stdin().lock().read_line(&mut answer);
        if !matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
            return Err(fail(INTERRUPTED, "nothing was started, as you did not agree"));
        }
    }
    let agreed_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if let Err(why) = Consent::to(&coordinator, &known.resolved, priority, agreed_s).save(folder.path()) {
        note(&format!("sateen-host: your consent is not kept, and you will be asked again: {why}"));
    }
    Ok(())
}
