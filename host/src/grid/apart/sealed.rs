//! Memory that is passed to another process and cannot change any more.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::os::fd::OwnedFd;

use postcard::ser_flavors::Flavor;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use serde::Serialize;

/// After these, nobody can change the memory, not even its creator.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE);

/// The unit of `st_blocks`.
const BLOCK_BYTES: i128 = 512;

/// Writes the parts, one after the other, to new memory.
///
/// # Errors
/// If the system has none.
pub fn write(name: &str, parts: &[&[u8]]) -> io::Result<OwnedFd> {
    let mut memory = create(name)?;
    for part in parts {
        memory.write_all(part)?;
    }
    seal(memory)
}

/// Encodes the message to new memory, without another copy of it.
///
/// # Errors
/// If the system has none.
pub fn write_message<M: Serialize>(name: &str, message: &M) -> io::Result<OwnedFd> {
    let encoder = Encoder { memory: BufWriter::new(create(name)?), failure: None };
    let (memory, failure) = postcard::serialize_with_flavor(message, encoder).map_err(io::Error::other)?;
    failure.map_or_else(|| seal(memory), Err)
}

fn create(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?))
}

fn seal(memory: File) -> io::Result<OwnedFd> {
    fcntl_add_seals(&memory, SEALS | SealFlags::SEAL)?;
    Ok(memory.into())
}

/// Writes an encoded message, until that fails.
struct Encoder {
    memory: BufWriter<File>,
    failure: Option<io::Error>,
}

impl Encoder {
    fn note(&mut self, written: io::Result<()>) {
        if self.failure.is_none() {
            self.failure = written.err();
        }
    }
}

impl Flavor for Encoder {
    type Output = (File, Option<io::Error>);

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        if self.failure.is_none() {
            let written = self.memory.write_all(bytes);
            self.note(written);
        }
        Ok(())
    }

    fn finalize(mut self) -> postcard::Result<Self::Output> {
        let flushed = self.memory.flush();
        self.note(flushed);
        let (memory, _) = self.memory.into_parts();
        Ok((memory, self.failure))
    }
}

/// All of some sealed memory, mapped into this process.
#[derive(Debug)]
pub struct Mapped {
    address: *mut std::ffi::c_void,
    bytes: usize,
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: this many bytes are mapped there as long as `self` lives, and the seals forbid to change, cut or grow them.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.address.cast::<u8>().cast_const(), self.bytes)
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: `read` has mapped it, and nothing refers to it any more.
            #[allow(unsafe_code)]
            let _ = unsafe { munmap(self.address, self.bytes) };
        }
    }
}

/// Maps all of it. The descriptor need not be trusted: anything but sealed memory is refused before it is read, so reading
/// neither waits nor changes anything.
///
/// # Errors
/// If it is not sealed memory, or has more than `bytes_max`.
pub fn read(memory: &OwnedFd, bytes_max: usize) -> Result<Mapped, String> {
    let failed = |error: io::Error| format!("shared memory cannot be read: {error}");
    let seals = fcntl_get_seals(memory).unwrap_or(SealFlags::empty());
    if !seals.contains(SEALS) {
        return Err("a descriptor is not sealed memory".to_owned());
    }
    let stat = fstat(memory).map_err(|error| failed(error.into()))?;
    let size = usize::try_from(stat.st_size).ok().filter(|size| *size <= bytes_max);
    let size = size.ok_or("shared memory is larger than allowed")?;
    // A hole is filled when it is read. If the system has no memory for that, it ends the reader.
    if i128::from(stat.st_blocks) * BLOCK_BYTES < size as i128 {
        return Err("shared memory has holes".to_owned());
    }
    let Some(bytes) = NonZeroUsize::new(size) else {
        return Ok(Mapped { address: std::ptr::null_mut(), bytes: 0 });
    };
    // SAFETY: the system chooses the address, so nothing else is there.
    #[allow(unsafe_code)]
    let mapped =
        unsafe { mmap(std::ptr::null_mut(), bytes.get(), ProtFlags::READ, MapFlags::PRIVATE, memory, 0) };
    let address = mapped.map_err(|error| failed(error.into()))?;
    Ok(Mapped { address, bytes: size })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_cannot_be_changed() {
        let memory = write("test", &[b"one", b"", b"two"]).expect("memory");
        assert_eq!(read(&memory, 6).as_deref(), Ok(&b"onetwo"[..]));
        assert!(read(&memory, 5).expect_err("too large").contains("larger"));
        let holes = create("test").expect("memory");
        holes.set_len(1 << 20).expect("it may grow");
        let holes = seal(holes).expect("it can be sealed");
        assert!(read(&holes, 1 << 20).expect_err("nothing is there").contains("holes"));
        let empty = write("test", &[]).expect("memory");
        assert_eq!(read(&empty, 0).as_deref(), Ok(&b""[..]));
        let message = vec![7_u8; 100_000];
        let encoded = write_message("test", &message).expect("memory");
        let bytes = read(&encoded, 200_000).expect("sealed");
        assert_eq!(postcard::from_bytes::<Vec<u8>>(&bytes), Ok(message));
        let file = File::from(memory.try_clone().expect("a descriptor"));
        assert!(file.write_at(b"x", 0).is_err() && file.set_len(0).is_err() && file.set_len(9).is_err());
    }
}
