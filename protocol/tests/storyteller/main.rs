//! Stories: scripts for the protocol's state machines, with their output (`protocol/tests/stories/`, which has a
//! README). `SATEEN_BLESS=1 cargo test -p sateen-protocol --test stories` writes the output anew; changes are then
//! reviewed as a diff. `SATEEN_STORIES="join.txt leave.txt"` plays only these. `SATEEN_TOLD=FOLDER` writes the inputs
//! of the state machines, from which `cargo xtask fuzz --seeds` makes the corpus of the fuzz targets.

// A test reads and writes files and prints; the rules of this crate's clippy.toml are for its machines.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)]

mod drive;
mod entries;
mod forge;
mod messages;
mod names;
mod obey;
mod objects;
mod runtime;
mod script;
mod seeds;
mod work;
mod world;

use std::fs;
use std::path::{Path, PathBuf};

/// All scripts below `folder`, except those that only other scripts include.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the stories' folder can be read") {
        let path = entry.expect("the stories' folder can be read").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "include") {
            found.extend(scripts(&path));
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn stories_have_their_golden_output() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let chosen = std::env::var("SATEEN_STORIES").ok();
    let is_chosen = |name: &str| {
        chosen.as_ref().is_none_or(|chosen| chosen.split_whitespace().any(|chosen| chosen == name))
    };
    let mut wrong = String::new();
    for path in scripts(&folder) {
        let name = path.strip_prefix(&folder).expect("below the folder").display().to_string();
        if !is_chosen(&name) {
            continue;
        }
        // Shows which story it is if a state machine does not end.
        eprintln!("story {name}");
        // Each story has a thread with its name: the message of a panic names the story, and other stories continue.
        let wrong_there = std::thread::scope(|scope| {
            let (folder, name) = (&folder, &name);
            let teller = std::thread::Builder::new().name(name.clone());
            let teller = teller.spawn_scoped(scope, move || go(&path, name, folder));
            teller.expect("a thread can be started").join()
        });
        wrong += &wrong_there.unwrap_or_else(|_| format!("\n{name}: a machine panicked"));
    }
    assert!(wrong.is_empty(), "stories go another way (SATEEN_BLESS=1 writes them anew):\n{wrong}");
}

/// Plays a story. Returns the differences from its file.
fn go(path: &Path, name: &str, folder: &Path) -> String {
    let told = fs::read_to_string(path).expect("a story is text");
    let (goes, seeds) = script::play(&told, folder);
    if let Some(folder) = std::env::var_os("SATEEN_TOLD") {
        seeds.write(Path::new(&folder), name);
    }
    let mut wrong = String::new();
    if let Some(line) = goes.lines().find(|line| line.starts_with("> CANNOT") || line.starts_with("> WRONG"))
    {
        wrong += &format!("\n{name}: {line}");
    }
    if goes == told {
        return wrong;
    }
    if std::env::var_os("SATEEN_BLESS").is_some() {
        fs::write(path, goes).expect("a story can be written");
    } else {
        wrong += &format!("\n{name}:\n{}", difference(&told, &goes));
    }
    wrong
}

/// The first lines that differ.
fn difference(told: &str, goes: &str) -> String {
    let same = told.lines().zip(goes.lines()).take_while(|(told, goes)| told == goes).count();
    let few = |text: &str, sign: &str| -> String {
        text.lines().skip(same).take(12).map(|line| format!("{sign} {line}\n")).collect()
    };
    format!("from line {}:\n{}{}", same + 1, few(told, "-"), few(goes, "+"))
}
