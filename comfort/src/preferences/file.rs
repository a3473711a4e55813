//! The file of preferences, in TOML. Programs that edit it keep its comments.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sateen_command_line::{explained, refused};
use thiserror::Error;
use toml_edit::{DocumentMut, Item, Value as Toml};

use super::keys::{Key, key_named, nearest};
use super::value::{Kind, Value};

/// The version of the file's format.
pub const FILE_VERSION: i64 = 1;
/// Maximum size of the file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The beginning of a new file.
const HEAD: &str = "# What this machine's owner allows Sateen. `sateen-host config show` shows all preferences.\nversion = 1\n";

/// Why a file of preferences cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{0}")]
    System(String),
    /// It is not TOML.
    #[error("{} is not valid TOML: {why}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The error.
        why: String,
    },
    /// It was written for a newer program.
    #[error(
        "{} was written for a newer sateen-host (version {version} of the file, this one knows {FILE_VERSION}); update this one",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// There is no such key.
    #[error("unknown preference `{name}`{}; `sateen-host config show` lists all", meant(.name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The value makes no sense.
    #[error("invalid value '{value}' for {name}: {expected}")]
    Invalid {
        /// The key.
        name: &'static str,
        /// The value.
        value: String,
        /// What is expected.
        expected: String,
    },
}

fn meant(name: &str) -> String {
    nearest(name).map_or_else(String::new, |key| format!(" (did you mean `{}`?)", key.name))
}

/// What the file says.
#[derive(Debug)]
pub struct FileLayer {
    /// The file.
    pub path: PathBuf,
    /// The texts of values, by key.
    pub values: Vec<(&'static Key, String)>,
    /// Sentences about what was not understood.
    pub warnings: Vec<String>,
}

/// The file's path in a host's data folder.
pub fn file_path(data_folder: &Path) -> PathBuf {
    data_folder.join("preferences.toml")
}

impl FileLayer {
    /// Reads the file; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read or understood.
    pub fn read(path: &Path) -> Result<Option<Self>, FileError> {
        read_text(path)?.map(|text| Self::parse(path, &text)).transpose()
    }

    /// Reads the text of the file at `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        let (document, version) = document(path, text)?;
        let mut layer = Self { path: path.to_owned(), values: Vec::new(), warnings: Vec::new() };
        if version > FILE_VERSION {
            layer.warnings.push(format!(
                "{}; until then, it goes by the preferences that it knows",
                FileError::Newer { path: path.to_owned(), version }
            ));
        }
        for (name, item) in document.iter().filter(|(name, _)| *name != "version") {
            let Some(key) = key_named(name) else {
                let shown = name.escape_debug();
                layer.warnings.push(format!(
                    "{}: unknown preference `{shown}`{}; it is ignored",
                    path.display(),
                    meant(name)
                ));
                continue;
            };
            match item_text(key, item) {
                Some(text) => layer.values.push((key, text)),
                None => layer.warnings.push(format!(
                    "{}: the value of {} has the wrong type and is not used",
                    path.display(),
                    key.name
                )),
            }
        }
        Ok(layer)
    }
}

/// Sets a key in the file, or removes it if there is no value. Everything else in the file stays as it is, comments
/// included. Returns the value as it will be read.
///
/// # Errors
/// If there is no such key, the value makes no sense, or the file cannot be read or written, or is for a newer program.
pub fn set(path: &Path, name: &str, text: Option<&str>) -> Result<Option<Value>, FileError> {
    let key = key_named(name).ok_or_else(|| FileError::Unknown { name: name.to_owned() })?;
    let value = text.map(|text| {
        key.kind.parse(text).map_err(|expected| FileError::Invalid {
            name: key.name,
            value: text.to_owned(),
            expected,
        })
    });
    let value = value.transpose()?;
    let before = read_text(path)?.unwrap_or_else(|| HEAD.to_owned());
    let (mut document, version) = document(path, &before)?;
    if version > FILE_VERSION {
        return Err(FileError::Newer { path: path.to_owned(), version });
    }
    if document.get("version").is_none() {
        document.insert("version", toml_edit::value(FILE_VERSION));
    }
    // The name may be written in two ways; the one that is there stays.
    let there = document
        .iter()
        .map(|(name, _)| name)
        .find(|name| key_named(name).is_some_and(|one| one.name == key.name));
    let written = there.unwrap_or(key.name).to_owned();
    match &value {
        Some(value) => {
            let toml = toml(value);
            match document.get_mut(&written).and_then(Item::as_value_mut) {
                Some(old) => {
                    // A comment on the same line belongs to the value.
                    let decor = old.decor().clone();
                    *old = toml;
                    *old.decor_mut() = decor;
                }
                None => {
                    document.insert(&written, Item::Value(toml));
                }
            }
        }
        None => {
            document.remove(&written);
        }
    }
    write(path, &document.to_string())?;
    Ok(value)
}

