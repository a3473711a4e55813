//! The crates that apps are made of, as a workspace of their own: `sateen new` of an unpacked archive points to it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Folders of the crates.
const CRATES: [&str; 3] = ["abi", "guest-sdk", "guest-sdk/macros"];
/// Folders of files for apps in other languages.
const OTHERS: [&str; 2] = ["guest-sdk/c", "guest-sdk/assemblyscript"];

/// The files, by their paths, sorted.
pub fn files(root: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut paths = CRATES.map(|folder| format!("{folder}/Cargo.toml")).to_vec();
    let sources = CRATES.map(|folder| format!("{folder}/src"));
    for folder in sources.iter().map(String::as_str).chain(OTHERS) {
        let below = crate::files::below(&root.join(folder))?.into_iter();
        paths.extend(below.filter(|path| !path.ends_with('/')).map(|path| format!("{folder}/{path}")));
    }
    paths.sort();
    let mut files = vec![("Cargo.toml".to_owned(), manifest(root)?.into_bytes())];
    for path in paths {
        let bytes = fs::read(root.join(&path)).with_context(|| path.clone())?;
        files.push((path, bytes));
    }
    Ok(files)
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
