//! The wheel for Python: the package, the sample apps, and the programs, which pip puts beside `python`. (Python Packaging
//! User Guide, "Binary distribution format" and "Core metadata specifications"; the bill of materials: PEP 770.)

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use toml_edit::DocumentMut;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::archive::File;
use super::read;
use crate::shell::root;

const PACKAGE: &str = "clients/python";
/// Static programs run with any C library, so the wheel is for systems with either.
const PLATFORMS: [&str; 3] = ["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"];

/// The file name and the bytes of the wheel. `packed` are the files of the archive, by their paths.
pub fn pack(version: &str, packed: &BTreeMap<String, File>) -> Result<(String, Vec<u8>)> {
    let about: DocumentMut = text(&root().join(PACKAGE).join("pyproject.toml"))?.parse()?;
    let mut files = package(version)?;
    let info = format!("sateen-{version}.dist-info");
    let mut licences = Vec::new();
    for (path, file) in packed {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place = match (folder, name) {
            ("bin", _) => format!("sateen-{version}.data/scripts/{name}"),
            ("share/sateen/apps", _) => format!("sateen/apps/{name}"),
            ("", "LICENSE-APACHE" | "LICENSE-MIT") | ("share/doc/sateen", "THIRD-PARTY-LICENCES.txt") => {
                licences.push(name);
                format!("{info}/licenses/{name}")
            }
            ("share/doc/sateen", "sbom.cdx.json") => format!("{info}/sboms/sateen.cdx.json"),
            _ => continue,
        };
        files.insert(place, File { bytes: file.bytes.clone(), is_program: file.is_program });
    }
    let readme = text(&root().join(PACKAGE).join("README.md"))?;
    add(&mut files, format!("{info}/METADATA"), metadata(&about, version, &licences, &readme)?.into_bytes());
    add(&mut files, format!("{info}/WHEEL"), format().into_bytes());
    let record = format!("{info}/RECORD");
    let lines = records(&files, &record);
    add(&mut files, record, lines.into_bytes());
    Ok((format!("sateen-{version}-py3-none-{}.whl", PLATFORMS.join(".")), zipped(&files)?))
}

fn add(files: &mut BTreeMap<String, File>, path: String, bytes: Vec<u8>) {
    files.insert(path, File { bytes, is_program: false });
}

fn text(path: &Path) -> Result<String> {
    Ok(String::from_utf8(read(path)?)?)
}

/// The package's own files, without what Python has compiled.
fn package(version: &str) -> Result<BTreeMap<String, File>> {
    let mut files = BTreeMap::new();
    for folder in ["sateen", "sateen/static"] {
        for entry in root().join(PACKAGE).join("src").join(folder).read_dir()? {
            let path = entry?.path();
            if path.is_file() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                add(&mut files, format!("{folder}/{name}"), read(&path)?);
            }
        }
    }
    let http = files.get("sateen/_http.py").context("the package has no sateen/_http.py")?;
    let line = format!("VERSION = \"{version}\"");
    ensure!(
        String::from_utf8_lossy(&http.bytes).lines().any(|found| found == line),
        "the package for Python has another version: sateen/_http.py needs {line}"
    );
    Ok(files)
}

/// The file that describes the package, from its `pyproject.toml`.
fn metadata(about: &DocumentMut, version: &str, licences: &[&str], readme: &str) -> Result<String> {
    let project = about.get("project").context("pyproject.toml has no [project]")?;
    let of = |name: &str| {
        let value = project.get(name).and_then(|value| value.as_str());
        value.with_context(|| format!("[project] in pyproject.toml has no `{name}`"))
    };
    let mut out = String::from("Metadata-Version: 2.4\n");
    // Writing to a string cannot fail.
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name}: {value}");
    };
    line("Name", of("name")?);
    line("Version", version);
    line("Summary", of("description")?);
    line("License-Expression", of("license")?);
    for licence in licences {
        line("License-File", licence);
    }
    line("Requires-Python", of("requires-python")?);
    line("Description-Content-Type", "text/markdown");
    let extras = project.get("optional-dependencies").and_then(|extras| extras.as_table_like());
    for (extra, needs) in extras.into_iter().flat_map(|extras| extras.iter()) {
        line("Provides-Extra", extra);
        for need in needs.as_array().into_iter().flatten().filter_map(|need| need.as_str()) {
            line("Requires-Dist", &format!("{need}; extra == \"{extra}\""));
        }
    }
    Ok(format!("{out}\n{readme}"))
}