/// The document and its version.
fn document(path: &Path, text: &str) -> Result<(DocumentMut, i64), FileError> {
    let malformed = |why: String| FileError::Malformed { path: path.to_owned(), why: one_line(&why) };
    let document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| malformed(error.to_string()))?;
    match document.get("version").map(Item::as_integer) {
        None => Ok((document, FILE_VERSION)),
        Some(Some(version)) if version >= 1 => Ok((document, version)),
        Some(_) => Err(malformed(format!("`version` must be {FILE_VERSION}"))),
    }
}

/// The parser draws the place; a log line has room for the words only.
fn one_line(text: &str) -> String {
    let lines =
        text.lines().filter(|line| !line.contains('|')).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(": ")
}

/// The text of a value, whichever of the types it has in which people write it.
fn item_text(key: &Key, item: &Item) -> Option<String> {
    if let Some(table) = item.as_table_like().filter(|_| key.kind == Kind::Hours) {
        let days = table.iter().map(|(day, times)| {
            let times = plain(times.as_value()?)?;
            Some(if times == "always" { day.to_owned() } else { format!("{day} {times}") })
        });
        let days: Option<Vec<String>> =
            days.filter(|day| day.as_ref().is_none_or(|day| !day.ends_with(" never"))).collect();
        return days.map(|days| if days.is_empty() { "never".to_owned() } else { days.join(", ") });
    }
    let value = item.as_value()?;
    match value.as_array() {
        Some(array) => Some(array.iter().map(plain).collect::<Option<Vec<_>>>()?.join(", ")),
        None => plain(value),
    }
}

fn plain(value: &Toml) -> Option<String> {
    match value {
        Toml::String(text) => Some(text.value().clone()),
        Toml::Integer(number) => Some(number.value().to_string()),
        Toml::Boolean(on) => Some(on.value().to_string()),
        Toml::Float(number) => Some(number.value().to_string()),
        Toml::Datetime(_) | Toml::Array(_) | Toml::InlineTable(_) => None,
    }
}

fn toml(value: &Value) -> Toml {
    match value {
        Value::Percent(percent) => i64::from(percent.get()).into(),
        Value::Number(number) => i64::from(*number).into(),
        Value::Switch(on) => (*on).into(),
        Value::Names(names) => names.iter().map(String::as_str).collect::<Toml>(),
        Value::Off | Value::Time(_) | Value::Hours(_) | Value::Bytes(_) => value.to_string().into(),
    }
}

