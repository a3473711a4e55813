//! The files of this repository that people write.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders without files of this project.
pub const NOT_OURS: [&str; 5] = [".git", "target", "dist", "node_modules", "shots"];

/// Relative paths of files and folders below `top`, separated by `/`; those of folders end with `/`.
pub fn below(top: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        let path = top.join(&folder);
        for entry in fs::read_dir(&path).with_context(|| path.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !entry.path().is_dir() {
                found.push(format!("{folder}{name}"));
            } else if !NOT_OURS.contains(&name.as_str()) {
                found.push(format!("{folder}{name}/"));
                open.push(format!("{folder}{name}/"));
            }
        }
    }
    Ok(found)
}
