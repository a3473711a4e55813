//! The copy of the sources in which bugs are planted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::bug::Bug;
use crate::switch::{self, Edit};

/// The packages of the copy: the protocol, what tests it, and what these need.
const PACKAGES: [&str; 4] = ["abi", "protocol", "tests/protocol-harness", "tests/simulator"];

/// A workspace with only [`PACKAGES`].
pub struct Workspace {
    root: PathBuf,
    folder: PathBuf,
}

/// The outcome of planting.
#[derive(Debug, Default)]
pub struct Planted {
    /// The function of each bug, with the number from [`switch::with_arms`].
    pub functions: BTreeMap<u32, u32>,
    /// Bugs that do not compile.
    pub unfit: BTreeSet<u32>,
}

impl Workspace {
    /// Copies the workspace in `root` to a folder, keeping the folder's target folder.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub fn copy(root: &Path, folder: &Path) -> io::Result<Self> {
        for package in PACKAGES {
            copy_folder(&root.join(package), &folder.join(package))?;
        }
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let lines: Vec<String> = (manifest.lines())
            .take_while(|line| !line.starts_with("[profile.release.package"))
            .filter(|line| !line.starts_with("default-members"))
            .map(|line| match line.starts_with("members") {
                true => format!("members = {PACKAGES:?}"),
                false => line.to_owned(),
            })
            .collect();
        write_if_changed(&folder.join("Cargo.toml"), lines.join("\n").as_bytes())?;
        write_if_changed(&folder.join("Cargo.lock"), &fs::read(root.join("Cargo.lock"))?)?;
        Ok(Self { root: root.to_owned(), folder: folder.to_owned() })
    }

    /// Plants all bugs, each selected by its number.
    ///
    /// # Errors
    /// When a file cannot be read or written, or the sources do not compile for another reason.
    pub fn plant(&self, bugs: &BTreeMap<u32, Bug>) -> io::Result<Planted> {
        let mut unfit = BTreeSet::new();
        loop {
            let Planted { functions, unfit: outside } = self.write_arms(bugs, &unfit)?;
            unfit.extend(outside);
            let wrong = self.check()?;
            if wrong.is_empty() {
                return Ok(Planted { functions, unfit });
            }
            unfit.extend(wrong);
        }
    }

    fn write_arms(&self, bugs: &BTreeMap<u32, Bug>, unfit: &BTreeSet<u32>) -> io::Result<Planted> {
        let mut by_file: BTreeMap<&Path, Vec<Edit>> = BTreeMap::new();
        for (number, bug) in bugs {
            let edits = by_file.entry(&bug.file).or_default();
            if !unfit.contains(number) {
                edits.push(Edit { number: *number, at: bug.at.clone(), to: bug.to.clone() });
            }
        }
        let mut planted = Planted::default();
        for (file, edits) in by_file {
            let armed = switch::with_arms(&fs::read_to_string(self.root.join(file))?, &edits);
            write_if_changed(&self.folder.join(file), armed.source.as_bytes())?;
            planted.functions.extend(armed.functions);
            planted.unfit.extend(armed.outside);
        }
        let library = "protocol/src/lib.rs";
        let source = fs::read_to_string(self.root.join(library))? + switch::PICK;
        write_if_changed(&self.folder.join(library), source.as_bytes())?;
        Ok(planted)
    }

    /// The bugs in whose arms the compiler finds errors.
    fn check(&self) -> io::Result<BTreeSet<u32>> {
        let words = ["check", "-p", "sateen-protocol", "--lib", "--message-format=json"];
        let output = self.cargo(&words).output()?;
        if output.status.success() {
            return Ok(BTreeSet::new());
        }
        let mut found = BTreeSet::new();
        let mut texts = String::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let message = &value["message"];
            if message["level"] != "error" {
                continue;
            }
            texts += message["rendered"].as_str().unwrap_or_default();
            for span in message["spans"].as_array().into_iter().flatten() {
                let (Some(file), Some(byte)) = (span["file_name"].as_str(), span["byte_start"].as_u64())
                else {
                    continue;
                };
                let Ok(source) = fs::read_to_string(self.folder.join(file)) else { continue };
                found.extend(switch::arm_at(&source, byte as usize));
            }
        }
        if found.is_empty() {
            let error =
                if texts.is_empty() { String::from_utf8_lossy(&output.stderr).into_owned() } else { texts };
            return Err(io::Error::other(format!("the protocol does not compile:\n{error}")));
        }
        Ok(found)
    }

    /// Builds a program, and returns its path.
    ///
    /// # Errors
    /// When it does not build.
    pub fn build(&self, words: &[&str]) -> io::Result<PathBuf> {
        let output = self.cargo(words).arg("--message-format=json").output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let built = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        built
            .filter_map(|value| value["executable"].as_str().map(PathBuf::from))
            .next_back()
            .ok_or_else(|| io::Error::other(format!("cargo {} builds no program", words.join(" "))))
    }

    /// A file in the copy for a program's report.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a program built with bugs, with a maximum of processor time, and with these environment variables.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn run(
        &self,
        program: &Path,
        words: &[&str],
        variables: &[(&str, &OsStr)],
        bug: u32,
        cpu_s_max: u32,
    ) -> io::Result<Output> {
        /// A bug may fill memory.
        const MEMORY_KIB_MAX: u32 = 4 << 20;
        let script = format!("ulimit -t {cpu_s_max}; ulimit -v {MEMORY_KIB_MAX}; exec \"$0\" \"$@\"");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(program).args(words).current_dir(self.folder.join("protocol"));
        shell.envs(variables.iter().copied());
        shell.env(switch::VARIABLE, bug.to_string()).output()
    }

    /// With little optimisation, building takes twice as long as without, and tests a fifth of the time.
    fn cargo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .args(words)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
        command
    }
}

/// Makes `to` the same as `from`. Identical files are not touched, as cargo compares times.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if from.join(entry.file_name()).exists() {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &place)?;
        } else {
            write_if_changed(&place, &fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

fn write_if_changed(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    fs::write(path, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copy_has_all_packages_that_it_needs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = tempfile::tempdir().expect("there is room");
        let copy = Workspace::copy(&root, folder.path()).expect("it can be copied");
        let output =
            copy.cargo(&["metadata", "--no-deps", "--format-version=1"]).output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    #[test]
    fn every_bug_compiles() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let bugs = Bug::all(&root.join("tests/simulator/planted"), &root).expect("they can be read");
        let folder = tempfile::tempdir().expect("there is room");
        let copy = Workspace::copy(&root, folder.path()).expect("it can be copied");
        let by_number: BTreeMap<u32, Bug> = (1..).zip(bugs).collect();
        let planted = copy.plant(&by_number).expect("the protocol compiles");
        let unfit: Vec<&str> = planted.unfit.iter().map(|number| by_number[number].name.as_str()).collect();
        assert!(unfit.is_empty(), "{unfit:?} do not compile");
    }
}
