//! The fuzz targets' corpus: one archive, `tests/fuzz/corpus.tar.gz`, with a folder for each target.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::{Archive, Builder, Header};

use crate::shell::root;

/// The archive in the repository.
pub fn archive() -> PathBuf {
    root().join("tests/fuzz/corpus.tar.gz")
}

/// Unpacks `archive` to `folder`, replacing the folder's contents.
pub fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let file = File::open(archive).with_context(|| archive.display().to_string())?;
    Archive::new(GzDecoder::new(file))
        .unpack(folder)
        .with_context(|| format!("{} cannot be unpacked", archive.display()))
}

/// Packs the files in the folders below `folder`. The archive's bytes depend only on the files, not on user or time.
pub fn pack(folder: &Path, archive: &Path) -> Result<()> {
    let file = File::create(archive).with_context(|| archive.display().to_string())?;
    let mut builder = Builder::new(GzBuilder::new().write(file, Compression::best()));
    for target in entries(folder)? {
        for path in entries(&target)? {
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            let mut header = Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            builder.append_data(&mut header, path.strip_prefix(folder)?, &bytes[..])?;
        }
    }
    builder.into_inner()?.finish()?.sync_all().with_context(|| archive.display().to_string())
}

/// Adds `file` to the corpus of the target whose name begins the file's name, as in names of inputs that broke a
/// target. The corpus so far is unpacked at `folder`.
pub fn add(file: &Path, targets: &[&str], folder: &Path) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = targets.iter().find(|target| name.starts_with(&format!("{target}-")));
    let target = target.with_context(|| {
        format!("the name of {} does not begin with a target's name: {}", file.display(), targets.join(", "))
    })?;
    let place = folder.join(target).join(&name);
    ensure!(!place.exists(), "the corpus of {target} already has a file {name}");
    fs::copy(file, place).with_context(|| file.display().to_string())?;
    Ok(())
}

/// The entries of a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder for one test.
    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("sateen-corpus-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    }

    #[test]
    fn packing_the_archives_files_again_gives_the_same_bytes() {
        let folder = scratch("again");
        unpack(&archive(), &folder.join("files")).expect("it is whole");
        let again = folder.join("again.tar.gz");
        pack(&folder.join("files"), &again).expect("it can be packed");
        let read = |path: &Path| fs::read(path).expect("it was written");
        assert!(read(&again) == read(&archive()), "`cargo xtask fuzz --seeds` or `--add` did not make it");
        fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn an_input_that_broke_a_target_is_added_to_its_corpus() {
        let folder = scratch("add");
        for target in ["host", "frames"] {
            fs::create_dir_all(folder.join("corpus").join(target)).expect("a folder can be made");
        }
        let (crash, other) = (folder.join("host-crash-1"), folder.join("guest-crash-1"));
        for file in [&crash, &other] {
            fs::write(file, "1").expect("it can be written");
        }
        let add = |file: &Path| add(file, &["host", "frames"], &folder.join("corpus"));
        add(&crash).expect("there is such a target");
        assert_eq!(fs::read(folder.join("corpus/host/host-crash-1")).expect("it was added"), b"1");
        let said = |result: Result<()>| result.expect_err("it cannot be added").to_string();
        assert!(said(add(&crash)).contains("already"));
        assert!(said(add(&other)).contains("host, frames"));
        fs::remove_dir_all(folder).expect("it is there");
    }
}
