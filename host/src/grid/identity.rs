//! This host's key, in the file `key` of its data folder.
//!
//! ```text
//! sateen host key 1
//! 64 hexadecimal digits       the secret part
//! rotation FROM TO R S R S    how it came from earlier keys, the oldest first; R and S are the halves of a signature, by the
//!                             earlier key and by the later one; each has 64 digits
//! ```
//!
//! Only the owner of the folder may read it: with the secret part, anybody could take part as this host.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sateen_command_line::refused;
use sateen_identity::{Identity, NoRandomness};
use sateen_protocol::PublicKey;
use sateen_protocol::identity::{ROTATIONS_MAX, Rotation, Signature};
use thiserror::Error;
use tracing::{info, warn};
use zeroize::Zeroizing;

use super::folder::DataFolder;

const FILE: &str = "key";
const HEADER: &str = "sateen host key 1";
const ROTATION: &str = "rotation ";

/// Why a host has no key.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file is not one that a host has written.
    #[error(
        "the key file {} is damaged: {why}; restore it from a copy, or remove it to get a new key, which the operator may \
         have to approve",
        .file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The file cannot be read or written.
    #[error("{0}")]
    File(String),
    /// There is no file.
    #[error("{} has no key yet: `sateen-host` makes one when it first starts", .0.display())]
    Missing(PathBuf),
    /// The system has no randomness.
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
}

/// A host's key, and how it came from earlier ones.
#[derive(Clone)]
pub struct HostKey {
    /// The key.
    pub identity: Identity,
    /// The oldest first.
    pub rotations: Vec<Rotation>,
}

impl HostKey {
    /// The key in the folder, which is made if there is none. If the folder cannot be written, the key is new and lasts as
    /// long as this process.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read or written.
    pub fn of(folder: &DataFolder) -> Result<Self, KeyError> {
        let Some(file) = folder.part(FILE) else {
            let key = Self::new()?;
            warn!(
                key = %key.identity.public().short(),
                "this host's key cannot be saved: after the next start it is another host for the operator"
            );
            return Ok(key);
        };
        if let Some(key) = Self::read(&file)? {
            return Ok(key);
        }
        let key = Self::new()?;
        key.write(&file)?;
        info!(key = %key.identity.public(), "this host has a new key");
        Ok(key)
    }

    /// The public part of the key in the folder at `path`, which another process may use.
    ///
    /// # Errors
    /// If there is none.
    pub fn show(path: &Path) -> Result<PublicKey, KeyError> {
        let key = Self::read(&path.join(FILE))?.ok_or_else(|| KeyError::Missing(path.to_owned()))?;
        Ok(key.identity.public())
    }

    /// Replaces the key in the folder by a new one; returns both public parts. Coordinators learn of it from the host's next
    /// hello.
    ///
    /// # Errors
    /// If there is no key, or the new one cannot be written.
    pub fn rotate(folder: &DataFolder) -> Result<(PublicKey, PublicKey), KeyError> {
        let unwritable = || KeyError::File(folder.unwritable().unwrap_or_default().to_owned());
        let file = folder.part(FILE).ok_or_else(unwritable)?;
        let key = Self::read(&file)?.ok_or_else(|| KeyError::Missing(folder.path().to_owned()))?;
        let next = Identity::generate()?;
        let mut rotations = key.rotations;
        rotations.push(key.identity.replaced_by(&next));
        // A coordinator that has seen none of the later keys takes this host for a new one.
        rotations.drain(..rotations.len().saturating_sub(ROTATIONS_MAX));
        let next = Self { identity: next, rotations };
        next.write(&file)?;
        Ok((key.identity.public(), next.identity.public()))
    }

    fn new() -> Result<Self, KeyError> {
        Ok(Self { identity: Identity::generate()?, rotations: Vec::new() })
    }