/// The file that describes the wheel.
fn format() -> String {
    let mut out = String::from("Wheel-Version: 1.0\nGenerator: sateen-xtask\nRoot-Is-Purelib: false\n");
    for platform in PLATFORMS {
        let _ = writeln!(out, "Tag: py3-none-{platform}");
    }
    out
}

/// The file with the digests of all others.
fn records(files: &BTreeMap<String, File>, record: &str) -> String {
    let mut lines = String::new();
    for (path, file) in files {
        let digest = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
        let _ = writeln!(lines, "{path},sha256={digest},{}", file.bytes.len());
    }
    let _ = writeln!(lines, "{record},,");
    lines
}

/// The same bytes for the same files: entries are sorted, and have the format's first time.
fn zipped(files: &BTreeMap<String, File>) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, file) in files {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(if file.is_program { 0o755 } else { 0o644 });
        archive.start_file(path, options)?;
        archive.write_all(&file.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn packed() -> (String, Vec<u8>) {
        let files = [
            ("bin/sateen", true),
            ("share/sateen/apps/fib.wasm", false),
            ("LICENSE-MIT", false),
            ("share/doc/sateen/THIRD-PARTY-LICENCES.txt", false),
            ("share/doc/sateen/sbom.cdx.json", false),
            ("share/doc/sateen/CHANGELOG.md", false),
        ];
        let file = |is_program| File { bytes: b"some bytes".to_vec(), is_program };
        let files = files.map(|(path, is_program)| (path.to_owned(), file(is_program)));
        pack(env!("CARGO_PKG_VERSION"), &files.into()).expect("it is packed")
    }

    #[test]
    fn it_has_the_package_the_programs_and_the_apps() {
        let (name, bytes) = packed();
        let version = env!("CARGO_PKG_VERSION");
        assert!(name.starts_with(&format!("sateen-{version}-py3-none-manylinux_2_17_x86_64.")), "{name}");
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("a zip file");
        let mut contents = BTreeMap::new();
        for at in 0..archive.len() {
            let mut file = archive.by_index(at).expect("an entry");
            let (path, mode) = (file.name().to_owned(), file.unix_mode().unwrap_or_default());
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("its bytes");
            contents.insert(path, (bytes, mode & 0o777));
        }
        let program = format!("sateen-{version}.data/scripts/sateen");
        assert_eq!(contents[&program], (b"some bytes".to_vec(), 0o755));
        assert_eq!(contents["sateen/apps/fib.wasm"].1, 0o644);
        for file in ["sateen/__init__.py", "sateen/py.typed", "sateen/static/run.js"] {
            assert!(contents.contains_key(file), "the wheel has no {file}");
        }
        assert!(!contents.keys().any(|path| path.contains("CHANGELOG") || path.contains("pycache")));
        let info = format!("sateen-{version}.dist-info");
        for file in ["licenses/LICENSE-MIT", "licenses/THIRD-PARTY-LICENCES.txt", "sboms/sateen.cdx.json"] {
            assert!(contents.contains_key(&format!("{info}/{file}")), "{file}");
        }
        let text =
            |file: &str| String::from_utf8(contents[&format!("{info}/{file}")].0.clone()).expect("text");
        let record = text("RECORD");
        assert_eq!(record.lines().count(), contents.len());
        // SHA-256 of `some bytes`, of Python's hashlib.
        let digest = "sha256=DSLNzBDm0Enb4a9RI9UIc_38Gk9YMG5Yy2JBvpRyAU0,10";
        assert!(record.lines().any(|line| line == format!("{program},{digest}")), "{record}");
        let about = text("METADATA");
        for line in [
            "Name: sateen",
            "License-Expression: MIT OR Apache-2.0",
            "License-File: THIRD-PARTY-LICENCES.txt",
            "Requires-Dist: numpy; extra == \"numpy\"",
        ] {
            assert!(about.lines().any(|found| found == line), "{about}");
        }
    }

    #[test]
    fn equal_files_make_equal_wheels() {
        assert!(packed() == packed(), "the time or the order can be seen");
    }
}
