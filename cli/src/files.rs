//! Reading and writing files, with errors that name the file.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sateen_command_line::explained;
use sateen_host::{Limits, Output, size};

use crate::exit::{Failure, GRID};

/// The module's bytes. A module that is too large is not read to its end.
pub fn read_module(path: &Path, limits: &Limits) -> Result<Vec<u8>, Failure> {
    let wrong = |error: io::Error| Failure::usage(format!("{}: {}", path.display(), readable(&error)));
    let file = File::open(path).map_err(wrong)?;
    let mut bytes = Vec::new();
    file.take(limits.module_bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(wrong)?;
    Ok(bytes)
}

/// Names standard input where a file's name is expected.
const STDIN: &str = "-";

/// The inputs, by name. An input that no guest could hold is not read to its end.
pub fn read_inputs(
    inputs: &[(String, PathBuf)],
    limits: &Limits,
) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let limit = limits.memory_bytes_max;
    if inputs.iter().filter(|(_, path)| path == Path::new(STDIN)).count() > 1 {
        return Err(Failure::usage("only one input can be read from stdin (`-`)"));
    }
    let mut read = BTreeMap::new();
    for (name, path) in inputs {
        let wrong = |why: String| Failure::usage(format!("input `{name}`: {}: {why}", shown(path)));
        let file: Box<dyn Read> = if path == Path::new(STDIN) {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(path).map_err(|error| wrong(readable(&error)))?)
        };
        let mut bytes = Vec::new();
        file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(|error| wrong(readable(&error)))?;
        if bytes.len() > limit {
            let limit = size(limit as u64);
            return Err(wrong(format!(
                "it is more than a guest can hold, {limit}; raise that with --memory"
            )));
        }
        if read.insert(name.clone(), bytes).is_some() {
            return Err(Failure::usage(format!("the input `{name}` is given twice")));
        }
    }
    Ok(read)
}

/// The name of an input's file, for people.
pub fn shown(path: &Path) -> String {
    if path == Path::new(STDIN) { "stdin".to_owned() } else { path.display().to_string() }
}

/// An I/O error for people, without the system's error number.
pub fn readable(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "you do not have permission to read or write it".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => explained(error),
    }
}

/// A file for the result. It is opened before the run, so that a wrong name does not waste a run; its
/// old contents stay until there is a result.
pub struct OutputFile {
    path: PathBuf,
    file: File,
    /// Whether this command created the file: then it is deleted if there is no result.
    to_remove: bool,
}

impl OutputFile {
    /// The file that `--output` names, if it does.
    ///
    /// # Arguments
    /// * `sources`: files that the command reads, which the result must not replace.
    ///
    /// # Errors
    /// If the file cannot be written, or is one of `sources`.
    pub fn requested<'a>(
        path: Option<&Path>,
        sources: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Option<Self>, Failure> {
        path.map(|path| Self::open(path, sources)).transpose()
    }

    fn open<'a>(path: &Path, sources: impl IntoIterator<Item = &'a Path>) -> Result<Self, Failure> {
        refuse_stdout(path)?;
        if let Some(source) = sources.into_iter().find(|source| is_same_file(path, source)) {
            return Err(Failure::usage(format!(
                "output {}: it is the same file as {}, which this command reads; name another with --output",
                path.display(),
                source.display()
            )));
        }
        let to_remove = !path.exists();
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| output_failure(path, &error))?;
        Ok(Self { path: path.to_owned(), file, to_remove })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the contents of the file.
    pub fn write(mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.to_remove = false;
        // Devices and pipes cannot be truncated or rewound, and need not be.
        let _ = self.file.set_len(0);
        let _ = self.file.rewind();
        self.file
            .write_all(bytes)
            .map_err(|error| Failure { code: GRID, ..output_failure(&self.path, &error) })
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.to_remove {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Refuses `-`, which names stdout elsewhere and would be the name of a file here.
///
/// # Errors
/// If `path` is `-`.
pub fn refuse_stdout(path: &Path) -> Result<(), Failure> {
    if path == Path::new(STDIN) {
        return Err(Failure::usage(
            "output -: expected a file; leave out --output for stdout, or write ./- for a file of that name",
        ));
    }
    Ok(())
}

/// Whether both names are of one file with contents: devices and pipes may be read and written at a time.
#[cfg(unix)]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| {
        let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((about.dev(), about.ino()))
    };
    identity(one).is_some_and(|it| identity(other) == Some(it))
}

/// Whether both names are of one file.
#[cfg(not(unix))]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|it| other.canonicalize().is_ok_and(|other| it == other))
}

fn output_failure(path: &Path, error: &io::Error) -> Failure {
    if let Some(folder) = missing_folder(path) {
        return Failure::usage(format!(
            "output {}: there is no folder {}; create it first",
            path.display(),
            folder.display()
        ));
    }
    Failure::usage(format!("output {}: {}", path.display(), readable(error)))
}

/// The folder in which the file would be, if that does not exist.
fn missing_folder(file: &Path) -> Option<&Path> {
    file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
}

/// A result as it is written: text ends with one newline, bytes are unchanged.
pub fn plain(output: &Output) -> Vec<u8> {
    match output {
        Output::Text(text) if text.ends_with('\n') => text.clone().into_bytes(),
        Output::Text(text) => format!("{text}\n").into_bytes(),
        Output::Bytes(bytes) => bytes.clone(),
    }
}

/// Writes to stdout: unchanged to a file or a pipe, with control characters escaped to a terminal. A reader
/// that has closed the pipe has seen enough.
///
/// # Errors
/// If stdout cannot be written. If its reader is gone, the failure is silent, see [`Failure::reader_gone`].
pub fn print(bytes: &[u8]) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        return write_stdout(sateen_logging::visible_lines(bytes).as_bytes());
    }
    write_stdout(bytes)
}

/// Whether nobody reads stdout any more: a pipe whose reader has closed it.
pub fn is_reader_gone() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok()
        && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Writes one or several objects, each on a line of its own. Invisible characters in strings are escaped: a pipe may lead to
/// a terminal as well.
///
/// # Errors
/// See [`print`].
pub fn print_json(object: &impl Display) -> Result<(), Failure> {
    write_stdout(sateen_logging::escaped(&format!("{object}\n")).as_bytes())
}

fn write_stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::reader_gone()),
        Err(error) => {
            Err(Failure::new(GRID, format!("the result cannot be written to stdout: {}", explained(&error))))
        }
    }
}
