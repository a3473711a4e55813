//! The crates that apps are made of, as a workspace of their own: `sateen new` of an unpacked archive points to it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Folders of the crates.
const CRATES: [&str; 3] = ["abi", "guest-sdk", "guest-sdk/macros"];
/// What each crate's folder has for its users.
const PARTS: [&str; 2] = ["Cargo.toml", "src"];
/// Files for apps in other languages.
const OTHERS: [&str; 2] = ["guest-sdk/c", "guest-sdk/assemblyscript"];

/// The files, by their paths, sorted.
pub fn files(root: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut paths = Vec::new();
    for folder in CRATES {
        for part in PARTS {
            collect(root, &format!("{folder}/{part}"), &mut paths)?;
        }
    }
    for folder in OTHERS {
        collect(root, folder, &mut paths)?;
    }
    paths.sort();
    let mut files = vec![("Cargo.toml".to_owned(), manifest(root)?.into_bytes())];
    for path in paths {
        let bytes = fs::read(root.join(&path)).with_context(|| path.clone())?;
        files.push((path, bytes));
    }
    Ok(files)
}

/// Adds the file `path`, or all files below that folder.
fn collect(root: &Path, path: &str, found: &mut Vec<String>) -> Result<()> {
    let here = root.join(path);
    if here.is_file() {
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(&here).with_context(|| path.to_owned())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !crate::files::NOT_OURS.contains(&name.as_str()) {
            collect(root, &format!("{path}/{name}"), found)?;
        }
    }
    Ok(())
}

/// The top manifest with these crates as its only members, and without profiles of other crates.
fn manifest(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join("Cargo.toml"))?;
    let (kept, _) = text.split_once("[profile.").context("the top manifest has no profiles")?;
    let lines =
        kept.lines().filter(|line| !line.starts_with("default-members") && !line.starts_with("exclude"));
    let (members, others): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("members = "));
    ensure!(members.len() == 1, "the top manifest has {} lists of members", members.len());
    let listed = CRATES.map(|folder| format!("{folder:?}")).join(", ");
    let text = others.join("\n");
    Ok(text.replacen("[workspace]\n", &format!("[workspace]\nmembers = [{listed}]\n"), 1) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{cargo, root};

    /// Cargo reads the packed workspace without a network: it names nothing that is not packed.
    #[test]
    fn cargo_can_read_the_packed_workspace() {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, bytes) in files(&root()).expect("the SDK") {
            let to = folder.path().join(path);
            fs::create_dir_all(to.parent().expect("it has a folder")).expect("a folder");
            fs::write(to, bytes).expect("a file");
        }
        let mut metadata = cargo(["metadata", "--no-deps", "--offline", "--format-version=1"]);
        let output = metadata.current_dir(folder.path()).output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let packages = found["packages"].as_array().expect("packages");
        let mut names: Vec<_> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["sateen", "sateen-abi", "sateen-macros"]);
        assert!(folder.path().join("guest-sdk/c/sateen.h").is_file());
        assert!(!folder.path().join("guest-sdk/assemblyscript/node_modules").exists());
    }
}
