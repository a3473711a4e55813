//! The program of this process, of which a host starts others.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The program that runs, also when another version has taken its place since. Where Linux does not say, as `/proc` is not
/// mounted, the file that was started.
const OF_LINUX: &str = "/proc/self/exe";

/// A path that starts the program of this process.
///
/// # Errors
/// If the system does not report it.
pub fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") && Path::new(OF_LINUX).exists() {
        return Ok(OF_LINUX.into());
    }
    let by_system = std::env::current_exe();
    let word = std::env::args_os().next();
    let search = std::env::var_os("PATH").unwrap_or_default();
    by_system.or_else(|error| word.and_then(|word| started(&word, &search)).ok_or(error))
}

/// The file that this first word of a command line starts, in the folders of `search` if it is a name.
fn started(word: &OsStr, search: &OsStr) -> Option<PathBuf> {
    let path = Path::new(word);
    let is_name = path.components().count() == 1 && path.parent() == Some(Path::new(""));
    let found = match is_name {
        true => std::env::split_paths(search).map(|folder| folder.join(path)).find(|path| path.is_file())?,
        false => path.to_owned(),
    };
    // Relative paths mean something else in another folder.
    found.canonicalize().ok().filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_as_the_shell_finds_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it is there");
        let program = folder.join("sateen-host");
        std::fs::write(&program, "x").expect("written");
        let search = std::env::join_paths([Path::new("/nonexistent"), &folder]).expect("paths");
        let found = |word: &str| started(OsStr::new(word), &search);
        assert_eq!(found("sateen-host"), Some(program.clone()));
        assert_eq!(found(&program.to_string_lossy()), Some(program));
        for word in ["sateen", "/nonexistent/sateen-host", "", "/"] {
            assert_eq!(found(word), None, "{word:?}");
        }
        assert!(this_program().expect("it is known").is_file());
    }
}
