//! Memory that is passed to another process and cannot change any more.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};

/// After these, nobody can change the memory, not even who made it.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE);

/// Writes the parts, one after the other, to new memory.
///
/// # Errors
/// If the system has none.
pub fn write(name: &str, parts: &[&[u8]]) -> io::Result<OwnedFd> {
    let mut memory = File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    for part in parts {
        memory.write_all(part)?;
    }
    fcntl_add_seals(&memory, SEALS | SealFlags::SEAL)?;
    Ok(memory.into())
}

/// Reads all of it. The descriptor need not be trusted: anything but sealed memory is refused before it is read, so reading
/// neither waits nor changes anything.
///
/// # Errors
/// If it is not sealed memory, or has more than `bytes_max`.
pub fn read(memory: &OwnedFd, bytes_max: usize) -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| format!("shared memory cannot be read: {error}");
    let seals = fcntl_get_seals(memory).unwrap_or(SealFlags::empty());
    if !seals.contains(SEALS) {
        return Err("a descriptor is not sealed memory".to_owned());
    }
    let size = fstat(memory).map_err(|error| failed(error.into()))?.st_size;
    let size = usize::try_from(size).ok().filter(|size| *size <= bytes_max);
    let size = size.ok_or("shared memory is larger than allowed")?;
    let mut bytes = vec![0; size];
    let file = File::from(memory.as_fd().try_clone_to_owned().map_err(failed)?);
    file.read_exact_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_cannot_be_changed() {
        let memory = write("test", &[b"one", b"", b"two"]).expect("memory");
        assert_eq!(read(&memory, 6), Ok(b"onetwo".to_vec()));
        assert!(read(&memory, 5).expect_err("too large").contains("larger"));
        let file = File::from(memory.try_clone().expect("a descriptor"));
        assert!(file.write_at(b"x", 0).is_err() && file.set_len(0).is_err() && file.set_len(9).is_err());
    }
}
