//! The crates that are linked into the programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::{cargo, output, root};

/// One crate.
#[derive(Debug, Clone)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// An SPDX expression; old crates separate alternatives by `/`.
    pub licence: String,
    pub authors: Vec<String>,
    pub description: Option<String>,
    pub repository: Option<String>,
    /// Its sources on this machine.
    pub folder: PathBuf,
    /// Whether it is a crate of this repository.
    pub is_ours: bool,
    /// SHA-256 of the file that the registry has, from the lock file.
    pub checksum: Option<String>,
    /// Its own dependencies among the packages, by name and version.
    pub dependencies: BTreeSet<(String, String)>,
}

/// All of them, sorted by name and version.
pub struct Packages(pub Vec<Package>);

impl Packages {
    /// The crates in the programs of the packages `programs` for `target`: no build scripts, macros or tests.
    pub fn read(programs: &[&str], target: &str) -> Result<Self> {
        let linked = linked(programs, target)?;
        let metadata = metadata(target)?;
        let checksums = checksums(&std::fs::read_to_string(root().join("Cargo.lock"))?);
        let list = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let mut names = BTreeMap::new();
        for package in list {
            names.insert(text(&package["id"])?, (text(&package["name"])?, text(&package["version"])?));
        }
        let mut edges = BTreeMap::new();
        for node in metadata["resolve"]["nodes"].as_array().context("cargo metadata resolves nothing")? {
            let below = node["dependencies"].as_array().into_iter().flatten();
            let below: BTreeSet<_> = below.filter_map(|id| names.get(id.as_str()?).cloned()).collect();
            edges.insert(text(&node["id"])?, below);
        }
        let mut found = Vec::new();
        for package in list {
            let key = (text(&package["name"])?, text(&package["version"])?);
            if !linked.contains(&key) {
                continue;
            }
            let below = edges.get(&text(&package["id"])?).cloned().unwrap_or_default();
            let manifest = PathBuf::from(text(&package["manifest_path"])?);
            let optional = |name: &str| package[name].as_str().map(str::to_owned);
            found.push(Package {
                licence: optional("license").with_context(|| format!("{} has no licence", key.0))?,
                authors: package["authors"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|author| Some(author.as_str()?.to_owned()))
                    .collect(),
                description: optional("description").map(|text| text.trim().to_owned()),
                repository: optional("repository"),
                folder: manifest.parent().context("a manifest has a folder")?.to_owned(),
                is_ours: package["source"].is_null(),
                checksum: checksums.get(&key).cloned(),
                dependencies: below.intersection(&linked).cloned().collect(),
                name: key.0,
                version: key.1,
            });
        }
        found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        ensure!(found.len() == linked.len(), "cargo metadata lacks some of the {} packages", linked.len());
        Ok(Self(found))
    }

    /// The version of the programs.
    pub fn version(&self) -> &str {
        self.0.iter().find(|package| package.name == "sateen-cli").map_or("0", |package| &package.version)
    }
}

/// Names and versions of the crates that are linked.
fn linked(programs: &[&str], target: &str) -> Result<BTreeSet<(String, String)>> {
    let mut tree = cargo(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]);
    tree.args(["--target", target, "--format", "{p}"]);
    tree.args(programs.iter().flat_map(|package| ["--package", package]));
    let lines = String::from_utf8(output(tree)?)?;
    let parse = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    };
    Ok(lines.lines().filter_map(parse).collect())
}

fn metadata(target: &str) -> Result<Value> {
    let metadata = cargo(["metadata", "--locked", "--format-version=1", "--filter-platform", target]);
    Ok(serde_json::from_slice(&output(metadata)?)?)
}

fn text(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).context("cargo metadata has something else where text is expected")
}

/// The checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let line =
            block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let blocks = lock.split("[[package]]");
    let parse =
        |block: &str| Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?));
    blocks.filter_map(parse).collect()
}
