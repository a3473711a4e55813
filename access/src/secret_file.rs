//! Files with secrets: read from where users keep them, written so that nobody else can read them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sateen_command_line::explained;
use thiserror::Error;

use crate::token::Token;

/// No file with a token is longer.
const SECRET_BYTES_MAX: u64 = 4096;

/// Why no token was read.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("the token file {} cannot be read: {}", .path.display(), explained(.why))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: io::Error,
    },
    /// It holds something else.
    #[error("{place} does not hold a token: {why}")]
    NotAToken {
        /// Where it was looked for.
        place: String,
        /// What is wrong.
        why: String,
    },
}

/// Reads a token from a file; `-` is stdin.
///
/// # Errors
/// When the file cannot be read, or holds something else.
pub fn read_secret(path: &Path) -> Result<Token, SecretError> {
    let unreadable = |why| SecretError::Unreadable { path: path.to_owned(), why };
    if path == Path::new("-") {
        return read_secret_from(io::stdin().lock(), "stdin");
    }
    read_secret_from(File::open(path).map_err(unreadable)?, &format!("the file {}", path.display()))
}

/// Reads a token from what is called `place` in errors.
///
/// # Errors
/// When it cannot be read, or holds something else.
pub fn read_secret_from(from: impl Read, place: &str) -> Result<Token, SecretError> {
    let mut text = zeroize::Zeroizing::new(String::new());
    let wrong = |why: String| SecretError::NotAToken { place: place.to_owned(), why };
    from.take(SECRET_BYTES_MAX).read_to_string(&mut text).map_err(|error| wrong(explained(&error)))?;
    text.parse().map_err(wrong)
}

/// Writes a file that only its owner can read, completely or not at all. Folders above it are made, for the owner alone.
///
/// # Errors
/// When it cannot be written.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    // Temporary files have the mode 0600 from the beginning.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Scope;

    #[test]
    fn tokens_come_from_files_and_others_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let missing = read_secret(&path).expect_err("it is missing").to_string();
        assert!(missing.contains("no such file") && missing.contains(&*path.to_string_lossy()), "{missing}");
        let token = Token::new(Scope::Viewer).expect("there is randomness");
        write_private(&path, format!("{}\n", token.text()).as_bytes()).expect("written");
        assert_eq!(read_secret(&path).expect("a token").hash(), token.hash());
        write_private(&path, b"my password").expect("written");
        let error = read_secret(&path).expect_err("not a token").to_string();
        assert!(error.contains("not a token") && !error.contains("password"), "{error}");
        write_private(&path, &[0xff; 10_000]).expect("written");
        assert!(read_secret(&path).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_what_is_written() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/secret");
        write_private(&path, b"x").expect("written");
        let mode = |path: &Path| std::fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
    }
}