fn read_text(path: &Path) -> Result<Option<String>, FileError> {
    let failed = |error: &io::Error| {
        FileError::System(format!("{} cannot be read: {}", path.display(), explained(error)))
    };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
        Ok(metadata) if metadata.len() > FILE_BYTES_MAX => {
            let why = format!("it is larger than {FILE_BYTES_MAX} bytes");
            return Err(FileError::Malformed { path: path.to_owned(), why });
        }
        Ok(_) => {}
    }
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(FileError::Malformed { path: path.to_owned(), why: "it is not text in UTF-8".to_owned() })
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Written completely or not at all.
fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let written = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(text.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path)?;
        Ok(())
    };
    written().map_err(|error| FileError::System(refused(&path.display().to_string(), &error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> (Vec<(&'static str, String)>, Vec<String>) {
        let layer = FileLayer::parse(Path::new("p.toml"), text).expect("a file");
        (layer.values.into_iter().map(|(key, text)| (key.name, text)).collect(), layer.warnings)
    }

    #[test]
    fn values_have_the_types_that_people_write() {
        let (values, warnings) = values(
            "version = 1\nshare-idle = 50\nshare_in_use = \"10%\"\non-battery = true\nidle-after = \"5m\"\n\
             apps-refused = [\"ab\", \"cd\"]\ntemperature-max = \"off\"\n\
             [hours]\nmon-fri = \"18:00-08:00\"\nsat = \"always\"\nsun = \"never\"\n",
        );
        let expected = [
            ("share-idle", "50"),
            ("share-in-use", "10%"),
            ("on-battery", "true"),
            ("idle-after", "5m"),
            ("apps-refused", "ab, cd"),
            ("temperature-max", "off"),
            ("hours", "mon-fri 18:00-08:00, sat"),
        ];
        assert_eq!(values, expected.map(|(key, text)| (key, text.to_owned())));
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn unknown_keys_are_named_and_not_fatal() {
        let (values, warnings) = values("share-idel = 50\nshare-idle = 40\ncolour = 7\nmemory = { a = 1 }\n");
        assert_eq!(values, [("share-idle", "40".to_owned())]);
        let [first, second, third] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(first.contains("`share-idel`") && first.contains("did you mean `share-idle`?"), "{first}");
        assert!(second.contains("`colour`") && !second.contains("mean"), "{second}");
        assert!(third.contains("memory") && third.contains("wrong type"), "{third}");
    }

    #[test]
    fn newer_files_are_said_and_broken_ones_are_errors() {
        let (known, warnings) = values("version = 2\nshare-idle = 50\n");
        assert_eq!(known, [("share-idle", "50".to_owned())]);
        let newer = &warnings[0];
        assert!(
            newer.contains("newer") && newer.contains("version 2") && newer.contains("update"),
            "{newer}"
        );
        let error = |text: &str| FileLayer::parse(Path::new("p.toml"), text).expect_err(text).to_string();
        let broken = error("share-idle = \n");
        assert!(broken.contains("not valid TOML") && !broken.contains('\n'), "{broken}");
        assert!(error("version = \"one\"").contains("`version` must be 1"));
    }

    #[test]
    fn an_edit_keeps_comments_and_all_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = file_path(folder.path());
        let before = "# mine\nversion = 1\n\n# at night\nshare-idle = 50 # half\ncolour = 7\n";
        fs::write(&path, before).expect("written");
        let value = set(&path, "share-idle", Some("75%")).expect("set");
        assert_eq!(value.map(|value| value.to_string()), Some("75".to_owned()));
        let after = fs::read_to_string(&path).expect("there");
        assert_eq!(after, before.replace("50", "75"));
        set(&path, "apps_allowed", Some("ab, cd")).expect("set");
        let after = fs::read_to_string(&path).expect("there");
        assert!(after.contains("apps-allowed = [\"ab\", \"cd\"]") && after.contains("# at night"), "{after}");
        set(&path, "share-idle", None).expect("removed");
        let (values, _) = values(&fs::read_to_string(&path).expect("there"));
        assert_eq!(values, [("apps-allowed", "ab, cd".to_owned())]);
    }

    #[test]
    fn a_new_file_is_begun_and_wrong_edits_change_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = file_path(folder.path());
        let error = set(&path, "share", Some("1")).expect_err("unknown").to_string();
        assert!(
            error.contains("unknown preference `share` (did") && error.contains("did you mean `share-"),
            "{error}"
        );
        let error = set(&path, "share-idle", Some("101")).expect_err("too much").to_string();
        assert!(error.contains("'101' for share-idle"), "{error}");
        assert!(!path.exists());
        set(&path, "hours", Some("sat-sun")).expect("set");
        let text = fs::read_to_string(&path).expect("there");
        assert!(text.starts_with("# What") && text.contains("version = 1\nhours = \"sat-sun\"\n"), "{text}");
        fs::write(&path, "version = 9\n").expect("written");
        assert!(set(&path, "hours", Some("always")).is_err_and(|error| error.to_string().contains("newer")));
        assert_eq!(fs::read_to_string(&path).expect("there"), "version = 9\n");
    }
}