    fn read(file: &Path) -> Result<Option<Self>, KeyError> {
        let unreadable =
            |error: &io::Error| KeyError::File(refused(&format!("the key file {}", file.display()), error));
        let text = match fs::read_to_string(file) {
            Ok(text) => Zeroizing::new(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(KeyError::Damaged { file: file.to_owned(), why: "it is not text" });
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let key = Self::parse(&text).map_err(|why| KeyError::Damaged { file: file.to_owned(), why })?;
        let mode = fs::metadata(file).map_err(|error| unreadable(&error))?.permissions().mode();
        if mode & 0o077 != 0 {
            warn!(file = %file.display(), "other users could read this host's key; now they cannot");
            fs::set_permissions(file, Permissions::from_mode(0o600)).map_err(|error| unreadable(&error))?;
        }
        Ok(Some(key))
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err("its first line is not that of a key file, or it is of a newer sateen-host");
        }
        // A key's secret part is written like its public part.
        let secret = lines.next().and_then(PublicKey::parse).ok_or("its second line is not 64 digits")?;
        let secret = Zeroizing::new(secret.0);
        let identity = Identity::from_secret(&secret);
        let rotations: Option<Vec<Rotation>> = lines.map(rotation).collect();
        let rotations = rotations.ok_or("a rotation in it cannot be read")?;
        if rotations.last().is_some_and(|last| last.to != identity.public()) {
            return Err("its last rotation is of another key");
        }
        Ok(Self { identity, rotations })
    }

    /// Written completely or not at all.
    fn write(&self, file: &Path) -> Result<(), KeyError> {
        let secret = Zeroizing::new(PublicKey(*self.identity.secret()).to_string());
        let rotations: String = self.rotations.iter().map(written).collect();
        let text = Zeroizing::new(format!("{HEADER}\n{}\n{rotations}", *secret));
        let folder = file.parent().unwrap_or(Path::new("."));
        let write = || {
            // Only its owner may read a temporary file.
            let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
            temporary.write_all(text.as_bytes())?;
            temporary.as_file().sync_all()?;
            temporary.persist(file)?;
            fs::File::open(folder)?.sync_all()
        };
        write().map_err(|error: io::Error| {
            KeyError::File(refused(&format!("the key file {}", file.display()), &error))
        })
    }
}

/// The line of a rotation. All its parts are as long as a key, and written like one.
fn written(rotation: &Rotation) -> String {
    let Rotation { from, to, signatures: [by_earlier, by_later] } = rotation;
    let halves = [by_earlier.0, by_earlier.1, by_later.0, by_later.1].map(PublicKey);
    let [r, s, later_r, later_s] = halves;
    format!("{ROTATION}{from} {to} {r} {s} {later_r} {later_s}\n")
}

fn rotation(line: &str) -> Option<Rotation> {
    let parts: Option<Vec<PublicKey>> =
        line.strip_prefix(ROTATION)?.split(' ').map(PublicKey::parse).collect();
    let [from, to, r, s, later_r, later_s] = parts?.try_into().ok()?;
    Some(Rotation { from, to, signatures: [Signature(r.0, s.0), Signature(later_r.0, later_s.0)] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, DataFolder, PathBuf) {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("data");
        let folder = DataFolder::open(&path).expect("free");
        let file = path.join(FILE);
        (parent, folder, file)
    }

    fn mode(file: &Path) -> u32 {
        fs::metadata(file).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_can_read_it() {
        let (_parent, folder, file) = folder();
        assert!(matches!(HostKey::show(folder.path()), Err(KeyError::Missing(_))));
        let key = HostKey::of(&folder).expect("a key").identity.public();
        assert_eq!(HostKey::of(&folder).expect("the same").identity.public(), key);
        assert_eq!(HostKey::show(folder.path()).expect("there is one"), key);
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("our own");
        HostKey::of(&folder).expect("the same");
        assert_eq!(mode(&file), 0o600, "mended");
    }

    #[test]
    fn a_rotated_key_follows_from_the_earlier_ones() {
        let (_parent, folder, file) = folder();
        assert!(matches!(HostKey::rotate(&folder), Err(KeyError::Missing(_))));
        let first = HostKey::of(&folder).expect("a key").identity.public();
        let mut last = first;
        for count in 1..=ROTATIONS_MAX + 2 {
            let (from, to) = HostKey::rotate(&folder).expect("rotated");
            assert!(from == last && to != last);
            let key = HostKey::of(&folder).expect("the new one");
            assert_eq!((key.identity.public(), key.rotations.len()), (to, count.min(ROTATIONS_MAX)));
            let steps: Vec<_> = key.rotations.iter().map(|step| (step.from, step.to)).collect();
            assert!(steps.windows(2).all(|pair| pair[0].1 == pair[1].0));
            assert_eq!(steps.last(), Some(&(from, to)));
            last = to;
        }
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn a_damaged_key_file_is_named_and_left_as_it_is() {
        let (_parent, folder, file) = folder();
        HostKey::of(&folder).expect("a key");
        HostKey::rotate(&folder).expect("rotated");
        let good = fs::read_to_string(&file).expect("text");
        let lines: Vec<&str> = good.lines().collect();
        for (text, why) in [
            (String::new(), "first line"),
            (good.replace("key 1", "key 2"), "newer"),
            (HEADER.to_owned(), "64 digits"),
            (good.replacen(lines[1], &lines[1][1..], 1), "64 digits"),
            (format!("{good}rotation 00\n"), "rotation"),
            (format!("{good}rotation é\n"), "rotation"),
            (format!("{HEADER}\n{}\n{}\n", "1".repeat(64), lines[2]), "another key"),
        ] {
            fs::write(&file, &text).expect("written");
            let error = HostKey::of(&folder).err().expect("it is damaged").to_string();
            assert!(error.contains(why) && error.contains(&*file.to_string_lossy()), "{error}");
            assert_eq!(fs::read_to_string(&file).expect("text"), text);
        }
        fs::write(&file, [0xff; 40]).expect("written");
        assert!(matches!(HostKey::of(&folder), Err(KeyError::Damaged { .. })));
        fs::write(&file, good).expect("written");
        HostKey::of(&folder).expect("it is whole again");
    }

    #[test]
    fn a_host_that_cannot_save_its_key_has_one_for_now() {
        let folder = DataFolder::open(Path::new("/proc/sateen")).expect("no refusal");
        let [one, other] = [0, 1].map(|_| HostKey::of(&folder).expect("a key").identity.public());
        assert_ne!(one, other);
        assert!(matches!(HostKey::rotate(&folder), Err(KeyError::File(why)) if why.contains("/proc/sateen")));
    }
}
